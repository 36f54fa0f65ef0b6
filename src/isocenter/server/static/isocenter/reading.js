// The page of a case that is read: scans on the left, marks and the likelihood on the right, and keys for all of it.

import { Draft } from "./reading-draft.js";
import { Marks } from "./reading-marks.js";
import { Panes } from "./reading-panes.js";

const element = (id) => document.getElementById(id);
const root = element("reading");
const form = element("answer");
const [score, slider] = [element("score"), element("slider")];

const marks = new Marks(given(), Number(root.dataset.most));
const panes = new Panes(element("panes"), () => marks.list);
const draft = new Draft(form, root, answer, gone);

function given() {
  try {
    const found = JSON.parse(form.elements.namedItem("marks").value);
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

function answer() {
  const said = score.value !== "" && score.validity.valid;
  return { marks: marks.list, score: said ? Number(score.value) : null };
}

function gone(why) {
  const words = {
    older: "Another window of yours has saved this case since. This one saves nothing any more.",
    gone: "This case is handed in already, or cannot be read any more.",
  };
  const box = document.createElement("p");
  box.className = "notice error";
  const again = Object.assign(document.createElement("a"), { href: location.pathname });
  again.textContent = why === "older" ? "Show what it saved" : "Go on";
  box.append(`${words[why]} `, again);
  element("trouble").replaceChildren(box);
}

marks.onChange = () => {
  panes.draw();
  draft.changed();
};
marks.onShow = (mark) => panes.show([mark.x, mark.y, mark.z]);
const mark = () => marks.most && panes.first && marks.add(panes.active, panes.look.cross);
panes.onMark = mark;
element("mark")?.addEventListener("click", mark);

/** Nothing is chosen until it is touched. */
function showScore() {
  slider.classList.toggle("untouched", score.value === "");
  if (score.value !== "") slider.value = score.value;
  slider.setAttribute("aria-valuetext", score.value === "" ? "nothing chosen yet" : score.value);
}
for (const event of ["input", "click"]) {
  slider.addEventListener(event, () => {
    if (score.value === slider.value) return;
    score.value = slider.value;
    showScore();
    draft.changed();
  });
}
score.addEventListener("input", () => {
  showScore();
  draft.changed();
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button.big");
  button.disabled = true;
  if (await draft.finish()) form.submit();
  else button.disabled = false;
});
form.addEventListener("keydown", (event) => {
  // What cannot be taken back is not handed in by a slip.
  if (event.key === "Enter" && event.target.tagName === "INPUT") event.preventDefault();
});
window.addEventListener("pageshow", (event) => event.persisted && location.reload());

function help() {
  element("keys").hidden = !element("keys").hidden;
  element("help").setAttribute("aria-expanded", !element("keys").hidden);
}
element("help").addEventListener("click", help);

const KEYS = {
  ArrowUp: () => panes.step(1),
  ArrowDown: () => panes.step(-1),
  PageUp: () => panes.step(5),
  PageDown: () => panes.step(-5),
  "+": () => panes.zoom(panes.look.zoom * 1.25),
  "-": () => panes.zoom(panes.look.zoom / 1.25),
  0: () => panes.reset(),
  a: () => panes.plane("axial"),
  c: () => panes.plane("coronal"),
  s: () => panes.plane("sagittal"),
  m: mark,
  Escape: () => (form.contains(document.activeElement) ? panes.active.canvas.focus() : panes.enlarge(null)),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { type = "", tagName } = event.target;
  const moves = event.key.startsWith("Arrow") || event.key.startsWith("Page");
  const types = ["number", "text"].includes(type) || tagName === "SELECT";
  if ((types && event.key !== "Escape") || (moves && ["range", "radio"].includes(type))) return;
  if (event.key === "?") {
    help();
    return;
  }
  if (!panes.first) return;
  const pane = panes.panes[Number(event.key) - 1];
  const act = pane ? () => panes.enlarge(pane) : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

slider.hidden = false;
document.querySelector(".timer").hidden = false;
if (element("mark")) element("mark").hidden = false;
showScore();
panes.load().then(() => (root.dataset.state = "drawn"));
