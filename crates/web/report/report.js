// The charts of a report, and what makes its text convenient: zones, themes, buttons that copy. The text itself is in
// the file, and can be read without this script.

import { byId, copy, h, iconButton, setText } from "./dom.js";
import { clock, day, useZone } from "./zone.js";
import { linesOf, ordered } from "./names.js";
import { onSystemTheme } from "./palette.js";
import { Cursor } from "./cursor.js";
import { Legend } from "./legend.js";
import { Panels } from "./panels.js";

const DAY = 86_400_000;

/** Width of a chart on paper, and height of its drawing if it has one and if it has several, in pixels of the style sheet. */
const PAPER = 344;
const PAPER_ONE = 150;
const PAPER_MANY = 104;

const data = JSON.parse(byId("data").textContent);
// A single sample has a time around it too.
const whole = data.to > data.from ? [data.from, data.to] : [data.from - 500, data.to + 500];

/** Stretches of rows with a text each, looked up by the time of a row; rows in gaps may have a text of their own. */
class Stretches {
  #all;
  #ofGaps;

  constructor(all, ofGaps) {
    this.#all = all;
    this.#ofGaps = ofGaps;
  }

  get(time) {
    const row = place(data.times, time);
    return this.#all.find(([first, last]) => first <= row && row <= last)?.[2] ?? (data.gaps.includes(row) ? this.#ofGaps : undefined);
  }
}

/** The index of the first time that is not earlier. */
function place(times, time) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1; else high = middle;
  }
  return low;
}

/** A length of time in two units. */
function lengthText(ms) {
  const seconds = Math.round(ms / 1000);
  const two = (large, size, small, length) => {
    const rest = Math.floor(seconds % size / length);
    return `${Math.floor(seconds / size)} ${large}${rest ? ` ${rest} ${small}` : ""}`;
  };
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return two("min", 60, "s", 1);
  return seconds < 172_800 ? two("h", 3_600, "min", 60) : two("d", 86_400, "h", 3_600);
}

const columns = data.lines.map(({ values, rows, why, marks, ...series }) => ({
  series, values, ...rows, why: new Stretches(why, "no sample"), marks: new Stretches(marks),
}));

/** The rows, as panels, legends and cursor read them. */
const store = {
  times: data.times,
  interval: data.interval,
  bounds: ([min, max]) => [place(data.times, min), place(data.times, max + 1)],
};

/** What is looked at, and what all charts share. */
class Page {
  store = store;
  marks = data.marks;
  range = whole;
  cursor = new Cursor();
  cards = [];
  #frame = 0;

  get bounds() { return store.bounds(this.range); }

  zoomTo(from, to) {
    // A little more than one interval, so that something is left to see.
    const least = Math.min(whole[1] - whole[0], 2.5 * data.interval);
    const middle = (from + to) / 2;
    const half = Math.max(to - from, least) / 2;
    this.range = [Math.max(whole[0], middle - half), Math.min(whole[1], middle + half)];
    this.draw();
  }

  unzoom() {
    this.range = whole;
    this.draw();
  }

  /** Moves the range by a share of its length, as far as there are samples. */
  move(share) {
    const length = this.range[1] - this.range[0];
    const by = Math.max(whole[0] - this.range[0], Math.min(whole[1] - this.range[1], share * length));
    this.range = this.range.map(end => end + by);
    this.draw();
  }

  scale(factor) {
    const [middle, half] = [(this.range[0] + this.range[1]) / 2, (this.range[1] - this.range[0]) / 2 * factor];
    if (factor > 1 && 2 * half >= whole[1] - whole[0]) this.unzoom(); else this.zoomTo(middle - half, middle + half);
  }

  /** The pointer is at this row in one of the charts, or in none. */
  cursorAt(at) {
    if (at === this.cursor.at || this.cursor.held !== null) return;
    this.cursor.at = at;
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => {
      for (const card of this.cards) card.drawLegend();
      this.say();
    });
  }

  /** Keys move the cursor of all charts by so many rows; of one its values are read out. */
  moveCursor(card, by) {
    if (!this.cursor.move(store, this.range, by)) return;
    this.#drawCursor();
    setText(byId("said"), card.reading());
  }

  /** Takes the cursor away that keys have put somewhere. False if there is none. */
  releaseCursor() {
    if (this.cursor.held === null) return false;
    this.cursor.release();
    this.#drawCursor();
    return true;
  }

  #drawCursor() {
    for (const card of this.cards) card.drawCursor();
    this.say();
  }

  draw() {
    this.cursor.follow(store, this.range);
    for (const card of this.cards) card.draw();
    this.say();
  }

  /** Says in the bar what is shown: the time of the cursor, or the range. */
  say() {
    const isZoomed = this.range !== whole;
    const [from, to] = this.range;
    const range = `${day(from)} ${clock(from)} – ${day(to) === day(from) ? "" : `${day(to)} `}${clock(to)}`;
    const { at } = this.cursor;
    const time = data.times[at];
    setText(byId("shown"), at === null || time === undefined ? `${range}, ${lengthText(to - from)}`
      : `${day(time)} ${clock(time)}`);
    byId("whole").disabled = byId("wider").disabled = byId("earlier").disabled = byId("later").disabled = !isZoomed;
  }
}

/** A chart with its title and its legend. */
class Card {
  #chart;
  #page;
  #hidden = new Set();
  #lines;
  #legend;
  #panels;

  constructor(chart, page) {
    this.#chart = chart;
    this.#page = page;
    this.#lines = linesOf(chart.kind, ordered(chart.kind, chart.lines.map(at => columns[at])));
    this.#legend = new Legend({ toggle: n => this.#toggle(n), focus: n => this.#panels.focus(n) });
    this.#panels = new Panels(page, {
      near: n => this.#legend.mark(n), move: by => page.moveCursor(this, by), release: () => page.releaseCursor(),
    });
    this.#panels.describe(`${chart.title}: ${this.#lines.map(line => line.label).join(", ") || "nothing to draw"}`);
    this.element = h("section", { class: "card", "aria-label": chart.title, "data-drawn": chart.kind },
      h("header", {}, h("h2", { title: [chart.title, ...chart.paths].join("\n") }, chart.title)), this.#panels.element, this.#legend.element);
  }

  /** Draws with the colours and the zone of now. */
  rebuild() {
    const { kind, notes } = this.#chart;
    this.#legend.show(this.#lines, kind === "lines");
    this.#legend.note(notes);
    this.#panels.show(kind, this.#lines);
    this.draw();
  }

  /** Changes the size to that on paper, or back. */
  set paper(paper) {
    const isOne = new Set(this.#lines.map(line => line.scale)).size < 2;
    this.#panels.paper = paper ? [PAPER, isOne ? PAPER_ONE : PAPER_MANY] : null;
  }

  draw() {
    const { range, bounds } = this.#page;
    this.#panels.draw(data.times, range, bounds, n => this.#hidden.has(n));
    this.drawCursor();
  }

  drawLegend() {
    this.#legend.update(store, this.#page.bounds, this.#page.cursor.at, n => this.#hidden.has(n));
  }

  /** Shows the cursor that keys hold, and the numbers there. */
  drawCursor() {
    this.#panels.hold(this.#page.cursor.held, this.#page.range);
    this.drawLegend();
  }

  /** What the lines say at the cursor, for those who hear it. */
  reading() { return `${clock(data.times[this.#page.cursor.at])}: ${this.#legend.reading(n => this.#hidden.has(n))}`; }

  #toggle(n) {
    if (!this.#hidden.delete(n)) this.#hidden.add(n);
    this.draw();
  }
}

const page = new Page();

/** Writes all times of the text in the chosen zone. */
function writeTimes() {
  const isShort = data.to - data.from < DAY;
  for (const element of document.querySelectorAll("time[data-ms]")) {
    const ms = Number(element.dataset.ms);
    const full = `${day(ms)} ${clock(ms)}`;
    setText(element, isShort && "short" in element.dataset ? clock(ms) : full);
    element.title = full;
  }
  const chosen = document.querySelector("input[name=zone]:checked");
  for (const element of document.querySelectorAll(".zone-name")) setText(element, chosen.dataset.name);
}

function showZone() {
  const { value } = document.querySelector("input[name=zone]:checked");
  useZone(value === "" ? null : Number(value));
  writeTimes();
  page.cards.forEach(card => card.rebuild());
  page.say();
}

const THEMES = [null, "light", "dark"];

function showTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  page.cards.forEach(card => card.rebuild());
}

/** Paper is white, whatever the screen is. */
let before = null;
addEventListener("beforeprint", () => {
  if (before) return;
  before = { theme: document.documentElement.dataset.theme ?? null, open: [...document.querySelectorAll("details:not([open])")] };
  for (const details of before.open) details.open = details.dataset.print !== "no";
  for (const card of page.cards) card.paper = true;
  showTheme("light");
});
addEventListener("afterprint", () => {
  if (!before) return;
  for (const details of before.open) details.open = false;
  for (const card of page.cards) card.paper = false;
  showTheme(before.theme);
  before = null;
});

/** Finishes the page: it is made here, because nothing of it works without this script. */
function begin() {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  byId("local").dataset.name = timeZone ?? "local time";
  byId("local").nextElementSibling.title = timeZone ?? "";
  byId("bar").hidden = false;
  for (const code of document.querySelectorAll("code.command")) {
    const button = iconButton("copy", "Copy this command", async () => {
      if (!await copy(code.textContent, "A command")) return;
      button.classList.add("done");
      setTimeout(() => button.classList.remove("done"), 1200);
    });
    code.after(button);
  }
  for (const button of document.querySelectorAll("button[data-from]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const [from, to] = [Number(button.dataset.from), Number(button.dataset.to)];
      const margin = Math.max((to - from) / 4, 10 * data.interval);
      page.zoomTo(from - margin, to + margin);
      byId("bar").scrollIntoView();
    });
  }
  for (const input of document.querySelectorAll("input[name=zone]")) input.addEventListener("change", showZone);
  const on = (id, act) => byId(id).addEventListener("click", act);
  on("whole", () => page.unzoom());
  on("closer", () => page.scale(0.5));
  on("wider", () => page.scale(2));
  on("earlier", () => page.move(-0.5));
  on("later", () => page.move(0.5));
  on("theme-switch", () => {
    const now = document.documentElement.dataset.theme ?? null;
    showTheme(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
  });
  addEventListener("keydown", event => { if (event.key === "Escape" && page.range !== whole) page.unzoom(); });
  page.cards = data.charts.map(chart => new Card(chart, page));
  byId("charts").append(...page.cards.map(card => card.element));
  onSystemTheme(() => page.cards.forEach(card => card.rebuild()));
  showZone();
  document.documentElement.dataset.ready = "yes";
}

begin();
