// Sends the file of a form in pieces before the form itself is sent, so that a broken connection costs one piece.
//
// The form:
//   <form method="post" enctype="multipart/form-data" data-upload
//         data-challenge="SLUG" data-phase="PHASE" data-purpose="submission">
//     {% csrf_token %}
//     <input type="hidden" name="upload">            gets the id of the upload; made, if there is none
//     <input type="file" name="file" required>       is not sent with the form any more
//     …
//     <div data-upload-progress></div>               where progress is shown; at the end of the form, if there is none
//   </form>
//   <script type="module" src="{% static 'isocenter/upload.js' %}"></script>
//
// data-challenge, data-phase and data-purpose (submission, if left out) say what the file is for; a control of the form
// with the attribute data-upload-phase gives the phase instead, as it stands when the form is sent. data-upload may name
// another address than /uploads/. Without this script the form is sent as it is, with its file: the view takes the file
// if there is one, else `upload`. A form whose file input is empty is left alone, and keeps the upload that it has.
//
// While it sends: <progress>, words that a screen reader says (sending, paused, waiting for the network), Pause /
// Continue and Cancel. Without a network it waits, and goes on when there is one again. What was begun is remembered
// in this browser by name, size and date of the file, and continued after a reload when the same file is chosen again.
// Events on the form: "upload:done" with detail {id}, "upload:failed" with detail {message}; both bubble.

const PIECE = 8 * 1024 * 1024;
const PAUSES = [1, 2, 4, 8, 15, 30, 60, 60, 60, 60]; // seconds; after the last one it waits for the person
const AGAIN = new Set([0, 409, 423, 429, 460, 500, 502, 503, 504]); // 0: no connection

class Refused extends Error {
  constructor(status, message, wait = 0) {
    super(message);
    this.status = status;
    this.wait = wait;
  }
}

const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const online = () => new Promise((done) => window.addEventListener("online", done, { once: true }));
const megabytes = (bytes) => (bytes / 1e6).toFixed(bytes < 1e8 ? 1 : 0);
const hiddenInput = (name, value) => Object.assign(document.createElement("input"), { type: "hidden", name, value });
const encoded = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

for (const form of document.querySelectorAll("form[data-upload]")) {
  form.addEventListener("submit", (event) => {
    const input = form.querySelector("input[type=file]");
    if (event.defaultPrevented || !input?.files.length) return;
    event.preventDefault();
    if (!form.dataset.uploading) new Sending(form, input, event.submitter).run();
  });
}

class Sending {
  constructor(form, input, submitter) {
    Object.assign(this, { form, input, submitter, file: input.files[0] });
    this.hidden = form.querySelector("input[name=upload]") ?? form.appendChild(hiddenInput("upload", ""));
    this.token = form.querySelector("input[name=csrfmiddlewaretoken]").value;
    this.phase = form.querySelector("[data-upload-phase]")?.value ?? form.dataset.phase ?? "";
    const { challenge = "", purpose = "submission" } = form.dataset;
    this.said = { challenge, phase: this.phase, purpose, filename: this.file.name };
    this.key = `upload:${challenge}:${this.phase}:${purpose}:${this.file.name}:${this.file.size}:${this.file.lastModified}`;
    this.paused = this.cancelled = false;
    this.stop = null;
    this.show();
  }

  show() {
    this.box = this.form.querySelector("[data-upload-progress]") ?? this.form.appendChild(document.createElement("div"));
    this.bar = Object.assign(document.createElement("progress"), { max: this.file.size, value: 0 });
    this.bar.setAttribute("aria-label", `How much of ${this.file.name} is there`);
    this.words = document.createElement("p");
    this.words.setAttribute("role", "status");
    this.pauseButton = this.button("Pause", () => this.pause(!this.paused));
    this.cancelButton = this.button("Cancel", () => this.cancel());
    const actions = document.createElement("div");
    actions.className = "actions";
    actions.append(this.pauseButton, this.cancelButton);
    this.box.replaceChildren(this.bar, this.words, actions);
  }

  button(text, act) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "small quiet", textContent: text });
    button.addEventListener("click", act);
    return button;
  }

  say(text) {
    if (this.words.textContent !== text) this.words.textContent = text;
  }

  moved(there) {
    this.bar.value = there;
    if (this.paused) return; // that is what it says, until it goes on
    const share = Math.floor((100 * there) / this.file.size);
    // A screen reader is told every ten per cent; the bar moves all the time.
    if (this.told !== Math.floor(share / 10)) {
      this.told = Math.floor(share / 10);
      this.say(`Sending ${this.file.name}: ${share} % of ${megabytes(this.file.size)} MB`);
    }
  }

  pause(paused) {
    this.paused = paused;
    this.pauseButton.textContent = paused ? "Continue" : "Pause";
    this.told = -1;
    if (paused) this.stop?.abort();
    if (paused) this.say(`Paused at ${megabytes(this.bar.value)} of ${megabytes(this.file.size)} MB. Nothing is lost.`);
    else this.moved(this.bar.value);
    if (!paused) this.wake?.();
  }

  // Until the person presses Continue or Cancel.
  woken() {
    return new Promise((wake) => { this.wake = wake; });
  }

  async cancel() {
    this.cancelled = true;
    this.stop?.abort();
    this.wake?.();
  }

  async run() {
    this.form.dataset.uploading = "yes";
    const buttons = [...this.form.querySelectorAll("button:not([type=button]), input[type=submit]")];
    for (const one of buttons) one.disabled = true;
    const warn = (event) => event.preventDefault(); // leaving the page asks first
    const offline = () => this.stop?.abort(); // what is on its way never arrives, and would not say so for minutes
    const leave = () => {
      window.removeEventListener("beforeunload", warn);
      window.removeEventListener("offline", offline);
    };
    window.addEventListener("beforeunload", warn);
    window.addEventListener("offline", offline);
    try {
      const place = await this.send();
      leave();
      this.done(place);
    } catch (error) {
      leave();
      delete this.form.dataset.uploading;
      for (const one of buttons) one.disabled = false;
      this.pauseButton.remove();
      this.cancelButton.remove();
      this.say(this.cancelled ? "Cancelled; nothing was handed in." : error.message);
      this.words.className = this.cancelled ? "" : "notice error";
      this.form.dispatchEvent(new CustomEvent("upload:failed", { bubbles: true, detail: { message: error.message } }));
    }
  }

  done(place) {
    localStorage.removeItem(this.key);
    this.hidden.value = place.replace(/\/$/, "").split("/").pop();
    this.input.disabled = true;
    this.pauseButton.remove();
    this.cancelButton.remove();
    this.say(`${this.file.name} is there; it is being looked at…`);
    this.form.dispatchEvent(new CustomEvent("upload:done", { bubbles: true, detail: { id: this.hidden.value } }));
    if (this.submitter?.name) this.form.append(hiddenInput(this.submitter.name, this.submitter.value));
    this.form.submit();
  }

  // The address of the upload, once all is there.
  async send() {
    let place = localStorage.getItem(this.key);
    let there = place ? await this.patiently(() => this.offset(place)) : null;
    if (there === null) {
      place = await this.patiently(() => this.begin());
      localStorage.setItem(this.key, place);
      there = 0;
    }
    let failures = 0;
    while (there < this.file.size) {
      this.moved(there);
      await this.unlessPaused(place);
      try {
        there = await this.piece(place, there);
        failures = 0;
      } catch (error) {
        if (this.cancelled || this.paused) continue;
        await this.wait(error, failures++);
        const found = await this.patiently(() => this.offset(place));
        if (found === null) throw new Refused(404, "The site has removed the upload. Send the form again.");
        if (found > there) failures = 0;
        there = found;
      }
    }
    this.moved(there);
    return place;
  }

  async unlessPaused(place) {
    if (this.paused && !this.cancelled) await this.woken();
    if (!this.cancelled) return;
    localStorage.removeItem(this.key);
    await this.ask("DELETE", place).catch(() => {});
    throw new Refused(0, "Cancelled");
  }

  async begin() {
    const metadata = Object.entries(this.said).map(([name, value]) => `${name} ${encoded(value)}`).join(",");
    const response = await this.ask("POST", this.form.dataset.upload || "/uploads/", { "Upload-Length": this.file.size, "Upload-Metadata": metadata });
    return new URL(response.headers.get("Location"), window.location.href).pathname;
  }

  async offset(place) {
    try {
      const response = await this.ask("HEAD", place);
      return Number(response.headers.get("Upload-Offset"));
    } catch (error) {
      if ([401, 403, 404, 410].includes(error.status)) {
        localStorage.removeItem(this.key);
        return null;
      }
      throw error;
    }
  }

  async piece(place, there) {
    const block = this.file.slice(there, there + PIECE);
    this.stop = new AbortController();
    const headers = { "Upload-Offset": there, "Content-Type": "application/offset+octet-stream" };
    const response = await this.ask("PATCH", place, headers, block, this.stop.signal);
    return Number(response.headers.get("Upload-Offset"));
  }

  async ask(method, place, headers = {}, body = undefined, signal = undefined) {
    const all = { "Tus-Resumable": "1.0.0", "X-CSRFToken": this.token, ...headers };
    const response = await fetch(place, { method, headers: all, body, signal, credentials: "same-origin" }).catch((error) => {
      throw new Refused(0, error.name === "AbortError" ? "Stopped" : "The connection is lost");
    });
    if (response.ok) return response;
    const said = await response.json().catch(() => ({}));
    const wait = Number(response.headers.get("Retry-After")) || 0;
    throw new Refused(response.status, said.detail ?? `The site answers ${response.status}.`, wait);
  }

  async patiently(ask) {
    for (let failures = 0; ; failures++) {
      try {
        return await ask();
      } catch (error) {
        if (this.cancelled) throw error;
        await this.wait(error, failures);
      }
    }
  }

  // Wait before the next try; when there were too many, for the person. What the site says no to is thrown.
  async wait(error, failures) {
    if (!AGAIN.has(error.status) || (error.status === 409 && failures > 1)) throw error;
    if ([409, 460].includes(error.status)) return;
    if (!this.paused && failures >= PAUSES.length) {
      this.pause(true);
      this.say(`Paused. ${error.message}. What came is kept; press Continue to try again.`);
    }
    if (this.paused) {
      await this.woken();
      return;
    }
    const seconds = Math.max(PAUSES[failures], error.wait);
    this.told = -1;
    this.say(`${error.status ? `${error.message};` : "Waiting for the network,"} tries again in ${seconds} s.`);
    await Promise.race([sleep(seconds), this.woken(), ...(error.status ? [] : [online()])]);
  }
}
