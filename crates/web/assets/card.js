// A chart with its title, its buttons and its legend.

import { copy, h, iconButton, setText } from "./dom.js";
import { agoText } from "./units.js";
import { csv, linesOf, ordered, withoutTexts } from "./names.js";
import { askKey } from "./store.js";
import { Choice } from "./choice.js";
import { KINDS, isFixed } from "./view.js";
import { clock } from "./zone.js";
import { Legend } from "./legend.js";
import { Menu } from "./menu.js";
import { Panels } from "./panels.js";
import { Ranking } from "./ranking.js";
import { Bars, Report } from "./report.js";
import { rove } from "./rove.js";
import { saveChart } from "./save.js";
import { Table, tableSpec } from "./table.js";

/** So many lines are asked for one by one. */
const FEW = 12;

/** The longest title, in characters. */
const TITLE_MOST = 80;

/** Kinds that are numbers of one time, and for which lines they are chosen like. */
const NUMBERS = { bars: [Bars, "heat"], report: [Report, "lines"] };

/** The counterset and the counter of a path for all instances. */
const partsOf = path => path.slice(1).split("(*)\\");

export class Card {
  /** Whether it can be seen: others are not drawn. */
  isSeen = true;
  #panels = null;
  #lines = [];
  #drawnFor = "";
  #notedFor = "";
  #choice = new Choice();
  #legend;
  #ranking = null;
  #table = null;
  /** The numbers that are shown instead of drawings and legend, and their kind. */
  #numbers = null;
  #numbersKind = "";
  #columns = null;
  #title = h("h2");
  #said = h("span", { class: "said", role: "status" });
  #silence = 0;
  #tools;
  #kind = null;
  #wide = iconButton("wide", "Wider, or as before", () => this.#change(() => { this.spec.wide = !this.spec.wide; }));
  #copier = iconButton("copy", "", () => this.#copy());
  #remover = iconButton("close", "", () => this.page.remove(this));
  #menu = new Menu("", [
    { text: "Rename", act: () => this.rename() },
    { text: "Move earlier", act: () => this.page.move(this, -1), stays: true },
    { text: "Move later", act: () => this.page.move(this, 1), stays: true },
  ]);

  /** `spec` is the chart as the view has it; `page` knows store, view and cursor, and hears of what is done. */
  constructor(spec, page) {
    this.spec = spec;
    this.page = page;
    const isRanking = spec.kind === "rank";
    const kinds = Object.entries(KINDS).filter(([kind]) => !isFixed(kind));
    if (isRanking) this.#columns = h("button", { type: "button", on: { click: () => this.#addTable() } }, "All columns");
    if (!isFixed(spec.kind)) {
      this.#kind = h("select", { on: { change: event => this.#change(() => { spec.kind = event.target.value; }) } },
        kinds.map(([value, text]) => h("option", { value, selected: spec.kind === value }, text)));
    }
    this.#wide.classList.add("wider");
    this.#tools = h("span", { class: "buttons", role: "toolbar" },
      this.#columns, this.#kind, isRanking ? null : this.#wide, this.#copier, this.#menu.element, this.#remover);
    this.#title.addEventListener("dblclick", () => this.rename());
    this.element = h("section", { class: "card", on: { keydown: event => this.#key(event) } },
      h("header", {}, this.#title, this.#said, this.#tools));
    this.#entitle();
    rove(this.#tools, () => [[this.#columns, this.#kind, this.#wide, this.#copier, this.#menu.button, this.#remover].filter(control => control && this.#tools.contains(control))]);
    if (spec.kind === "table") {
      this.#table = new Table(spec.table, page, { change: change => this.#change(change), isSeen: () => this.isSeen && !document.hidden });
      this.element.append(this.#table.element);
    } else if (isRanking) {
      this.#ranking = spec.asks.map(() => new Ranking());
      this.element.append(...this.#ranking.map(ranking => ranking.element));
    } else {
      this.#legend = new Legend({
        toggle: n => this.#toggle(n), focus: n => this.#panels.focus(n), remove: n => this.#remove(n),
      });
      this.#panels = new Panels(page, {
        near: n => this.#legend.mark(n), move: by => page.moveCursor(this, by), release: () => page.releaseCursor(),
      });
      this.element.append(this.#panels.element, this.#legend.element);
      this.#menu.add({ text: "Save as PNG", act: () => this.#save("png") }, { text: "Save as SVG", act: () => this.#save("svg") });
    }
    this.element.classList.toggle("wide", spec.wide);
  }

  /** Writes the title wherever it stands. */
  #entitle() {
    const { title } = this.spec;
    setText(this.#title, title);
    this.#title.title = title;
    const name = (element, text) => element?.setAttribute("aria-label", text);
    name(this.element, title);
    name(this.#tools, `Chart ${title}`);
    name(this.#kind, `How ${title} is drawn`);
    for (const [button, text] of [[this.#copier, `Copy ${title} as CSV`], [this.#remover, `Remove ${title}`]]) {
      button.title = text;
      name(button, text);
    }
    this.#menu.rename(`More of ${title}`);
    this.#describe();
  }

  /** Lets the title be written anew: Enter keeps it, Escape does not. */
  rename() {
    let isOver = false;
    const end = isKept => {
      if (isOver) return;
      isOver = true;
      const title = input.value.trim();
      const hadFocus = document.activeElement === input;
      input.replaceWith(this.#title);
      if (hadFocus) this.#menu.button.focus();
      if (isKept && title && title !== this.spec.title) this.#change(() => { this.spec.title = title; });
      this.#entitle();
    };
    const input = h("input", {
      type: "text", class: "title", value: this.spec.title, maxlength: TITLE_MOST, "aria-label": `New title of ${this.spec.title}`,
      on: {
        blur: () => end(true),
        keydown: event => {
          event.stopPropagation();
          if (event.key !== "Enter" && event.key !== "Escape") return;
          // The key is not for the button that has the focus next.
          event.preventDefault();
          end(event.key === "Enter");
        },
      },
    });
    this.#title.replaceWith(input);
    input.focus();
    input.select();
  }

  /** Puts the focus into the chart. */
  focus() { (this.#numbers?.element ?? this.#panels?.element ?? this.#menu.button).focus({ preventScroll: true }); }

  /** Adds a table that has all columns of what is ranked. */
  #addTable() {
    const [set, counter] = partsOf(this.spec.asks[0].path);
    this.page.add(tableSpec(set, { sort: counter ?? "", order: counter ? "desc" : "" }));
  }

  /** Keys of the whole chart. */
  #key(event) {
    const moves = { "<": -1, ">": 1 };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    this.page.move(this, moves[event.key]);
  }

  #describe() {
    this.#panels?.describe(`${this.spec.title}: ${this.#lines.map(line => line.label).join(", ") || "nothing yet"}`);
    this.#numbers?.describe(`Numbers of ${this.spec.title}`);
  }

  /** A change of the chart that is part of the view. */
  #change(change) {
    change();
    this.element.classList.toggle("wide", this.spec.wide);
    this.page.changed();
  }

  /** The series to draw, and what to say of the rest. */
  #content() {
    const { page } = this;
    const { store, view } = page;
    const { asks, kind } = this.spec;
    const notes = [];
    const found = [];
    for (const ask of asks) {
      const columns = ask.top ? [] : store.columnsOf(askKey(ask));
      const { nothing, without, notCompared } = store.asks.get(askKey(ask)) ?? {};
      found.push([ask, columns]);
      if (ask.error) notes.push({ name: ask.path, text: ask.error, remove: () => this.#dropAsk(ask) });
      else if (columns.length === 0 && nothing) notes.push({ name: ask.path, text: nothing, remove: () => this.#dropAsk(ask) });
      if (notCompared) notes.push({ name: ask.path, text: `${page.comparedText}: ${notCompared}` });
      for (const { counter, text } of withoutTexts(without ?? [])) notes.push({ name: counter, text });
    }
    const bounds = store.last === undefined ? [0, 0] : store.bounds(page.range);
    // A row more on both sides: lines begin and end outside.
    const range = [Math.max(0, bounds[0] - 1), Math.min(store.times.length, bounds[1] + 1)];
    const looked = JSON.stringify([kind, view.window, view.end, view.zoom, asks.map(askKey)]);
    const { columns, left } = this.#choice.lines(found, NUMBERS[kind]?.[1] ?? kind, looked, range);
    if (left) notes.push({ name: `${left} more`, text: "smaller than these, and not drawn" });
    return { kind, columns: ordered(kind, columns), notes };
  }

  #dropAsk(ask) {
    this.#change(() => { this.spec.asks = this.spec.asks.filter(other => other !== ask); });
  }

  /** Draws what there is now. */
  draw() {
    if (!this.isSeen) return;
    const { page } = this;
    const { store, view, cursor } = page;
    const { last } = store;
    if (this.#table) {
      this.#table.draw();
      return;
    }
    if (this.#ranking) {
      const isNow = cursor.at === null && view.isLive;
      const time = cursor.at !== null ? store.times[cursor.at] : view.isLive ? last ?? 0 : page.range[1];
      this.spec.asks.forEach((ask, n) => this.#ranking[n].update(page.rankedAt(ask, time), isNow));
      return;
    }
    const { kind, columns, notes } = this.#content();
    const state = JSON.stringify([kind, columns.map(column => column.key), columns.some(column => column.other)]);
    if (state !== this.#drawnFor) {
      this.#drawnFor = state;
      this.#notedFor = "";
      this.#rebuild(kind, columns);
    }
    const noted = JSON.stringify(notes.map(note => [note.name, note.text]));
    if (noted !== this.#notedFor) {
      this.#notedFor = noted;
      this.#legend.note(notes);
      this.#numbers?.note(notes);
    }
    this.#lines.forEach((line, n) => { line.column = columns[n]; });
    if (last === undefined) return;
    const { range } = page;
    if (!this.#numbers) this.#panels.draw(store.times, range, store.bounds(range), n => this.#isHidden(n));
    this.#panels.hold(cursor.held ?? null, range);
    this.drawLegend();
  }

  /** Writes the numbers for the place of the cursor. */
  drawLegend() {
    const { store, range, cursor } = this.page;
    if (!this.isSeen || store.last === undefined) return;
    const bounds = store.bounds(range);
    if (this.#ranking || this.#table) this.draw();
    else if (this.#numbers) this.#numbers.update(store.times, cursor.at ?? bounds[1] - 1, cursor.at === null, n => this.#isHidden(n));
    else this.#legend.update(store, bounds, cursor.at, n => this.#isHidden(n), this.page.otherLog?.name ?? null);
  }

  /** Shows the cursor that keys hold, and the numbers there. */
  drawCursor() {
    const { store, range, cursor } = this.page;
    if (!this.isSeen || store.last === undefined) return;
    this.#panels?.hold(cursor.held, range);
    this.drawLegend();
  }

  /** What the lines say at the cursor, for those who hear it. */
  reading() {
    const { store, cursor } = this.page;
    return `${clock(store.times[cursor.at])}: ${this.#legend.reading(n => this.#isHidden(n))}`;
  }

  #rebuild(kind, columns) {
    this.#lines = linesOf(kind, columns);
    this.element.dataset.drawn = kind;
    this.#showNumbers(kind);
    this.#legend.show(this.#numbers ? [] : this.#lines, kind === "lines");
    this.#describe();
    this.#panels.show(kind, this.#numbers ? [] : this.#lines);
    this.#numbers?.show(this.#lines);
  }

  /** Numbers take the place of drawings and legend, for the kinds that have them. */
  #showNumbers(kind) {
    const [Numbers] = NUMBERS[kind] ?? [];
    if (kind !== this.#numbersKind) {
      this.#numbersKind = kind;
      this.#numbers?.element.remove();
      this.#numbers = Numbers ? new Numbers() : null;
      if (this.#numbers) this.element.append(this.#numbers.element);
    }
    this.#panels.element.hidden = this.#legend.element.hidden = Boolean(Numbers);
  }

  /** The colours have changed. */
  recolour() {
    this.#drawnFor = "";
    this.draw();
  }

  /** Times are written in another zone. */
  rezone() {
    this.#panels?.redraw();
    this.#table?.rezone();
    this.drawLegend();
  }

  #isHidden(n) { return this.spec.hidden.has(this.#lines[n].series.path); }

  #toggle(n) {
    const { path } = this.#lines[n].series;
    this.#change(() => { if (!this.spec.hidden.delete(path)) this.spec.hidden.add(path); });
  }

  /** Takes a line away; of a question for a few the others stay, each asked for by its own path. One of many is hidden. */
  #remove(n) {
    const { path } = this.#lines[n].series;
    const { store } = this.page;
    const members = this.spec.asks.reduce((sum, ask) => sum + store.columnsOf(askKey(ask)).length, 0);
    if (members > FEW && !this.spec.asks.some(ask => ask.path === path)) {
      if (!this.#isHidden(n)) this.#toggle(n);
      return;
    }
    this.#change(() => {
      this.spec.hidden.delete(path);
      this.spec.asks = this.spec.asks.flatMap(ask => {
        const members = store.columnsOf(askKey(ask)).filter(({ series }) => !series.sum).map(({ series }) => series.path);
        if (!members.includes(path)) return [ask];
        return members.filter(member => member !== path).map(member => ({ path: member, top: 0 }));
      });
      this.#lines = [];
    });
  }

  async #copy() {
    const { store, range } = this.page;
    if (this.#table) {
      const text = this.#table.csv();
      if (!text) this.#say("there is nothing to copy");
      else if (await copy(text, `${this.spec.title}, as CSV`)) this.#say("copied");
      return;
    }
    if (store.last === undefined) return;
    const [from, to] = store.bounds(range);
    let text;
    if (this.#ranking) {
      const rows = this.spec.asks.flatMap(ask => store.asks.get(askKey(ask))?.rows ?? []);
      let shown = rows.filter(row => row.time >= range[0] && row.time <= range[1]);
      // Of the past only rankings of single times are known: what is shown.
      if (shown.length === 0) shown = this.spec.asks.map(ask => this.page.rankedAt(ask, range[1])).filter(Boolean);
      const paths = [...new Set(shown.flatMap(row => row.list.map(item => item.series.path)))];
      const values = path => shown.map(row => row.list.find(item => item.series.path === path)?.value);
      text = csv(shown.map(row => row.time), paths.map(path => ({ name: path, values: values(path) })));
    } else {
      const shown = this.#lines.filter((_, n) => !this.#isHidden(n));
      text = csv(store.times.slice(from, to), shown.flatMap(({ series: { path }, column: { values, other } }) => [
        { name: path, values: values.slice(from, to) },
        ...(other && this.spec.kind === "lines" ? [{ name: `${path} (${this.page.comparedText})`, values: other.slice(from, to) }] : []),
      ]));
    }
    if (await copy(text, `${this.spec.title}, as CSV`)) this.#say(`copied ${agoText(range[1] - range[0])}`);
  }

  /** Saves what is drawn as a file of this kind. */
  async #save(kind) {
    const { store, range, marks } = this.page;
    if (store.last === undefined) return;
    const lines = this.#lines.filter(({ n }) => !this.#isHidden(n));
    const { times, interval } = store;
    const isSaved = await saveChart({ title: this.spec.title, kind: this.spec.kind, lines, times, interval, range, bounds: store.bounds(range), marks }, kind);
    this.#say(isSaved ? `saved as ${kind.toUpperCase()}` : "cannot be saved");
  }

  #say(text) {
    setText(this.#said, text);
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => setText(this.#said, ""), 2500);
  }

  destroy() {
    this.#table?.destroy();
    this.#panels?.destroy();
    this.#legend?.destroy();
    this.element.remove();
  }
}
