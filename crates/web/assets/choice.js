// Which lines a chart draws where there are too many: the largest of what is shown, and the others as one line.

import { isTotal } from "./names.js";

/** Lines that a chart draws: more cannot be told apart. */
const LINES_MAX = 50;
/** The same where the others are drawn as one line. */
const LINES_BESIDE_OTHERS = 20;
const ROWS_MAX = 512;

/** How much larger a line must be to take the place of another one: else lines would come and go with every sample. */
const LARGER = 2;

/** So much of a sum may be rounding: values from before have seven digits. */
const ROUNDING = 1e-5;

/** The sum of the values in [from, to), null of none. */
export function totalOf(values, from, to) {
  let total = null;
  for (let at = from; at < to; at++) if (values[at] != null) total = (total ?? 0) + values[at];
  return total;
}

/** The same of a column, and of what it is compared with. */
function totalOfBoth({ values, other }, from, to) {
  const [total, compared] = [values, other ?? []].map(list => totalOf(list, from, to));
  return total === null ? compared : total + (compared ?? 0);
}

/**
 * The `most` keys with the largest totals, of a map of both. A key keeps its place among those `before` until another
 * one has so much more that it takes the place.
 */
export function choose(totals, most, before = []) {
  const total = key => totals.get(key) ?? -Infinity;
  const chosen = before.slice(0, most).map(key => totals.has(key) ? key : null);
  const taken = new Set(chosen);
  const rest = [...totals.keys()].filter(key => !taken.has(key)).sort((a, b) => total(b) - total(a));
  let next = 0;
  for (let place = 0; place < most && next < rest.length; place++) {
    if (chosen[place] == null) chosen[place] = rest[next++];
  }
  for (; next < rest.length; next++) {
    let least = 0;
    chosen.forEach((key, place) => { if (total(key) < total(chosen[least])) least = place; });
    if (!(total(rest[next]) > LARGER * total(chosen[least]))) break;
    chosen[least] = rest[next];
  }
  return chosen.filter(key => key != null);
}

/** The line of all instances that are not drawn: their sum less those that are. It looks like a column of the store. */
class Others {
  values = [];
  why;
  marks = new Map();

  constructor(sum) {
    this.sum = sum;
    this.key = `${sum.key}\tothers`;
    this.why = sum.why;
    this.series = { ...sum.series, path: `${sum.series.path} (others)`, instance: "others", isOthers: true };
  }

  /** Takes away what is drawn of it; `rest` is what is not. */
  update(drawn, rest, from, to) {
    this.values.length = this.sum.values.length;
    for (let at = from; at < to; at++) {
      const sum = this.sum.values[at];
      let value = sum ?? null;
      // The mean of a part that was there for a share of a step is that much of the sum's mean.
      if (value !== null) for (const part of drawn) value -= (part.values[at] ?? 0) * (part.shares?.get(at) ?? 1);
      if (value !== null && Math.abs(value) <= ROUNDING * Math.abs(sum)) {
        // Nothing is left of the sum: others that have a value have 0, and without them nothing is known.
        value = rest.some(part => part.values[at] != null) ? 0 : null;
      }
      this.values[at] = value;
    }
    // The same of what a range has beside its means. The last value of a part may be none of the end of a step.
    const rested = (list, shares, sum, at) => sum === null ? null
      : drawn.reduce((rest, part) => rest - (part[list]?.[at] ?? 0) * (part[shares]?.get(at) ?? 1), sum);
    this.other = this.sum.other?.map((sum, at) => rested("other", "otherShares", sum, at));
    const isWhole = at => drawn.every(part => !part.shares?.has(at));
    this.last = this.sum.last?.map((sum, at) => isWhole(at) ? rested("last", "shares", sum, at) : this.values[at] ?? null);
  }
}

/** Chooses the lines of a chart, and remembers what it chose. */
export class Choice {
  #view = "";
  #groups = new Map();

  /**
   * The columns to draw of `found`, `[ask, columns]` for each path, and how many instances are left out. `view` says
   * what is looked at: while it stays, lines stay as long as they are large.
   */
  lines(found, kind, view, [from, to]) {
    if (view !== this.#view) this.#groups.clear();
    this.#view = view;
    const before = this.#groups;
    this.#groups = new Map();
    const groups = new Map();
    for (const [, columns] of found) {
      for (const column of columns) {
        const name = `${column.series.counterset}\t${column.series.counter}`;
        if (!groups.has(name)) groups.set(name, { columns: new Set(), sums: new Map() });
        const group = groups.get(name);
        if (column.series.sum) group.sums.set(column, columns); else group.columns.add(column);
      }
    }
    const all = [];
    let left = 0;
    for (const [name, { columns, sums }] of groups) {
      let list = [...columns];
      const parts = list.filter(({ series }) => !isTotal(series));
      const [[sum, members] = []] = sums.size === 1 ? sums : [];
      const most = Math.max(1, Math.floor((kind === "heat" ? ROWS_MAX : sum ? LINES_BESIDE_OTHERS : LINES_MAX) / groups.size));
      if (parts.length && (kind !== "lines" || parts.length > most)) list = parts;
      const known = before.get(name);
      const isTooMany = list.length > most;
      if (isTooMany) {
        const totals = new Map(list.map(column => [column.key, totalOfBoth(column, from, to)]));
        // What was nothing all the time is not large, and others can be it.
        if (sum && kind !== "heat") for (const [key, total] of totals) if (!total) totals.delete(key);
        const chosen = choose(totals, most, known?.keys);
        const place = new Map(chosen.map((key, place) => [key, place]));
        this.#groups.set(name, { keys: chosen, others: known?.others });
        left += sum && kind !== "heat" ? 0 : list.length - chosen.length;
        list = list.filter(column => place.has(column.key));
        if (kind !== "heat") list.sort((a, b) => place.get(a.key) - place.get(b.key));
      }
      all.push(...list);
      if (!sum || kind === "heat" || list.some(({ series }) => isTotal(series))) continue;
      const others = known?.others?.sum === sum ? known.others : new Others(sum);
      const [drawn, ofSum] = [new Set(list), members.filter(({ series }) => !series.sum && !isTotal(series))];
      others.update(ofSum.filter(column => drawn.has(column)), ofSum.filter(column => !drawn.has(column)), from, to);
      // There may be instances that are not known here any more.
      if (!isTooMany && !known?.others && !totalOf(others.values, from, to)) continue;
      this.#groups.set(name, { keys: this.#groups.get(name)?.keys, others });
      all.push(others);
    }
    return { columns: all, left };
  }
}
