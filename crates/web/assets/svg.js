// A chart as a picture of its own: SVG that is drawn from the data, with all texts that it takes to be read.
//
// Names are only ever put into it by `escaped`.

import { columns, greatest, roomOf, widthOf } from "./heat.js";
import { shortened } from "./names.js";
import { dashes, FONT, lineColour, ramp, styled } from "./palette.js";
import { axisEnds, heatEnds, LEFT, lone, markLabel, stacked, STEPS } from "./plot.js";
import { axisSteps, axisTexts, gapOf, unitOf, valueText } from "./units.js";
import { axisClock, clock, day, minutesEast, zoneText } from "./zone.js";

/** The width of the picture, and its edges. */
const WIDTH = 960;
const EDGE = 16;

/** Where the first panel begins, and the room between panels. */
const TOP = 60;
const GAP = 16;

/** Heights of a panel: alone, among several, and of a row of a heat map with the least and the greatest height of all rows. */
const ONE = 280;
const MANY = 160;
const ROW = 18;
const ROWS_LEAST = 60;
const ROWS_MOST = 560;

/** Heights of the times below the last panel, of a scale of colours, of a line of the legend, of a row's name. */
const TIMES = 22;
const KEY = 24;
const LEGEND = 18;
const NAME = 13;

/** Room for a swatch of the legend, and behind its name; the longest name of it. */
const SWATCH = 28;
const BEHIND = 20;
const NAME_MOST = 420;

/** The least room between marks of the axes. */
const SPACE = { x: 64, y: 36 };

/** The longest text that is measured at all. */
const TEXT_MOST = 400;

/** Stops of the scale of colours. */
const STOPS = 9;

/** A text in XML. Characters that XML does not have are replaced. */
const escaped = text => String(text).replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd")
  .replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);

/** An element; attributes without a value are left out. Children are elements, as texts: names come from `escaped`. */
function element(tag, attributes, ...children) {
  const all = Object.entries(attributes).filter(([, value]) => value != null).map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
  return `<${tag}${all}>${children.flat().join("")}</${tag}>`;
}

const words = (x, y, text, { fill = styled("--faint"), anchor, size, weight } = {}) =>
  element("text", { x: round(x), y: round(y), fill, "text-anchor": anchor, "font-size": size, "font-weight": weight }, escaped(text));

/** A text that is shortened to a width, at the size of the font of drawings. */
const fitted = (text, width) => shortened([text.slice(0, TEXT_MOST)], short => widthOf(short) <= width)[0];

const round = number => Math.round(number * 10) / 10;

/** Splits rows into stretches in which a value is there. */
function* stretches(isThere, from, to) {
  for (let begin = from; begin < to;) {
    if (!isThere(begin)) { begin++; continue; }
    let end = begin;
    while (end < to && isThere(end)) end++;
    yield [begin, end];
    begin = end;
  }
}

/** Marks of a time axis of this width: `[time, distance of marks]`. */
export function timeMarks([min, max], width) {
  let step = STEPS.find(step => step / (max - min) * width >= SPACE.x) ?? STEPS.at(-1);
  while (step / (max - min) * width < SPACE.x) step *= 2;
  // Full hours are those of the zone; it may have another distance from UTC at the end.
  const east = minutesEast(min) * 60_000;
  const marks = [];
  for (let at = Math.ceil((min + east) / step) * step - east; at <= max; at += step) {
    const time = step < 3_600_000 ? at : at + east - minutesEast(at) * 60_000;
    if (time >= min && time <= max) marks.push([time, step]);
  }
  return marks;
}

/** A panel: the lines of one unit in a rectangle. */
class Panel {
  constructor(chart, lines, { left, top, width, height, id }) {
    Object.assign(this, { chart, lines, left, top, width, height, id });
    const { bounds, times } = chart;
    // A row more on both sides: lines begin and end outside.
    this.rows = [Math.max(0, bounds[0] - 1), Math.min(times.length, bounds[1] + 1)];
    const [min, max] = chart.range;
    this.x = time => round(left + (time - min) / (max - min) * width);
    this.at = row => this.x(times[row]);
    if (chart.kind === "stack") this.sums = stacked(lines, () => false, times.length, this.rows);
    this.ends = chart.kind === "heat" ? [0, lines.length] : this.#ends();
    const [low, high] = this.ends;
    this.y = value => round(top + height - (value - low) / (high - low) * height);
  }

  #ends() {
    const { lines, sums, chart: { kind } } = this;
    let [min, max] = [0, 0];
    const see = list => {
      for (let at = this.rows[0]; list && at < this.rows[1]; at++) {
        if (list[at] < min) min = list[at];
        if (list[at] > max) max = list[at];
      }
    };
    if (sums) sums.forEach(see);
    else for (const { column } of lines) for (const list of [column.values, column.least, column.greatest, column.other]) see(list);
    return axisEnds(lines[0].unit, kind, min, max);
  }

  /** The whole panel; the last one has the times below. */
  draw(isLast) {
    const { left, top, width, height, id, chart: { kind } } = this;
    const inside = kind === "heat" ? this.#heat() : kind === "stack" ? this.#stack() : this.#lines();
    return [
      element("clipPath", { id }, element("rect", { x: left, y: top, width, height })),
      kind === "heat" ? this.#names() : this.#values(),
      this.#times(isLast),
      element("g", { "clip-path": `url(#${id})` }, inside, this.#marks()),
    ].flat();
  }

  /** The value axis with its grid. */
  #values() {
    const { left, width, height, ends: [low, high] } = this;
    const unit = unitOf(this.lines[0].unit);
    const steps = axisSteps(unit);
    const step = steps.find(step => step / (high - low) * height >= SPACE.y) ?? (high - low);
    const splits = [];
    for (let n = Math.ceil(low / step - 1e-9); n <= Math.floor(high / step + 1e-9); n++) splits.push(n * step);
    const texts = axisTexts(splits, unit);
    return splits.map((split, n) => [
      element("path", { d: `M${left} ${this.y(split)}h${width}`, stroke: styled("--grid") }),
      words(left - 6, this.y(split) + 4, texts[n], { anchor: "end" }),
    ]).flat();
  }

  #times(hasTexts) {
    const { left, top, width, height, chart: { range, kind } } = this;
    return timeMarks(range, width).map(([time, step]) => {
      const x = this.x(time);
      const isShown = hasTexts && x <= left + width - (step < 60_000 ? 18 : 8);
      return [
        kind === "heat" ? "" : element("path", { d: `M${x} ${top}v${height}`, stroke: styled("--grid") }),
        isShown ? words(x, top + height + 16, axisClock(time, step), { anchor: "middle" }) : "",
      ];
    }).flat();
  }

  #marks() {
    const { top, height, chart: { marks, range: [min, max] } } = this;
    const fill = styled("--accent");
    let free = -Infinity;
    return marks.filter(mark => !mark.is_of_recorder && mark.time >= min && mark.time <= max).map(({ time, text }) => {
      const [x, label] = [this.x(time), markLabel(text)];
      const line = element("path", { d: `M${x} ${top}v${height}`, stroke: fill, "stroke-dasharray": "3 3" });
      if (x < free) return line;
      free = x + widthOf(label) + 8;
      return line + words(x + 4, top + 11, label, { fill });
    });
  }

  /** The path of a list of values, in pieces between those that are missing. */
  #path(values) {
    const pieces = [];
    for (const [begin, end] of stretches(at => values[at] != null, ...this.rows)) {
      let piece = `M${this.at(begin)} ${this.y(values[begin])}`;
      for (let at = begin + 1; at < end; at++) piece += `L${this.at(at)} ${this.y(values[at])}`;
      pieces.push(piece);
    }
    return pieces.join("");
  }

  /** The area between two lists, where the first has values. */
  #area(upper, lower) {
    const pieces = [];
    for (const [begin, end] of stretches(at => upper[at] != null, ...this.rows)) {
      let piece = "";
      for (let at = begin; at < end; at++) piece += `${piece ? "L" : "M"}${this.at(at)} ${this.y(upper[at])}`;
      for (let at = end - 1; at >= begin; at--) piece += `L${this.at(at)} ${this.y(lower(at))}`;
      pieces.push(`${piece}Z`);
    }
    return pieces.join("");
  }

  #lines() {
    const { lines, rows: [from, to] } = this;
    return lines.map(line => {
      const { values, least, greatest, other } = line.column;
      const stroke = lineColour(line);
      const dash = dashes(line.n).join(" ") || null;
      const all = [];
      if (lines.length === 1) all.push(element("path", { d: this.#area(values, () => 0), fill: stroke, "fill-opacity": 0.12 }));
      if (least) all.push(element("path", { d: this.#area(greatest, at => least[at]), fill: stroke, "fill-opacity": 0.22, stroke, "stroke-opacity": 0.35 }));
      if (other) all.push(element("path", { d: this.#path(other), fill: "none", stroke, "stroke-opacity": 0.75, "stroke-dasharray": "2 3" }));
      all.push(element("path", { d: this.#path(values), fill: "none", stroke, "stroke-width": 1.5, "stroke-linejoin": "round", "stroke-dasharray": dash }));
      for (const at of lone(values, [from, to - 1]) ?? []) all.push(element("circle", { cx: this.at(at), cy: this.y(values[at]), r: 2, fill: stroke }));
      return all.join("");
    });
  }

  #stack() {
    const { lines, sums } = this;
    return lines.map((line, n) => element("path", {
      d: this.#area(sums[n], at => n === 0 ? 0 : sums[n - 1][at]), fill: lineColour(line), "fill-opacity": line.isRest ? 0.45 : 0.8,
    }));
  }

  /** The rows of a heat map: for each colour one path with all rectangles of it. */
  #heat() {
    const { lines, left, top, width, height, chart: { times, bounds, range, interval } } = this;
    const count = Math.round(width);
    const shown = columns(times, bounds, range, count, gapOf(interval));
    const [, most] = heatEnds(lines, bounds);
    const colours = ramp();
    const paths = new Map();
    const high = height / lines.length;
    const gap = high > 4 ? 1 : 0;
    lines.forEach(({ column }, row) => {
      const values = column.greatest ?? column.values;
      const colourOf = x => {
        const value = greatest(values, shown[2 * x], shown[2 * x + 1]);
        return value === null ? null : Math.max(0, Math.min(255, Math.round(value / most * 255)));
      };
      const y = round(top + row * high);
      for (let x = 0; x < count;) {
        const colour = colourOf(x);
        let end = x + 1;
        while (end < count && colourOf(end) === colour) end++;
        if (colour !== null) paths.set(colour, `${paths.get(colour) ?? ""}M${left + x} ${y}h${end - x}v${round(high - gap)}h${x - end}z`);
        x = end;
      }
    });
    return [...paths].map(([colour, d]) => element("path", { d, fill: `rgb(${colours[colour].join(" ")})`.replaceAll(" ", ","), "shape-rendering": "crispEdges" }));
  }

  /** The names of the rows of a heat map, as many as there is room for. */
  #names() {
    const { lines, left, top, height } = this;
    const names = shortened(lines.map(line => line.label.slice(0, TEXT_MOST)), text => widthOf(text) <= left - EDGE - 8);
    const every = Math.ceil(lines.length * NAME / height);
    return names.map((name, n) => n % every ? "" : words(left - 6, top + (n + 0.5) / lines.length * height + 4, name, { anchor: "end" }));
  }

  /** What the colours of a heat map stand for. */
  key(y) {
    const { lines, left, id, chart: { bounds } } = this;
    const [low, high] = heatEnds(lines, bounds);
    const unit = unitOf(lines[0].unit);
    const texts = [`${low < 0 ? "≤ " : ""}${valueText(0, unit)}`, valueText(high, unit)];
    const colours = ramp();
    const stop = n => element("stop", { offset: n / (STOPS - 1), "stop-color": `rgb(${colours[Math.round(n / (STOPS - 1) * 255)].join(",")})` });
    const begin = left + widthOf(texts[0]) + 8;
    return [
      element("linearGradient", { id: `${id}-key` }, Array.from({ length: STOPS }, (_, n) => stop(n))),
      words(left, y + 9, texts[0]), element("rect", { x: round(begin), y: y + 1, width: 180, height: 8, fill: `url(#${id}-key)` }),
      words(begin + 188, y + 9, texts[1]),
    ];
  }
}

/** The legend from a height on: its elements, and its own height. */
function legendOf({ kind, lines }, top) {
  const all = [];
  let [x, y] = [EDGE, top];
  for (const line of lines) {
    const name = fitted(line.label, NAME_MOST);
    const width = SWATCH + widthOf(name) + BEHIND;
    if (x > EDGE && x + width > WIDTH - EDGE) [x, y] = [EDGE, y + LEGEND];
    const colour = lineColour(line);
    all.push(
      kind === "stack" ? element("rect", { x: x + 4, y: y + 2, width: 12, height: 12, rx: 2, fill: colour })
        : element("path", { d: `M${x} ${y + 8}h20`, stroke: colour, "stroke-width": 3, "stroke-dasharray": dashes(line.n).join(" ") || null }),
      words(x + SWATCH - 2, y + 12, name, { fill: styled("--text") }),
    );
    x = round(x + width);
  }
  return [all, lines.length ? y + LEGEND - top : 0];
}

/** The range that is shown, with its zone. */
function rangeText([from, to]) {
  const end = day(from) === day(to) ? clock(to) : `${day(to)} ${clock(to)}`;
  return `${day(from)} ${clock(from)} – ${end} ${zoneText(to)}`;
}

/**
 * The picture of a chart, `{text, width, height}`. The chart has its `title`, its `kind`, the `lines` that are shown as
 * `Plot` has them, `times` and `bounds` of their columns, the usual `interval` of rows, `range`, and `marks`.
 */
export function svgOf(chart) {
  const { title, kind, lines, range } = chart;
  const scales = [...new Set(lines.map(line => line.scale))];
  const left = EDGE + (kind === "heat" && lines.length ? roomOf(lines.map(line => line.label.slice(0, TEXT_MOST)), WIDTH) : LEFT);
  const width = WIDTH - EDGE - left;
  const body = [];
  let y = TOP;
  // Panels, each with what belongs to it.
  scales.forEach((scale, n) => {
    const own = lines.filter(line => line.scale === scale);
    const isLast = n === scales.length - 1;
    const height = kind === "heat" ? Math.max(ROWS_LEAST, Math.min(ROWS_MOST, own.length * ROW)) : scales.length > 1 ? MANY : ONE;
    const panel = new Panel(chart, own, { left, top: y, width, height, id: `panel-${n}` });
    body.push(...panel.draw(isLast));
    y += height + (isLast ? TIMES : 0) + GAP / 2;
    if (kind === "heat") {
      body.push(...panel.key(y));
      y += KEY;
    }
    y += GAP / 2;
  });
  if (scales.length === 0) {
    body.push(words(WIDTH / 2, y + 20, "Nothing to draw", { anchor: "middle" }));
    y += 40;
  }
  if (kind !== "heat") {
    const [legend, height] = legendOf(chart, y);
    body.push(...legend);
    y += height;
  }
  const height = y + EDGE;
  const font = FONT.slice(FONT.indexOf(" ") + 1);
  const text = element("svg", {
    xmlns: "http://www.w3.org/2000/svg", width: WIDTH, height, viewBox: `0 0 ${WIDTH} ${height}`, "font-family": font, "font-size": 11, role: "img",
  },
  element("title", {}, escaped(title)),
  element("rect", { width: WIDTH, height, fill: styled("--panel") }),
  words(EDGE, 28, fitted(title, (WIDTH - 2 * EDGE) * 11 / 15), { fill: styled("--text"), size: 15, weight: 600 }),
  words(EDGE, 46, rangeText(range), { fill: styled("--muted") }),
  body);
  return { text: `<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`, width: WIDTH, height };
}
