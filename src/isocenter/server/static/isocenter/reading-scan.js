// A scan as the site sends it: NIfTI whose axes run to the right, to the front and to the head of the patient.
//
// Places are LPS millimetres everywhere else on the page, as they are kept; the file is in RAS. It is turned here only.

const TYPES = { 2: Uint8Array, 4: Int16Array, 16: Float32Array };

/** By plane: the axis across the picture, the one up it, and the one through it. */
export const PLANES = { axial: [0, 1, 2], coronal: [0, 2, 1], sagittal: [1, 2, 0] };
/** What stands at the left, right, upper and lower rim: the patient is looked at from the feet, or from the front. */
export const SIDES = { axial: "RLAP", coronal: "RLSI", sagittal: "APSI" };

/** A scan from its address; waits while the site is busy or away, and tells of it. */
export async function load(address, say) {
  for (let pause = 1; ; pause = Math.min(2 * pause, 30)) {
    let answer;
    try {
      answer = await fetch(address);
      if (answer.ok) return new Scan(await inflated(answer));
    } catch (problem) {
      if (problem instanceof RangeError) throw problem; // too large for this machine
    }
    if (answer && ![429, 502, 503, 504].includes(answer.status) && !answer.ok) {
      const told = await answer.json().catch(() => ({}));
      throw new Error(told.problems?.join(" ") ?? "This scan is not there any more. Open the page again.");
    }
    say(answer?.status === 503 ? "Waiting for the site …" : "No connection; trying again …");
    await new Promise((done) => setTimeout(done, 1000 * Number(answer?.headers.get("Retry-After") ?? pause)));
    say("Loading …");
  }
}

function inflated(answer) {
  return new Response(answer.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

export class Scan {
  constructor(buffer) {
    const head = new DataView(buffer);
    const type = TYPES[head.getInt16(70, true)];
    this.shape = [1, 2, 3].map((axis) => head.getInt16(40 + 2 * axis, true));
    this.voxels = new type(buffer, head.getFloat32(108, true), this.shape[0] * this.shape[1] * this.shape[2]);
    this.strides = [1, this.shape[0], this.shape[0] * this.shape[1]];
    this.window = [head.getFloat32(128, true), head.getFloat32(124, true)];
    const rows = [0, 1, 2].map((row) => [0, 1, 2, 3].map((at) => head.getFloat32(280 + 16 * row + 4 * at, true)));
    this.rows = rows.map((row, axis) => (axis < 2 ? row.map((value) => -value) : row)); // from RAS to LPS
    this.spacing = [0, 1, 2].map((axis) => Math.hypot(...rows.map((row) => row[axis])));
    this.inverse = inverse(this.rows);
    [this.least, this.most] = [Infinity, -Infinity];
    for (const value of this.voxels) {
      if (value < this.least) this.least = value;
      if (value > this.most) this.most = value;
    }
    this.pictures = new Map();
  }

  /** Where a voxel lies, in LPS millimetres; whole numbers are middles of voxels. */
  place(voxel) {
    return this.rows.map((row) => row[0] * voxel[0] + row[1] * voxel[1] + row[2] * voxel[2] + row[3]);
  }

  /** The voxel at a place; between two, if it is. */
  voxel(place) {
    const away = place.map((value, axis) => value - this.rows[axis][3]);
    return this.inverse.map((row) => row[0] * away[0] + row[1] * away[1] + row[2] * away[2]);
  }

  inside(place) {
    return this.voxel(place).every((at, axis) => at >= -0.5 && at <= this.shape[axis] - 0.5);
  }

  get middle() {
    return this.place(this.shape.map((n) => (n - 1) / 2));
  }

  /** A slice as a picture, a pixel per voxel, from black at `low` to white at `high`; the last ones are kept. */
  picture(plane, slice, low, high) {
    const key = [plane, slice, low, high].join();
    if (!this.pictures.has(key)) {
      if (this.pictures.size > 7) this.pictures.delete(this.pictures.keys().next().value);
      this.pictures.set(key, this.painted(PLANES[plane], slice, low, high));
    }
    return this.pictures.get(key);
  }

  painted([across, up, through], slice, low, high) {
    const [width, height] = [this.shape[across], this.shape[up]];
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const drawing = canvas.getContext("2d");
    const image = drawing.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const scale = 255 / (high - low);
    for (let v = 0, at = 0; v < height; v++) {
      // Pictures begin at the upper left, which is the last voxel of both axes.
      let from = slice * this.strides[through] + (height - 1 - v) * this.strides[up] + (width - 1) * this.strides[across];
      for (let u = 0; u < width; u++, from -= this.strides[across]) {
        const grey = Math.max(0, Math.min(255, (this.voxels[from] - low) * scale)) | 0;
        pixels[at++] = 0xff000000 | (grey * 0x010101);
      }
    }
    drawing.putImageData(image, 0, 0);
    return canvas;
  }
}

/** The inverse of the left three columns. */
function inverse([[a, b, c], [d, e, f], [g, h, i]]) {
  const whole = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
  return [
    [e * i - f * h, c * h - b * i, b * f - c * e],
    [f * g - d * i, a * i - c * g, c * d - a * f],
    [d * h - e * g, b * g - a * h, a * e - b * d],
  ].map((row) => row.map((value) => value / whole));
}
