// How lines are called, why they have no value, and what of them is copied.

import { scaleOf } from "./units.js";

// The keywords of docs/output.md, in few words: a legend has little room.
const REASONS = {
  needs_two_samples: "needs a second sample",
  not_displayable: "has no number to show",
  missing_base: "its base did not come",
  negative_value: "was reset",
  wrapped: "wrapped or was reset",
  restarted: "the machine was restarted",
  time_went_back: "the clock was set back",
  negative_denominator: "no time passed",
  negative_timebase: "has a bad clock",
  type_changed: "changed its type",
  new_instance: "is new",
  replaced: "was replaced",
  unavailable: "is not available here",
  denied: "is refused by the system",
  failed: "could not be read",
  late: "came too late",
  no_instance: "no instance has this name",
  status: "the question failed",
  not_given: "nobody said why",
};

/** Why there is no value, for people. */
export function reasonText(keyword) {
  return keyword ? REASONS[keyword] ?? keyword : "no value";
}

/** The path of a counter: of a single instance without brackets. */
export function pathOf(counterset, instance, counter) {
  return instance == null ? `\\${counterset}\\${counter}` : `\\${counterset}(${instance})\\${counter}`;
}

/**
 * A name for each line: instance and counter where they are not all the same, the counterset where it takes that to
 * tell them apart. `many` are series as the server describes them.
 */
export function labels(many) {
  const differ = field => many.some(series => series[field] !== many[0][field]);
  const [counters, instances] = [differ("counter"), differ("instance")];
  const name = series => {
    // The path has the number that tells instances of one name apart.
    const number = /#\d+(?=\)\\)/.exec(series.path)?.[0] ?? "";
    const instance = series.instance && series.instance + (series.instance.endsWith(number) ? "" : number);
    return [instances ? instance : "", counters || !(instances && instance) ? series.counter : ""].filter(Boolean).join("  ");
  };
  const names = many.map(name);
  const isTwice = name => names.indexOf(name) !== names.lastIndexOf(name);
  return many.map((series, n) => isTwice(names[n]) ? `${series.counterset}  ${names[n]}` : names[n]);
}

/** Whether it is no part of anything: it adds up others, or is the time in which nothing ran. The server says so. */
export const isTotal = series => series.total === true;

const are = n => n === 1 ? "is" : "are";

// How many instances have no value for a reason.
const COUNTED = {
  denied: n => `the system refuses ${n} (denied)`,
  late: n => `${n} came too late`,
  failed: n => `${n} could not be read`,
  new_instance: n => `${n} ${are(n)} new`,
  replaced: n => `${n} ${n === 1 ? "was" : "were"} replaced`,
  unavailable: n => `${n} ${are(n)} not available here`,
};

// Counters of what is left of a whole: memory that is free, time in which nothing was done.
const RESTS = /^(?:% Idle Time|% Free Space|\w*Free|Free .+|nr_free_pages)$/;

/** Whether instances only lack a value because they are new: the next sample has one. */
export const isUsual = without => without.every(({ status }) => ["needs_two_samples", "new_instance", "replaced"].includes(status));

/** Whether a part of a whole is what is left of it. */
export const isRest = ({ counter, instance }) => RESTS.test(counter) || instance === "Idle";

/** The columns of a chart in the order of its lines: what is left of a whole is the last of a stack, above what is used. */
export const ordered = (kind, columns) => kind === "stack" ? [...columns].sort((a, b) => isRest(a.series) - isRest(b.series)) : columns;

/** The lines of a chart with these columns, as panels draw and legends list them. */
export function linesOf(kind, columns) {
  const names = columns.length ? labels(columns.map(column => column.series)) : [];
  const hasParts = kind === "stack" && columns.some(column => !isRest(column.series));
  return columns.map((column, n) => ({
    n, label: names[n], unit: column.series.unit, scale: scaleOf(column.series), series: column.series, column,
    isRest: hasParts && isRest(column.series),
  }));
}

/**
 * Names that fit into little room, `fits` says whether one does. What all of them begin with tells nothing, so their
 * ends stay; where that is not enough, both ends of the rest.
 */
export function shortened(names, fits) {
  if (names.every(fits)) return names;
  let same = 0;
  while (names.length > 1 && names.every(name => same < name.length - 1 && name[same] === names[0][same])) same++;
  const cut = text => {
    for (let keep = text.length - 1; keep > 1; keep--) {
      const short = `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`;
      if (fits(short)) return short;
    }
    return "…";
  };
  return names.map(name => {
    if (fits(name)) return name;
    for (let from = 1; from <= same; from++) {
      const end = `…${name.slice(from)}`;
      if (fits(end)) return end;
    }
    return cut(name);
  });
}

/** How many instances have no value, and why: a text a counter, of `{counter, status, instances, of}` for each reason. */
export function withoutTexts(without) {
  // All are so at first.
  const told = without.filter(({ status }) => status !== "needs_two_samples");
  return [...new Set(told.map(({ counter }) => counter))].map(counter => {
    const reasons = told.filter(reason => reason.counter === counter);
    const all = reasons.reduce((sum, { instances }) => sum + instances, 0);
    const why = reasons.map(({ status, instances }) => COUNTED[status]?.(instances) ?? `${instances} ${status.replaceAll("_", " ")}`);
    return { counter, text: `${all} of ${reasons[0].of} instance${reasons[0].of === 1 ? " has" : "s have"} no value: ${why.join(", ")}` };
  });
}

// The keywords of docs/output.md of what is special about a value.
const MARKS = {
  held: "the kernel stepped back: the highest value so far",
  stale: "the source is slow: its last value",
  partial: "of some of its instances: the others have no value",
};

/** What is special about a value, for people. */
export const markText = keyword => MARKS[keyword] ?? keyword;

const quoted = text => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
// A spreadsheet must not take a stranger's name for a formula.
const guarded = text => quoted(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

/** Rows of a table as CSV: texts are guarded, a value that is not known is empty. */
export function csvRows(heads, rows) {
  const cell = value => value == null ? "" : typeof value === "number" ? value : guarded(value);
  return [heads, ...rows].map(row => row.map(cell).join(",")).join("\n") + "\n";
}

/** The lines of a chart as CSV, a column each: `columns` are `{name, values}` beside `times` in ms. */
export function csv(times, columns) {
  const rows = [["time", ...columns.map(column => guarded(column.name))].join(",")];
  times.forEach((time, at) => {
    rows.push([new Date(time).toISOString(), ...columns.map(column => column.values[at] ?? "")].join(","));
  });
  return rows.join("\n") + "\n";
}
