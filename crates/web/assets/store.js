// What came from the server: for each path a column of values, all beside one list of times; for each ranking its rows.
//
// A time at which nothing came, because the connection was lost or the server stopped, is a row without values, so
// that lines have a gap there.

import { isIdle, isTotal } from "./names.js";

/** What identifies a question: its path, and how many of its instances if not all. */
export const askKey = ({ path, top }) => top ? `${path}\ttop=${top}` : path;

export class Store {
  /** Times in ms since 1970, rising. Columns are as long. */
  times = [];
  /** Path of a series → `{series, values, why}`: `why` has the reasons of values that are missing, by time. */
  columns = new Map();
  /**
   * Key of a question → `{top, members, rows, nothing}`: paths of its series; of a ranking, `{time, list}` for each
   * sample; why the last sample had nothing of it.
   */
  asks = new Map();
  #ids = new Map();
  #requested = [];
  #gaps = new Set();

  constructor(interval, span) {
    this.interval = interval;
    this.keep = Math.ceil(span / interval) + 1;
  }

  get last() { return this.times.at(-1); }

  /** What is asked from now on, in the order of the request; what nobody asks any more is forgotten. */
  request(asks) {
    this.#requested = asks.map(askKey);
    const before = this.asks;
    this.asks = new Map(asks.map(ask => {
      const key = askKey(ask);
      return [key, before.get(key) ?? { top: ask.top, members: new Set(), rows: [], nothing: null }];
    }));
    this.connected();
    const wanted = new Set([...this.asks.values()].flatMap(ask => [...ask.members]));
    for (const path of this.columns.keys()) if (!wanted.has(path)) this.columns.delete(path);
  }

  /** Nothing has come yet, but what is asked remains. */
  forget() {
    this.times = [];
    this.#gaps.clear();
    this.columns.clear();
    for (const ask of this.asks.values()) {
      ask.members.clear();
      ask.rows = [];
    }
    this.connected();
  }

  /** Numbers of series are those of one server: after a connection they come anew. */
  connected() { this.#ids.clear(); }

  /** How many series are known by number. It grows with what comes and goes, until a connection is made anew. */
  get known() { return this.#ids.size; }

  series(list) {
    for (const series of list) {
      const ask = this.asks.get(this.#requested[series.ask]);
      if (!ask) continue;
      const entry = this.#ids.get(series.id) ?? { series, lines: new Set(), rankings: new Set() };
      entry[ask.top ? "rankings" : "lines"].add(ask);
      this.#ids.set(series.id, entry);
      ask.members.add(series.path);
      if (!ask.top) this.#column(series);
    }
  }

  #column(series) {
    const known = this.columns.get(series.path);
    if (known) return Object.assign(known, { series });
    const column = { series, values: new Array(this.times.length).fill(null), why: new Map() };
    this.columns.set(series.path, column);
    return column;
  }

  history({ ids, times, values }) {
    this.#insert(times);
    const place = new Map(this.times.map((time, at) => [time, at]));
    ids.forEach((id, n) => {
      const column = this.columns.get(this.#ids.get(id)?.series.path);
      if (column) times.forEach((time, at) => { column.values[place.get(time)] = values[n][at]; });
    });
    this.#trim();
  }

  sample({ time, ids, values, missing, nothing }) {
    this.#insert([time]);
    for (const ask of this.asks.values()) ask.nothing = null;
    for (const { ask, reason } of nothing ?? []) {
      const asked = this.asks.get(this.#requested[ask]);
      if (asked) asked.nothing = reason;
    }
    const at = this.times.at(-1) === time ? this.times.length - 1 : this.times.indexOf(time);
    const ranked = new Map();
    ids.forEach((id, n) => {
      const entry = this.#ids.get(id);
      if (!entry) return;
      const { series, lines, rankings } = entry;
      if (lines.size) {
        const column = this.columns.get(series.path) ?? this.#column(series);
        for (const ask of lines) ask.members.add(series.path);
        column.values[at] = values[n];
        if (values[n] == null) column.why.set(time, missing?.[id]);
      }
      for (const ask of rankings) {
        if (values[n] == null || isTotal(series.instance) || isIdle(series.instance)) continue;
        if (!ranked.has(ask)) ranked.set(ask, []);
        ranked.get(ask).push({ series, value: values[n] });
      }
    });
    for (const [ask, list] of ranked) {
      list.sort((a, b) => b.value - a.value);
      if (!(ask.rows.at(-1)?.time >= time)) ask.rows.push({ time, list: list });
    }
    this.#trim();
  }

  /** Makes room for times; where between two of them nothing came, for a gap. */
  #insert(times) {
    const { last } = this;
    const fresh = last === undefined ? times : times.filter(time => time > last);
    if (fresh.length === times.length) {
      this.#append(times);
      return;
    }
    // Times from before: put together anew. It happens when the history is fetched again.
    const old = new Map(this.times.map((time, at) => [time, at]));
    const union = new Set([...this.times.filter(time => !this.#gaps.has(time)), ...times]);
    this.times = [];
    this.#gaps.clear();
    const columns = [...this.columns.values()].map(column => [column, column.values]);
    for (const [column] of columns) column.values = [];
    this.#append([...union].sort((a, b) => a - b));
    for (const [column, before] of columns) {
      this.times.forEach((time, at) => { column.values[at] = before[old.get(time)] ?? null; });
    }
  }

  #append(times) {
    let previous = this.last;
    const push = time => {
      this.times.push(time);
      for (const column of this.columns.values()) column.values.push(null);
    };
    for (const time of times) {
      if (previous !== undefined && time - previous > 2.5 * this.interval) {
        this.#gaps.add(previous + this.interval);
        push(previous + this.interval);
      }
      push(time);
      previous = time;
    }
  }

  /** Forgets what is older than the history, now and then; and series that have no value any more. */
  #trim() {
    const excess = this.times.length - this.keep;
    if (excess < 60) return;
    for (const time of this.times.splice(0, excess)) this.#gaps.delete(time);
    const [first] = this.times;
    for (const [path, column] of this.columns) {
      column.values.splice(0, excess);
      for (const time of column.why.keys()) if (time < first) column.why.delete(time);
      if (column.why.size === 0 && column.values.every(value => value === null)) {
        this.columns.delete(path);
        for (const ask of this.asks.values()) ask.members.delete(path);
      }
    }
    for (const ask of this.asks.values()) {
      while (ask.rows.length && ask.rows[0].time < first) ask.rows.shift();
      if (ask.top) this.#forgetRanked(ask);
    }
  }

  /** Processes come and go: of a ranking only those are known that it still shows. */
  #forgetRanked(ask) {
    const shown = new Set(ask.rows.flatMap(row => row.list.map(item => item.series.path)));
    for (const path of ask.members) if (!shown.has(path)) ask.members.delete(path);
  }

  /** The columns of a question, in the order in which the server named them. */
  columnsOf(key) {
    return [...this.asks.get(key)?.members ?? []].map(path => this.columns.get(path)).filter(Boolean);
  }

  /** A ranking as it was at a time: the last row that is not later, if it is not too old to say anything about it. */
  rankedAt(key, time) {
    const rows = this.asks.get(key)?.rows ?? [];
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle].time <= time) low = middle + 1; else high = middle;
    }
    const row = rows[low - 1];
    return row && time - row.time < 3 * this.interval ? row : null;
  }

  /** Where the times of a range begin and end, the row before and the row behind included: [from, to). */
  bounds([min, max]) {
    const first = time => {
      let [low, high] = [0, this.times.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.times[middle] < time) low = middle + 1; else high = middle;
      }
      return low;
    };
    return [first(min), first(max + 1)];
  }
}
