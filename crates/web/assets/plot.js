// The drawing of lines of one unit: lines, stacked areas, or a heat map with a row an instance. uPlot draws; data are
// not copied except where they are stacked.

import { axisSteps, axisTexts, gapOf, unitOf } from "./units.js";
import { axisClock, zoned } from "./zone.js";
import { columns, greatest, RowNames } from "./heat.js";
import { dashes, faded, FONT, lineColour, ramp, styled } from "./palette.js";

/** Room for the texts of an axis. */
export const LEFT = 64;

// From so many points to draw on the lines are thin.
const DENSE = 12000;

// Distances between the marks of the time axis, in ms.
const STEPS = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 604800, 2592000]
  .map(s => s * 1000);

/** The height of a mark of the recorder itself, in pixels. */
const TICK = 5;

/** The longest text of a mark, in characters. */
const MARK_MOST = 28;

/** A place where no cursor is. */
const NOWHERE = { left: -10, top: -10 };

/** Further above a plot than a pointer is near a line. */
const ABOVE = -100;

/** Where values stand alone, between others that are missing: no line leads to them, so they are points. */
export function lone(values, [from, to]) {
  const found = [];
  for (let at = from; at <= to; at++) if (values[at] != null && values[at - 1] == null && values[at + 1] == null) found.push(at);
  return found.length ? found : null;
}

export class Plot {
  #u;
  #kind;
  #lines;
  #left;
  #hasTimes;
  #names = null;
  #sums = [];
  #heat = null;
  #page;
  #isHeld = false;
  /** Whether each line has one of an earlier time beside it. */
  #isCompared;
  /** The least and the greatest value of the steps that are shown; null where each row is a sample. */
  #ends = null;
  #hidden = () => false;
  #bounds = [0, 0];

  /**
   * Lines are `{n, label, unit, scale, series, column, isRest}`: `n` is the place in the chart, `unit` as the server says
   * it, `scale` the key of the axis. `left` is the room at the left; without `hasTimes` the times are written below
   * another plot. `page` hears of zoom and cursor, `onFocus` which line the pointer is near, as its `n`, or null.
   */
  constructor(host, { kind, lines, left, hasTimes }, page, onFocus) {
    this.#kind = kind;
    this.#lines = lines;
    this.#isCompared = kind === "lines" && lines.some(line => line.column.other);
    this.#left = left;
    this.#hasTimes = hasTimes;
    this.#page = page;
    const options = {
      width: Math.max(100, host.clientWidth),
      height: Math.max(80, host.clientHeight),
      ms: 1,
      tzDate: zoned,
      legend: { show: false },
      padding: [8, 8, 0, 0],
      focus: { alpha: kind === "stack" ? 1 : 0.25 },
      cursor: {
        sync: { key: "page", setSeries: false, filters: { pub: type => type.startsWith("mouse") && type !== "mousedown" && type !== "mouseup", sub: () => true } },
        focus: { prox: kind === "lines" ? 18 : -1 },
        drag: { x: true, y: false, setScale: false, dist: 6 },
        points: { size: 6, show: kind === "lines" },
        y: false,
        bind: { dblclick: () => () => { page.unzoom(); return null; } },
      },
      scales: this.#scales(),
      axes: this.#axes(),
      series: this.#series(),
      bands: kind === "stack" ? lines.slice(1).map((_, n) => ({ series: [n + 2, n + 1] })) : [],
      hooks: {
        setSelect: [u => {
          if (u.select.width < 6) return;
          page.zoomTo(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        setCursor: [u => page.cursorAt(u.cursor.idx ?? null)],
        setSeries: [(_, index, change) => { if ("focus" in change) onFocus(index ? lines[(index - 1) % lines.length].n : null); }],
        drawAxes: [u => { if (kind === "heat") this.#drawHeat(u); else if (kind === "lines") this.#drawBands(u); }],
        draw: [u => this.#drawMarks(u)],
      },
    };
    this.#u = new uPlot(options, this.#empty(), host);
    if (kind === "heat") this.#names = new RowNames(this.#u, lines, left, onFocus);
  }

  #empty() {
    const others = this.#isCompared ? this.#lines : [];
    return [[], ...(this.#kind === "heat" ? [[]] : [...this.#lines, ...others].map(() => []))];
  }

  #scales() {
    const scales = { x: { time: true, range: (_, min, max) => [min, max] } };
    if (this.#kind === "heat") {
      scales.y = { range: [0, this.#lines.length] };
      return scales;
    }
    const [{ unit, scale }] = this.#lines;
    const { factor, prefixes } = unitOf(unit);
    const floor = unit === "%" ? (this.#kind === "stack" ? 100 : 1) : prefixes === "binary" ? 1024 / factor : 1e-9;
    scales[scale] = {
      range: (_, min, max) => {
        const [least, greatest] = this.#ends ?? [0, 0];
        const low = Math.min(0, min ?? 0, least);
        const high = Math.max(max ?? 0, low, greatest);
        if (high === low) return [low, low + Math.max(floor, prefixes === "time" ? 1e-3 : 1)];
        const top = high + (high - low) * 0.06;
        return [low, Math.max(floor, unit === "%" && high <= 100 ? Math.min(top, 100) : top)];
      },
    };
    return scales;
  }

  #axes() {
    const paint = name => () => styled(name);
    const common = { stroke: paint("--faint"), font: FONT, ticks: { show: false }, gap: 6 };
    const time = {
      ...common,
      size: this.#hasTimes ? 24 : 6,
      space: 64,
      incrs: STEPS,
      grid: { show: this.#kind !== "heat", stroke: paint("--grid"), width: 1 },
      // A text that would not fit at the right is left out.
      values: (u, splits, axis, space, step) => splits.map(split => !this.#hasTimes
        || u.valToPos(split, "x") > u.bbox.width / devicePixelRatio - (step < 60000 ? 18 : 8) ? "" : axisClock(split, step)),
    };
    if (this.#kind === "heat") {
      return [time, { ...common, scale: "y", size: this.#left, grid: { show: false }, values: (_, splits) => splits.map(() => "") }];
    }
    const [{ unit, scale }] = this.#lines;
    return [time, {
      ...common,
      scale,
      size: this.#left,
      space: 28,
      incrs: axisSteps(unitOf(unit)),
      grid: { stroke: paint("--grid"), width: 1 },
      values: (_, splits) => axisTexts(splits, unitOf(unit)),
    }];
  }

  #series() {
    const time = {};
    if (this.#kind === "heat") return [time, { scale: "y", paths: () => null, points: { show: false } }];
    // What was before is behind, and thinner.
    const others = !this.#isCompared ? [] : this.#lines.map(line => ({
      scale: line.scale, stroke: () => faded(lineColour(line), 0.75), width: 1, dash: [2, 3], points: { show: false },
    }));
    return [time, ...this.#lines.map(line => ({
      label: line.label,
      scale: line.scale,
      stroke: this.#kind === "stack" ? undefined : () => lineColour(line),
      fill: this.#kind === "stack" ? () => faded(lineColour(line), line.isRest ? 0.45 : 0.8)
        : this.#lines.length === 1 ? () => faded(lineColour(line), 0.12) : undefined,
      points: {
        show: (u, at, from, to) => to - from < 3,
        filter: (u, at, isShown) => isShown || this.#kind === "stack" ? null : lone(u.data[at], u.series[0].idxs),
        fill: this.#kind === "stack" ? undefined : () => lineColour(line),
      },
    })), ...others];
  }

  /** Wide lines with dashes, as long as they are few: without a graphics card they cost fifteen times a hairline. */
  #dress(points) {
    const u = this.#u;
    const isDense = this.#lines.length * Math.min(points, u.bbox.width) > DENSE;
    this.#lines.forEach(({ n }, at) => {
      u.series[at + 1].width = isDense ? 1 / devicePixelRatio : 1.5;
      u.series[at + 1].dash = isDense ? [] : dashes(n);
    });
  }

  /** Draws the range, [from, to] in ms; `hidden(n)` says which lines are not shown. */
  draw(times, [min, max], bounds, hidden) {
    const u = this.#u;
    this.#hidden = hidden;
    this.#bounds = bounds;
    this.#ends = this.#kind === "lines" ? this.#endsOfSteps(bounds, hidden) : null;
    u.batch(() => {
      u.setData(this.#data(times, bounds, hidden), false);
      if (this.#kind !== "heat") {
        this.#dress(bounds[1] - bounds[0]);
        this.#lines.forEach(({ n }, at) => {
          if (u.series[at + 1].show === hidden(n)) u.setSeries(at + 1, { show: !hidden(n) }, false);
        });
      }
      u.setScale("x", { min, max });
    });
  }

  #data(times, bounds, hidden) {
    if (this.#kind === "heat") {
      this.#heat = { times, bounds };
      return [times, this.#lines[0]?.column.values ?? times.map(() => null)];
    }
    if (this.#kind !== "stack") {
      const others = this.#isCompared ? this.#lines.map(({ n, column }) => hidden(n) ? new Array(times.length).fill(null) : column.other ?? []) : [];
      return [times, ...this.#lines.map(line => line.column.values), ...others];
    }
    // Of a stack every line is drawn on the sum of those below; only the rows that are shown are added up.
    const [from, to] = [Math.max(0, bounds[0] - 1), Math.min(times.length, bounds[1] + 1)];
    // Where one line has a value, those below that have none are 0 high; else the area between them would be a hole.
    const shown = this.#lines.filter(({ n }) => !hidden(n));
    const ground = new Array(times.length).fill(null);
    for (let at = from; at < to; at++) if (shown.some(({ column }) => column.values[at] != null)) ground[at] = 0;
    let below = ground;
    this.#sums = this.#lines.map(({ n, column }, place) => {
      const sums = this.#sums[place] ?? [];
      sums.length = times.length;
      for (let at = from; at < to; at++) {
        sums[at] = below[at] === null ? null : below[at] + (hidden(n) ? 0 : column.values[at] ?? 0);
      }
      below = sums;
      return sums;
    });
    return [times, ...this.#sums];
  }

  /** The least and the greatest value of all steps, of the lines that are shown. */
  #endsOfSteps([from, to], hidden) {
    let ends = null;
    for (const { n, column: { least, greatest } } of this.#lines) {
      if (!least || hidden(n)) continue;
      ends ??= [0, 0];
      for (let at = from; at < to; at++) {
        if (least[at] < ends[0]) ends[0] = least[at];
        if (greatest[at] > ends[1]) ends[1] = greatest[at];
      }
    }
    return ends;
  }

  /** Where a row is a step with several samples: an area from its least to its greatest value, behind its mean. */
  #drawBands(u) {
    const times = u.data[0];
    const [from, to] = [Math.max(0, this.#bounds[0] - 1), Math.min(times.length, this.#bounds[1] + 1)];
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    for (const line of this.#lines) {
      const { least, greatest } = line.column;
      if (!least || this.#hidden(line.n)) continue;
      u.ctx.fillStyle = faded(lineColour(line), 0.22);
      // A single large sample is narrow: without an edge nobody would see it.
      u.ctx.strokeStyle = faded(lineColour(line), 0.35);
      u.ctx.lineWidth = 1;
      for (let begin = from; begin < to;) {
        if (least[begin] == null) {
          begin++;
          continue;
        }
        let end = begin;
        while (end < to && least[end] != null) end++;
        const place = (at, value) => [u.valToPos(times[at], "x", true), u.valToPos(value, line.scale, true)];
        u.ctx.beginPath();
        for (let at = begin; at < end; at++) u.ctx.lineTo(...place(at, greatest[at]));
        for (let at = end - 1; at >= begin; at--) u.ctx.lineTo(...place(at, least[at]));
        u.ctx.closePath();
        u.ctx.fill();
        u.ctx.stroke();
        begin = end;
      }
    }
    u.ctx.restore();
  }

  /** Marks of the recording: a line each, with its text where there is room for it. */
  #drawMarks(u) {
    const { min, max } = u.scales.x;
    const marks = this.#page.marks.filter(({ time }) => time >= min && time <= max);
    if (!marks.length) return;
    const { ctx, bbox: { left, top, width, height } } = u;
    ctx.save();
    ctx.font = FONT.replace(/\d+px/, size => `${parseInt(size, 10) * devicePixelRatio}px`);
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    ctx.lineWidth = devicePixelRatio;
    let end = -Infinity;
    for (const { time, text, is_of_recorder } of marks) {
      const x = Math.round(u.valToPos(time, "x", true)) + 0.5;
      ctx.strokeStyle = styled(is_of_recorder ? "--faint" : "--accent");
      ctx.fillStyle = ctx.strokeStyle;
      ctx.setLineDash(is_of_recorder ? [] : [3 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      // What the recorder says of itself is less than what somebody wanted to be found.
      ctx.moveTo(x, is_of_recorder ? top + height - TICK * devicePixelRatio : top);
      ctx.lineTo(x, top + height);
      ctx.stroke();
      if (is_of_recorder) continue;
      const short = text.length > MARK_MOST ? `${text.slice(0, MARK_MOST - 1)}…` : text;
      const room = ctx.measureText(short).width + 8 * devicePixelRatio;
      // At the right edge it is before its line.
      const begin = x + room > left + width ? x - room : x;
      if (begin < end || begin < left || height < 60 * devicePixelRatio) continue;
      ctx.fillText(short, begin + 4 * devicePixelRatio, top + 2 * devicePixelRatio);
      end = begin + room;
    }
    ctx.restore();
  }

  /**
   * A picture with a row a line, and a column for each column of pixels: its colour is that of the greatest sample of
   * its time. Where nothing was, nothing is drawn.
   */
  #drawHeat(u) {
    this.#names?.place();
    const { times, bounds } = this.#heat ?? {};
    const rows = this.#lines.length;
    const { left, top: y, width: w, height } = u.bbox;
    const width = Math.round(w);
    if (!times || rows === 0 || width < 1) return;
    const { min, max } = u.scales.x;
    const shown = columns(times, bounds, [min, max], width, gapOf(this.#page.store.interval));
    const picture = new ImageData(width, rows);
    const [, top] = this.ends(bounds);
    const colours = ramp();
    this.#lines.forEach(({ column }, row) => {
      const values = column.greatest ?? column.values;
      for (let x = 0; x < width; x++) {
        const value = greatest(values, shown[2 * x], shown[2 * x + 1]);
        if (value === null) continue;
        const [red, green, blue] = colours[Math.max(0, Math.min(255, Math.round(value / top * 255)))];
        picture.data.set([red, green, blue, 255], (row * width + x) * 4);
      }
    });
    const canvas = new OffscreenCanvas(width, rows);
    canvas.getContext("2d").putImageData(picture, 0, 0);
    u.ctx.save();
    u.ctx.imageSmoothingEnabled = false;
    u.ctx.drawImage(canvas, left, y, width, height);
    u.ctx.fillStyle = styled("--panel");
    const gap = Math.max(1, Math.round(devicePixelRatio));
    if (height / rows > 4 * gap) for (let row = 1; row < rows; row++) u.ctx.fillRect(left, y + Math.round(row * height / rows), w, gap);
    u.ctx.restore();
  }

  /**
   * What the first and the last colour of a heat map stand for: 0, or less where a value is; and 100 of percentages,
   * else the largest value shown.
   */
  ends([from, to]) {
    let [low, top] = [0, this.#lines.every(line => line.unit === "%") ? 100 : 0];
    for (const { column: { values, least = values, greatest = values } } of this.#lines) {
      for (let at = from; at < to; at++) {
        if (greatest[at] > top) top = greatest[at];
        if (least[at] < low) low = least[at];
      }
    }
    return [low, top || 1];
  }

  /** Puts the cursor at a part of the width, 0 to 1, or takes it away that was put there before. */
  hold(part) {
    if (part === null && !this.#isHeld) return;
    this.#isHeld = part !== null;
    // Above all lines: none of them is near it.
    this.#u.setCursor(part === null ? NOWHERE : { left: part * this.#u.over.clientWidth, top: ABOVE });
  }

  /** Highlights a line by its `n`, or none. */
  focus(n) {
    if (this.#kind !== "lines") return;
    const at = this.#lines.findIndex(line => line.n === n);
    this.#u.setSeries(at < 0 ? null : at + 1, { focus: at >= 0 }, false);
  }

  resize(width, height) { this.#u.setSize({ width, height }); }

  /** Draws the same with the clocks of another zone. */
  redraw() { this.#u.redraw(false, true); }

  destroy() { this.#u.destroy(); }
}
