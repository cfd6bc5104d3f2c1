// The past: ranges of the recording that are shown in place of the live values, and rankings of any time.

import { problemOf, request } from "./api.js";
import { rangeAsks, readRange, stepOf } from "./ranges.js";
import { askKey, Store } from "./store.js";
import { asksOf } from "./view.js";

/** So long before now the live store is filled from the recording, in seconds. */
export const FILLED = 600;

/** How long to wait for more changes of the view before the range is asked for, in ms. */
const REST = 60;

/** How long a reading may take, and how long to wait before it is tried again, in ms. */
const PATIENCE = 60_000;
const AGAIN = 3_000;
const TRIES = 4;

/** How often the live view looks for new marks, in ms. */
const MARKS_EVERY = 10_000;

/** So many rankings of the past are kept. */
const RANKINGS_MOST = 200;

/** Instances that add up others, or in which nothing ran. */
const TOTAL = /(^|,)_Total$|^Idle(:0)?$/;

export class Past extends EventTarget {
  /** What is shown; null while the live store has it. */
  store = null;
  /** Why the range could not be read; null if it was. */
  problem = null;
  #first;
  #last;
  #interval;
  #isLog;
  /** Marks of the range that is shown, and of the time just before now: `{time, text, is_of_recorder}`. */
  #rangeMarks = [];
  #liveMarks = [];
  #marksAt = 0;
  #asked = null;
  #about = "";
  #changed = -Infinity;
  #wait = 0;
  #reading = null;
  #rankings = new Map();
  #ranking = null;
  /** The newest ranking of each ask: it is shown until that of another time has come. */
  #shown = new Map();

  /**
   * `[first, last]` are the times of the recording when the page was opened, `interval` is that of the live samples.
   * `isLog` says that the recording is all there is: it may have ended long ago.
   */
  constructor([first, last], interval, isLog) {
    super();
    this.#first = first;
    this.#last = last;
    this.#interval = interval;
    this.#isLog = isLog;
  }

  /** The times of the first sample, and of the last one when the page was opened. */
  get first() { return this.#first; }
  get last() { return this.#last; }

  /** What was written into the recording, in what is shown. */
  get marks() { return this.store ? this.#rangeMarks : this.#liveMarks; }

  /**
   * The end to which a view of this length goes on: it moves by steps, so that charts do not flicker. A log may have no
   * sample any more, so its last step is shown as it is.
   */
  endOf(last, length) {
    const step = stepOf(length, this.#interval);
    return (this.#isLog ? Math.ceil(last / step) : Math.floor(last / step)) * step;
  }

  /**
   * Shows a range of the charts, [from, to] in ms; a range of null goes back to the live store. `compared` are the
   * values of the same length beside it, `{earlier, of}`: earlier by so many ms, and the id of their log if it is
   * another one; null without. A range that goes on does not end the reading of the one before: on a slow machine none
   * would ever come.
   */
  show(charts, range, { compared, goesOn }) {
    if (range === null) {
      this.#stop();
      this.#asked = null;
      this.store = null;
      this.problem = null;
      return;
    }
    const about = JSON.stringify([rangeAsks(charts), Math.round(range[1] - range[0]), compared]);
    const asked = `${about} ${range.map(Math.round)}`;
    if (asked === this.#asked || goesOn && about === this.#about && (this.#reading || this.#wait)) return;
    this.#stop();
    this.#asked = asked;
    this.#about = about;
    // A single change is answered at once, and of many in a row only the last.
    const now = performance.now();
    const rest = now - this.#changed > REST ? 0 : REST;
    this.#changed = now;
    this.#wait = setTimeout(() => this.#read(charts, range, compared), rest);
  }

  /** Ends what is under way. */
  #stop() {
    clearTimeout(this.#wait);
    this.#wait = 0;
    this.#reading?.abort();
    this.#reading = null;
  }

  async #read(charts, [from, to], compared) {
    this.#wait = 0;
    const reading = this.#reading = new AbortController();
    const signal = AbortSignal.any([reading.signal, AbortSignal.timeout(PATIENCE)]);
    const length = Math.max(1, to - from);
    const step = stepOf(length, this.#interval);
    const what = { from: Math.round(from), to: Math.round(to), length, step };
    const asks = rangeAsks(charts);
    let [range, other, problem] = [null, null, null];
    try {
      range = await readRange(asks, what, signal);
      if (compared) {
        const { earlier, of } = compared;
        other = await readRange(asks, { ...what, from: what.from - earlier, to: what.to - earlier, of }, signal);
      }
    } catch (error) {
      problem = error.problem ?? { error: "the recording cannot be read now" };
    }
    if (reading !== this.#reading) return;
    this.#reading = null;
    this.problem = problem;
    if (problem) {
      // What was shown stays until the next try.
      this.#wait = setTimeout(() => {
        this.#wait = 0;
        this.#asked = null;
        this.dispatchEvent(new Event("data"));
      }, AGAIN);
    } else {
      const store = new Store(step, (range.times.length + 100) * step);
      store.request(asksOf(charts));
      store.steps(atMiddle(range, step));
      if (other) store.compare(other);
      this.store = store;
      this.#rangeMarks = range.marks;
    }
    this.dispatchEvent(new Event("data"));
  }

  /** Reads the marks of the time just before now, if that was not done just before. */
  async lookForMarks(charts) {
    const ask = rangeAsks(charts).find(({ most }) => most === 1);
    if (!ask || this.store || Date.now() - this.#marksAt < MARKS_EVERY) return;
    this.#marksAt = Date.now();
    const length = FILLED * 1000;
    const what = { from: `-${FILLED}s`, to: null, length, step: length };
    const range = await readRange([ask], what, AbortSignal.timeout(PATIENCE)).catch(() => null);
    if (range) this.#liveMarks = range.marks;
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
    for (let tries = 0; tries < TRIES && !signal.aborted; tries++) {
      try {
        const range = await readRange(asks, what, signal, each);
        if (signal.aborted) return true;
        if (!range.times.length) return false;
        store.isFilled(range.times[0]);
        this.#liveMarks = range.marks;
        return true;
      } catch {
        // The server may be busy, or away: then the stream begins anew, too.
        await new Promise(done => setTimeout(done, AGAIN));
      }
    }
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
  const response = await request(`api/v1/query?${new URLSearchParams({ path, at })}`, { signal: AbortSignal.timeout(PATIENCE) });
  // Nothing was recorded then; another problem may be gone at the next try.
  if (response.status === 404) return { time: at, list: [], without: [] };
  if (!response.ok) throw new Error((await problemOf(response)).error);
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
