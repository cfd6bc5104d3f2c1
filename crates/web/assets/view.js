// What is looked at: charts, time, zoom, theme; and the address that says it.

import { RANKED_ASKED } from "./ranking.js";
import { newTable, readTable, writeTable } from "./table.js";

/** Time windows to choose from, in seconds. */
export const WINDOWS = [
  [60, "1 m"], [300, "5 m"], [600, "10 m"], [1800, "30 m"], [3600, "1 h"], [21600, "6 h"], [86400, "24 h"], [604800, "7 d"],
];

export const KINDS = { lines: "Lines", stack: "Stacked", heat: "Heat map", bars: "Bars", report: "Report", rank: "Ranking", table: "Table" };

/** Whether charts of a kind stay of it, and take no lines of others. */
export const isFixed = kind => kind === "rank" || kind === "table";

/** Whether two questions are the same. */
export const byKey = (a, b) => a.path === b.path && (a.top ?? 0) === (b.top ?? 0);

/** A comparison with another log: how, and its id. */
export const OTHER_LOG = /^(same|begin):(.+)$/;

/** Whether a path may mean several instances. */
export const isSeveral = path => /\([^)]*[*?{!]/.test(path);

export class View {
  /** Seconds shown. */
  window = 300;
  /** Where the time stands still, in ms since 1970; null while it goes on. */
  end = null;
  /** A part that was zoomed into, [from, to] in ms; null without. */
  zoom = null;
  /**
   * What all is compared with: an earlier time, by so many ms, or "before" for the time just before; another log, as
   * "same:ID" at the same time, or as "begin:ID" from its beginning; null without.
   */
  compared = null;
  /** `light`, `dark`, or null: as the system. */
  theme = null;
  /** `utc`, `local`, or null: as chosen before, else the browser's. */
  zone = null;
  /** Id of the log that is shown; null: what the server shows by itself. */
  log = null;
  /** Specifications of the charts; null: the server's overview. */
  charts = null;

  get isLive() { return this.end === null && this.zoom === null; }

  /** The times shown, if the newest sample is of `last`. */
  range(last) {
    if (this.zoom) return this.zoom;
    const end = this.end ?? last;
    return [end - this.window * 1000, end];
  }

  /** Everything of the view as the fragment of an address. */
  toFragment() {
    const query = new URLSearchParams();
    if (this.log) query.append("log", this.log);
    query.append("w", this.window);
    if (this.end !== null) query.append("end", Math.round(this.end));
    if (this.zoom) query.append("zoom", this.zoom.map(Math.round).join("-"));
    if (this.compared) query.append("compare", this.compared);
    if (this.theme) query.append("theme", this.theme);
    if (this.zone) query.append("tz", this.zone);
    for (const chart of this.charts ?? []) {
      query.append("chart", chart.title);
      query.append("kind", chart.kind);
      if (chart.wide) query.append("wide", 1);
      if (chart.table) writeTable(query, chart.table);
      for (const { path, top } of chart.asks) {
        query.append("path", path);
        if (top) query.append("top", top);
      }
      for (const path of chart.hidden) query.append("hide", path);
    }
    if (this.charts?.length === 0) query.append("none", 1);
    return query.toString();
  }

  /** The view that a fragment says; what it does not understand is left out. */
  static fromFragment(text) {
    const view = new View();
    const time = text => /^\d{1,15}$/.test(text) ? Number(text) : null;
    let chart = null;
    for (const [key, value] of new URLSearchParams(text)) {
      if (key === "w" && WINDOWS.some(([seconds]) => String(seconds) === value)) view.window = Number(value);
      if (key === "log" && value) view.log = value;
      if (key === "end") view.end = time(value);
      if (key === "zoom") {
        const [from, to] = value.split("-").map(time);
        if (from !== null && to > from) view.zoom = [from, to];
      }
      if (key === "compare") view.compared = value === "before" || OTHER_LOG.test(value) ? value : time(value) || null;
      if (key === "theme" && (value === "light" || value === "dark")) view.theme = value;
      if (key === "tz" && (value === "utc" || value === "local")) view.zone = value;
      if (key === "none") view.charts ??= [];
      if (key === "chart") {
        chart = { title: value, kind: "lines", wide: false, asks: [], hidden: new Set() };
        (view.charts ??= []).push(chart);
      }
      if (!chart) continue;
      if (key === "kind" && Object.hasOwn(KINDS, value)) {
        chart.kind = value;
        chart.table = value === "table" ? newTable() : undefined;
      }
      if (chart.table) readTable(chart.table, key, value);
      if (key === "wide") chart.wide = true;
      if (key === "path") chart.asks.push({ path: value, top: 0 });
      if (key === "top" && chart.asks.length) chart.asks.at(-1).top = Math.min(100, time(value) ?? 0);
      if (key === "hide") chart.hidden.add(value);
    }
    return view;
  }
}

/** The charts of the server's overview. */
export function overviewCharts(overview) {
  return overview.map(({ title, kind, paths }) => ({
    title,
    kind: kind === "cores" ? "heat" : Object.hasOwn(KINDS, kind) ? kind : "lines",
    wide: false,
    asks: paths.map(path => ({ path, top: kind === "rank" ? RANKED_ASKED : 0 })),
    hidden: new Set(),
  }));
}

/** All that charts ask for, each once. */
export function asksOf(charts) {
  const asks = [];
  for (const ask of charts.flatMap(chart => chart.asks)) {
    if (!ask.error && !asks.some(other => byKey(other, ask))) asks.push(ask);
  }
  return asks;
}
