// The slices of a case. NiiVue draws the volumes; outlines lie on a second canvas over them.

import "./vendor/niivue.umd.js";
import { Mask, PLANES, cross, paint, trace, without } from "./contours.js";

const { Niivue, NVImage, SLICE_TYPE, SHOW_RENDER } = globalThis.niivue;
const REFERENCE = "#56d4ff";
const OUTPUT = "#ffa64d";
const NAMES = ["axial", "coronal", "sagittal"]; // as NiiVue numbers its planes
const TYPES = {
  axial: SLICE_TYPE.AXIAL,
  coronal: SLICE_TYPE.CORONAL,
  sagittal: SLICE_TYPE.SAGITTAL,
};
// Viridis for doses; blue and red for differences. The first colour is never seen: NiiVue leaves out what lies below it.
const MAPS = {
  dose: "440154 440154 414487 2a788e 22a884 7ad151 fde725",
  less: "7ab8ff 7ab8ff 3d8bff 0a4dff",
  more: "ffb37a ffb37a ff6a3d e00000",
};
const LEAST = { dose: 0.05, difference: 0.1 }; // of the last colour; what is below is not shown

const element = (id) => document.getElementById(id);

/** Colours as NiiVue takes them, evenly spaced. */
function colourMap(colours) {
  const list = colours.split(" ");
  const channel = (at) => list.map((colour) => parseInt(colour.slice(2 * at, 2 * at + 2), 16));
  return {
    R: channel(0),
    G: channel(1),
    B: channel(2),
    A: list.map((_, number) => (number === 0 ? 0 : 255)),
    I: list.map((_, number) => Math.round((255 * number) / (list.length - 1))),
  };
}

export class View {
  constructor(sight, source) {
    this.source = source;
    this.least = LEAST;
    this.sight = sight;
    this.slice = sight.slices.worst;
    this.compared = sight.compared; // without it there is one of reference and output, or there are scans only
    this.alone = sight.alone;
    this.mode = sight.kind === "masks" ? "outlines" : this.compared ? "difference" : this.alone;
    this.masks = {};
    this.images = sight.layers.filter((layer) => layer.role === "image");
    this.image = this.images[0];
    this.onChange = () => {}; // told when something else is shown
    this.structure = sight.layers.find((layer) => layer.role === "structure")?.key ?? "";
  }

  async begin() {
    this.nv = new Niivue({
      backColor: [0.07, 0.08, 0.09, 1],
      crosshairWidth: 0,
      dragAndDropEnabled: false,
      fontColor: [0.85, 0.88, 0.9, 1],
      isOrientationTextVisible: this.sight.oriented,
      isRadiologicalConvention: true,
      loadingText: "",
      logLevel: "error",
      multiplanarShowRender: SHOW_RENDER.NEVER,
      clipPlaneHotKey: "",
      viewModeHotKey: "",
    });
    for (const [name, colours] of Object.entries(MAPS)) this.nv.addColormap(`isocenter-${name}`, colourMap(colours));
    await this.nv.attachToCanvas(element("volume"));
    const draw = this.nv.drawScene.bind(this.nv);
    this.nv.drawScene = () => {
      const said = draw();
      this.drawLines();
      return said;
    };
    await this.loadImage();
    await this.loadOverlays();
    this.nv.onLocationChange = () => this.located();
    const voxels = this.sight.start;
    this.nv.scene.crosshairPos = voxels.map((at, axis) => (at + 0.5) / this.sight.shape[axis]);
    this.planes(matchMedia("(min-width: 44rem)").matches ? "all" : NAMES[2 - this.sight.slices.axis]);
    this.show(this.mode);
    this.go(this.slice);
    element("zoom").value = this.sight.zoom;
    this.zoom(this.sight.zoom);
  }

  url(key) {
    return `${this.source}${key}.nii.gz`;
  }

  load(key) {
    return NVImage.loadFromUrl({ url: this.url(key), name: `${key}.nii.gz` });
  }

  /** The scan, or where there is none the reference, or else the output, faintly. */
  async loadImage() {
    const back = await this.load(this.image?.key ?? (this.compared ? "reference" : this.alone));
    back.colormap = "gray";
    [back.cal_min, back.cal_max] = this.image ? [this.image.low, this.image.high] : this.plain();
    const before = this.nv.volumes[0];
    this.nv.addVolume(back);
    if (before) {
      this.nv.setVolume(back, 0);
      this.nv.removeVolume(before);
    }
    const presets = element("window"); // they are in Hounsfield units
    if (presets) presets.closest("label").hidden = !this.image.hounsfield;
  }

  plain() {
    return this.sight.kind === "masks" ? [0, 4] : [0, 4 * this.sight.ceiling.dose];
  }

  async loadOverlays() {
    if (this.sight.kind === "masks" && !this.compared) {
      if (this.alone) this.masks = { [this.alone]: await this.mask(this.alone) };
      return;
    }
    if (this.sight.kind === "masks") {
      const [reference, output] = await Promise.all([this.mask("reference"), this.mask("output")]);
      this.masks = { reference, output, missed: without(reference, output), extra: without(output, reference) };
      return;
    }
    const { dose, difference } = this.sight.ceiling;
    this.overlays = {};
    for (const key of this.compared ? ["reference", "output", "difference"] : [this.alone]) {
      const volume = await this.load(key);
      const signed = key === "difference";
      volume.colormap = signed ? "isocenter-more" : "isocenter-dose";
      volume.cal_max = signed ? difference : dose;
      volume.cal_min = signed ? LEAST.difference * difference : LEAST.dose * dose;
      if (signed) {
        volume.colormapNegative = "isocenter-less";
        [volume.cal_minNeg, volume.cal_maxNeg] = [-difference, -volume.cal_min];
      }
      this.overlays[key] = volume;
    }
    if (this.structure) this.masks.structure = await this.mask(this.structure);
  }

  async mask(key) {
    return new Mask((await this.load(key)).img, this.sight.shape);
  }

  show(mode) {
    this.mode = mode;
    const choice = document.querySelector(`#modes [value="${mode}"]`);
    if (choice) choice.checked = true; // scans alone have nothing to choose
    if (this.overlays) this.wash(this.overlays[mode]);
    this.onChange();
    this.nv.drawScene();
  }

  /** One dose at a time: every further layer would be blended anew with each change. */
  wash(volume) {
    const before = this.nv.volumes[1];
    volume.opacity = Number(element("strength").value) / 100;
    if (before === volume) {
      this.nv.updateGLVolume();
      return;
    }
    if (before) this.nv.removeVolume(before);
    this.nv.addVolume(volume);
  }

  planes(name) {
    element("planes").value = name;
    if (name !== "all") {
      this.nv.clearCustomLayout();
      this.nv.setSliceType(TYPES[name]);
      return;
    }
    const first = NAMES[2 - this.sight.slices.axis];
    const [second, third] = NAMES.filter((other) => other !== first);
    this.nv.setCustomLayout([
      { sliceType: TYPES[first], position: [0, 0, 0.63, 1] },
      { sliceType: TYPES[second], position: [0.635, 0, 0.365, 0.495] },
      { sliceType: TYPES[third], position: [0.635, 0.505, 0.365, 0.495] },
    ]);
  }

  /** Enlarge what lies around the cross. */
  zoom(factor) {
    const [here, middle] = [this.nv.scene.crosshairPos, [0.5, 0.5, 0.5]].map((place) => this.nv.frac2mm(place));
    const away = factor > 1 ? [0, 1, 2].map((axis) => middle[axis] - factor * here[axis]) : [0, 0, 0];
    this.nv.setPan2Dxyzmm([...away, factor]);
  }

  window(value) {
    const back = this.nv.volumes[0];
    const given = value === "auto" ? [this.image.low, this.image.high] : value.split(",").map(Number);
    [back.cal_min, back.cal_max] = given;
    this.nv.updateGLVolume();
  }

  async outline(key) {
    this.structure = key;
    this.masks.structure = key ? await this.mask(key) : undefined;
    this.onChange();
    this.nv.drawScene();
  }

  /** Go to a slice, as slices of the array are counted. */
  go(slice) {
    const { axis, flipped, count } = this.sight.slices;
    this.slice = Math.max(0, Math.min(count - 1, slice));
    const at = flipped ? count - 1 - this.slice : this.slice;
    this.nv.scene.crosshairPos[axis] = (at + 0.5) / count;
    this.nv.drawScene();
    this.nv.createOnLocationChange();
  }

  /** Voxel under the cross. */
  voxel() {
    return this.sight.shape.map((n, axis) =>
      Math.max(0, Math.min(n - 1, Math.floor(this.nv.scene.crosshairPos[axis] * n))),
    );
  }

  located() {
    const { axis, flipped, count, said } = this.sight.slices;
    const voxel = this.voxel();
    this.slice = flipped ? count - 1 - voxel[axis] : voxel[axis];
    element("slice").value = this.slice;
    element("slice").setAttribute("aria-valuetext", `slice ${this.slice}: ${said[this.slice]}`);
    element("number").value = `${this.slice} of ${count - 1}`;
    element("said").textContent = `Slice ${this.slice}: ${said[this.slice]}.`;
    element("here").textContent = this.values(voxel);
    document.querySelectorAll("#strip .now").forEach((mark) => mark.setAttribute("x", this.slice));
  }

  /** What the volumes hold under the cross. */
  values([x, y, z]) {
    const at = x + this.sight.shape[0] * (y + this.sight.shape[1] * z);
    const found = [];
    if (this.image) found.push(`${this.image.name} ${this.nv.volumes[0].img[at].toFixed(0).replace("-", "−")}`);
    if (!this.compared) {
      const given = this.overlays?.[this.alone].img[at];
      const outlined = this.masks[this.alone]?.voxels[at] > 0 ? "outlined" : "not outlined";
      if (this.alone) found.push(this.overlays ? `${given.toFixed(1)} Gy` : outlined);
    } else if (this.overlays) {
      const [reference, output] = ["reference", "output"].map((key) => this.overlays[key].img[at]);
      const more = output - reference;
      const sign = more < 0 ? "−" : "+";
      found.push(`reference ${reference.toFixed(1)} Gy`, `submission ${output.toFixed(1)} Gy`);
      found.push(`difference ${sign}${Math.abs(more).toFixed(1)} Gy`);
    } else {
      const inside = ["reference", "output"].map((key) => this.masks[key].voxels[at] > 0);
      found.push(["in neither", "in the submission only", "in the reference only", "in both"][2 * inside[0] + inside[1]]);
    }
    return `At the cross: ${found.join(", ")}.`;
  }

  drawLines() {
    const canvas = element("lines");
    const { width, height } = element("volume");
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const drawing = canvas.getContext("2d");
    drawing.clearRect(0, 0, width, height);
    this.nv.screenSlices.forEach((tile, number) => {
      const plane = NAMES[tile.axCorSag];
      if (plane) this.drawTile(drawing, tile.leftTopWidthHeight, plane, number);
    });
  }

  drawTile(drawing, [left, top, width, height], plane, number) {
    const [across, up, through] = PLANES[plane];
    const [x, y] = [left + width / 4, top + height / 4]; // well inside: at its rim a tile knows no place
    const [low, high] = [
      this.nv.screenXY2TextureFrac(x, y, number, false),
      this.nv.screenXY2TextureFrac(x + width / 2, y + height / 2, number, false),
    ];
    const scale = [width / 2 / (high[across] - low[across]), height / 2 / (high[up] - low[up])];
    if (!scale.every(Number.isFinite)) return;
    const place = (u, v) => [
      x + scale[0] * ((u + 0.5) / this.sight.shape[across] - low[across]),
      y + scale[1] * ((v + 0.5) / this.sight.shape[up] - low[up]),
    ];
    drawing.save();
    drawing.beginPath();
    drawing.rect(left, top, width, height);
    drawing.clip();
    const voxel = this.voxel();
    cross(drawing, [left, top, width, height], place(voxel[across], voxel[up]));
    for (const [mask, colour, style] of this.drawn()) {
      trace(drawing, mask.lines(plane, voxel[through]), place);
      paint(drawing, colour, style);
    }
    drawing.restore();
  }

  /** Masks with colour and style, the last on top. */
  drawn() {
    const { reference, output, missed, extra, structure } = this.masks;
    if (this.sight.kind === "dose") return structure ? [[structure, "#fff", "line"]] : [];
    const there = ([mask]) => mask; // the others are not loaded yet, or not part of it
    if (this.mode === "difference") return [[missed, REFERENCE, "area"], [extra, OUTPUT, "area"]].filter(there);
    const fill = this.mode === "filled" ? "filled-" : "";
    return [[reference, REFERENCE, `${fill}line`], [output, OUTPUT, `${fill}dashes`]].filter(there);
  }
}
