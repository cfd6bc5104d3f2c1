// The one stream of the page: which counters it asks for, and what becomes of the connection.

import { byKey, isSeveral } from "./view.js";

// How far back a stream goes at first, and when more is looked at, in seconds.
const REACH = [600, 1800, 3600, 7200, 14400, 43200, 86400];

// Numbers of series that came and went are forgotten by connecting anew.
const KNOWN_MAX = 20000;

export class Stream extends EventTarget {
  /** `connecting`, `live`, `lost` or `refused`. */
  state = "connecting";
  /** When the connection was lost, in ms since 1970, and why it was refused: `{error, hints}`. */
  since = 0;
  reason = null;
  #source = null;
  #asks = [];
  #reach = 0;
  #retry = 0;
  #attempt = 0;
  #watch = 0;

  constructor(store) {
    super();
    this.store = store;
  }

  /** Asks for these, and for so many seconds of history. Nothing happens if that is had already. */
  ask(asks, seconds) {
    const reach = REACH.find(reach => reach >= seconds) ?? REACH.at(-1);
    const same = asks.length === this.#asks.length && asks.every((ask, n) => byKey(ask, this.#asks[n]));
    if (same && reach <= this.#reach) return;
    this.#asks = asks;
    this.#reach = Math.max(reach, this.#reach);
    this.store.request(asks);
    this.#open();
  }

  #address() {
    const query = new URLSearchParams();
    for (const { path, top } of this.#asks) {
      query.append("path", path);
      if (top) query.append("top", top);
      else if (isSeveral(path)) query.append("sum", 1);
    }
    query.append("history", this.#reach);
    return `/api/stream?${query}`;
  }

  #open() {
    this.#source?.close();
    this.#source = null;
    clearTimeout(this.#retry);
    if (this.#asks.length === 0) {
      this.#become("live");
      return;
    }
    const source = this.#source = new EventSource(this.#address());
    const on = (name, act) => source.addEventListener(name, event => {
      if (source !== this.#source) return;
      const data = JSON.parse(event.data);
      act(data);
    });
    source.addEventListener("open", () => {
      if (source === this.#source) this.store.connected();
    });
    on("series", data => this.store.series(data.series));
    on("history", data => { this.store.history(data); this.#changed(); });
    on("sample", data => {
      this.#attempt = 0;
      if (data.time < this.store.last) {
        // The machine's clock was set back, and the server's history with it.
        this.store.forget();
        this.#open();
        return;
      }
      this.store.sample(data);
      this.#become("live");
      this.#changed();
      if (this.store.known > KNOWN_MAX) this.#open();
    });
    on("end", data => {
      this.#become("lost", data);
      this.#again();
    });
    source.addEventListener("error", () => {
      if (source !== this.#source) return;
      if (source.readyState === EventSource.CLOSED) this.#refused();
      else this.#become("lost");
    });
    this.#heard();
  }

  /** The stream did not even begin: an ordinary request tells why. */
  async #refused() {
    const source = this.#source;
    let reason = null;
    try {
      const stop = new AbortController();
      const answer = await fetch(this.#address(), { signal: stop.signal });
      reason = answer.ok ? null : await answer.json().catch(() => ({ error: `the server answers ${answer.status}` }));
      stop.abort();
    } catch { /* it cannot be reached */ }
    if (source !== this.#source) return;
    if (reason) {
      this.#become("refused", reason);
      this.dispatchEvent(new Event("refused"));
    } else {
      this.#become("lost");
    }
    this.#again();
  }

  /** Tries again, a little later each time. */
  #again() {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#open(), Math.min(15000, 1000 * 2 ** this.#attempt++));
  }

  /** A connection that is silent for long may be dead without knowing. */
  #heard() {
    clearTimeout(this.#watch);
    const patience = 10000 + 3 * this.store.interval;
    this.#watch = setTimeout(() => {
      this.#become("lost");
      this.#open();
    }, patience);
  }

  #become(state, reason = null) {
    if (state === "live") this.#heard(); else if (this.state === "live") this.since = Date.now();
    if (state === this.state && !reason) return;
    this.state = state;
    this.reason = reason;
    this.dispatchEvent(new Event("state"));
  }

  #changed() { this.dispatchEvent(new Event("data")); }
}
