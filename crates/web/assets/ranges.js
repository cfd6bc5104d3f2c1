// Ranges of what was recorded: how long their steps are, and the requests for them.

import { problemOf, request } from "./api.js";
import { isSeveral } from "./view.js";

/** So many steps a range has at least, where it was recorded that often: about one for each pixel of a small chart. */
const POINTS = 500;

/** Lengths of steps, in seconds. */
const ROUND = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];

/** So many instances of a path are asked for, and their sum; a heat map has a row for each. */
const LINES = 50;
const ROWS = 512;

/** So many numbers of each kind are asked for at once. The server has a limit a little above. */
const CELLS_MOST = 180_000;

/** The length of a step of a range of this length, in ms: not shorter than the time between two samples. */
export function stepOf(length, interval) {
  const wanted = Math.max(length / POINTS / 1000, interval / 1000);
  return interval < 1000 && wanted * 1000 < 1000 ? Math.ceil(wanted * 1000) : (ROUND.find(step => step >= wanted * 0.999) ?? ROUND.at(-1)) * 1000;
}

/** What a range is asked of charts: `{path, most}`, each path once, without rankings. */
export function rangeAsks(charts) {
  const most = new Map();
  for (const { kind, asks } of charts) {
    for (const { path, top, error } of asks) {
      if (top || error) continue;
      const own = !isSeveral(path) ? 1 : kind === "heat" ? ROWS : LINES;
      most.set(path, Math.max(own, most.get(path) ?? 0));
    }
  }
  return [...most].map(([path, most]) => ({ path, most }));
}

/**
 * The asks in groups, each small enough for one request of so many steps. Those of single instances come first: they
 * are quick, and charts are drawn as soon as they have something.
 */
function groups(asks, steps) {
  const all = [];
  let room = 0;
  for (const ask of asks.toSorted((a, b) => a.most - b.most)) {
    const cells = (ask.most + 1) * steps;
    const isOther = (all.at(-1)?.[0].most === 1) !== (ask.most === 1);
    if (isOther || cells > room || all.at(-1)?.length >= 64) {
      all.push([]);
      room = CELLS_MOST;
    }
    all.at(-1).push(ask);
    room -= cells;
  }
  return all;
}

/**
 * Asks for a range: `from` and `to` as the server understands them, `length` its length and `step` that of a step, in
 * ms. The answer is that of the server for all asks together; `ask` of a series or an error is its path. `each` is
 * called with the part of every request. `of` is the id of the log, where it is not that which is shown.
 */
export async function readRange(asks, { from, to, length, step, of }, signal, each = () => {}) {
  const all = { times: [], series: [], errors: [], gaps: [], marks: [] };
  for (const group of groups(asks, Math.ceil(length / step) + 1)) {
    const query = new URLSearchParams();
    for (const { path, most } of group) {
      query.append("path", path);
      if (most > 1) {
        // A range can have no more than the limit of one request: of very many rows the greatest.
        query.append("top", Math.max(1, Math.min(most, Math.floor(CELLS_MOST * step / length) - 1)));
        query.append("sum", 1);
      }
    }
    query.append("from", all.times.length ? all.from : from);
    // The groups must have the same steps, even if the log has grown meanwhile.
    if (all.times.length) query.append("to", all.to); else if (to !== null) query.append("to", to);
    query.append("step", `${step}ms`);
    const response = await request(`api/v1/range?${query}`, { signal, of });
    if (!response.ok) {
      const problem = await problemOf(response);
      // Other problems are not of these paths.
      if (![400, 404].includes(response.status)) throw Object.assign(new Error(problem.error), { problem });
      for (const { path } of group) all.errors.push({ ask: path, ...problem });
      continue;
    }
    const part = await response.json();
    if (!all.times.length) Object.assign(all, { from: part.from, to: part.to, times: part.times, gaps: part.gaps, marks: part.marks });
    for (const list of ["series", "errors"]) {
      part[list] = part[list].map(one => ({ ...one, ask: group[one.ask]?.path }));
      all[list].push(...part[list]);
    }
    each(part);
  }
  return all;
}
