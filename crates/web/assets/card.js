// A chart with its title, its buttons and its legend.

import { copy, h, iconButton, setText } from "./dom.js";
import { agoText, scaleOf } from "./units.js";
import { csv, labels, withoutTexts } from "./names.js";
import { askKey } from "./store.js";
import { Choice } from "./choice.js";
import { KINDS } from "./view.js";
import { Legend } from "./legend.js";
import { Plot } from "./plot.js";
import { Ranking } from "./ranking.js";

/** So many lines are asked for one by one. */
const FEW = 12;

export class Card {
  /** Whether it can be seen: others are not drawn. */
  isSeen = true;
  #plot = null;
  #lines = [];
  #drawnFor = "";
  #notedFor = "";
  #choice = new Choice();
  #legend;
  #ranking = null;
  #host = h("div", { class: "plot", role: "img" });
  #said = h("span", { class: "said", role: "status" });
  #size;

  /** `spec` is the chart as the view has it; `page` knows store, view and cursor, and hears of what is done. */
  constructor(spec, page) {
    this.spec = spec;
    this.page = page;
    const isRanking = spec.kind === "rank";
    const kinds = Object.entries(KINDS).filter(([kind]) => kind !== "rank");
    const kind = isRanking ? null : h("select", {
      "aria-label": `How ${spec.title} is drawn`,
      on: { change: event => this.#change(() => { spec.kind = event.target.value; }) },
    }, kinds.map(([value, text]) => h("option", { value, selected: spec.kind === value }, text)));
    this.wide = iconButton("wide", "Wider, or as before", () => this.#change(() => { spec.wide = !spec.wide; }));
    this.element = h("section", { class: "card", "aria-label": spec.title },
      h("header", {},
        h("h2", { title: spec.title }, spec.title), this.#said, h("span", { class: "buttons" },
          kind, isRanking ? null : this.wide,
          iconButton("copy", `Copy ${spec.title} as CSV`, () => this.#copy()),
          iconButton("close", `Remove ${spec.title}`, () => page.remove(this)))));
    if (isRanking) {
      this.#ranking = spec.asks.map(() => new Ranking());
      this.element.append(...this.#ranking.map(ranking => ranking.element));
    } else {
      this.#legend = new Legend({
        toggle: n => this.#toggle(n), focus: n => this.#plot?.focus(n), remove: n => this.#remove(n),
      });
      this.element.append(this.#host, this.#legend.element);
    }
    this.#size = new ResizeObserver(() => this.#fit());
    this.#size.observe(this.#host);
    this.element.classList.toggle("wide", spec.wide);
  }

  #fit() {
    const { clientWidth, clientHeight } = this.#host;
    if (clientWidth && clientHeight) this.#plot?.resize(clientWidth, clientHeight);
  }

  /** A change of the chart that is part of the view. */
  #change(change) {
    change();
    this.element.classList.toggle("wide", this.spec.wide);
    this.page.changed();
  }

  /** The series to draw, and what to say of the rest. */
  #content() {
    const { store, view } = this.page;
    const { asks, kind } = this.spec;
    const notes = [];
    const found = [];
    for (const ask of asks) {
      const columns = ask.top ? [] : store.columnsOf(askKey(ask));
      const { nothing, without } = store.asks.get(askKey(ask)) ?? {};
      found.push([ask, columns]);
      if (ask.error) notes.push({ name: ask.path, text: ask.error, remove: () => this.#dropAsk(ask) });
      else if (columns.length === 0 && nothing) notes.push({ name: ask.path, text: nothing, remove: () => this.#dropAsk(ask) });
      for (const { counter, text } of withoutTexts(without ?? [])) notes.push({ name: counter, text });
    }
    const bounds = store.last === undefined ? [0, 0] : store.bounds(view.range(store.last));
    // A row more on both sides: lines begin and end outside.
    const range = [Math.max(0, bounds[0] - 1), Math.min(store.times.length, bounds[1] + 1)];
    const looked = JSON.stringify([kind, view.window, view.end, view.zoom, asks.map(askKey)]);
    const { columns, left } = this.#choice.lines(found, kind, looked, range);
    if (left) notes.push({ name: `${left} more`, text: "smaller than these, and not drawn" });
    const scales = new Set(columns.map(column => scaleOf(column.series)));
    return { kind: kind === "stack" && scales.size > 1 ? "lines" : kind, columns, notes };
  }

  #dropAsk(ask) {
    this.#change(() => { this.spec.asks = this.spec.asks.filter(other => other !== ask); });
  }

  /** Draws what there is now. */
  draw() {
    if (!this.isSeen) return;
    const { store, view, cursor } = this.page;
    const { last } = store;
    if (this.#ranking) {
      const time = cursor.at === null ? last === undefined ? 0 : view.range(last)[1] : store.times[cursor.at];
      const isNow = cursor.at === null && view.isLive;
      this.spec.asks.forEach((ask, n) => this.#ranking[n].update(store.rankedAt(askKey(ask), time), isNow));
      return;
    }
    const { kind, columns, notes } = this.#content();
    const state = JSON.stringify([kind, columns.map(column => column.key)]);
    if (state !== this.#drawnFor) {
      this.#drawnFor = state;
      this.#notedFor = "";
      this.#rebuild(kind, columns);
    }
    const noted = JSON.stringify(notes.map(note => [note.name, note.text]));
    if (noted !== this.#notedFor) {
      this.#notedFor = noted;
      this.#legend.note(notes);
    }
    this.#lines.forEach((line, n) => { line.column = columns[n]; });
    if (last === undefined) return;
    const range = view.range(last);
    this.#plot?.draw(store.times, range, store.bounds(range), n => this.#isHidden(n));
    this.drawLegend();
  }

  /** Writes the numbers for the place of the cursor. */
  drawLegend() {
    const { store, view, cursor } = this.page;
    if (!this.isSeen || store.last === undefined) return;
    if (this.#ranking) this.draw();
    else this.#legend.update(store, store.bounds(view.range(store.last)), cursor.at, n => this.#isHidden(n));
  }

  #rebuild(kind, columns) {
    this.#plot?.destroy();
    this.#plot = null;
    const names = columns.length ? labels(columns.map(column => column.series)) : [];
    this.#lines = columns.map((column, n) => ({
      label: names[n], unit: column.series.unit, scale: scaleOf(column.series), series: column.series, column,
    }));
    this.element.dataset.drawn = kind;
    this.#legend.show(this.#lines);
    this.#host.setAttribute("aria-label", `${this.spec.title}: ${names.join(", ") || "nothing yet"}`);
    this.#host.classList.toggle("bare", columns.length === 0);
    if (columns.length) this.#plot = new Plot(this.#host, kind, this.#lines, this.page, n => this.#legend.mark(n));
  }

  /** The colours have changed. */
  recolour() {
    this.#drawnFor = "";
    this.draw();
  }

  /** Times are written in another zone. */
  rezone() {
    this.#plot?.redraw();
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
    const { store, view } = this.page;
    if (store.last === undefined) return;
    const range = view.range(store.last);
    const [from, to] = store.bounds(range);
    let text;
    if (this.#ranking) {
      const rows = this.spec.asks.flatMap(ask => store.asks.get(askKey(ask))?.rows ?? []);
      const shown = rows.filter(row => row.time >= range[0] && row.time <= range[1]);
      const paths = [...new Set(shown.flatMap(row => row.list.map(item => item.series.path)))];
      const values = path => shown.map(row => row.list.find(item => item.series.path === path)?.value);
      text = csv(shown.map(row => row.time), paths.map(path => ({ name: path, values: values(path) })));
    } else {
      text = csv(store.times.slice(from, to), this.#lines.filter((_, n) => !this.#isHidden(n)).map(line => ({
        name: line.series.path, values: line.column.values.slice(from, to),
      })));
    }
    if (await copy(text, `${this.spec.title}, as CSV`)) this.#say(`copied ${agoText(range[1] - range[0])}`);
  }

  #say(text) {
    setText(this.#said, text);
    setTimeout(() => setText(this.#said, ""), 2500);
  }

  destroy() {
    this.#size.disconnect();
    this.#plot?.destroy();
    this.element.remove();
  }
}
