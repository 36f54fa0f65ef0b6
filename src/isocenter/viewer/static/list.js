// The list of cases: sorted as soon as another metric is chosen, filtered as one types, walked through with n and p.

const filter = document.getElementById("filter");
const items = [...document.querySelectorAll("#cases li")];

document.getElementById("search").hidden = false;
filter.addEventListener("input", () => {
  const wanted = filter.value.trim().toLowerCase();
  let left = 0;
  for (const item of items) {
    item.hidden = !item.dataset.name.toLowerCase().includes(wanted);
    left += item.hidden ? 0 : 1;
  }
  document.getElementById("none").hidden = left > 0;
});

const by = document.getElementById("by");
if (by) {
  by.form.querySelector("button").hidden = true;
  by.addEventListener("change", () => by.form.submit());
}

document.querySelector("#cases [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("[type=search], select")) return;
  const link = { n: "after", p: "before" }[event.key];
  if (link) document.getElementById(link)?.click();
  if (event.key === "/") {
    event.preventDefault();
    filter.focus();
  }
});
