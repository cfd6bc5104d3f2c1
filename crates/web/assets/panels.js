// The drawings of a chart: one for each unit, below each other, with one time axis. Together they are one tab stop, in
// which keys move the cursor.

import { h, setText } from "./dom.js";
import { rampBackground } from "./palette.js";
import { roomOf } from "./heat.js";
import { LEFT, Plot } from "./plot.js";
import { unitOf, valueText } from "./units.js";

/** How far keys with Shift move the cursor, as a part of what is shown. */
const LARGE = 0.1;

export class Panels {
  #page;
  #panels = [];
  #kind = "";
  #left = LEFT;
  #paper = null;
  #size = new ResizeObserver(entries => { for (const { target } of entries) this.#fit(target); });

  /** `act` hears what keys and pointer do: `near(n or null)`, `move(by)`, `release()`. */
  constructor(page, act) {
    this.#page = page;
    this.act = act;
    this.element = h("div", {
      class: "plots", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-keyshortcuts": "ArrowLeft ArrowRight Home End",
      on: { keydown: event => this.#key(event), focusout: () => act.release() },
    });
    // A click leaves the arrow keys to the page, where they go through time: only Tab comes here.
    this.element.addEventListener("mousedown", event => {
      event.preventDefault();
      document.activeElement?.blur();
    });
    // Before the plots hear of it: the pointer takes the cursor from the keys.
    this.element.addEventListener("mousemove", () => act.release(), { capture: true });
  }

  /** Says what is drawn to those who do not see it. */
  describe(text) { this.element.setAttribute("aria-label", text); }

  /** Makes the drawings anew: a panel for each scale of the lines. */
  show(kind, lines) {
    this.#clear();
    this.#kind = kind;
    const scales = [...new Set(lines.map(line => line.scale))];
    this.element.classList.toggle("bare", scales.length === 0);
    this.element.classList.toggle("many", scales.length > 1);
    this.#left = kind === "heat" ? roomOf(lines.map(line => line.label), this.#paper?.[0] ?? this.element.clientWidth) : LEFT;
    for (const scale of scales) this.#add(lines.filter(line => line.scale === scale), scale === scales.at(-1));
  }

  #add(lines, isLast) {
    const host = h("div", { class: isLast ? "plot last" : "plot" });
    this.element.append(host);
    const plot = new Plot(host, { kind: this.#kind, lines, left: this.#left, hasTimes: isLast }, this.#page, n => this.act.near(n));
    const key = this.#kind === "heat" ? new Key(this.#left, lines[0].unit) : null;
    if (key) this.element.append(key.element);
    this.#panels.push({ host, plot, key });
    if (this.#paper) this.#fit(host);
    this.#size.observe(host);
  }

  #clear() {
    this.#size.disconnect();
    for (const { plot } of this.#panels) plot.destroy();
    this.#panels = [];
    this.element.replaceChildren();
  }

  /** Width and height of each drawing on paper, as long as it is printed; null: as large as its place. */
  set paper(size) {
    this.#paper = size;
    for (const { host } of this.#panels) this.#fit(host);
  }

  #fit(host) {
    const [clientWidth, clientHeight] = this.#paper ?? [host.clientWidth, host.clientHeight];
    if (clientWidth && clientHeight) this.#panels.find(panel => panel.host === host)?.plot.resize(clientWidth, clientHeight);
  }

  draw(times, range, bounds, hidden) {
    for (const { plot, key } of this.#panels) {
      plot.draw(times, range, bounds, hidden);
      key?.show(plot.ends(bounds));
    }
  }

  /** Shows the cursor that keys hold at a time of the range, or none. */
  hold(time, [min, max]) {
    for (const { plot } of this.#panels) plot.hold(time === null ? null : (time - min) / (max - min));
  }

  focus(n) { for (const { plot } of this.#panels) plot.focus(n); }

  redraw() { for (const { plot } of this.#panels) plot.redraw(); }

  destroy() { this.#clear(); }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [from, to] = this.#page.store.bounds(this.#page.range);
    const step = event.shiftKey ? Math.max(2, Math.round((to - from) * LARGE)) : 1;
    const moves = { ArrowLeft: -step, ArrowRight: step, Home: -Infinity, End: Infinity };
    if (Object.hasOwn(moves, event.key)) this.act.move(moves[event.key]);
    // Escape is for the zoom where keys hold no cursor.
    else if (event.key !== "Escape" || !this.act.release()) return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** The colours of a heat map, with the values that they stand for. */
class Key {
  #unit;
  #low = h("span");
  #bar = h("span", { class: "ramp" });
  #high = h("span");

  constructor(left, unit) {
    this.#unit = unitOf(unit);
    this.#bar.style.background = rampBackground();
    this.element = h("div", { class: "key" }, this.#low, this.#bar, this.#high);
    this.element.style.marginLeft = `${left}px`;
  }

  show([low, high]) {
    setText(this.#low, `${low < 0 ? "≤ " : ""}${valueText(0, this.#unit)}`);
    setText(this.#high, valueText(high, this.#unit));
  }
}
