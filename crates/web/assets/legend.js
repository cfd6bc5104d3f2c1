// The table below a chart: of each line the last value, or that at the cursor, and average, minimum and maximum of
// what is shown.

import { h, iconButton, setText } from "./dom.js";
import { unitOf, valueText } from "./units.js";
import { clock } from "./zone.js";
import { colour, dashes, othersColour } from "./palette.js";
import { markText, reasonText } from "./names.js";

/** Average, minimum, maximum and last of the values in [from, to), null of none. */
export function figures(values, from, to) {
  let [sum, count, min, max] = [0, 0, Infinity, -Infinity];
  for (let at = from; at < to; at++) {
    const value = values[at];
    if (value == null) continue;
    sum += value;
    count++;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return count ? { average: sum / count, min, max } : null;
}

export class Legend {
  #rows = [];
  #when = h("th", { scope: "col" }, "Last");
  #body = h("tbody");

  /** `act` hears of clicks: `toggle(n)`, `focus(n or null)`, `remove(n)`. */
  constructor(act) {
    this.act = act;
    const heads = ["Average", "Min", "Max"].map(text => h("th", { scope: "col" }, text));
    const name = h("th", { scope: "col" }, h("span", { class: "unseen" }, "Line"));
    const last = h("th", { scope: "col" }, h("span", { class: "unseen" }, "Remove"));
    this.element = h("div", { class: "legend", tabindex: "-1" },
      h("table", {}, h("thead", {}, h("tr", {}, name, this.#when, heads, last)), this.#body));
  }

  /** Makes the rows anew: `lines` as the plot has them. */
  show(lines) {
    this.#rows = lines.map((line, n) => this.#row(line, n));
    this.#body.replaceChildren(...this.#rows.map(row => row.element));
  }

  /** Says what is not drawn: `{name, text, remove}`. */
  note(notes) {
    for (const row of this.#body.querySelectorAll(".note")) row.remove();
    this.#body.append(...notes.map(({ name, text, remove }) =>
      h("tr", { class: "note" }, h("th", { scope: "row", title: name }, name), h("td", { colspan: "4", title: text }, text),
        h("td", {}, remove && iconButton("close", `Remove ${name}`, remove)))));
  }

  #row(line, n) {
    const { act } = this;
    const swatch = h("span", { class: "swatch" });
    const button = h("button", {
      type: "button", class: "name", title: `${line.series.path}\nA click hides or shows it`,
      on: { click: () => act.toggle(n), focus: () => act.focus(n), blur: () => act.focus(null) },
    }, swatch, h("span", {}, line.label));
    const cells = [0, 1, 2, 3].map(() => h("td"));
    const element = h("tr", { on: { mouseenter: () => act.focus(n), mouseleave: () => act.focus(null) } },
      h("th", { scope: "row" }, button), cells, h("td", {}, line.series.isOthers ? null : iconButton("close", `Remove ${line.label}`, () => act.remove(n))));
    return { element, button, swatch, cells, line };
  }

  /** Writes the numbers. `at` is the row of the cursor, or null; `hidden(n)` says which lines are not shown. */
  update({ times }, [from, to], at, hidden) {
    setText(this.#when, at === null ? "Last" : clock(times[at] ?? 0));
    this.#rows.forEach(({ element, button, swatch, cells, line }, n) => {
      const { column } = line;
      const unit = unitOf(line.unit);
      const off = hidden(n);
      element.classList.toggle("off", off);
      button.setAttribute("aria-pressed", String(!off));
      swatch.style.background = line.series.isOthers ? othersColour() : dashes(n).length
        ? `repeating-linear-gradient(90deg, ${colour(n)} 0 4px, transparent 4px 6px)` : colour(n);
      const place = at ?? to - 1;
      const value = place >= 0 ? column.values[place] ?? null : null;
      const stats = figures(column.values, from, to);
      cells[0].classList.toggle("reason", value === null);
      const mark = column.marks.get(times[place]);
      setText(cells[0], value === null ? reasonText(column.why.get(times[place])) : valueText(value, unit) + (mark ? " *" : ""));
      cells[0].title = mark ? markText(mark) : "";
      [stats?.average, stats?.min, stats?.max].forEach((number, m) => {
        setText(cells[m + 1], number === undefined ? "–" : valueText(number, unit));
      });
    });
  }

  /** Marks the line that the pointer is near in the chart. */
  mark(n) {
    this.#rows.forEach(({ element }, m) => element.classList.toggle("near", m === n));
  }
}
