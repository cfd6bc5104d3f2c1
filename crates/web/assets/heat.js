// The columns of a heat map: which samples each of them shows; and the names of its rows.

import { h } from "./dom.js";
import { shortened } from "./names.js";
import { FONT } from "./palette.js";

/**
 * For each column of pixels of the range [min, max) the samples that it shows, as [first, end) of `times`; none where
 * they are the same. Those are the samples of the column's own time. Where samples are further apart than columns, a
 * column without one shows the sample that is nearest, if that is no further than half of the way to the next one,
 * and nothing before the first sample or where samples are `gap` or more apart.
 */
export function columns(times, [from, to], [min, max], count, gap) {
  const shown = new Int32Array(2 * count);
  const pixel = (max - min) / count;
  // Where a sample's part of the time begins and ends, if no column has it as its own.
  const begin = at => at > 0 && times[at] - times[at - 1] < gap ? (times[at] + times[at - 1]) / 2 : times[at];
  const end = at => at + 1 < times.length && times[at + 1] - times[at] < gap ? (times[at] + times[at + 1]) / 2 : times[at];
  let at = Math.max(0, from - 1);
  const last = Math.min(times.length, to + 1);
  for (let x = 0; x < count; x++) {
    const [left, right] = [min + x * pixel, min + (x + 1) * pixel];
    while (at < last && times[at] < left) at++;
    let next = at;
    while (next < last && times[next] < right) next++;
    if (next === at) {
      const middle = (left + right) / 2;
      const near = [at - 1, at].find(n => n >= 0 && n < last && begin(n) <= middle && middle < end(n));
      [shown[2 * x], shown[2 * x + 1]] = near === undefined ? [0, 0] : [near, near + 1];
    } else {
      [shown[2 * x], shown[2 * x + 1]] = [at, next];
      at = next;
    }
  }
  return shown;
}

/** The greatest of the values in [from, to), null of none. */
export function greatest(values, from, to) {
  let most = null;
  for (let at = from; at < to; at++) {
    const value = values[at];
    if (value !== null && (most === null || value > most)) most = value;
  }
  return most;
}

/** The widest room that names have, as a part of the width of the plot. */
const NAMES_MOST = 0.34;

/** The least height of a name, in pixels. */
const NAME_HEIGHT = 13;

const pen = new OffscreenCanvas(1, 1).getContext("2d");

/** The width of a text in the font of drawings, in pixels. */
export function widthOf(text) {
  pen.font = FONT;
  return pen.measureText(text).width;
}

/** The room that the names of rows need at the left of a plot of this width. */
export function roomOf(names, width) {
  const widest = Math.max(...names.map(widthOf));
  return Math.ceil(Math.min(Math.max(40, widest + 16), Math.max(64, width * NAMES_MOST)));
}

/** The names of the rows at the left of a heat map, shortened where they are too long, and that of the row at the pointer. */
export class RowNames {
  #u;
  #lines;
  #element;
  #spans;
  #height = 0;

  constructor(u, lines, left, onFocus) {
    this.#u = u;
    this.#lines = lines;
    const names = shortened(lines.map(line => line.label), text => widthOf(text) <= left - 12);
    this.#spans = lines.map((line, n) => h("span", { title: `${line.label}\n${line.series.path}` }, names[n]));
    this.#element = h("div", { class: "rows" });
    this.#element.style.width = `${left - 8}px`;
    u.over.parentElement.append(this.#element);
    u.over.addEventListener("mousemove", ({ offsetY }) => {
      const row = Math.max(0, Math.min(lines.length - 1, Math.floor(offsetY / u.over.clientHeight * lines.length)));
      u.over.title = lines[row].label;
      onFocus(lines[row].n);
    });
    u.over.addEventListener("mouseleave", () => onFocus(null));
  }

  /** Puts the names beside their rows: as many as there is room for. */
  place() {
    const height = this.#u.over.clientHeight;
    if (height === this.#height) return;
    this.#height = height;
    const every = Math.ceil(this.#lines.length * NAME_HEIGHT / height);
    this.#element.style.top = this.#u.over.style.top;
    this.#element.style.height = `${height}px`;
    this.#element.replaceChildren(...this.#spans.filter((span, n) => {
      span.style.top = `${(n + 0.5) / this.#lines.length * 100}%`;
      return n % every === 0;
    }));
  }
}
