// Charts that are numbers of one time: reports, grouped by counterset and instance, and bars, one for each instance.

import { h, setText } from "./dom.js";
import { markText, reasonText } from "./names.js";
import { scaleOf, unitOf, valueText } from "./units.js";
import { clock } from "./zone.js";

/** What both have: lines as a chart has them, and the place of the cursor. */
class Numbers {
  #when = h("p", { class: "when" });
  #empty = h("p", { class: "empty" }, "Nothing to show yet");
  #notes = h("p", { class: "without" });
  #cells = [];
  body = h("div");

  constructor(name) {
    this.element = h("div", { class: `numbers ${name}`, tabindex: "0", role: "region" }, this.#when, this.body, this.#empty, this.#notes);
  }

  describe(text) { this.element.setAttribute("aria-label", text); }

  /** Makes the lines anew. */
  show(lines) {
    this.#cells = lines.map(line => ({ line, ...this.cellOf(line) }));
    this.arrange(this.#cells);
    this.#empty.hidden = lines.length > 0;
  }

  note(notes) { setText(this.#notes, notes.map(({ name, text }) => `${name}: ${text}`).join(". ")); }

  /** Writes the values of a row of the store; `isLast` if it is the newest that is shown. */
  update(times, place, isLast, hidden) {
    setText(this.#when, place < 0 || times[place] === undefined ? "" : `${isLast ? "Last, " : ""}${clock(times[place])}`);
    // Of a range the last sample of its last step, as legends have it.
    const shown = ({ last, values }) => isLast ? last ?? values : values;
    const values = this.#cells.map(({ line }) => place >= 0 ? shown(line.column)[place] ?? null : null);
    this.#cells.forEach(({ line, row, cell }, n) => {
      const value = values[n];
      const mark = line.column.marks.get(times[place]);
      row.hidden = hidden(line.n);
      setText(cell, value === null ? "–" : valueText(value, unitOf(line.unit)) + (mark ? " *" : ""));
      cell.title = value === null ? reasonText(line.column.why.get(times[place])) : mark ? markText(mark) : "";
      cell.classList.toggle("missing", value === null);
    });
    this.scale?.(this.#cells, values);
  }
}

/** Names in groups, each in the order of its first line. */
function groupsOf(cells, name) {
  const groups = new Map();
  for (const cell of cells) {
    const key = name(cell.line.series);
    groups.set(key, [...(groups.get(key) ?? []), cell]);
  }
  return [...groups];
}

export class Report extends Numbers {
  constructor() { super("report"); }

  cellOf({ series }) {
    const cell = h("td");
    return { cell, row: h("tr", { title: series.path }, h("th", { scope: "row" }, series.counter), cell) };
  }

  arrange(cells) {
    this.body.replaceChildren(...groupsOf(cells, series => series.counterset).map(([counterset, own]) => h("table", {},
      h("caption", {}, counterset),
      groupsOf(own, series => series.instance).map(([instance, rows]) => h("tbody", {},
        instance ? h("tr", {}, h("th", { scope: "rowgroup", colspan: 2, class: "instance" }, instance)) : null, rows.map(({ row }) => row))))));
  }
}

export class Bars extends Numbers {
  constructor() { super("ranking bars"); }

  cellOf({ series, label }) {
    const [cell, bar] = [h("td"), h("span", { class: "bar" })];
    return { cell, bar, row: h("tr", { title: series.path }, h("th", { scope: "row" }, bar, h("span", { class: "who" }, series.instance || label)), cell) };
  }

  arrange(cells) {
    const counter = series => `${series.counterset}\t${series.counter}`;
    this.body.replaceChildren(...groupsOf(cells, counter).map(([, rows]) => h("table", {},
      h("caption", {}, rows[0].line.series.counter), h("tbody", {}, rows.map(({ row }) => row)))));
  }

  /** Bars of one scale have one full length: the largest of them, and of percentages at least 100. */
  scale(cells, values) {
    const full = new Map();
    cells.forEach(({ line: { series } }, n) => {
      const scale = scaleOf(series);
      full.set(scale, Math.max(full.get(scale) ?? (series.unit === "%" ? 100 : 0), values[n] ?? 0));
    });
    cells.forEach(({ bar, line: { series } }, n) => {
      const part = (values[n] ?? 0) / (full.get(scaleOf(series)) || 1);
      bar.style.width = `${Math.max(0, Math.min(100, part * 100)).toFixed(1)}%`;
    });
  }
}
