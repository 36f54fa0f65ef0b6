// Outlines of masks, drawn over a slice of any of the three planes.

// Which axes of a volume run across and up a plane, and which one through it.
export const PLANES = { axial: [0, 1, 2], coronal: [0, 2, 1], sagittal: [1, 2, 0] };

/** A mask on the voxels of a volume, x running fastest; its lines in a slice are found once. */
export class Mask {
  constructor(voxels, shape) {
    this.voxels = voxels;
    this.shape = shape;
    this.known = new Map();
  }

  /** Closed lines in a slice of a plane, half way between voxel centres; points are in voxels across and up. */
  lines(plane, index) {
    const name = `${plane} ${index}`;
    if (!this.known.has(name)) this.known.set(name, outlines(this.section(plane, index)));
    return this.known.get(name);
  }

  /** The voxels of a slice with a margin of one, and its width. */
  section(plane, index) {
    const [across, up, through] = PLANES[plane];
    const steps = [1, this.shape[0], this.shape[0] * this.shape[1]];
    const width = this.shape[across] + 2;
    const height = this.shape[up] + 2;
    const inside = new Uint8Array(width * height);
    for (let v = 0; v < this.shape[up]; v++) {
      let at = index * steps[through] + v * steps[up];
      for (let u = 0; u < this.shape[across]; u++, at += steps[across]) {
        if (this.voxels[at]) inside[(v + 1) * width + u + 1] = 1;
      }
    }
    return { inside, width, height };
  }
}

/** Marching squares: where two voxels touch at a corner only, the line keeps them together. */
function outlines({ inside, width, height }) {
  const after = new Map();
  const span = 2 * width + 2; // points lie on sides of squares, counted in halves of a voxel
  for (let v = 0; v + 1 < height; v++) {
    for (let u = 0; u + 1 < width; u++) {
      const at = v * width + u;
      const corners = [inside[at], inside[at + 1], inside[at + width + 1], inside[at + width]];
      const count = corners[0] + corners[1] + corners[2] + corners[3];
      if (count === 0 || count === 4) continue;
      const sides = [
        2 * v * span + 2 * u + 1,
        (2 * v + 1) * span + 2 * u + 2,
        (2 * v + 2) * span + 2 * u + 1,
        (2 * v + 1) * span + 2 * u,
      ];
      for (let side = 0; side < 4; side++) {
        if (!corners[side] || corners[(side + 1) % 4]) continue;
        let back = side + 1;
        while (!corners[(back + 1) % 4]) back++;
        after.set(sides[side], sides[back % 4]);
      }
    }
  }
  const found = [];
  for (const start of after.keys()) {
    if (!after.has(start)) continue;
    const line = [];
    let point = start;
    while (after.has(point)) {
      line.push([(point % span) / 2 - 1, Math.floor(point / span) / 2 - 1]);
      const next = after.get(point);
      after.delete(point);
      point = next;
    }
    found.push(line);
  }
  return found;
}

/** What is in the first mask and not in the second. */
export function without(first, second) {
  const voxels = new Uint8Array(first.voxels.length);
  for (let at = 0; at < voxels.length; at++) voxels[at] = first.voxels[at] && !second.voxels[at] ? 1 : 0;
  return new Mask(voxels, first.shape);
}

/** Add lines to the path of a drawing; `place` turns voxels across and up into pixels. */
export function trace(drawing, lines, place) {
  drawing.beginPath();
  for (const line of lines) {
    line.forEach(([u, v], number) => {
      const [x, y] = place(u, v);
      if (number === 0) drawing.moveTo(x, y);
      else drawing.lineTo(x, y);
    });
    drawing.closePath();
  }
}

/** Thin lines that leave what they point at free. */
export function cross(drawing, [left, top, width, height], [x, y]) {
  const gap = 14 * devicePixelRatio;
  const ends = [Math.min(left, left + width), Math.max(left, left + width), top, top + height];
  drawing.beginPath();
  for (const [from, to] of [[ends[0], x - gap], [x + gap, ends[1]]]) {
    drawing.moveTo(from, y);
    drawing.lineTo(to, y);
  }
  for (const [from, to] of [[ends[2], y - gap], [y + gap, ends[3]]]) {
    drawing.moveTo(x, from);
    drawing.lineTo(x, to);
  }
  drawing.strokeStyle = "rgb(255 255 255 / 30%)";
  drawing.lineWidth = devicePixelRatio;
  drawing.stroke();
}

/** Fill and stroke the path of a drawing: a "line", "dashes", either of them "filled-", or an "area" without any. */
export function paint(drawing, colour, style) {
  const scale = devicePixelRatio;
  drawing.lineJoin = "round";
  if (style !== "line" && style !== "dashes") {
    drawing.globalAlpha = style === "area" ? 0.7 : 0.4;
    drawing.fillStyle = colour;
    drawing.fill("evenodd");
    drawing.globalAlpha = 1;
  }
  if (style === "area") return;
  drawing.setLineDash([]);
  drawing.strokeStyle = "rgb(0 0 0 / 60%)";
  drawing.lineWidth = 3.5 * scale;
  drawing.stroke();
  drawing.setLineDash(style.endsWith("dashes") ? [6 * scale, 4 * scale] : []);
  drawing.strokeStyle = colour;
  drawing.lineWidth = 1.8 * scale;
  drawing.stroke();
  drawing.setLineDash([]);
}
