// Two logs on one axis: a server with two logs of known values, and what the page draws of both.
//
// The environment has PERFSET, the command.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ofMenu } from "./files.js";

const { PERFSET } = process.env;

/** So many samples each log has, one a second. */
const SAMPLES = 100;

const ALL_THREADS = "\\System\\Threads";
const THREADS = "\\Process(*)\\Thread Count";

/** A log of a machine that begins at a time, in ms; `columns` has a function of the row for each path. */
function log(machine, begin, columns) {
  const quoted = cells => cells.map(cell => `"${cell}"`).join(",");
  const rows = [quoted(["(PDH-CSV 4.0) (UTC)(0)", ...Object.keys(columns).map(path => `\\\\${machine}${path}`)])];
  for (let row = 0; row < SAMPLES; row++) {
    const [date, time] = new Date(begin + row * 1000).toISOString().split("T");
    const [year, month, day] = date.split("-");
    rows.push(quoted([`${month}/${day}/${year} ${time.slice(0, 12)}`, ...Object.values(columns).map(value => value(row))]));
  }
  return rows.join("\n");
}

/** The address of a server of logs, and how to end it. */
async function serve(...args) {
  const server = spawn(PERFSET, ["serve", ...args, "--insecure", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  process.on("exit", () => server.kill()); // whatever becomes of the check
  for await (const line of createInterface({ input: server.stderr })) {
    const [, url] = /page\s+(\S+)/.exec(line) ?? [];
    if (url) return { url, end: () => server.kill() };
  }
  throw new Error("perfset serve does not say where it listens");
}

export function checksOfComparisons({ open, close, ensure, same, card, legend, until }) {
  return {
    async "two logs are compared on one axis, with the difference in the legend"() {
      const folder = mkdtempSync(join(tmpdir(), "perfset-compare-"));
      const [monday, tuesday] = [Date.UTC(2026, 10, 23, 10), Date.UTC(2026, 10, 24, 9, 30)];
      writeFileSync(join(folder, "monday.csv"), log("ALPHA", monday, {
        [ALL_THREADS]: row => 300 + 2 * row, "\\Process(old)\\Thread Count": () => 7, "\\Process(both)\\Thread Count": () => 3, "\\System\\Processes": () => 90,
      }));
      writeFileSync(join(folder, "tuesday.csv"), log("BETA", tuesday, {
        [ALL_THREADS]: row => 100 + 4 * row, "\\Process(new)\\Thread Count": () => 11, "\\Process(both)\\Thread Count": () => 5,
      }));
      const server = await serve("--log", join(folder, "monday.csv"), "--compare", join(folder, "tuesday.csv"));
      const view = new URLSearchParams({ tz: "utc", zoom: `${monday + 10_000}-${monday + 50_000}` });
      for (const [title, path] of [["All", ALL_THREADS], ["Threads", THREADS], ["Processes", "\\System\\Processes"]]) {
        for (const part of [["chart", title], ["kind", "lines"], ["path", path]]) view.append(...part);
      }
      const page = await open(`#${view}`, { base: server.url });
      const choice = page.getByLabel("Compare with");
      const name = "tuesday.csv – BETA";
      await until(async () => (await choice.locator("optgroup option").allTextContents()).length, "no other log to compare with");
      // The logs have no time in common.
      same(await choice.locator("optgroup option").allTextContents(), [`${name}, from its beginning`], "what it can be compared with");
      await choice.selectOption({ label: `${name}, from its beginning` });
      const heads = title => card(page, title).locator(".legend thead th").allTextContents();
      await until(async () => (await heads("All")).join().includes("Average,Other log,Difference"), "no difference in the legend");
      same(await page.locator("#compared").textContent(), `Dotted: ${name}, 2026-11-24 09:30:10 – 09:30:50 UTC`, "what the dotted lines are");
      // The rows from 10 to 49 of both.
      same((await legend(page, "All"))[0].cells, ["398", "359", "218", "+141"], "numbers of all threads");
      const threads = Object.fromEntries((await legend(page, "Threads")).filter(line => line.name).map(line => [line.name, line.cells]));
      same(threads, { old: ["7", "7", "–", "–"], both: ["3", "3", "5", "−2"], new: ["no value", "–", "11", "–"] }, "numbers of threads");
      const note = await card(page, "Processes").locator(".legend .note").allTextContents();
      ensure(note.length === 1 && note[0].includes(name), `what is not in the other log: ${note}`);
      // What it draws and gives away has both.
      const copied = async title => {
        await card(page, title).getByRole("button", { name: `Copy ${title} as CSV` }).click();
        return (await page.evaluate(() => navigator.clipboard.readText())).trim().split("\n");
      };
      const [head, ...rows] = await copied("All");
      ensure(head.startsWith(`time,\\System\\Threads,"\\System\\Threads (${name}, `), `head of the CSV: ${head}`);
      same([rows[0], rows.at(-1)], ["2026-11-23T10:00:10.500Z,320,140", "2026-11-23T10:00:49.500Z,398,296"], "rows of the CSV");
      const svg = await ofMenu(page, card(page, "All"), "Save as SVG");
      ensure(svg.bytes.includes('stroke-dasharray="2 3"'), "no dotted line in the picture");
      // The address has it, and one that names a log that is gone says so.
      ensure(page.url().includes("compare=begin%3Alog-1"), `the address: ${page.url()}`);
      await page.reload();
      await until(async () => (await heads("All").catch(() => [])).join().includes("Other log"), "a reload loses it");
      await choice.selectOption({ label: "Compare…" });
      await until(async () => (await heads("All")).join().includes("Min,Max"), "it is compared for ever");
      ensure(await page.locator("#compared").isHidden(), "dotted lines are still named");
      await close(page);
      const gone = await open(`#${view}&compare=begin:log-7`, { base: server.url });
      await until(async () => (await gone.locator("#notices").textContent()).includes("Not compared"), "nothing says that the other log is gone");
      await until(async () => (await legend(gone, "All"))[0]?.cells[0] === "398", "nothing is shown without the other log");
      await close(gone);
      server.end();
      rmSync(folder, { recursive: true });
      return "";
    },
  };
}
