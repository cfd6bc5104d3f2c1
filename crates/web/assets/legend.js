// The table below a chart: of each line the last value, or that at the cursor, and average, minimum and maximum of
// what is shown. Where not all columns have room, some are left out: no value ever lacks its unit.

import { h, iconButton, setText } from "./dom.js";
import { unitOf, valueText } from "./units.js";
import { clock, day } from "./zone.js";
import { dashes, lineColour } from "./palette.js";
import { rove } from "./rove.js";
import { markText, reasonText } from "./names.js";

/**
 * Average, minimum and maximum of a column in [from, to), null of none. Where a row is a step with several samples, it
 * has their least and greatest value, and their number if that is known.
 */
export function figures({ values, least = values, greatest = values, counts }, from, to) {
  let [sum, count, min, max] = [0, 0, Infinity, -Infinity];
  for (let at = from; at < to; at++) {
    const value = values[at];
    if (value == null) continue;
    const samples = counts ? counts[at] : 1;
    sum += value * samples;
    count += samples;
    if (least[at] < min) min = least[at];
    if (greatest[at] > max) max = greatest[at];
  }
  return count ? { average: sum / count, min, max } : null;
}

/** The columns in which they stand. */
const COLUMNS = ["last", "average", "min", "max"];

/** Those that are left out first. */
const LEFT_OUT = ["min", "average"];

/** What stands in them, and beside another time. */
const HEADS = ["Average", "Min", "Max"];
const HEADS_BEFORE = ["Average", "Before", "Difference"];
const HEADS_OTHER = ["Average", "Other log", "Difference"];

/** The most room that names are sure to have, in pixels: longer ones have two lines. */
const NAME_ROOM = 136;

/** Their swatch and edges, and a character of them on the average. */
const NAME_EDGES = 40;
const CHARACTER = 6.6;

/** The room for the button that removes a line, and for the edges. */
const REMOVE_ROOM = 22;
const SIDES = 16;

/** What is above and below the table. */
const EDGES = 10;

/** So many lines are read out at the cursor. */
const READ = 8;

/** The least room for a value, in characters. */
const VALUE_LEAST = 8;

/** How much a number is more or less than one before; "–" where either is not known. */
function differenceText(now, before, unit) {
  if (now === undefined || before === undefined) return "–";
  const text = valueText(Math.abs(now - before), unit);
  return now === before ? text : `${now > before ? "+" : "−"}${text}`;
}

/** Dashes of a swatch, in pixels, as they are drawn in a line. */
const swatchOf = (colour, dash) => {
  if (!dash.length) return colour;
  let at = 0;
  const stops = dash.map((length, n) => `${n % 2 ? "transparent" : colour} ${at}px ${at += length}px`);
  return `repeating-linear-gradient(90deg, ${stops.join(", ")})`;
};

/** Legends that have to be fitted. */
const unfitted = new Set();

function fitSoon(legend) {
  if (unfitted.size === 0) queueMicrotask(fitAll);
  unfitted.add(legend);
}

/** Fits legends together: a browser lays out the page anew whenever something is measured after a change. */
function fitAll() {
  const all = [...unfitted];
  unfitted.clear();
  for (const legend of all) legend.prepare();
  const sizes = new Map(all.map(legend => [legend, legend.measure()]).filter(([, size]) => size));
  for (const [legend, size] of sizes) legend.choose(size);
  const heights = [...sizes.keys()].map(legend => [legend, legend.height]);
  for (const [legend, height] of heights) legend.height = height;
}

export class Legend {
  #rows = [];
  /** The longest value so far, in characters: columns only grow, so that nothing moves with every sample. */
  #longest = VALUE_LEAST;
  #shown = COLUMNS.length;
  #refresh;
  #size = new ResizeObserver(() => this.#fit());
  #when = h("th", { scope: "col" }, "Last");
  #heads;
  #body = h("tbody");

  /** `act` hears of clicks: `toggle(n)`, `focus(n or null)`, and `remove(n)` if lines can be removed. */
  constructor(act) {
    this.act = act;
    const heads = this.#heads = HEADS.map(text => h("th", { scope: "col", class: text.toLowerCase() }, text));
    const name = h("th", { scope: "col" }, h("span", { class: "unseen" }, "Line"));
    const last = h("th", { scope: "col" }, act.remove && h("span", { class: "unseen" }, "Remove"));
    this.element = h("div", { class: "legend", tabindex: "-1" },
      h("table", {}, h("thead", {}, h("tr", {}, name, this.#when, heads, last)), this.#body));
    this.#refresh = rove(this.element, () => [...this.#body.rows].map(row => [...row.querySelectorAll("button")]).filter(row => row.length));
    this.#size.observe(this.element);
  }

  /** The rows are others, or wider: soon as many columns are shown as there is room for. */
  #fit() { fitSoon(this); }

  /** Says how long values are, before anything is measured. */
  prepare() { this.element.style.setProperty("--value", this.#longest); }

  /** What is measured: the room of the table, and that of a value; null if it is not shown. */
  measure() {
    const width = this.element.clientWidth;
    return width ? [width, this.#when.offsetWidth] : null;
  }

  /** Shows as many columns as there is room for. */
  choose([width, ofValue]) {
    const longest = Math.max(0, ...this.#rows.map(({ line }) => line.label.length));
    const room = width - Math.min(NAME_ROOM, NAME_EDGES + CHARACTER * longest) - SIDES - (this.act.remove ? REMOVE_ROOM : 0);
    this.#shown = Math.max(COLUMNS.length - LEFT_OUT.length, Math.min(COLUMNS.length, Math.floor(room / ofValue)));
    LEFT_OUT.forEach((name, n) => this.element.classList.toggle(`no-${name}`, n < COLUMNS.length - this.#shown));
    for (const cell of this.#body.querySelectorAll(":is(.note, .nothing) td:nth-child(2)")) cell.colSpan = this.#shown;
  }

  /** How high all lines are. */
  get height() { return this.#body.parentElement.offsetHeight + EDGES; }
  set height(height) { this.element.style.setProperty("--height", `${height}px`); }

  /** Makes the rows anew: `lines` as the plot has them; `hasDashes` if it draws their dashes, too. */
  show(lines, hasDashes) {
    const place = [...this.#body.rows].findIndex(row => row.contains(document.activeElement));
    this.#longest = VALUE_LEAST;
    this.#rows = lines.map((line, n) => this.#row(line, n, hasDashes));
    this.#body.replaceChildren(...this.#rows.map(row => row.element));
    this.#fit();
    this.#refresh();
    // Who has removed a line by a key goes on with the next one.
    if (place >= 0) this.#rows[Math.min(place, this.#rows.length - 1)]?.button.focus({ preventScroll: true });
  }

  /** Says what is not drawn: `{name, text, remove}`. */
  note(notes) {
    for (const row of this.#body.querySelectorAll(".note")) row.remove();
    this.#body.append(...notes.map(({ name, text, remove }) =>
      h("tr", { class: "note" }, h("th", { scope: "row", title: name }, name), h("td", { colspan: this.#shown, title: text }, text),
        h("td", {}, remove && iconButton("close", `Remove ${name}`, remove)))));
    this.#fit();
    this.#refresh();
  }

  #row(line, n, hasDashes) {
    const { act } = this;
    const swatch = h("span", { class: "swatch" });
    const button = h("button", {
      type: "button", class: "name", title: `${line.series.path}\nA click hides or shows it`,
      on: { click: () => act.toggle(n), focus: () => act.focus(n), blur: () => act.focus(null) },
    }, swatch, h("span", {}, line.label));
    const cells = COLUMNS.map(name => h("td", { class: name }));
    const element = h("tr", { on: { mouseenter: () => act.focus(n), mouseleave: () => act.focus(null) } },
      h("th", { scope: "row" }, button), cells, h("td", {}, line.series.isOthers || !act.remove ? null : iconButton("close", `Remove ${line.label}`, () => act.remove(n))));
    swatch.style.background = swatchOf(lineColour(line), hasDashes ? dashes(line.n) : []);
    return { element, button, cells, line };
  }

  /**
   * Writes the numbers. `at` is the row of the cursor, or null; `hidden(n)` says which lines are not shown; `otherLog` is
   * the name of the log that they are compared with, or null.
   */
  update({ times }, [from, to], at, hidden, otherLog) {
    const time = times[at] ?? 0;
    const ofDay = at === null || day(time) === day(Date.now()) ? "" : `${day(time).slice(5)} `;
    setText(this.#when, at === null ? "Last" : `${ofDay}${clock(time)}`);
    const isCompared = this.#rows.some(({ line }) => line.column.other);
    const heads = !isCompared ? HEADS : otherLog ? HEADS_OTHER : HEADS_BEFORE;
    this.#heads.forEach((head, n) => setText(head, heads[n]));
    this.#heads[1].title = isCompared && otherLog ? `Average in ${otherLog}` : "";
    let longest = this.#longest;
    this.#rows.forEach(({ element, button, cells, line }, n) => {
      const { column } = line;
      const unit = unitOf(line.unit);
      const off = hidden(n);
      element.classList.toggle("off", off);
      button.setAttribute("aria-pressed", String(!off));
      const place = at ?? to - 1;
      const shown = at === null ? column.last ?? column.values : column.values;
      const value = place >= 0 ? shown[place] ?? null : null;
      const stats = figures(column, from, to);
      cells[0].classList.toggle("reason", value === null);
      const before = column.other && figures({ values: column.other }, from, to)?.average;
      // Where there is no value at all the reason has the whole row.
      const isEmpty = !stats && before === undefined;
      element.classList.toggle("nothing", isEmpty);
      cells[0].colSpan = isEmpty ? this.#shown : 1;
      const mark = column.marks.get(times[place]);
      setText(cells[0], value === null ? reasonText(column.why.get(times[place])) : valueText(value, unit) + (mark ? " *" : ""));
      cells[0].title = mark ? markText(mark) : "";
      const numbers = column.other ? [stats?.average, before] : [stats?.average, stats?.min, stats?.max];
      numbers.forEach((number, m) => {
        setText(cells[m + 1], number === undefined ? "–" : valueText(number, unit));
      });
      if (column.other) setText(cells[3], differenceText(stats?.average, before, unit));
      for (const cell of value === null ? cells.slice(1) : cells) longest = Math.max(longest, cell.textContent.length);
    });
    if (longest === this.#longest) return;
    this.#longest = longest;
    this.#fit();
  }

  /** What the lines say at the place of the cursor, for those who hear it. `hidden(n)` says which are not shown. */
  reading(hidden) {
    const shown = this.#rows.filter((_, n) => !hidden(n));
    const texts = shown.slice(0, READ).map(({ cells, line }) => `${line.label} ${cells[0].textContent}`);
    if (shown.length > READ) texts.push(`and ${shown.length - READ} more`);
    return texts.join(", ");
  }

  destroy() { this.#size.disconnect(); }

  /** Marks the line that the pointer is near in the chart. */
  mark(n) {
    this.#rows.forEach(({ element }, m) => element.classList.toggle("near", m === n));
  }
}
