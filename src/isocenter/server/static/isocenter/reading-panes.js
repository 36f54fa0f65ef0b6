// All scans of a stage, looked at together: one cross in millimetres, one plane, one scale; each has its own window.

import { Pane } from "./reading-pane.js";
import { PLANES, load } from "./reading-scan.js";

const element = (id) => document.getElementById(id);
const NOTCH = 100; // what a wheel turns for one slice
const ZOOM = 8;

export class Panes {
  constructor(box, marks) {
    this.box = box;
    this.marks = marks; // a function that gives those to draw
    this.onMark = () => {};
    this.panes = [...box.querySelectorAll(".pane")].map((one) => new Pane(one));
    this.active = this.panes[0];
    this.look = { plane: "axial", zoom: 1 };
    this.turned = 0;
    for (const pane of this.panes) this.listen(pane);
    this.tools();
    new ResizeObserver(() => this.draw()).observe(box);
  }

  get loaded() {
    return this.panes.filter((pane) => pane.scan);
  }

  /** One after the other: the site opens few at once. */
  async load() {
    for (const pane of this.panes) {
      try {
        pane.show(await load(pane.box.dataset.url, (text) => pane.say(text)));
      } catch (problem) {
        pane.say(problem.message);
        continue;
      }
      if (this.loaded.length === 1) this.begin(pane);
      this.draw();
    }
  }

  begin(pane) {
    this.first = pane.scan; // the others are shown as large as this one
    const middle = pane.scan.shape.map((n) => Math.floor(n / 2)); // on a slice, not between two
    Object.assign(this.look, { cross: pane.scan.place(middle), centre: pane.scan.middle, zoom: 1 });
    element("tools").hidden = false;
    this.choose(pane);
  }

  choose(pane) {
    if (!pane.scan) return;
    this.active = pane;
    for (const one of this.panes) one.box.classList.toggle("active", one === pane);
    const { least, most } = pane.scan;
    const step = (most - least) / 500 || 1;
    Object.assign(element("level"), { min: least, max: most, step });
    Object.assign(element("width"), { min: step, max: most - least || 1, step });
    this.draw();
  }

  draw() {
    if (!this.first) return;
    const shown = this.panes.find((pane) => pane.size[0] > 0);
    if (!shown) return;
    this.look.scale = shown.fit(this.first, this.look.plane) * this.look.zoom;
    for (const pane of this.loaded) pane.draw(this.look, this.marks());
    const { at, count } = this.active.slice(this.look);
    const [low, high] = this.active.window;
    Object.assign(element("slice"), { max: count - 1, value: at });
    element("slice").setAttribute("aria-valuetext", `${at + 1} of ${count}`);
    element("plane").value = this.look.plane;
    element("zoom").value = this.look.zoom;
    element("level").value = (low + high) / 2;
    element("width").value = high - low;
    const place = this.look.cross.map((value) => value.toFixed(1).replace("-", "−")).join(", ");
    element("where").textContent = `${this.active.name.toUpperCase()}, slice ${at + 1} of ${count}. Cross at ${place} mm.`;
  }

  go(place) {
    this.look.cross = place;
    this.draw();
  }

  /** To a place, in sight of it. */
  show(place) {
    if (this.look.zoom > 1) this.look.centre = place;
    this.go(place);
  }

  /** To a slice of the active scan; the cross stays where it is on it. */
  toSlice(slice) {
    const through = PLANES[this.look.plane][2];
    const voxel = this.active.scan.voxel(this.look.cross);
    voxel[through] = Math.max(0, Math.min(this.active.scan.shape[through] - 1, slice));
    this.go(this.active.scan.place(voxel));
  }

  step(by) {
    this.toSlice(this.active.slice(this.look).at + by);
  }

  plane(name) {
    this.look.plane = name;
    this.draw();
  }

  zoom(factor) {
    this.look.zoom = Math.max(1, Math.min(ZOOM, factor));
    this.look.centre = this.look.zoom > 1 ? this.look.cross : this.first.middle;
    this.draw();
  }

  window(level, width) {
    this.active.window = [level - width / 2, level + width / 2];
    this.draw();
  }

  reset() {
    Object.assign(this.look, { plane: "axial", zoom: 1, centre: this.first.middle });
    for (const pane of this.loaded) pane.window = [...pane.scan.window];
    this.enlarge(null);
  }

  /** Show one alone, or again all of them. */
  enlarge(pane) {
    const alone = pane && !pane.box.classList.contains("alone") ? pane : null;
    this.box.classList.toggle("one", Boolean(alone));
    for (const one of this.panes) {
      one.box.classList.toggle("alone", one === alone);
      one.box.querySelector(".enlarge").setAttribute("aria-pressed", one === alone);
    }
    if (alone) this.choose(alone);
    this.draw();
  }

  tools() {
    const number = (id) => Number(element(id).value);
    element("slice").addEventListener("input", () => this.toSlice(number("slice")));
    element("plane").addEventListener("change", () => this.plane(element("plane").value));
    element("zoom").addEventListener("input", () => this.zoom(number("zoom")));
    for (const id of ["level", "width"]) {
      element(id).addEventListener("input", () => this.window(number("level"), number("width")));
    }
    element("reset").addEventListener("click", () => this.reset());
  }

  listen(pane) {
    const { canvas } = pane;
    pane.box.querySelector(".enlarge").addEventListener("click", () => this.enlarge(pane));
    canvas.addEventListener("focus", () => this.choose(pane));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("pointerdown", (event) => this.press(pane, event));
    canvas.addEventListener("pointermove", (event) => this.drag(pane, event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (this.held = ""));
    canvas.addEventListener("dblclick", () => this.onMark());
    canvas.addEventListener("wheel", (event) => this.wheel(pane, event), { passive: false });
  }

  press(pane, event) {
    if (!pane.scan) return;
    this.choose(pane);
    this.held = event.button === 2 ? "window" : event.button === 1 || event.shiftKey ? "move" : "cross";
    pane.canvas.setPointerCapture(event.pointerId);
    if (this.held === "cross") this.go(pane.placeAt([event.offsetX, event.offsetY], this.look));
  }

  drag(pane, event) {
    if (!this.held || !pane.scan) return;
    if (this.held === "cross") this.go(pane.placeAt([event.offsetX, event.offsetY], this.look));
    if (this.held === "move") this.move(pane, event.movementX, event.movementY);
    if (this.held === "window") {
      const [low, high] = pane.window;
      const unit = (pane.scan.window[1] - pane.scan.window[0]) / 300;
      this.window((low + high) / 2 - event.movementY * unit, Math.max(unit, high - low + event.movementX * unit));
    }
  }

  move(pane, x, y) {
    const [across, up] = PLANES[this.look.plane];
    const voxel = pane.scan.voxel(this.look.centre);
    voxel[across] += x / (pane.scan.spacing[across] * this.look.scale);
    voxel[up] += y / (pane.scan.spacing[up] * this.look.scale);
    this.look.centre = pane.scan.place(voxel);
    this.draw();
  }

  wheel(pane, event) {
    if (!pane.scan) return;
    event.preventDefault();
    if (this.active !== pane) this.choose(pane);
    const far = event.deltaMode === 0 ? event.deltaY : NOTCH * Math.sign(event.deltaY);
    if (event.ctrlKey) {
      this.zoom(this.look.zoom * Math.exp(-far / 400));
      return;
    }
    if (far * this.turned < 0) this.turned = 0;
    this.turned += far;
    const steps = Math.trunc(this.turned / NOTCH);
    this.turned -= NOTCH * steps;
    if (steps) this.step(-steps);
  }
}
