// Files that the browser saves: pictures of charts, and reports that the server writes.

import { problemOf, request } from "./api.js";
import { h } from "./dom.js";
import { clock, day } from "./zone.js";

/** Pixels of a picture for each pixel of a plain screen: it may be printed. */
const FINER = 2;

/** The longest part of a title in the name of a file, in characters. */
const NAME_MOST = 60;

/** Saves bytes or a text under a name. */
function save(bytes, name) {
  // Without a type of its own: no browser takes it for a page of this origin.
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** The name of the file of a chart, whatever its title contains. */
export function fileName(title, time, ending) {
  const name = title.normalize("NFC").replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, NAME_MOST).replace(/^-+|-+$/g, "") || "chart";
  return `${name.toLowerCase()}-${day(time)}T${clock(time).replaceAll(":", "")}.${ending}`;
}

/** Draws a picture, `{text, width, height}` as `svg.js` makes it, into a PNG. */
async function pngOf({ text, width, height }) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
  await image.decode();
  const scale = Math.max(FINER, devicePixelRatio);
  const canvas = new OffscreenCanvas(Math.round(width * scale), Math.round(height * scale));
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type: "image/png" });
}

/** Saves a chart, as `svgOf` takes it, as `png` or `svg`. False if the browser cannot. */
export async function saveChart(chart, kind) {
  try {
    // Few visits need it.
    const { svgOf } = await import("./svg.js");
    const picture = svgOf(chart);
    save(kind === "png" ? await pngOf(picture) : picture.text, fileName(chart.title, chart.range[1], kind));
    return true;
  } catch (error) {
    console.warn(`perfset: ${chart.title} cannot be saved as ${kind}:`, error);
    return false;
  }
}

/** Saves a report of a range, [from, to] in ms, with charts of paths besides the usual ones. What went wrong, or null. */
export async function saveReport([from, to], paths) {
  const query = new URLSearchParams({ from: Math.round(from), to: Math.round(to) });
  for (const path of paths) query.append("path", path);
  const answer = await request(`api/v1/report?${query}`).catch(() => null);
  if (!answer) return { error: "the server cannot be reached" };
  if (!answer.ok) return problemOf(answer);
  const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? "report.html";
  save(await answer.blob(), name);
  return null;
}
