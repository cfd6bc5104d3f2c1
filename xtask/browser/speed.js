// How quick the page is: figures, which decide nothing.
//
// The environment has RECORDED, the address of a page with a recording and a token, and PERFSET, the command.

import { execFileSync, spawn } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";

const { RECORDED, PERFSET } = process.env;
const ROUNDS = 7;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });

const median = numbers => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const goal = (value, most) => value <= most ? "met" : "missed";

async function open(url, watch = true) {
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  if (watch) {
    await page.addInitScript(() => {
      // Lines and areas of series are paths that were made before; axes are stroked without one. Reading pixels back to
      // look for lines would cost more than drawing them.
      for (const name of ["stroke", "fill"]) {
        const draw = CanvasRenderingContext2D.prototype[name];
        CanvasRenderingContext2D.prototype[name] = function (...of) {
          if (of[0] instanceof Path2D && !globalThis.firstCanvas) {
            globalThis.firstCanvas = this.canvas;
            requestAnimationFrame(() => { globalThis.firstChart = performance.now(); });
          }
          return draw.apply(this, of);
        };
      }
      // Lines have more colours than axes.
      globalThis.coloursOfFirst = () => {
        const { width, height } = globalThis.firstCanvas;
        return new Set(new Uint32Array(globalThis.firstCanvas.getContext("2d").getImageData(0, 0, width, height).data.buffer)).size;
      };
    });
  }
  // A new window loads its own frame first, from hundreds of files; people open a page in a window that is there.
  await sleep(1_500);
  await page.goto(url);
  return page;
}

/** The address of a page of one word, without styles and scripts: no page is painted sooner on this machine. */
async function empty() {
  const server = createServer((_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end("<!doctype html><title>empty</title><p>empty");
  });
  await new Promise(done => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}/`, end: () => server.close() };
}

async function start() {
  const [paints, charts, floors] = [[], [], []];
  const paintOf = page => page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime).then(paint => paint.jsonValue());
  const none = await empty();
  for (let n = 0; n < ROUNDS; n++) {
    const bare = await open(none.url, false);
    floors.push(await paintOf(bare));
    await bare.context().close();
    const page = await open(RECORDED);
    await page.waitForFunction(() => globalThis.firstChart);
    paints.push(await paintOf(page));
    charts.push(await page.evaluate(() => globalThis.firstChart));
    const colours = await page.evaluate(() => globalThis.coloursOfFirst());
    if (colours <= 24) throw new Error(`the first chart has ${colours} colours, so no line`);
    await page.context().close();
  }
  none.end();
  const [paint, chart, floor] = [median(paints), median(charts), median(floors)];
  console.log(`first paint ${paint.toFixed(0)} ms (goal 150 ${goal(paint, 150)}; an empty page ${floor.toFixed(0)}), first chart ${chart.toFixed(0)} ms (goal 300 ${goal(chart, 300)})`);
}

/** A log of a day, a sample a second. */
function day(folder) {
  const rows = ['"(PDH-CSV 4.0) (UTC)(0)","\\\\\\\\web1\\\\Processor(_Total)\\\\% Processor Time"'.replaceAll("\\\\", "\\")];
  const two = n => String(Math.floor(n)).padStart(2, "0");
  let value = 50;
  for (let s = 0; s < 86_400; s++) {
    value = (value * 1_103_515_245 + 12_345) % 100_003 % 100;
    rows.push(`"11/20/2026 ${two(s / 3600)}:${two(s / 60 % 60)}:${two(s % 60)}.000","${value}"`);
  }
  const csv = join(folder, "day.csv");
  writeFileSync(csv, rows.join("\n"));
  execFileSync(PERFSET, ["log", "convert", csv, "-o", join(folder, "day.perfset")]);
  return join(folder, "day.perfset");
}

async function zoom() {
  const folder = mkdtempSync(join(tmpdir(), "perfset-speed-"));
  const server = spawn(PERFSET, ["serve", "--log", day(folder), "--insecure", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  let url = null;
  for await (const line of createInterface({ input: server.stderr })) {
    url = /page\s+(\S+)/.exec(line)?.[1] ?? null;
    if (url) break;
  }
  const path = "\\Processor(_Total)\\% Processor Time";
  const begin = Date.UTC(2026, 10, 20);
  const view = (from, to) => `#${new URLSearchParams([["w", 300], ["zoom", `${from}-${to}`], ["chart", "CPU"], ["kind", "lines"], ["path", path]])}`;
  const page = await open(url + view(begin + 3_600_000, begin + 7_200_000), false);
  await page.waitForFunction(() => /\d/.test(document.querySelector(".legend td")?.textContent ?? ""));
  const times = [];
  for (let n = 0; n < ROUNDS; n++) {
    await sleep(300);
    times.push(await page.evaluate(async fragment => {
      const before = performance.getEntriesByType("resource").length;
      const start = performance.now();
      location.hash = fragment;
      const ranges = () => performance.getEntriesByType("resource").slice(before).filter(({ name, responseEnd }) => name.includes("/range") && responseEnd > 0);
      while (!ranges().length) await new Promise(done => setTimeout(done, 1));
      // Drawn with the frame after the response.
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      return performance.now() - start;
    }, view(begin + n, begin + 86_400_000 - 1000 * n)));
  }
  server.kill();
  rmSync(folder, { recursive: true });
  await page.context().close();
  const time = median(times);
  console.log(`zoom to 24 hours of one counter ${time.toFixed(0)} ms (goal 100 ${goal(time, 100)})`);
}

async function charts() {
  const counters = ["\\System\\Context Switches/sec", "\\System\\Processes", "\\Memory\\Available Bytes", "\\Memory\\Page Faults/sec",
    "\\Processor Information(_Total)\\% Processor Time"];
  const fragment = new URLSearchParams();
  for (let n = 0; n < 30; n++) for (const part of [["chart", `Chart ${n}`], ["kind", "lines"], ["path", counters[n % counters.length]]]) fragment.append(...part);
  const page = await open(`${RECORDED.replace("?", "?")}#w=300&${fragment}`, false);
  await page.waitForFunction(() => document.querySelectorAll(".legend td").length > 30);
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable");
  const busy = async () => (await client.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
  await sleep(3_000);
  const [start, before] = [Date.now(), await busy()];
  await sleep(15_000);
  const share = (await busy() - before) / (Date.now() - start) * 1e5;
  await page.context().close();
  console.log(`30 charts, a sample a second: ${share.toFixed(1)} % of a core (goal 10 ${goal(share, 10)})`);
}

await start();
await zoom();
await charts();
await browser.close();
