// Tables that can be sorted, filtered and copied, and names of points under the pointer. The page is whole without it.
"use strict";
(() => {
  const number = (cell) => Number(cell.dataset.value ?? cell.textContent.replace("−", "-"));

  function sort(table, column, heading) {
    const down = heading.getAttribute("aria-sort") === "ascending";
    const numeric = heading.classList.contains("number");
    const rows = [...table.tBodies[0].rows];
    const known = (row) => !numeric || !Number.isNaN(number(row.cells[column]));
    rows.sort((one, other) => {
      if (known(one) !== known(other)) return known(one) ? -1 : 1; // what has no value stays at the end
      const [a, b] = [one.cells[column], other.cells[column]];
      const order = numeric && known(one)
        ? number(a) - number(b)
        : a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
      return down ? -order : order;
    });
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0].append(...rows);
  }

  function filter(table, words) {
    const wanted = words.toLowerCase();
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  }

  function copied(table) {
    const rows = [...table.rows].filter((row) => !row.hidden);
    return rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim()).join("\t")).join("\n");
  }

  function put(text) {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea"); // a page from a disk has no clipboard of its own
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    return Promise.resolve();
  }

  for (const sheet of document.querySelectorAll(".sheet")) {
    const table = sheet.querySelector("table");
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = document.createElement("button");
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, column, heading));
      heading.append(button);
    });
    const tools = document.createElement("div");
    tools.className = "tools";
    if (table.tBodies[0].rows.length > 8) {
      const field = document.createElement("input");
      field.type = "search";
      field.placeholder = "Filter rows";
      field.setAttribute("aria-label", "Filter the rows of this table");
      field.addEventListener("input", () => filter(table, field.value));
      tools.append(field);
    }
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy table";
    const say = (words) => {
      button.textContent = words;
      setTimeout(() => { button.textContent = "Copy table"; }, 1500);
    };
    button.addEventListener("click", () => put(copied(table)).then(() => say("Copied"), () => say("Not allowed")));
    tools.append(button);
    sheet.prepend(tools);
  }

  // The titles inside a drawing as a small label at once, instead of the browser's after a second.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  document.addEventListener("pointermove", (event) => {
    const shape = event.target.closest("svg *");
    const held = shape && [...function* () {
      for (let at = shape; at && at.tagName !== "FIGURE"; at = at.parentElement) yield at;
    }()].map((at) => at.querySelector(":scope > title")).find((title) => title && !title.id);
    tip.hidden = !held;
    if (!held) return;
    tip.textContent = held.textContent;
    const width = tip.offsetWidth;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - width - 8))}px`;
    tip.style.top = `${event.clientY + 16}px`;
  });
})();
