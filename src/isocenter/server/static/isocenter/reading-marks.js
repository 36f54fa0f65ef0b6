// The marks of a case: set at the cross, graded, shown again, removed.

const GRADES = [3, 4, 5];
const kept = (value) => Math.round(100 * value) / 100; // as the site keeps it

const element = (id) => document.getElementById(id);

export class Marks {
  constructor(given, most) {
    this.list = given;
    this.most = most;
    this.onChange = () => {};
    this.onShow = () => {};
    this.draw();
  }

  /** Set one on the scan of a pane; says why not. */
  add(pane, cross) {
    const [x, y, z] = cross.map(kept);
    if (this.list.length >= this.most) return this.say(`There are ${this.most} marks already, which is all that can be set. Remove one first.`);
    if (!pane.scan.inside(cross)) return this.say(`The cross lies outside of ${pane.name.toUpperCase()}. Click into the scan first.`);
    if (this.list.some((mark) => mark.x === x && mark.y === y && mark.z === z)) return this.say("There is a mark here already.");
    this.list.push({ x, y, z, pirads: null, on: pane.name });
    this.changed(`Lesion ${this.list.length} is marked. Choose its PI-RADS.`);
    element("marks").lastElementChild.querySelector("input").focus({ preventScroll: true });
  }

  remove(number) {
    this.list.splice(number, 1);
    this.changed(`Lesion ${number + 1} is removed.`);
    (element("marks").querySelector("button") ?? element("mark")).focus();
  }

  changed(text) {
    this.draw();
    this.say(text);
    this.onChange();
  }

  say(text) {
    element("mark-said").textContent = text;
  }

  draw() {
    const list = element("marks");
    if (!list) return; // a study without marks
    list.replaceChildren(...this.list.map((mark, number) => this.item(mark, number)));
    element("count").textContent = `${this.list.length} of ${this.most}`;
    element("no-marks").hidden = this.list.length > 0;
    element("mark").disabled = this.list.length >= this.most;
  }

  item(mark, number) {
    const item = document.createElement("li");
    const head = item.appendChild(made("p", { className: "lesion-head" }));
    const title = head.appendChild(made("strong", { textContent: `Lesion ${number + 1} ` }));
    title.append(made("span", { className: "soft", textContent: mark.on.toUpperCase() }));
    const set = item.appendChild(document.createElement("fieldset"));
    set.append(made("legend", { textContent: "PI-RADS" }));
    for (const grade of GRADES) {
      const input = made("input", { type: "radio", name: `pirads-${number}`, value: grade, required: true, checked: mark.pirads === grade });
      input.setAttribute("aria-label", `Lesion ${number + 1}: PI-RADS ${grade}`);
      input.addEventListener("change", () => {
        mark.pirads = grade;
        this.say("");
        this.onChange();
      });
      const label = set.appendChild(document.createElement("label"));
      label.append(input, ` ${grade}`);
    }
    const button = (text, act) => {
      const one = made("button", { type: "button", className: "small quiet", textContent: text });
      one.setAttribute("aria-label", `${text} lesion ${number + 1}`);
      one.addEventListener("click", act);
      return one;
    };
    head.append(button("Show", () => this.onShow(mark)), button("Remove", () => this.remove(number)));
    return item;
  }
}

function made(tag, fields) {
  return Object.assign(document.createElement(tag), fields);
}
