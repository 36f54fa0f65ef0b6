// Keeps the draft of a case: a second after a change, and every half minute while somebody reads. It counts the time of
// reading, too: as long as the page is seen and something happened within the last minute.

const SOON = 1000;
const OFTEN = 30;
const IDLE = 60_000;
const PAUSES = [2, 4, 8, 15, 30]; // seconds; the last one again and again

const element = (id) => document.getElementById(id);

export class Draft {
  /** `answer` gives {marks, score}; `gone` is told when nothing can be saved any more, and why. */
  constructor(form, root, answer, gone) {
    Object.assign(this, { form, answer, gone });
    this.address = root.dataset.draft;
    this.before = Number(root.dataset.seconds); // of former visits
    this.spent = this.unsent = this.failures = 0;
    this.dirty = this.over = false;
    this.saving = null;
    this.last = this.ticked = performance.now();
    for (const event of ["pointermove", "pointerdown", "keydown", "wheel", "scroll", "input"]) {
      document.addEventListener(event, () => (this.last = performance.now()), { passive: true, capture: true });
    }
    document.addEventListener("visibilitychange", () => {
      this.ticked = performance.now();
      if (document.hidden && this.dirty) this.save();
    });
    window.addEventListener("online", () => this.dirty && this.save());
    window.addEventListener("beforeunload", (event) => this.dirty && !this.over && event.preventDefault());
    setInterval(() => this.tick(), 1000);
  }

  field(name) {
    return this.form.elements.namedItem(name);
  }

  tick() {
    const now = performance.now();
    const passed = Math.min(2, (now - this.ticked) / 1000);
    this.ticked = now;
    if (document.hidden || now - this.last > IDLE || this.over) return;
    this.spent += passed;
    this.unsent += passed;
    const seconds = Math.floor(this.before + this.spent);
    element("time").textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    if (this.unsent >= OFTEN && !this.failures) this.save();
  }

  changed() {
    this.dirty = true;
    this.say("Not saved yet …");
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.save(), SOON);
  }

  say(text) {
    if (element("saved").textContent !== text) element("saved").textContent = text;
  }

  /** Save, after what is being saved already. */
  save() {
    clearTimeout(this.soon);
    if (this.over) return Promise.resolve();
    this.saving = (this.saving ?? Promise.resolve()).then(() => this.send());
    return this.saving;
  }

  async send() {
    if (this.over) return;
    const seconds = this.unsent;
    const body = { turn: this.field("turn").value, revision: Number(this.field("revision").value), seconds, ...this.answer() };
    this.dirty = false; // what changes from here on is saved next
    let answer = null;
    try {
      answer = await fetch(this.address, {
        method: "POST",
        redirect: "manual",
        keepalive: true,
        headers: { "Content-Type": "application/json", "X-CSRFToken": this.field("csrfmiddlewaretoken").value },
        body: JSON.stringify(body),
      });
    } catch {
      // no connection
    }
    if (answer?.ok) {
      this.field("revision").value = (await answer.json()).revision;
      this.unsent -= seconds;
      this.failures = 0;
      if (!this.dirty) this.say("Saved.");
      return;
    }
    this.dirty = true;
    await this.failed(answer);
  }

  async failed(answer) {
    if (answer?.status === 400) {
      this.say(`Not saved: ${(await answer.json()).problems.join(" ")}`);
      return;
    }
    if (answer?.status === 409 || answer?.status === 410) {
      this.over = true;
      this.say("Not saved.");
      this.gone(answer.status === 409 ? "older" : "gone");
      return;
    }
    const out = answer?.type === "opaqueredirect" || answer?.status === 403;
    this.say(out ? "Not saved: you are signed out. Sign in again in another window; this one goes on then."
      : "Not saved: no connection. It is tried again.");
    const pause = PAUSES[Math.min(this.failures++, PAUSES.length - 1)];
    this.soon = setTimeout(async () => {
      if (out) await this.again();
      this.save();
    }, 1000 * pause);
  }

  /** After signing in anew, forms have another token. */
  async again() {
    const page = await fetch(location.href).then((answer) => answer.text()).catch(() => "");
    const found = new DOMParser().parseFromString(page, "text/html").querySelector("#answer [name=csrfmiddlewaretoken]");
    if (found) this.field("csrfmiddlewaretoken").value = found.value;
  }

  /** Save what is not saved yet, and fill in what the form sends; false if the site is away. */
  async finish() {
    clearTimeout(this.soon);
    await (this.dirty ? this.save() : this.saving);
    if (this.failures && !this.over) return false;
    clearTimeout(this.soon);
    this.over = true;
    this.field("seconds").value = this.unsent.toFixed(1);
    this.field("marks").value = JSON.stringify(this.answer().marks);
    return true;
  }
}
