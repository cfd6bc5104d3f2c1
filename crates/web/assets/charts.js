// The charts of the page: their order, and what was removed last.

import { h } from "./dom.js";
import { Card } from "./card.js";

/** So long charts are drawn in one frame, in ms: the others have the next ones, and the page answers in between. */
const FRAME = 12;

export class Charts {
  #element;
  #notice;
  #bare;
  #page;
  #cards = [];
  /** What the last change removed: `{spec, at}`. */
  #removed = null;
  /** Cards that are still to be drawn, and the frame in which that goes on; 0 for none. */
  #due = new Set();
  #frame = 0;
  #seen = new IntersectionObserver(entries => {
    for (const { target, isIntersecting } of entries) {
      const card = this.#cards.find(card => card.element === target);
      if (!card) continue;
      card.isSeen = isIntersecting;
      if (isIntersecting) this.#page.draw();
    }
  }, { rootMargin: "200px" });

  /** `notice` says what was removed, `bare` what to do where there are no charts; `page` is what cards know. */
  constructor({ element, notice, bare }, page) {
    this.#element = element;
    this.#notice = notice;
    this.#bare = bare;
    this.#page = page;
  }

  /** The specifications of all charts, in their order. */
  get specs() { return this.#cards.map(card => card.spec); }

  /** Shows these, whatever was there before. */
  show(specs) {
    for (const card of this.#cards) this.#drop(card);
    this.#cards = [];
    for (const spec of specs) this.#place(spec, this.#cards.length);
    this.changed();
  }

  #place(spec, at) {
    const card = new Card(spec, this.#page);
    this.#element.insertBefore(card.element, this.#cards[at]?.element ?? null);
    this.#cards.splice(at, 0, card);
    this.#seen.observe(card.element);
    return card;
  }

  #drop(card) {
    this.#seen.unobserve(card.element);
    this.#due.delete(card);
    card.destroy();
  }

  /** Something is another than before: what was removed earlier cannot be restored any more. */
  changed() {
    this.#removed = null;
    this.#notice.replaceChildren();
    this.#bare.hidden = this.#cards.length > 0;
  }

  /** Adds the lines of a specification to the nth chart, or itself as the first chart. */
  add(n, spec) {
    let card = this.#cards[n];
    if (card) {
      const known = new Set(card.spec.asks.map(ask => ask.path));
      card.spec.asks.push(...spec.asks.filter(ask => !known.has(ask.path)));
    } else {
      card = this.#place(spec, 0);
    }
    this.#page.changed();
    card.element.scrollIntoView({ block: "nearest" });
    card.element.classList.add("fresh");
    setTimeout(() => card.element.classList.remove("fresh"), 1500);
  }

  /** Removes a chart, and offers to restore it until the next change. */
  remove(card) {
    const at = this.#cards.indexOf(card);
    this.#cards.splice(at, 1);
    this.#drop(card);
    this.#page.changed();
    this.#removed = { spec: card.spec, at };
    const button = h("button", { type: "button", on: { click: () => this.undo() } }, "Restore");
    this.#notice.replaceChildren(h("span", {}, `Removed “${card.spec.title}”`), button);
    // Who has used a key is beside the button then, and not at the top of the page.
    this.#element.focus({ preventScroll: true });
  }

  /** Restores the chart that was removed last. */
  undo() {
    if (!this.#removed) return;
    const { spec, at } = this.#removed;
    const card = this.#place(spec, at);
    this.#page.changed();
    card.element.scrollIntoView({ block: "nearest" });
    card.focus();
  }

  /** Moves a chart by a place, -1 or 1. Its neighbour goes around it, so that it keeps the focus. */
  move(card, by) {
    const at = this.#cards.indexOf(card);
    const to = Math.max(0, Math.min(this.#cards.length - 1, at + by));
    if (to !== at) {
      const other = this.#cards[to];
      [this.#cards[at], this.#cards[to]] = [other, card];
      if (by < 0) card.element.after(other.element); else card.element.before(other.element);
      this.#page.changed();
      card.element.scrollIntoView({ block: "nearest" });
    }
    this.#page.say(`${card.spec.title} is chart ${to + 1} of ${this.#cards.length}`);
  }

  /** Draws all charts. The first charts of a page take longer than a frame has, so the rest follows in the next ones. */
  draw() {
    // Those that wait come first: else new values would keep the last ones waiting for ever.
    for (const card of this.#cards) this.#due.add(card);
    if (!this.#frame) this.#drawDue();
  }

  #drawDue() {
    this.#frame = 0;
    const end = performance.now() + FRAME;
    for (const card of this.#due) {
      this.#due.delete(card);
      card.draw();
      if (performance.now() > end) break;
    }
    if (this.#due.size) this.#frame = requestAnimationFrame(() => this.#drawDue());
  }

  drawLegends() { for (const card of this.#cards) card.drawLegend(); }

  drawCursor() { for (const card of this.#cards) card.drawCursor(); }

  /** The colours have changed. */
  recolour() { for (const card of this.#cards) card.recolour(); }

  /** Times are written in another zone. */
  rezone() { for (const card of this.#cards) card.rezone(); }
}
