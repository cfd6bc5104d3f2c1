// The past: ranges of the recording that are shown in place of the live values, and rankings of any time.

import { problemOf, request } from "./api.js";
import { rangeAsks, readRange, stepOf } from "./ranges.js";
import { askKey, Store } from "./store.js";
import { asksOf } from "./view.js";

/** So long before now the live store is filled from the recording, in seconds. */
export const FILLED = 600;

/** While the view of a long time goes on, it is read again so many times until all of it is new. */
const RENEWALS = 60;

/** How long to wait for more changes of the view before the range is asked for, in ms. */
const REST = 60;

/** So many rankings of the past are kept. */
const RANKINGS_MOST = 200;

/** Instances that add up others, or in which nothing ran. */
const TOTAL = /(^|,)_Total$|^Idle(:0)?$/;

export class Past extends EventTarget {
  /** What is shown; null while the live store has it. */
  store = null;
  /** Marks of what is shown, and of what the live store was filled with: `{time, text, is_of_recorder}`. */
  marks = [];
  /** Why the range could not be read; null if it was. */
  problem = null;
  #first;
  #interval;
  #asked = "";
  #about = "";
  #changed = -Infinity;
  #wait = 0;
  #reading = null;
  #rankings = new Map();
  #ranking = null;
  /** The newest ranking of each ask: it is shown until that of another time has come. */
  #shown = new Map();

  /** `[first, last]` are the times of the recording when the page was opened, `interval` is that of the live samples. */
  constructor([first], interval) {
    super();
    this.#first = first;
    this.#interval = interval;
  }

  /** The time of the first sample. */
  get first() { return this.#first; }

  /** The end to which a view of this length goes on: it moves in steps, so that charts do not flicker. */
  endOf(last, length) {
    const step = Math.max(stepOf(length, this.#interval), length / RENEWALS);
    return Math.floor(last / step) * step;
  }

  /**
   * Shows a range of the charts, [from, to] in ms, beside the values of the same length that are `earlier` by so many
   * ms, or null; a range of null goes back to the live store. A range that goes on does not end the reading of the one
   * before: on a slow machine none would ever come.
   */
  show(charts, range, { earlier, goesOn }) {
    const about = JSON.stringify([rangeAsks(charts), range && Math.round(range[1] - range[0]), earlier]);
    const asked = range === null ? "" : `${about} ${range.map(Math.round)}`;
    if (asked === this.#asked || goesOn && about === this.#about && (this.#reading || this.#wait)) return;
    this.#asked = asked;
    this.#about = about;
    clearTimeout(this.#wait);
    this.#wait = 0;
    this.#reading?.abort();
    this.#reading = null;
    if (range === null) {
      this.store = null;
      this.problem = null;
    } else {
      // A single change is answered at once, and of many in a row only the last.
      const now = performance.now();
      const rest = now - this.#changed > REST ? 0 : REST;
      this.#changed = now;
      this.#wait = setTimeout(() => this.#read(charts, range, earlier), rest);
    }
  }

  async #read(charts, [from, to], earlier) {
    this.#wait = 0;
    const reading = this.#reading = new AbortController();
    const length = Math.max(1, to - from);
    const step = stepOf(length, this.#interval);
    const what = { from: Math.round(from), to: Math.round(to), length, step };
    const asks = rangeAsks(charts);
    const range = await readRange(asks, what, reading.signal).catch(() => null);
    const before = { ...what, from: what.from - earlier, to: what.to - earlier };
    // Without what was before, the range is shown alone.
    const other = earlier === null || !range ? null : await readRange(asks, before, reading.signal).catch(() => null);
    if (reading !== this.#reading) return;
    this.#reading = null;
    if (!range) {
      // The next change of the view, or the next sample, asks again.
      this.#asked = "";
      this.problem = { error: "the recording cannot be read now" };
    } else {
      this.problem = null;
      const store = new Store(step, (range.times.length + 100) * step);
      store.request(asksOf(charts));
      store.steps(atMiddle(range, step));
      if (earlier !== null) store.compare(other?.series ?? []);
      this.store = store;
      this.marks = range.marks;
    }
    this.dispatchEvent(new Event("data"));
  }

  /** Fills the live store with what was recorded just before. False if that is not possible. */
  async fill(store, charts, seconds, signal) {
    const length = Math.min(seconds, FILLED) * 1000;
    const step = this.#interval;
    const asks = rangeAsks(charts);
    if (asks.length === 0) return true;
    const what = { from: `-${Math.round(length / 1000)}s`, to: null, length, step };
    // What has come is drawn before the rest.
    const each = part => {
      if (signal.aborted) return;
      store.fill(atMiddle(part, step));
      this.dispatchEvent(new Event("data"));
    };
    const range = await readRange(asks, what, signal, each).catch(() => null);
    if (signal.aborted) return true;
    if (!range?.times.length) return false;
    store.isFilled(range.times[0]);
    const own = new Set(this.marks.map(({ time, text }) => `${time} ${text}`));
    this.marks.push(...range.marks.filter(({ time, text }) => !own.has(`${time} ${text}`)));
    return true;
  }

  /** A ranking at a time, in ms, as the store has them; null while it is asked for. `data` says that it has come. */
  ranked(ask, time) {
    const at = Math.round(time);
    const key = `${askKey(ask)}\t${at}`;
    if (this.#rankings.has(key)) return this.#rankings.get(key);
    if (!this.#ranking) this.#rank(key, ask, at);
    return this.#shown.get(askKey(ask)) ?? null;
  }

  async #rank(key, ask, at) {
    this.#ranking = key;
    const row = await readRanking(ask, at).catch(() => null);
    this.#ranking = null;
    if (!row) return;
    this.#rankings.set(key, row);
    this.#shown.set(askKey(ask), row);
    for (const old of this.#rankings.keys()) {
      if (this.#rankings.size <= RANKINGS_MOST) break;
      this.#rankings.delete(old);
    }
    this.dispatchEvent(new Event("data"));
  }
}

/** The response with the middle of each step as its time. */
function atMiddle(range, step) {
  return { ...range, times: range.times.map(time => time + step / 2) };
}

/** The instances with the greatest values at a time, and how many have none. */
async function readRanking({ path, top }, at) {
  const response = await request(`api/v1/query?${new URLSearchParams({ path, at })}`);
  if (!response.ok) {
    const { error } = await problemOf(response);
    return { time: at, list: [], without: [], nothing: error };
  }
  const { values } = await response.json();
  const list = [];
  const without = new Map();
  for (const value of values) {
    if (TOTAL.test(value.instance)) continue;
    if (value.value !== null) list.push({ series: value, value: value.value });
    else without.set(value.status, (without.get(value.status) ?? 0) + 1);
  }
  list.sort((a, b) => b.value - a.value);
  const of = list.length + [...without.values()].reduce((sum, count) => sum + count, 0);
  const counter = values[0]?.counter ?? "";
  return {
    time: values[0] ? Date.parse(values[0].time) : at,
    list: list.slice(0, top),
    without: [...without].map(([status, instances]) => ({ counter, status, instances, of })),
  };
}
