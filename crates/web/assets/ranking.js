// The table of those with the largest values: a bar each. It follows the cursor of the charts.

import { h, setText } from "./dom.js";
import { unitOf, valueText } from "./units.js";
import { clock } from "./zone.js";
import { isUsual, withoutTexts } from "./names.js";

/** How many rows a ranking has. */
export const RANKED = 10;

/** How many are asked for. Addresses that were kept have it, so it stays. */
export const RANKED_ASKED = RANKED + 2;

export class Ranking {
  #rows = [];
  #head = h("th", { scope: "col" });
  #when = h("th", { scope: "col" });
  #body = h("tbody");
  #empty = h("p", { class: "empty" }, "Waiting for the first sample");
  #without = h("p", { class: "without" });
  #table;

  constructor() {
    this.#rows = Array.from({ length: RANKED }, () => {
      const [name, bar, value] = [h("span", { class: "who" }), h("span", { class: "bar" }), h("td")];
      return { name, bar, value, element: h("tr", {}, h("th", { scope: "row" }, bar, name), value) };
    });
    this.#body.append(...this.#rows.map(row => row.element));
    this.#table = h("table", { hidden: true }, h("thead", {}, h("tr", {}, this.#head, this.#when)), this.#body);
    this.element = h("div", { class: "ranking" }, this.#table, this.#without, this.#empty);
  }

  /** Shows a row of the store; null if nothing is known of that time. `isNow`: it is the last. */
  update(row, isNow) {
    const isEmpty = !row?.list.length;
    this.#table.hidden = isEmpty;
    this.#empty.hidden = !isEmpty;
    setText(this.#without, withoutTexts(row?.without ?? []).map(({ text }) => text).join("; "));
    this.#without.classList.toggle("usual", isUsual(row?.without ?? []));
    if (isEmpty) {
      const waits = isNow ? "Waiting for the first sample" : "Nothing is known of that time yet";
      setText(this.#empty, row ? `Nothing to rank: ${row.nothing ?? "no instance has a value"}` : waits);
      return;
    }
    const [first] = row.list;
    const unit = unitOf(first?.series.unit ?? "");
    const full = Math.max(first?.value ?? 0, first?.series.unit === "%" ? 100 : 0) || 1;
    setText(this.#head, first?.series.counter ?? "");
    setText(this.#when, isNow ? "Last" : clock(row.time));
    this.#rows.forEach(({ name, bar, value, element }, n) => {
      const item = row.list[n];
      element.classList.toggle("none", !item);
      setText(name, item ? item.series.instance || item.series.counter : "");
      if (item) element.title = item.series.path; else element.removeAttribute("title");
      setText(value, item ? valueText(item.value, unit) : "");
      bar.style.width = item ? `${Math.max(0, Math.min(100, item.value / full * 100)).toFixed(1)}%` : "0";
    });
  }
}
