// A table of a counterset: its instances as rows, some of its counters as columns. The server sorts, filters and limits
// the rows. It follows the cursor of the charts where the server has the past; elsewhere it is of now.

import { problemOf, request } from "./api.js";
import { h, setText } from "./dom.js";
import { csvRows, isUsual, markText, reasonText, withoutTexts } from "./names.js";
import { rove } from "./rove.js";
import { unitOf, valueText } from "./units.js";
import { clock, day } from "./zone.js";
import { Columns } from "./columns.js";

/** How long the wish must stay the same before it is asked for, in ms: cursors and fingers move. */
const REST = 150;

/** How often values of now are asked for, in ms, at the most. */
const AGAIN = 2000;

/** Keys that scroll rows, and are not for the charts of the page. */
const SCROLLING = ["ArrowLeft", "ArrowRight", " "];

/** Numbers of rows, each asked for by a button below the others. The last is the server's limit. */
const LIMITS = [100, 300, 1000];

/** Facts that are columns: those before the counters, and those behind them. */
const FACTS = { user: "User" };
const FACTS_BEHIND = { service: "Service", command_line: "Command" };

/** Countersets whose rows are processes: they have users, services and commands. */
const PROCESSES = /^(?:Process(?: V2)?|Linux Process)$/;

const TREES = { "": "As a list", parent: "By parent", cgroup: "By control group" };

/** What a table is of, and how it is shown: all of it is in the address. */
export const newTable = (set = "", more = {}) => ({
  set, columns: [], sort: "", order: "", filter: "", tree: "", facts: PROCESSES.test(set), limit: LIMITS[0], ...more,
});

/** A chart that is a table of a counterset. */
export const tableSpec = (set, more) => ({ title: set, kind: "table", wide: true, asks: [], hidden: new Set(), table: newTable(set, more) });

/** Writes a table into the fragment of an address. */
export function writeTable(query, { set, columns, sort, order, filter, tree, facts, limit }) {
  query.append("set", set);
  for (const column of columns) query.append("column", column);
  for (const [name, value] of Object.entries({ sort, order, filter, tree })) if (value) query.append(name, value);
  if (facts) query.append("facts", 1);
  if (limit !== LIMITS[0]) query.append("rows", limit);
}

/** Reads a part of a table from the fragment of an address; what it does not understand is left out. */
export function readTable(table, key, value) {
  if (["set", "sort", "filter"].includes(key)) table[key] = value.slice(0, 200);
  if (key === "column" && table.columns.length < Columns.MOST && !table.columns.includes(value)) table.columns.push(value);
  if (key === "order" && (value === "asc" || value === "desc")) table.order = value;
  if (key === "tree" && value && Object.hasOwn(TREES, value)) table.tree = value;
  if (key === "facts") table.facts = value === "1";
  if (key === "rows" && LIMITS.includes(Number(value))) table.limit = Number(value);
}

export class Table {
  #spec;
  #page;
  #act;
  /** The last answer, the address that it answers, and when it came. */
  #answer = null;
  #answered = { address: "", at: -Infinity };
  #waits = { address: "", timer: 0 };
  #isAsking = false;
  #stop = new AbortController();
  #problem = "";
  #typing = 0;
  #filter;
  #tree;
  #columns;
  #status = h("span", { class: "status", role: "status" });
  #notes = h("ul");
  #unknown = h("details", { class: "without" }, h("summary", {}, "Some values are missing"), this.#notes);
  #more = h("button", { type: "button", on: { click: () => this.#showMore() } });
  #head = h("tr");
  #bodies = h("tbody");
  #scroll;
  #heads = [];
  #lines = [];
  #shape = "";
  #refresh;

  /**
   * `spec` is the table of a chart; `page` knows store, view, cursor and whether there is a past; `act` hears what is
   * done: `change(act)` changes the spec, `isSeen()` says whether anybody sees it.
   */
  constructor(spec, page, act) {
    this.#spec = spec;
    this.#page = page;
    this.#act = act;
    this.#filter = h("input", { type: "search", placeholder: "Filter names", "aria-label": "Filter names", value: spec.filter, maxlength: 200, on: { input: () => this.#typed(), keydown: event => event.stopPropagation() } });
    this.#tree = h("select", { "aria-label": "How rows are arranged", on: { change: ({ target }) => act.change(() => { spec.tree = target.value; }) } },
      Object.entries(TREES).map(([value, text]) => h("option", { value, selected: spec.tree === value }, text)));
    this.#columns = new Columns(spec, act.change, () => this.#answer?.columns.map(({ name }) => name) ?? []);
    this.#scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Rows of ${spec.set}`, on: { keydown: event => this.#scrolled(event) } },
      h("table", {}, h("thead", {}, this.#head), this.#bodies));
    this.element = h("div", { class: "grid" },
      h("div", { class: "controls" }, this.#filter, this.#tree, this.#columns.button, this.#status),
      this.#columns.element, this.#scroll, h("div", { class: "foot" }, this.#unknown, this.#more));
    this.#more.hidden = true;
    this.#refresh = rove(this.#head, () => [this.#heads.map(({ button }) => button).filter(Boolean)]);
    this.#show();
  }

  /** The time that is wanted, in ms since 1970; null for now. */
  get #time() {
    const { store, view, cursor, hasPast } = this.#page;
    if (!hasPast) return null;
    if (cursor.at !== null && store.times[cursor.at] !== undefined) return Math.round(store.times[cursor.at]);
    return view.isLive ? null : Math.round(this.#page.range[1]);
  }

  #address(time) {
    const { set, columns, sort, order, filter, tree, facts, limit } = this.#spec;
    const query = new URLSearchParams({ counterset: set });
    for (const column of columns) query.append("column", column);
    for (const [name, value] of Object.entries({ sort, order, filter: filter.trim(), tree })) if (value) query.append(name, value);
    if (facts) query.append("facts", 1);
    query.append("limit", limit);
    if (time !== null) query.append("at", time);
    return `api/v1/table?${query}`;
  }

  /** Asks for what is wanted now, if that is not shown; once at a time, and only when the wish rests. */
  draw() {
    if (this.#isAsking) return;
    const time = this.#time;
    const address = this.#address(time);
    const left = this.#answered.at + Math.max(AGAIN, this.#page.store.interval) - Date.now();
    const isNew = address !== this.#answered.address;
    if (this.#waits.timer && this.#waits.address === address) return;
    clearTimeout(this.#waits.timer);
    this.#waits.timer = 0;
    if (!isNew && time !== null && !this.#problem) return;
    const wait = isNew ? REST : Math.max(REST, left);
    this.#waits = { address, timer: setTimeout(() => {
      this.#waits.timer = 0;
      if (this.#act.isSeen()) this.#ask(address);
    }, wait) };
  }

  async #ask(address) {
    this.#isAsking = true;
    try {
      const answer = await request(address, { signal: this.#stop.signal });
      if (answer.ok) {
        this.#answer = await answer.json();
        this.#problem = "";
      } else {
        const { error, hints } = await problemOf(answer);
        this.#problem = [error, ...(hints ?? []).filter(hint => !hint.startsWith("this fits"))].join("; ");
      }
    } catch (error) {
      this.#problem = `The server cannot be reached (${error.message})`;
    }
    this.#isAsking = false;
    if (this.#stop.signal.aborted) return;
    this.#answered = { address, at: Date.now() };
    this.#show();
    // The wish may be another by now; of now, the next look follows.
    if (this.#act.isSeen()) this.draw();
  }

  #scrolled(event) { if (event.target === this.#scroll && SCROLLING.includes(event.key)) event.stopPropagation(); }

  #typed() {
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => this.#act.change(() => { this.#spec.filter = this.#filter.value; }), REST);
  }

  #showMore() {
    this.#act.change(() => { this.#spec.limit = LIMITS.find(limit => limit > this.#spec.limit) ?? LIMITS.at(-1); });
    this.#scroll.focus({ preventScroll: true });
  }

  /** Sorts by a column; by the same again, the other way round. */
  #sort(column) {
    const { sort, order } = this.#answer;
    const isSame = sort === column;
    this.#act.change(() => {
      this.#spec.sort = column;
      this.#spec.order = isSame ? (order === "asc" ? "desc" : "asc") : column === "name" ? "asc" : "desc";
    });
  }

  /** Times are written in another zone. */
  rezone() { this.#showStatus(); }

  #show() {
    const rows = this.#problem ? [] : this.#answer?.rows ?? [];
    this.#scroll.hidden = rows.length === 0;
    if (rows.length) {
      this.#showHead(rows);
      this.#showRows(rows);
    }
    this.#columns.update();
    this.#showStatus();
    const { more = 0, without = [] } = this.#problem ? {} : this.#answer ?? {};
    const shown = new Set(this.#answer?.columns.map(({ name }) => name));
    const texts = withoutTexts(without.filter(({ counter }) => shown.has(counter))).map(({ counter, text }) => `${counter}: ${text}`);
    this.#unknown.hidden = texts.length === 0;
    this.#unknown.classList.toggle("usual", isUsual(without));
    this.#notes.replaceChildren(...texts.map(text => h("li", {}, text)));
    const next = LIMITS.find(limit => limit > this.#spec.limit);
    this.#more.hidden = !more || !next;
    if (next) setText(this.#more, `Show up to ${next.toLocaleString("en")} rows`);
  }

  #showStatus() {
    const answer = this.#answer;
    const texts = [];
    if (this.#problem) texts.push(this.#problem);
    else if (!answer) texts.push("Waiting for the first values");
    else {
      const { view, cursor, hasPast } = this.#page;
      const count = answer.count - answer.more;
      if (answer.nothing) texts.push(`No rows: ${answer.nothing.reason}`);
      else if (answer.count === 0) texts.push(this.#spec.filter.trim() ? `No name has “${this.#spec.filter.trim()}”` : "No rows");
      else texts.push(answer.more ? `${count.toLocaleString("en")} of ${answer.count.toLocaleString("en")} rows` : `${count.toLocaleString("en")} rows`);
      const ofDay = day(answer.time) === day(Date.now()) ? "" : `${day(answer.time)} `;
      texts.push(`${ofDay}${clock(answer.time)}`);
      if (!hasPast && (!view.isLive || cursor.held !== null)) texts.push("values of now: this server has no recording");
    }
    for (const { error, hints } of this.#problem ? [] : answer?.errors ?? []) texts.push([error, ...(hints ?? [])].join("; "));
    setText(this.#status, texts.join(", "));
    this.#status.classList.toggle("bad", Boolean(this.#problem || answer?.errors.length));
  }

  /** The columns: name and facts, counters, and facts that are long. Made anew only if they are others. */
  #showHead(rows) {
    const { columns, sort, order } = this.#answer;
    const has = kind => rows.some(row => factOf(row, kind) !== undefined || row.missing[kind]);
    const facts = all => Object.entries(all).filter(([kind]) => has(kind)).map(([kind, text]) => ({ kind, text }));
    const heads = [
      { text: "Name", sort: "name", class: "first" }, ...facts(FACTS),
      ...columns.map(({ name, unit }, n) => ({ text: name, sort: name, unit, n })), ...facts(FACTS_BEHIND),
    ];
    const shape = JSON.stringify(heads);
    if (shape !== this.#shape) {
      const focused = this.#heads.find(({ button }) => button && button === document.activeElement)?.sort;
      this.#shape = shape;
      this.#lines = [];
      this.#heads = heads.map(head => ({ ...head, button: head.sort && h("button", { type: "button", on: { click: () => this.#sort(head.sort) } }, head.text) }));
      this.#head.replaceChildren(...this.#heads.map(({ text, button, kind, class: name }) => h("th", { scope: "col", class: kind ? "fact" : name }, button ?? text)));
      this.#refresh();
      if (focused) this.#heads.find(head => head.sort === focused)?.button.focus({ preventScroll: true });
    }
    this.#heads.forEach(({ sort: own, button, text }, n) => {
      if (!button) return;
      const isSorted = own === sort;
      const cell = this.#head.cells[n];
      if (isSorted) cell.setAttribute("aria-sort", order === "asc" ? "ascending" : "descending"); else cell.removeAttribute("aria-sort");
      button.title = `Sort by ${text}`;
    });
  }

  #showRows(rows) {
    const units = this.#answer.columns.map(({ unit }) => unitOf(unit));
    const names = new Map(rows.map(row => [row.id, row.name]));
    const lines = [];
    let group = null;
    for (const row of rows) {
      if (row.group !== undefined && row.group !== group) {
        group = row.group;
        lines.push({ group: this.#answer.groups[group] });
      }
      lines.push({ row });
    }
    lines.forEach((line, n) => {
      const isGroup = Boolean(line.group);
      let shown = this.#lines[n];
      if (shown?.isGroup !== isGroup) {
        const element = isGroup
          ? h("tr", { class: "group" }, h("th", { scope: "rowgroup", colspan: this.#heads.length }))
          : h("tr", {}, this.#heads.map(({ kind }, m) => m ? h("td", { class: kind ? "fact" : null }) : h("th", { scope: "row" })));
        if (shown) shown.element.replaceWith(element); else this.#bodies.append(element);
        shown = this.#lines[n] = { isGroup, element };
      }
      if (isGroup) setText(shown.element.cells[0], `${line.group.path ?? "no control group is known"}, ${line.group.rows}`);
      else this.#showRow(shown.element, line.row, units, names);
    });
    for (const { element } of this.#lines.splice(lines.length)) element.remove();
    // Rows that are of other columns.
    while (this.#bodies.rows.length > this.#lines.length) this.#bodies.rows[0].remove();
  }

  #showRow(element, row, units, names) {
    element.classList.toggle("total", row.total === true);
    element.classList.toggle("ancestor", row.ancestor === true);
    this.#heads.forEach(({ kind, n }, m) => {
      const cell = element.cells[m];
      if (m === 0) {
        setText(cell, row.name || this.#spec.set);
        const above = row.depth && names.has(row.parent) ? `, below ${names.get(row.parent)}` : "";
        cell.title = `${row.name || this.#spec.set}${above}`;
        cell.style.paddingLeft = `${6 + 14 * Math.min(row.depth ?? 0, 12)}px`;
        return;
      }
      const value = kind ? factOf(row, kind) : row.values[n];
      const isMissing = value === null || value === undefined;
      const reason = row.missing[kind ?? n];
      const mark = kind ? undefined : row.marks[n];
      setText(cell, isMissing ? "–" : kind ? value : valueText(value, units[n]) + (mark ? " *" : ""));
      cell.title = isMissing ? reasonText(reason) : kind ? value : mark ? markText(mark) : "";
      cell.classList.toggle("missing", isMissing);
    });
  }

  /** The shown rows as CSV. */
  csv() {
    if (!this.#answer || this.#problem) return "";
    const heads = this.#heads.map(({ text }) => text);
    return csvRows(heads, this.#answer.rows.map(row => this.#heads.map(({ kind, n }, m) => m === 0 ? row.name : kind ? factOf(row, kind) : row.values[n])));
  }

  destroy() {
    this.#stop.abort();
    clearTimeout(this.#waits.timer);
    clearTimeout(this.#typing);
  }
}

/** A fact of a row; of its service what is known best. */
function factOf({ facts }, kind) {
  if (kind !== "service") return facts?.[kind];
  return facts?.container ?? facts?.unit ?? facts?.cgroup;
}
