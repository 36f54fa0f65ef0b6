// The page around the slices of a case: legend, slider, bars, keys.

const element = (id) => document.getElementById(id);
const viewer = element("viewer");
const source = viewer.dataset.source;

/** What colours and lines mean. */
function drawLegend(view) {
  const key = element("key");
  key.replaceChildren();
  const add = (css, text) => {
    const item = document.createElement("span");
    item.className = css;
    item.textContent = text;
    key.append(item);
  };
  const { team, truth = "reference" } = viewer.dataset;
  if (view.sight.kind === "masks") {
    if (view.mode === "difference") {
      add("missed", "missed: reference only");
      add("extra", `extra: ${team} only`);
    } else {
      if (view.compared || view.alone === "reference") add("solid", truth);
      if (view.compared || view.alone === "output") add("dashed", team);
    }
    return;
  }
  const { dose, difference } = view.sight.ceiling;
  if (view.mode === "difference") {
    const least = (view.least.difference * difference).toPrecision(2);
    add("scale difference", `${team} gives less (−${difference} Gy) or more (+${difference} Gy); from ${least} Gy`);
  } else {
    const whose = view.mode === "output" ? team : `the ${truth}`;
    add("scale dose", `dose of ${whose}: ${(view.least.dose * dose).toPrecision(2)} … ${dose} Gy`);
  }
  const layer = view.sight.layers.find((item) => item.key === view.structure);
  if (layer) add("outline", layer.name);
}

/** One bar per slice, stacked; a click goes there. */
function drawStrip(view) {
  const strip = element("strip");
  const { series, count } = view.sight.slices;
  const rows = Object.entries(series);
  const totals = Array.from({ length: count }, (_, k) => rows.reduce((sum, [, values]) => sum + values[k], 0));
  const highest = Math.max(...totals, 1e-9);
  const add = (css, x, y, height) => {
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ class: css, x, y, width: 1, height })) bar.setAttribute(name, value);
    strip.append(bar);
  };
  strip.setAttribute("viewBox", `0 0 ${count} 100`);
  strip.setAttribute("preserveAspectRatio", "none");
  add("now", view.slice, 0, 100);
  for (let k = 0; k < count; k++) {
    let top = 100;
    for (const [name, values] of rows) {
      const height = (100 * values[k]) / highest;
      top -= height;
      if (height > 0) add(name, k, top, height);
    }
  }
  strip.addEventListener("click", (event) => {
    const { left, width } = strip.getBoundingClientRect();
    view.go(Math.floor((count * (event.clientX - left)) / width));
  });
}

function connect(view) {
  const slider = element("slice");
  slider.max = view.sight.slices.count - 1;
  slider.addEventListener("input", () => view.go(Number(slider.value)));
  element("worst").addEventListener("click", () => view.go(view.sight.slices.worst));
  element("modes").addEventListener("change", (event) => view.show(event.target.value));
  element("planes").addEventListener("change", (event) => view.planes(event.target.value));
  element("zoom").addEventListener("input", (event) => view.zoom(Number(event.target.value)));
  element("window")?.addEventListener("change", (event) => view.window(event.target.value));
  element("structure")?.addEventListener("change", (event) => view.outline(event.target.value));
  element("strength")?.addEventListener("input", () => view.show(view.mode));
  element("image")?.addEventListener("change", async (event) => {
    view.image = view.images.find((layer) => layer.key === event.target.value);
    await view.loadImage();
    view.go(view.slice);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("[type=search], select")) return;
    const step = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 }[event.key];
    const mode = [...viewer.querySelectorAll("input[name=mode]")][Number(event.key) - 1];
    const free = event.target === document.body || event.target === element("volume"); // an input has its own arrows
    if (step && free) view.go(view.slice + step);
    else if (event.key === "w") view.go(view.sight.slices.worst);
    else if (mode) view.show(mode.value);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
}

/** The pictures that the server made, and why there is nothing better. */
function fallBack(reason) {
  viewer.hidden = true;
  element("stills").classList.add("shown");
  element("why").hidden = false;
  element("why").textContent = reason;
}

async function main() {
  if (!document.createElement("canvas").getContext("webgl2")) {
    fallBack("This browser cannot draw volumes (it has no WebGL2): these are still pictures of the case.");
    return;
  }
  viewer.hidden = false;
  try {
    const response = await fetch(`${source}sight.json`);
    if (response.status === 500) throw new Error((await response.text()).trim());
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const { View } = await import("./scene.js"); // with NiiVue, which is large, and may not run everywhere
    const view = new View(await response.json(), source);
    view.onChange = () => drawLegend(view);
    await view.begin();
    drawStrip(view);
    connect(view);
    view.located();
    element("loading").hidden = true;
    viewer.dataset.state = "drawn";
  } catch (error) {
    fallBack(`The slices could not be drawn (${error.message}): these are still pictures of the case.`);
    throw error;
  }
}

main();
