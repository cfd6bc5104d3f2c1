// The one stream of the page: which counters it asks for, and what becomes of the connection.

import { onLogin, problemOf, request } from "./api.js";
import { read } from "./events.js";
import { byKey, isSeveral } from "./view.js";

// How far back a stream goes at first, and when more is looked at, in seconds.
const REACH = [600, 1800, 3600, 7200, 14400, 43200, 86400];

// Numbers of series that came and went are forgotten by connecting anew.
const KNOWN_MAX = 20000;

// From so many samples that did not come on, what was recorded meanwhile is read.
const LOST = 5;

// How long to wait before the connection is tried again: twice as long each time, up to the last.
const RETRY_FIRST = 1000;
const RETRY_LAST = 15000;

export class Stream extends EventTarget {
  /** `connecting`, `live`, `lost`, `refused`, or `login` if the browser has to log in first. */
  state = "connecting";
  /** When the connection was lost, in ms since 1970, and why it was refused: `{error, hints}`. */
  since = 0;
  reason = null;
  /** Ends the request that is under way. What comes of one that is not the current one is of no use any more. */
  #current = null;
  #asks = [];
  #reach = 0;
  /** Id of the last event that came of what is asked now: a new connection goes on behind it. */
  #last = null;
  #retry = 0;
  #attempt = 0;
  #watch = 0;

  /**
   * With `isLog`, nothing may come for long: a log that does not grow has no new samples. `fill(seconds, signal)` reads
   * what was recorded before the stream, and answers whether it could; it is null without a recording.
   */
  constructor(store, isLog, fill) {
    super();
    this.store = store;
    this.isLog = isLog;
    this.fill = fill;
    onLogin(() => { if (this.state === "login") this.#open(); });
  }

  /** Asks for these, and for so many seconds of history. Nothing happens if that is had already. */
  ask(asks, seconds) {
    const reach = REACH.find(reach => reach >= seconds) ?? REACH.at(-1);
    const same = asks.length === this.#asks.length && asks.every((ask, n) => byKey(ask, this.#asks[n]));
    if (same && reach <= this.#reach) return;
    this.#asks = asks;
    this.#reach = Math.max(reach, this.#reach);
    this.store.request(asks);
    this.#last = null;
    this.#open();
  }

  #address() {
    const query = new URLSearchParams();
    for (const { path, top } of this.#asks) {
      query.append("path", path);
      if (top) query.append("top", top);
      else if (isSeveral(path)) query.append("sum", 1);
    }
    // What was recorded has steps that are equally long for all charts.
    query.append("history", this.fill ? 0 : this.#reach);
    return `api/stream?${query}`;
  }

  async #open() {
    this.#stop();
    if (this.#asks.length === 0) {
      this.#become("live");
      return;
    }
    const current = this.#current = new AbortController();
    const { signal } = current;
    const isCurrent = () => current === this.#current;
    this.#heard();
    if (this.fill && this.#last === null) this.#fill(signal);
    try {
      const headers = this.#last === null ? {} : { "Last-Event-ID": this.#last };
      const response = await request(this.#address(), { signal, headers });
      if (!isCurrent()) return;
      if (!response.ok) {
        const reason = await problemOf(response);
        if (isCurrent()) this.#refused(response.status, reason);
        return;
      }
      this.store.connected();
      if (this.isLog && this.#last !== null) {
        // It goes on from the last sample, and another one may never come.
        this.#attempt = 0;
        this.#become("live");
      }
      await read(response, event => { if (isCurrent()) this.#take(event); });
      if (isCurrent()) this.#lost(null); // it has ended without saying why
    } catch {
      // One that was aborted here is not the current one any more.
      if (isCurrent()) this.#lost(null);
    }
  }

  async #fill(signal) {
    if (await this.fill(this.#reach, signal)) {
      if (!signal.aborted) this.#changed();
      return;
    }
    // Without what was recorded there is what the server remembers.
    this.fill = null;
    this.#anew();
  }

  /** Ends what is under way, and is not tried again. */
  #stop() {
    this.#current?.abort();
    this.#current = null;
    clearTimeout(this.#retry);
    clearTimeout(this.#watch);
  }

  #take({ name, id, data: text }) {
    const data = JSON.parse(text);
    if (name === "series") this.store.series(data.series);
    if (name === "history") {
      this.store.history(data);
      this.#changed();
    }
    if (name === "end") this.#lost(data);
    if (name !== "sample") return;
    this.#attempt = 0;
    if (data.time < this.store.last) {
      // The machine's clock was set back, and the server's history with it.
      this.store.forget();
      this.#anew();
      return;
    }
    if (this.fill && !this.isLog && data.time - this.store.last > LOST * this.store.interval) {
      // The server was away, and its recorder may have gone on.
      this.store.forget();
      this.#anew();
      return;
    }
    this.#last = id;
    this.store.sample(data);
    this.#become("live");
    this.#changed();
    if (this.store.known > KNOWN_MAX) this.#anew();
  }

  /** Connects as if for the first time. */
  #anew() {
    this.#last = null;
    this.#open();
  }

  /** The stream did not begin. */
  #refused(status, reason) {
    if (status === 401) {
      // Only a login changes that: `onLogin` hears of one in another tab.
      this.#stop();
      this.#become("login", reason);
      return;
    }
    this.#again();
    this.#become("refused", reason);
    this.dispatchEvent(new Event("refused"));
  }

  #lost(reason) {
    this.#again();
    this.#become("lost", reason);
  }

  /** Tries again, a little later each time. */
  #again() {
    this.#stop();
    const wait = Math.min(RETRY_LAST, RETRY_FIRST * 2 ** this.#attempt++);
    // Not all pages of a server that was restarted come back in the same moment.
    this.#retry = setTimeout(() => this.#open(), wait * (0.75 + Math.random() / 2));
  }

  /** A connection that is silent for long may be dead without knowing. */
  #heard() {
    clearTimeout(this.#watch);
    if (this.isLog) return;
    const patience = 10000 + 3 * this.store.interval;
    this.#watch = setTimeout(() => {
      this.#become("lost");
      this.#open();
    }, patience);
  }

  #become(state, reason = null) {
    if (state === "live" && this.#current) this.#heard(); else if (this.state === "live") this.since = Date.now();
    if (state === this.state && !reason) return;
    this.state = state;
    this.reason = reason;
    this.dispatchEvent(new Event("state"));
  }

  #changed() { this.dispatchEvent(new Event("data")); }
}
