// The time zone of the page: that of the browser, or a fixed one such as UTC. Every clock of the page is written here.

/** Minutes east of UTC of the times that are shown; null: the browser's zone. */
let zone = null;

/** Whether times are in UTC. */
export const usesUtc = () => zone === 0;

/** Chooses the zone so many minutes east of UTC, 0 for UTC itself; null: the browser's zone. */
export function useZone(minutes) { zone = minutes; }

const two = n => String(n).padStart(2, "0");
const part = (ms, name) => zone === null ? new Date(ms)[`get${name}`]() : new Date(ms + zone * 60_000)[`getUTC${name}`]();

/** Time of day: 14:03:05, or 14:03. */
export function clock(ms, seconds = true) {
  const text = `${two(part(ms, "Hours"))}:${two(part(ms, "Minutes"))}`;
  return seconds ? `${text}:${two(part(ms, "Seconds"))}` : text;
}

/** Day: 2026-03-29. */
export const day = ms => `${part(ms, "FullYear")}-${two(part(ms, "Month") + 1)}-${two(part(ms, "Date"))}`;

/** The text at a mark of a time axis, whose marks are `step` ms apart: a time, or a day where one begins. */
export function axisClock(ms, step) {
  return ["Hours", "Minutes", "Seconds"].every(name => part(ms, name) === 0) ? day(ms).slice(5) : clock(ms, step < 60_000);
}

/** The zone at a time, as its distance from UTC: "UTC", "UTC+1", "UTC−3:30". */
export function zoneText(ms) {
  const minutes = zone ?? -new Date(ms).getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const rest = Math.abs(minutes) % 60;
  return `UTC${minutes < 0 ? "−" : "+"}${Math.floor(Math.abs(minutes) / 60)}${rest ? `:${two(rest)}` : ""}`;
}

/** The name of the browser's zone, such as Europe/Berlin. */
export const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A date whose local parts are those of the chosen zone, for the marks of a time axis. */
export const zoned = ms => zone === null ? new Date(ms) : uPlot.tzDate(new Date(ms + zone * 60_000), "UTC");
