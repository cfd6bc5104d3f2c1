// The drawing of a chart: lines, stacked areas, or a heat map with a row an instance. uPlot draws; data are not copied
// but where they are stacked.

import { axisSteps, axisTexts, unitOf } from "./units.js";
import { clock, zoned } from "./zone.js";
import { gapOf } from "./store.js";
import { columns, greatest } from "./heat.js";
import { colour, dashes, faded, othersColour, ramp, styled } from "./palette.js";

const FONT = '11px -apple-system, "Segoe UI", Roboto, "Noto Sans", Cantarell, "Liberation Sans", Arial, system-ui, sans-serif';
const LEFT = 64;

// From so many points to draw on the lines are thin.
const DENSE = 12000;

// Distances between the marks of the time axis, in ms.
const STEPS = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map(s => s * 1000);

export class Plot {
  #u;
  #kind;
  #lines;
  #sums = [];
  #heat = null;
  #gap;

  /**
   * Lines are `{label, unit, scale, series, column}`, `unit` as the server says it, `scale` the key of the axis. `page` hears
   * of zoom and cursor, `onFocus` which line the pointer is near, or null.
   */
  constructor(host, kind, lines, page, onFocus) {
    this.#kind = kind;
    this.#lines = lines;
    this.#gap = gapOf(page.store.interval);
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
        setSeries: [(_, index, change) => { if ("focus" in change) onFocus(index ? index - 1 : null); }],
        drawAxes: kind === "heat" ? [u => this.#drawHeat(u)] : [],
      },
    };
    this.#u = new uPlot(options, this.#empty(), host);
  }

  #empty() {
    return [[], ...(this.#kind === "heat" ? [[]] : this.#lines.map(() => []))];
  }

  #scales() {
    const scales = { x: { time: true, range: (_, min, max) => [min, max] } };
    if (this.#kind === "heat") {
      scales.y = { range: [0, this.#lines.length] };
      return scales;
    }
    for (const { unit, scale } of this.#lines) {
      const { prefixes } = unitOf(unit);
      const floor = unit === "%" ? (this.#kind === "stack" ? 100 : 1) : prefixes === "binary" ? 1024 / unitOf(unit).factor : 1e-9;
      scales[scale] = {
        range: (_, min, max) => {
          const low = Math.min(0, min ?? 0);
          const high = Math.max(max ?? 0, low);
          if (high === low) return [low, low + Math.max(floor, prefixes === "time" ? 1e-3 : 1)];
          const top = high + (high - low) * 0.06;
          return [low, Math.max(floor, unit === "%" && high <= 100 ? Math.min(top, 100) : top)];
        },
      };
    }
    return scales;
  }

  #axes() {
    const paint = name => () => styled(name);
    const common = { stroke: paint("--faint"), font: FONT, ticks: { show: false }, gap: 6 };
    const time = {
      ...common,
      size: 24,
      space: 64,
      incrs: STEPS,
      grid: { stroke: paint("--grid"), width: 1 },
      // A text that would not fit at the right is left out.
      values: (u, splits, axis, space, step) => splits.map(split =>
        u.valToPos(split, "x") > u.bbox.width / devicePixelRatio - (step < 60000 ? 18 : 8) ? "" : clock(split, step < 60000)),
    };
    if (this.#kind === "heat") {
      const every = Math.max(1, Math.ceil(this.#lines.length / 10));
      const rows = this.#lines.map((_, n) => n).filter(n => n % every === 0);
      const short = text => text.length > 10 ? `${text.slice(0, 9)}…` : text;
      return [{ ...time, grid: { show: false } }, {
        ...common,
        scale: "y",
        size: LEFT,
        grid: { show: false },
        splits: () => rows.map(n => this.#lines.length - n - 0.5),
        values: () => rows.map(n => short(this.#lines[n].label)),
      }];
    }
    const firsts = this.#lines.filter(({ scale }, n) => this.#lines.findIndex(line => line.scale === scale) === n);
    return [time, ...firsts.slice(0, 2).map(({ unit, scale }, n) => ({
      ...common,
      scale,
      side: n === 0 ? 3 : 1,
      size: LEFT,
      space: 28,
      incrs: axisSteps(unitOf(unit)),
      grid: n === 0 ? { stroke: paint("--grid"), width: 1 } : { show: false },
      values: (_, splits) => axisTexts(splits, unitOf(unit)),
    }))];
  }

  #series() {
    const time = {};
    if (this.#kind === "heat") return [time, { scale: "y", paths: () => null, points: { show: false } }];
    const paint = n => this.#lines[n].series.isOthers ? othersColour() : colour(n);
    return [time, ...this.#lines.map(({ label, scale }, n) => ({
      label,
      scale,
      stroke: this.#kind === "stack" ? undefined : () => paint(n),
      fill: this.#kind === "stack" ? () => faded(paint(n), 0.7)
        : this.#lines.length === 1 ? () => faded(paint(n), 0.12) : undefined,
      points: { show: (u, at, from, to) => to - from < 3 },
    }))];
  }

  /** Wide lines with dashes, as long as they are few: without a graphics card they cost fifteen times a hairline. */
  #dress(points) {
    const u = this.#u;
    const isDense = this.#lines.length * Math.min(points, u.bbox.width) > DENSE;
    this.#lines.forEach((_, n) => {
      u.series[n + 1].width = isDense ? 1 / devicePixelRatio : 1.5;
      u.series[n + 1].dash = isDense ? [] : dashes(n);
    });
  }

  /** Draws the range, [from, to] in ms; `hidden(n)` says which lines are not shown. */
  draw(times, [min, max], bounds, hidden) {
    const u = this.#u;
    u.batch(() => {
      u.setData(this.#data(times, bounds, hidden), false);
      if (this.#kind !== "heat") {
        this.#dress(bounds[1] - bounds[0]);
        this.#lines.forEach((_, n) => {
          if (u.series[n + 1].show === hidden(n)) u.setSeries(n + 1, { show: !hidden(n) }, false);
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
    if (this.#kind !== "stack") return [times, ...this.#lines.map(line => line.column.values)];
    // Of a stack every line is drawn on the sum of those below; only the rows that are shown are added up.
    const [from, to] = [Math.max(0, bounds[0] - 1), Math.min(times.length, bounds[1] + 1)];
    // Where one line has a value, those below that have none are 0 high; else the area between them would be a hole.
    const shown = this.#lines.filter((_, n) => !hidden(n));
    const ground = new Array(times.length).fill(null);
    for (let at = from; at < to; at++) if (shown.some(({ column }) => column.values[at] != null)) ground[at] = 0;
    let below = ground;
    this.#sums = this.#lines.map(({ column }, n) => {
      const sums = this.#sums[n] ?? [];
      sums.length = times.length;
      for (let at = from; at < to; at++) {
        sums[at] = below[at] === null ? null : below[at] + (hidden(n) ? 0 : column.values[at] ?? 0);
      }
      below = sums;
      return sums;
    });
    return [times, ...this.#sums];
  }

  /**
   * A picture with a row a line, and a column for each column of pixels: its colour is that of the greatest sample of
   * its time. Where nothing was, nothing is drawn.
   */
  #drawHeat(u) {
    const { times, bounds } = this.#heat ?? {};
    const rows = this.#lines.length;
    const { left, top: y, width: w, height } = u.bbox;
    const width = Math.round(w);
    if (!times || rows === 0 || width < 1) return;
    const { min, max } = u.scales.x;
    const shown = columns(times, bounds, [min, max], width, this.#gap);
    const picture = new ImageData(width, rows);
    const top = this.#highest(...bounds);
    const colours = ramp();
    this.#lines.forEach(({ column: { values } }, row) => {
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

  /** What the last colour stands for: 100 of percentages, else the largest value shown. */
  #highest(from, to) {
    let top = this.#lines.every(line => line.unit === "%") ? 100 : 0;
    for (const { column } of this.#lines) for (let at = from; at < to; at++) if (column.values[at] > top) top = column.values[at];
    return top || 1;
  }

  /** Highlights a line, or none. */
  focus(n) {
    if (this.#kind === "lines") this.#u.setSeries(n === null ? null : n + 1, { focus: n !== null }, false);
  }

  resize(width, height) { this.#u.setSize({ width, height }); }

  /** Draws the same with the clocks of another zone. */
  redraw() { this.#u.redraw(false, true); }

  destroy() { this.#u.destroy(); }
}
