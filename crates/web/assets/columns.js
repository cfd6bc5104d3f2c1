// The choice of a table's columns: all counters of its counterset, to be ticked.

import { problemOf, request } from "./api.js";
import { h, setText } from "./dom.js";

export class Columns {
  /** The server's limit. */
  static MOST = 32;
  #spec;
  #change;
  #shown;
  #boxes = [];
  #isLoading = false;
  #list = h("div", { class: "ticks" });
  #note = h("p", { class: "empty", role: "status" });
  #usual = h("button", { type: "button", on: { click: () => this.#change(() => { this.#spec.columns = []; }) } }, "Usual columns");
  #facts;

  /** `shown()` are the columns that the table has now, in their order. */
  constructor(spec, change, shown) {
    this.#spec = spec;
    this.#change = change;
    this.#shown = shown;
    this.#facts = h("input", { type: "checkbox", checked: spec.facts, on: { change: ({ target }) => change(() => { spec.facts = target.checked; }) } });
    this.button = h("button", { type: "button", "aria-expanded": "false", on: { click: () => this.#toggle() } }, "Columns");
    this.element = h("fieldset", { class: "columns", hidden: true, on: { keydown: event => this.#key(event) } },
      h("legend", { class: "unseen" }, "Columns"),
      h("div", { class: "controls" }, this.#usual, h("label", {}, this.#facts, h("span", {}, "user, service, command"))), this.#note, this.#list);
  }

  #toggle(isOpen = this.element.hidden) {
    this.element.hidden = !isOpen;
    this.button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen && !this.#boxes.length) this.#load();
  }

  #key(event) {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    this.#toggle(false);
    this.button.focus();
  }

  async #load() {
    if (this.#isLoading) return;
    this.#isLoading = true;
    setText(this.#note, "Waiting for the counters");
    try {
      const answer = await request(`api/v1/countersets/${encodeURIComponent(this.#spec.set)}`);
      if (answer.ok) this.#fill((await answer.json()).counters);
      else setText(this.#note, (await problemOf(answer)).error);
    } catch (error) {
      setText(this.#note, `The server cannot be reached (${error.message})`);
    }
    this.#isLoading = false;
  }

  #fill(counters) {
    setText(this.#note, "");
    this.#boxes = counters.filter(({ is_available }) => is_available).map(({ name }) => h("input", { type: "checkbox", value: name, on: { change: () => this.#ticked() } }));
    this.#list.replaceChildren(...this.#boxes.map(box => h("label", {}, box, h("span", {}, box.value))));
    this.update();
  }

  /** Columns keep their places; new ones come last. */
  #ticked() {
    const ticked = this.#boxes.filter(({ checked }) => checked).map(({ value }) => value);
    const kept = this.#shown().filter(name => ticked.includes(name));
    this.#change(() => { this.#spec.columns = [...kept, ...ticked.filter(name => !kept.includes(name))]; });
    this.#limit(ticked.length);
  }

  #limit(count) {
    for (const box of this.#boxes) box.disabled = !box.checked && count >= Columns.MOST;
    setText(this.#note, count >= Columns.MOST ? `A table has at most ${Columns.MOST} columns` : "");
  }

  /** Ticks what the table shows. */
  update() {
    this.#facts.checked = this.#spec.facts;
    if (!this.#boxes.length) return;
    const shown = new Set(this.#shown());
    for (const box of this.#boxes) box.checked = shown.has(box.value);
    this.#limit(shown.size);
  }
}
