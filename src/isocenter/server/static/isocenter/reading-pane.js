// One scan on the page: a slice of it, the cross, marks near the slice, and a scale.

import { PLANES, SIDES } from "./reading-scan.js";

const CROSS = "#4fd1e0";
const MARK = "#ffb454";
const RING = 5; // millimetres
const LENGTHS = [5, 10, 20, 50, 100]; // of the scale, in millimetres

export class Pane {
  constructor(box) {
    this.box = box;
    this.name = box.dataset.name;
    this.canvas = box.querySelector("canvas");
    this.words = box.querySelector(".loading");
    this.scan = null;
  }

  say(text) {
    this.words.textContent = text;
    this.words.hidden = !text;
  }

  show(scan) {
    this.scan = scan;
    this.window = [...scan.window];
    this.say("");
  }

  get size() {
    return [this.canvas.clientWidth, this.canvas.clientHeight];
  }

  /** How many pixels a millimetre has when a scan just fits. */
  fit(scan, plane) {
    const [across, up] = PLANES[plane];
    const [width, height] = this.size;
    return Math.min(width / (scan.shape[across] * scan.spacing[across]), height / (scan.shape[up] * scan.spacing[up]));
  }

  /** The slice that is shown, and how many there are. */
  slice(look) {
    const through = PLANES[look.plane][2];
    const count = this.scan.shape[through];
    const at = Math.round(this.scan.voxel(look.cross)[through]);
    return { at: Math.max(0, Math.min(count - 1, at)), count, outside: at < 0 || at >= count };
  }

  /** The place under a point of the canvas, on the slice that is shown. */
  placeAt([x, y], look) {
    const [across, up, through] = PLANES[look.plane];
    const middle = this.scan.voxel(look.centre);
    const [width, height] = this.size;
    const voxel = [0, 0, 0];
    voxel[across] = middle[across] - (x - width / 2) / (this.scan.spacing[across] * look.scale);
    voxel[up] = middle[up] - (y - height / 2) / (this.scan.spacing[up] * look.scale);
    voxel[through] = this.slice(look).at;
    const held = voxel.map((at, axis) => Math.max(-0.5, Math.min(this.scan.shape[axis] - 0.5, at)));
    return this.scan.place(held);
  }

  /** Where a voxel is on the canvas. */
  point(voxel, look) {
    const [across, up] = PLANES[look.plane];
    const middle = this.scan.voxel(look.centre);
    const [width, height] = this.size;
    return [
      width / 2 + (middle[across] - voxel[across]) * this.scan.spacing[across] * look.scale,
      height / 2 + (middle[up] - voxel[up]) * this.scan.spacing[up] * look.scale,
    ];
  }

  draw(look, marks) {
    const [width, height] = this.size;
    if (!this.scan || !width || !height) return;
    const dots = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * dots), Math.round(height * dots)];
    if (this.canvas.width !== wide || this.canvas.height !== high) Object.assign(this.canvas, { width: wide, height: high });
    const drawing = this.canvas.getContext("2d");
    drawing.setTransform(dots, 0, 0, dots, 0, 0);
    drawing.fillStyle = "#0b0d0f";
    drawing.fillRect(0, 0, width, height);
    this.drawSlice(drawing, look);
    this.drawCross(drawing, look);
    marks.forEach((mark, number) => this.drawMark(drawing, look, mark, number + 1));
    this.drawRim(drawing, look);
  }

  drawSlice(drawing, look) {
    const [across, up] = PLANES[look.plane];
    const { shape, spacing } = this.scan;
    const corner = [0, 0, 0];
    corner[across] = shape[across] - 0.5;
    corner[up] = shape[up] - 0.5;
    const [left, top] = this.point(corner, look);
    const picture = this.scan.picture(look.plane, this.slice(look).at, ...this.window);
    drawing.imageSmoothingQuality = "high";
    drawing.drawImage(
      picture, left, top, shape[across] * spacing[across] * look.scale, shape[up] * spacing[up] * look.scale,
    );
  }

  drawCross(drawing, look) {
    const [x, y] = this.point(this.scan.voxel(look.cross), look);
    const [width, height] = this.size;
    drawing.strokeStyle = CROSS;
    drawing.globalAlpha = 0.75;
    drawing.lineWidth = 1;
    drawing.beginPath();
    for (const [from, to] of [[[0, y], [x - 9, y]], [[x + 9, y], [width, y]], [[x, 0], [x, y - 9]], [[x, y + 9], [x, height]]]) {
      drawing.moveTo(...from);
      drawing.lineTo(...to);
    }
    drawing.stroke();
    drawing.globalAlpha = 1;
  }

  /** A ring with its number: whole on the slice of the mark, of dashes on the slices beside it. */
  drawMark(drawing, look, mark, number) {
    const voxel = this.scan.voxel([mark.x, mark.y, mark.z]);
    const away = Math.abs(voxel[PLANES[look.plane][2]] - this.slice(look).at);
    if (away > 1.5) return;
    const [x, y] = this.point(voxel, look);
    const radius = Math.max(8, RING * look.scale);
    for (const [colour, width] of [["#000", 4], [MARK, 2]]) {
      drawing.strokeStyle = colour;
      drawing.lineWidth = width;
      drawing.setLineDash(away > 0.5 ? [4, 4] : []);
      drawing.beginPath();
      drawing.arc(x, y, radius, 0, 2 * Math.PI);
      drawing.stroke();
    }
    drawing.setLineDash([]);
    write(drawing, String(number), x + 0.75 * radius + 3, y - 0.75 * radius - 3, MARK, "left", 15);
  }

  drawRim(drawing, look) {
    const [width, height] = this.size;
    const [left, right, top, bottom] = SIDES[look.plane];
    write(drawing, left, 6, height / 2, "#c8ced6");
    write(drawing, right, width - 6, height / 2, "#c8ced6", "right");
    write(drawing, top, width / 2, 12, "#c8ced6", "center");
    write(drawing, bottom, width / 2, height - 10, "#c8ced6", "center");
    const { at, count, outside } = this.slice(look);
    write(drawing, outside ? "the cross is outside" : `${at + 1}/${count}`, 6, height - 10, "#c8ced6");
    const length = LENGTHS.findLast((one) => one * look.scale < width / 3) ?? LENGTHS[0];
    drawing.strokeStyle = "#c8ced6";
    drawing.lineWidth = 2;
    drawing.beginPath();
    drawing.moveTo(width - 8 - length * look.scale, height - 22);
    drawing.lineTo(width - 8, height - 22);
    drawing.stroke();
    write(drawing, `${length} mm`, width - 8, height - 10, "#c8ced6", "right");
  }
}

function write(drawing, text, x, y, colour, align = "left", size = 12) {
  Object.assign(drawing, { font: `600 ${size}px system-ui, sans-serif`, textAlign: align, textBaseline: "middle" });
  Object.assign(drawing, { lineWidth: 3, strokeStyle: "#000", fillStyle: colour, lineJoin: "round" });
  drawing.strokeText(text, x, y);
  drawing.fillText(text, x, y);
}
