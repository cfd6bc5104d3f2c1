// What came from the server: for each path a column of values, all beside one list of times; for each ranking its rows.
//
// A time at which nothing came, because the connection was lost or the server stopped, is a row without values, so
// that lines have a gap there.

import { isTotal } from "./names.js";
import { gapOf } from "./units.js";

/** Columns that are kept at most: of those that are over the smallest go first. */
const COLUMNS_MAX = 4000;

/** What identifies a question: its path, and how many of its instances if not all. */
export const askKey = ({ path, top }) => top ? `${path}\ttop=${top}` : path;

export class Store {
  /** Times in ms since 1970, rising. Columns are as long. */
  times = [];
  /** The time since which all is known that is asked; infinite until the recording has been read. */
  oldest = Infinity;
  /**
   * Key of a series → `{key, series, values, why, marks}`: `why` has the reasons of values that are missing, by time,
   * `marks` what is special about others. The key is the path, with a number where two series have the same.
   */
  columns = new Map();
  /**
   * Key of a question → `{top, members, rows, nothing, without}`: keys of its series; of a ranking,
   * `{time, list, without, nothing}` for each sample; why the last sample had nothing of it; how many instances had no
   * value. `notCompared` is why there is nothing to compare with.
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
    this.oldest = Infinity;
    const before = this.asks;
    this.asks = new Map(asks.map(ask => {
      const key = askKey(ask);
      return [key, before.get(key) ?? { top: ask.top, members: new Set(), rows: [], nothing: null, without: [] }];
    }));
    this.connected();
    const wanted = new Set([...this.asks.values()].flatMap(ask => [...ask.members]));
    for (const key of this.columns.keys()) if (!wanted.has(key)) this.columns.delete(key);
  }

  /**
   * A range in steps, which is all that this store is of: `{times, series, errors}`. The `ask` of a series is its path.
   * Columns have the least, the greatest and the last value of each step, too, and the `shares` of steps for which they
   * had values.
   */
  steps({ times, series, errors }) {
    const described = this.#described(series);
    this.series(described);
    this.history({ ids: described.map(({ id }) => id), times, values: series.map(({ mean }) => mean) });
    series.forEach(({ least, greatest, last, missing, shares }, n) => {
      const column = this.columns.get(this.#ids.get(described[n].id)?.key);
      if (!column) return;
      Object.assign(column, { least, greatest, last, shares: new Map(shares) });
      for (const [at, reason] of missing) column.why.set(times[at], reason);
    });
    for (const { ask, error } of errors) {
      const asked = this.asks.get(ask);
      if (asked) asked.nothing = error;
    }
  }

  /**
   * The same steps of an earlier time, or of another log: a column has the means of its path as `other`. What only the
   * other one has is a column without values.
   */
  compare({ series, errors }) {
    const length = this.times.length;
    const nothing = new Array(length).fill(null);
    // The newest of a path: processes of one name and number are not at the same time.
    const others = new Map(series.map(other => [other.path, other]));
    const paths = new Set();
    for (const column of this.columns.values()) {
      const { path } = column.series;
      paths.add(path);
      const other = others.get(path);
      Object.assign(column, { other: other?.mean ?? nothing, otherShares: new Map(other?.shares) });
    }
    for (const [path, { ask, mean, least, greatest, last, missing, marks, shares, ...about }] of others) {
      const asked = this.asks.get(ask);
      if (paths.has(path) || !asked) continue;
      this.columns.set(path, { key: path, series: about, values: new Array(length).fill(null), why: new Map(), marks: new Map(), other: mean, otherShares: new Map(shares) });
      asked.members.add(path);
    }
    for (const { ask, error } of errors) {
      const asked = this.asks.get(ask);
      if (asked) asked.notCompared = error;
    }
  }

  /**
   * What was recorded before the samples that have come, in steps as long as the interval; it may come in parts. Steps
   * before all rows are rows. Other rows, which are of samples, have the value of the step that they are in.
   */
  fill({ times, series }) {
    const [begin, length] = [times[0] - this.interval / 2, times.length];
    const first = this.times[0] ?? Infinity;
    const end = times.findIndex(time => time > first - this.interval / 2);
    this.#insert(end < 0 ? times : times.slice(0, end));
    const rows = this.times.map((time, at) => [at, this.#gaps.has(time) ? -1 : Math.floor((time - begin) / this.interval)])
      .filter(([, step]) => step >= 0 && step < length);
    const described = this.#described(series);
    series.forEach(({ path, mean, missing, ask }, n) => {
      const asked = this.asks.get(ask);
      if (!asked) return;
      // The newest of a path goes on with the samples that come; an earlier one of the same name is another line.
      const { earlier } = described[n];
      const key = earlier === 0 ? path : `${path}\tbefore ${earlier}`;
      const column = this.columns.get(key) ?? { key, series: described[n], values: new Array(this.times.length).fill(null), why: new Map(), marks: new Map() };
      this.columns.set(key, column);
      asked.members.add(key);
      const reasons = new Map(missing);
      for (const [at, step] of rows) {
        if (column.values[at] != null || column.why.has(this.times[at])) continue;
        column.values[at] = mean[step];
        if (reasons.has(step)) column.why.set(this.times[at], reasons.get(step));
      }
    });
  }

  /** All has come that was recorded since a time: from then on nothing is unknown. */
  isFilled(since) { this.oldest = since - this.interval; }

  /**
   * The series of a range as the server describes those of a stream, with numbers of their own. What two paths mean is
   * one series. `earlier` says how many of the same path come after it: the newest is 0.
   */
  #described(series) {
    const [counts, ids] = [new Map(), new Map()];
    const described = [];
    for (const { least, mean, greatest, last, missing, marks, shares, ask, ...about } of series.toReversed()) {
      const of = `${ask}\t${about.path}`;
      const earlier = counts.get(of) ?? 0;
      counts.set(of, earlier + 1);
      const identity = `${earlier}\t${about.path}\t${about.sum ?? false}`;
      if (!ids.has(identity)) ids.set(identity, -1 - ids.size);
      described.unshift({ ...about, id: ids.get(identity), ask: this.#requested.indexOf(ask), earlier });
    }
    return described;
  }

  /** Nothing has come yet, but what is asked remains. */
  forget() {
    this.times = [];
    this.oldest = Infinity;
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
      const entry = this.#ids.get(series.id) ?? { series, key: series.path, lines: new Set(), rankings: new Set() };
      entry.series = series;
      entry[ask.top ? "rankings" : "lines"].add(ask);
      if (!ask.top) entry.key = this.#column(series).key;
      this.#ids.set(series.id, entry);
      ask.members.add(ask.top ? series.path : entry.key);
    }
  }

  /** The column of a series. Two that live at the same time, or after each other, are two columns. */
  #column(series) {
    for (const key of [series.path, `${series.path}\t${series.id}`]) {
      const known = this.columns.get(key);
      // A number that this server never told is of one before it.
      if (known && known.series.id !== series.id && this.#ids.has(known.series.id)) continue;
      if (known) return Object.assign(known, { series });
      const column = { key, series, values: new Array(this.times.length).fill(null), why: new Map(), marks: new Map() };
      this.columns.set(key, column);
      return column;
    }
  }

  history({ ids, times, values }) {
    this.#insert(times);
    const place = new Map(this.times.map((time, at) => [time, at]));
    ids.forEach((id, n) => {
      const column = this.columns.get(this.#ids.get(id)?.key);
      if (column) times.forEach((time, at) => { column.values[place.get(time)] = values[n][at]; });
    });
    this.#trim();
  }

  sample({ time, ids, values, missing, marks, nothing, without }) {
    this.#insert([time]);
    for (const ask of this.asks.values()) {
      ask.nothing = null;
      ask.without = [];
    }
    for (const { ask, ...reason } of without ?? []) {
      this.asks.get(this.#requested[ask])?.without.push(reason);
    }
    const waiting = new Set();
    for (const { ask, status, reason } of nothing ?? []) {
      const asked = this.asks.get(this.#requested[ask]);
      if (asked) asked.nothing = reason;
      if (status === "needs_two_samples") waiting.add(asked);
    }
    const at = this.times.at(-1) === time ? this.times.length - 1 : this.times.indexOf(time);
    const ranked = new Map();
    ids.forEach((id, n) => {
      const entry = this.#ids.get(id);
      if (!entry) return;
      const { series, lines, rankings } = entry;
      if (lines.size) {
        const column = this.columns.get(entry.key) ?? this.#column(series);
        entry.key = column.key;
        for (const ask of lines) ask.members.add(entry.key);
        column.values[at] = values[n];
        if (marks?.[id]) column.marks.set(time, marks[id]);
        if (values[n] == null) column.why.set(time, missing?.[id]);
      }
      for (const ask of rankings) {
        if (values[n] == null || isTotal(series)) continue;
        if (!ranked.has(ask)) ranked.set(ask, []);
        ranked.get(ask).push({ series, value: values[n] });
      }
    });
    for (const ask of this.asks.values()) {
      const list = ranked.get(ask) ?? [];
      // Where all have no value the reason is a row too: it must not look as if nothing had come.
      const isKnown = list.length || ask.top && !waiting.has(ask) && (ask.nothing || ask.without.length);
      if (!isKnown || ask.rows.at(-1)?.time >= time) continue;
      list.sort((a, b) => b.value - a.value);
      ask.rows.push({ time, list, without: ask.without, nothing: ask.nothing });
    }
    this.#trim();
    if (this.columns.size > COLUMNS_MAX) this.#makeRoom(at);
  }

  /** Forgets a quarter of the columns that have no value any more, the smallest first: sums have them still. */
  #makeRoom(at) {
    const over = [...this.columns].filter(([, { values, series }]) => values[at] === null && !series.sum);
    const sizes = new Map(over.map(([key, { values }]) => [key, values.reduce((sum, value) => sum + Math.abs(value ?? 0), 0)]));
    over.sort(([a], [b]) => sizes.get(a) - sizes.get(b));
    for (const [key] of over.slice(0, COLUMNS_MAX / 4)) this.#forgetColumn(key);
  }

  #forgetColumn(key) {
    this.columns.delete(key);
    for (const ask of this.asks.values()) ask.members.delete(key);
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
      if (previous !== undefined && time - previous > gapOf(this.interval)) {
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
    this.oldest = Math.max(this.oldest, first);
    for (const [key, column] of this.columns) {
      column.values.splice(0, excess);
      for (const map of [column.why, column.marks]) for (const time of map.keys()) if (time < first) map.delete(time);
      if (column.why.size === 0 && column.values.every(value => value === null)) this.#forgetColumn(key);
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
    return [...this.asks.get(key)?.members ?? []].map(key => this.columns.get(key)).filter(Boolean);
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
