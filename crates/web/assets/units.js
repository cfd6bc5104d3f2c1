// Numbers with their units, as people read them.

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const LARGE = ["", "k", "M", "G", "T", "P"];
const SMALL = ["", "m", "µ", "n", "p"];

// What a unit of the server is on the page: how many of the shown unit one is, the shown unit, and its prefixes.
const UNITS = {
  "": [1, "", "large"],
  "%": [1, "%", "none"],
  "By": [1, "B", "binary"], "KiBy": [1024, "B", "binary"], "MiBy": [1024 ** 2, "B", "binary"],
  "By/s": [1, "B/s", "binary"], "kBy/s": [1000, "B/s", "binary"], "KiBy/s": [1024, "B/s", "binary"],
  "bit/s": [1, "bit/s", "large"], "/s": [1, "/s", "large"], "/min": [1, "/min", "large"],
  "s": [1, "s", "time"], "ns": [1e-9, "s", "time"], "ms/s": [1, "ms/s", "none"],
  "MHz": [1e6, "Hz", "large"],
  "Cel": [1, "°C", "none"], "K": [1, "K", "none"], "dK": [0.1, "K", "none"], "mK": [0.001, "K", "none"],
  "mV": [1e-3, "V", "both"], "mA": [1e-3, "A", "both"], "mW": [1e-3, "W", "both"], "uW": [1e-6, "W", "both"],
  "uJ": [1e-6, "J", "both"], "pW.h": [1e-12, "Wh", "both"],
};

/** What the page knows about a unit: `factor` to the shown unit, its name, and which prefixes it takes. */
export function unitOf(ucum) {
  const [factor, name, prefixes] = UNITS[ucum] ?? [1, ucum, "none"];
  return { factor, name, prefixes };
}

/** The prefix for numbers of about this size: what to divide by, and its letters. */
function prefixFor(size, prefixes) {
  const pick = (list, base, power) => {
    const at = Math.max(0, Math.min(power, list.length - 1));
    return { by: base ** at, letters: list[at] };
  };
  // A little above, so that 1023.97 KiB is not called 1,024.0.
  const power = base => Math.floor(Math.log(size * 1.00001) / Math.log(base));
  if (!(size > 0)) return { by: 1, letters: "" };
  if (prefixes === "binary") return pick(BINARY, 1024, power(1024));
  if ((prefixes === "large" || prefixes === "both") && size >= 1) return pick(LARGE, 1000, power(1000));
  if ((prefixes === "time" || prefixes === "both") && size < 1) {
    const at = Math.min(-power(1000), SMALL.length - 1);
    return { by: 1000 ** -at, letters: SMALL[at] };
  }
  return { by: 1, letters: "" };
}

const formats = new Map();
function number(value, digits) {
  if (!formats.has(digits)) {
    formats.set(digits, new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  }
  return formats.get(digits).format(value === 0 ? 0 : value);
}

/** Seconds of more than two minutes: 3:25, 5:03:25, 2 d 05:03. */
function duration(seconds) {
  const two = n => String(Math.floor(n)).padStart(2, "0");
  const [days, hours, minutes] = [seconds / 86400, (seconds % 86400) / 3600, (seconds % 3600) / 60];
  if (days >= 1) return `${Math.floor(days)} d ${two(hours)}:${two(minutes)}`;
  if (hours >= 1) return `${Math.floor(hours)}:${two(minutes)}:${two(seconds % 60)}`;
  return `${Math.floor(minutes)}:${two(seconds % 60)}`;
}

/** Key of the scale of a series. Percentages up to 100 and those without a limit do not share one. */
export function scaleOf(series) {
  return `y${series.unit} ${series.range}`;
}

/** A value with its unit, of three digits: "1.25 GiB/s", "42.1 %", "3:25:10". */
export function valueText(value, unit) {
  const shown = value * unit.factor;
  const size = Math.abs(shown);
  if (unit.prefixes === "time" && size >= 120) return (shown < 0 ? "−" : "") + duration(size);
  // Counts stay whole as long as they are short.
  if (unit.name === "" && Number.isInteger(shown) && size < 1e6) return number(shown, 0);
  const { by, letters } = prefixFor(size, unit.prefixes);
  const scaled = shown / by;
  const whole = unit.prefixes === "binary" && letters === "" && Number.isInteger(scaled);
  const digits = whole || scaled === 0 ? 0 : Math.abs(scaled) < 9.995 ? 2 : Math.abs(scaled) < 99.95 ? 1 : 0;
  const name = letters + unit.name;
  return name === "" ? number(scaled, digits) : `${number(scaled, digits)} ${name}`;
}

/** The texts of an axis, all with one prefix. */
export function axisTexts(splits, unit) {
  const largest = Math.max(...splits.map(split => Math.abs(split * unit.factor)));
  if (unit.prefixes === "time" && largest >= 120) return splits.map(split => duration(split * unit.factor));
  const { by, letters } = prefixFor(largest, unit.prefixes);
  const step = splits.length > 1 ? Math.abs(splits[1] - splits[0]) * unit.factor / by : 1;
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)));
  const name = letters + unit.name;
  return splits.map(split => {
    const text = number(split * unit.factor / by, digits);
    return name === "" || (split === 0 && unit.name === "") ? text : `${text} ${name}`;
  });
}

/** Distances between the marks of an axis that look round in its unit, from the smallest. */
export function axisSteps(unit) {
  const decimal = [];
  for (let power = -9; power <= 15; power++) {
    for (const step of [1, 2, 5]) decimal.push(step * Number(`1e${power}`) / unit.factor);
  }
  if (unit.prefixes !== "binary") return decimal;
  const binary = decimal.filter(step => step * unit.factor < 1);
  for (let power = 0; power <= 60; power++) binary.push(2 ** power / unit.factor);
  return binary;
}

/** How far samples are apart if there was something between them that did not come. */
export const gapOf = interval => 2.5 * interval;

/** How long ago, or how long: "5 s", "3 min", "2 h". */
export function agoText(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 100) return `${seconds} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
