// A board whose columns can be sorted, and dates that are followed at once. The page is whole without it.
"use strict";
(() => {
  const number = (cell) => Number.parseFloat(cell.firstChild ? cell.firstChild.textContent.replace("−", "-") : "");
  const key = (cell) => {
    const when = cell.querySelector("time");
    return when ? when.dateTime : cell.textContent.trim();
  };

  function sort(table, column, heading) {
    const down = heading.getAttribute("aria-sort") === "ascending";
    const numeric = heading.classList.contains("number");
    const known = (row) => !numeric || !Number.isNaN(number(row.cells[column]));
    const rows = [...table.tBodies[0].rows];
    rows.sort((one, other) => {
      if (known(one) !== known(other)) return known(one) ? -1 : 1; // what has no value stays at the end
      const [a, b] = [one.cells[column], other.cells[column]];
      const order = numeric && known(one) ? number(a) - number(b) : key(a).localeCompare(key(b), undefined, { numeric: true });
      return down ? -order : order;
    });
    for (const cell of heading.parentNode.cells) cell.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0].append(...rows);
  }

  function prepare(root) {
    for (const table of root.querySelectorAll("table.board")) {
      [...table.tHead.rows[0].cells].forEach((heading, column) => {
        if (heading.classList.contains("mark") || heading.querySelector("button") || !heading.textContent.trim()) return;
        const button = document.createElement("button");
        button.type = "button";
        button.className = "sorts";
        button.append(...heading.childNodes);
        button.addEventListener("click", () => sort(table, column, heading));
        heading.append(button);
      });
    }
  }

  prepare(document);
  document.addEventListener("htmx:afterSettle", () => prepare(document));
  for (const form of document.querySelectorAll("form[data-follow]")) {
    form.addEventListener("change", () => form.requestSubmit());
    form.querySelector("button").hidden = true;
  }
})();
