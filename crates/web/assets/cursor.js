// The cursor of all charts: where the pointer is in one of them, or where keys have put it.

export class Cursor {
  /** Row of the store; null without. */
  at = null;
  /** The time at which keys hold it, in ms since 1970; null without. */
  held = null;

  /** Moves by so many samples within a range, from where it is, else from the end. False if nothing is known there. */
  move(store, range, by) {
    const [first, end] = store.bounds(range);
    if (first >= end) return false;
    const from = this.at ?? end - 1;
    this.at = Math.max(first, Math.min(end - 1, from + by));
    this.held = store.times[this.at];
    return true;
  }

  /** Finds the row of the held time again: rows come and go. Time may have gone on, and left it behind. */
  follow(store, range) {
    if (this.held === null) return;
    const [first, end] = store.bounds(range);
    if (first >= end) {
      this.release();
      return;
    }
    this.held = Math.max(store.times[first], Math.min(store.times[end - 1], this.held));
    this.at = store.bounds([this.held, this.held])[0];
  }

  /** The keys hold it no more. */
  release() {
    this.held = null;
    this.at = null;
  }
}
