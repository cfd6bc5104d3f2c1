// The time zone of the page: that of the browser, or UTC. Every clock of the page is written here.

let isUtc = false;

/** Whether times are in UTC. */
export const usesUtc = () => isUtc;

/** Chooses UTC, or the browser's zone. */
export function useUtc(utc) { isUtc = utc; }

const two = n => String(n).padStart(2, "0");
const part = (date, name) => date[`get${isUtc ? "UTC" : ""}${name}`]();

/** Time of day: 14:03:05, or 14:03. */
export function clock(ms, seconds = true) {
  const date = new Date(ms);
  const text = `${two(part(date, "Hours"))}:${two(part(date, "Minutes"))}`;
  return seconds ? `${text}:${two(part(date, "Seconds"))}` : text;
}

/** Day: 2026-03-29. */
export function day(ms) {
  const date = new Date(ms);
  return `${part(date, "FullYear")}-${two(part(date, "Month") + 1)}-${two(part(date, "Date"))}`;
}

/** The zone at a time, as its distance from UTC: "UTC", "UTC+1", "UTC−3:30". */
export function zoneText(ms) {
  const minutes = isUtc ? 0 : -new Date(ms).getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const rest = Math.abs(minutes) % 60;
  return `UTC${minutes < 0 ? "−" : "+"}${Math.floor(Math.abs(minutes) / 60)}${rest ? `:${two(rest)}` : ""}`;
}

/** The name of the browser's zone, such as Europe/Berlin. */
export const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A date whose local parts are those of the chosen zone, for the marks of a time axis. */
export const zoned = ms => isUtc ? uPlot.tzDate(new Date(ms), "UTC") : new Date(ms);
