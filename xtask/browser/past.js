// Checks of the past: a server whose recorder runs, and what its page knows of the time before it was opened.
//
// The environment has RECORDED, the address of its page with a token; RECORDING, the directory; and PERFSET, the command.

import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const { RECORDED, RECORDING, PERFSET } = process.env;

/** A chart of one path as a part of the page's address. */
const chartOf = (title, kind, ...paths) =>
  new URLSearchParams([["chart", title], ["kind", kind], ...paths.map(path => ["path", path])]).toString();

const AVAILABLE = "\\Memory\\Available Bytes";

/**
 * How many pixels with a colour are drawn between two times of a chart of a range. Axes and grids have none.
 */
const coloured = (card, [min, max], [from, to]) => card.locator("canvas").evaluate((canvas, [from, to]) => {
  const over = canvas.parentElement.querySelector(".u-over");
  const scale = canvas.width / canvas.clientWidth;
  const x = part => Math.round((over.offsetLeft + part * over.clientWidth) * scale);
  const [left, right] = [x(from), x(to)];
  const height = Math.round(over.clientHeight * scale);
  // A copy, because a canvas that is read often is drawn otherwise from then on.
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(left, Math.round(over.offsetTop * scale), Math.max(1, right - left), height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    const [red, green, blue, alpha] = data.slice(at, at + 4);
    if (alpha > 40 && Math.max(red, green, blue) - Math.min(red, green, blue) > 30) count++;
  }
  return count;
}, [(from - min) / (max - min), (to - min) / (max - min)]);

export function checksOfPast({ open, close, ensure, same, card, legend, until, state }) {
  const opened = fragment => open(fragment, { base: RECORDED });
  /** The times of the samples that a line of a chart has, with their values. */
  const isShown = (page, title) => until(async () => (await legend(page, title)).some(line => /\d/.test(line.cells[1] ?? "")), `${title} has no values`);
  const busy = async (name, seconds) => {
    const folder = mkdtempSync(join(tmpdir(), "perfset-busy-"));
    const program = join(folder, name);
    copyFileSync("/usr/bin/yes", program);
    const began = Date.now();
    const child = spawn(program, { stdio: "ignore" });
    await sleep(seconds * 1000);
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true });
    return [began, Date.now()];
  };

  return {
    async "a counter that is added has its history at once, and a reload keeps it"() {
      const page = await opened(`#w=60&${chartOf("RAM", "lines", AVAILABLE)}`);
      await isShown(page, "RAM");
      const before = () => page.evaluate(() => performance.timeOrigin);
      const from = await before();
      // What is drawn left of the time at which the page was opened.
      const drawn = async () => {
        const now = Date.now();
        return coloured(card(page, "RAM"), [now - 60_000, now], [now - 50_000, from - 2_000]);
      };
      await until(async () => await drawn() > 20, "nothing from before the page was opened");
      // Samples have come since: the new chart has the time of these from the recording, too.
      await sleep(5_000);
      // A counter of processes, which nobody has looked at before.
      await page.keyboard.press("/");
      await page.getByLabel("Search counters").fill("context switches");
      await page.locator(".result", { hasText: "Context Switches/sec" }).and(page.locator(".result", { hasText: "System" })).first().click();
      await page.getByRole("button", { name: "Add to chart" }).click();
      const title = "System: Context Switches/sec";
      await isShown(page, title);
      const added = Date.now();
      await until(async () => await coloured(card(page, title), [added - 60_000, added], [added - 50_000, added - 10_000]) > 20, "the new chart has no history");
      await until(async () => await coloured(card(page, title), [added - 60_000, added], [added - 5_000, added - 2_500]) > 2, "the new chart has a gap before now");
      await page.reload();
      await isShown(page, title);
      const now = Date.now();
      await until(async () => await coloured(card(page, title), [now - 60_000, now], [now - 50_000, now - 10_000]) > 20, "no history after a reload");
      await close(page);
      return "";
    },

    async "the ranking is that of the cursor's time, in the past too"() {
      const [from, to] = await busy("culprit", 4);
      // Then nobody is busy, and the recorder has written it all.
      await sleep(4_000);
      const end = Date.now();
      const rank = new URLSearchParams([["chart", "Who"], ["kind", "rank"], ["path", "\\Process V2(*)\\% Processor Time"], ["top", 12]]);
      const page = await opened(`#w=60&end=${end}&${chartOf("RAM", "lines", AVAILABLE)}&${rank}`);
      await isShown(page, "RAM");
      // Others may be as busy, compilers for instance.
      const isThere = async () => (await page.locator(".ranking tbody .who").allTextContents()).some(name => name.startsWith("culprit"));
      // Charts move while what was recorded comes in.
      const pointAt = async time => {
        const box = await card(page, "RAM").locator(".u-over").boundingBox();
        await page.mouse.move(box.x + box.width * (time - (end - 60_000)) / 60_000 + Math.random(), box.y + 20);
      };
      await until(async () => {
        await pointAt((from + to) / 2 + 500);
        return isThere();
      }, "the culprit is not found");
      await until(async () => {
        await pointAt(from - 5_000);
        return !await isThere();
      }, "it is the culprit before, too");
      await close(page);
      return "";
    },

    async "a gap of nine seconds is empty in lines, stacks and heat maps"() {
      // "process 123, since …"
      const recorder = Number(/process (\d+)/.exec(readFileSync(join(RECORDING, "lock"), "utf8"))[1]);
      process.kill(recorder, "SIGSTOP");
      const from = Date.now();
      await sleep(9_000);
      process.kill(recorder, "SIGCONT");
      const to = Date.now();
      await sleep(6_000);
      const end = Date.now();
      const charts = ["lines", "stack", "heat"].map(kind => chartOf(kind, kind, AVAILABLE)).join("&");
      const range = [end - 60_000, end];
      const page = await opened(`#w=60&end=${end}&${charts}`);
      for (const kind of ["lines", "stack", "heat"]) {
        await isShown(page, kind);
        await until(async () => await coloured(card(page, kind), range, [from - 12_000, from - 3_000]) > 20, `${kind}: nothing before the gap`);
        await until(async () => await coloured(card(page, kind), range, [to + 2_000, to + 4_500]) > 2, `${kind}: nothing after the gap`);
        same(await coloured(card(page, kind), range, [from + 2_500, to - 2_500]), 0, `${kind}: coloured pixels in the gap`);
      }
      await close(page);
      return "";
    },

    async "marks are drawn, and long times have areas from least to greatest"() {
      execFileSync(PERFSET, ["mark", "deploy 42", "--dir", RECORDING]);
      await sleep(1_500);
      const end = Date.now();
      const page = await opened(`#w=60&end=${end}&${chartOf("Switches", "lines", "\\System\\Context Switches/sec")}`);
      await isShown(page, "Switches");
      const marks = await page.evaluate(async ([from, to]) => {
        const { request } = await import("/assets/api.js");
        const query = new URLSearchParams({ path: "\\System\\Processes", from, to, step: "1s" });
        return (await (await request(`/api/v1/range?${query}`)).json()).marks;
      }, [end - 20_000, end]);
      ensure(marks.some(({ text, is_of_recorder }) => text === "deploy 42" && !is_of_recorder), `marks: ${JSON.stringify(marks)}`);
      // Steps of five seconds: the legend has the least and the greatest sample of all.
      const figures = await page.evaluate(async ([from, to]) => {
        const { request } = await import("/assets/api.js");
        const ask = step => new URLSearchParams({ path: "\\System\\Context Switches/sec", from, to, step });
        const read = async step => (await (await request(`/api/v1/range?${ask(step)}`)).json()).series[0];
        const [fine, coarse] = [await read("1s"), await read("5s")];
        return [Math.max(...fine.greatest), Math.max(...coarse.greatest), Math.max(...coarse.mean)];
      }, [end - 55_000, end - 6_000]);
      same(figures[0], figures[1], "the greatest value of short and long steps");
      ensure(figures[2] <= figures[1], "a mean is greater than the greatest value");
      await close(page);
      return "";
    },

    async "two times are compared on one axis, with the difference in the legend"() {
      const end = Date.now() - 5_000;
      const page = await opened(`#w=60&zoom=${end - 20_000}-${end}&${chartOf("RAM", "lines", AVAILABLE)}`);
      await isShown(page, "RAM");
      await page.getByLabel("Compare with").selectOption({ label: "with just before" });
      const heads = () => card(page, "RAM").locator(".legend thead th").allTextContents();
      await until(async () => (await heads()).join().includes("Before,Difference"), "no difference in the legend");
      ensure(page.url().includes("compare=before"), `the address has it: ${page.url()}`);
      const cells = async () => (await legend(page, "RAM"))[0].cells;
      await until(async () => /^[+−]?[\d.,]+ /.test((await cells())[3]), "no number");
      // The server's own means of both times.
      const [now, before] = await page.evaluate(async end => {
        const { request } = await import("/assets/api.js");
        const mean = async (from, to) => {
          const query = new URLSearchParams({ path: "\\Memory\\Available Bytes", from, to, step: "1h" });
          return (await (await request(`/api/v1/range?${query}`)).json()).series[0].mean[0];
        };
        return [await mean(end - 20_000, end), await mean(end - 40_000, end - 20_001)];
      }, end);
      const shown = (await cells())[3];
      ensure(shown.startsWith(now >= before ? "+" : "−") || Math.abs(now - before) < now / 500, `${shown}, and the means are ${now} and ${before}`);
      await page.getByLabel("Compare with").selectOption({ label: "Compare…" });
      await until(async () => (await heads()).join().includes("Min,Max"), "it is compared for ever");
      await close(page);
      return shown;
    },

    async "zooming and moving reach what was recorded before the page was opened"() {
      const page = await opened(`#w=60&${chartOf("RAM", "lines", AVAILABLE)}`);
      await isShown(page, "RAM");
      await until(async () => (await state(page).textContent()) === "Live", "not live");
      const first = await page.evaluate(async () => (await (await (await import("/assets/api.js")).request("/api/about")).json()).recording[0]);
      await until(() => Date.now() - first > 100_000, "the recording is too young", 100_000);
      await page.keyboard.press("ArrowLeft");
      await until(async () => (await state(page).textContent()) === "Paused", "not paused");
      for (let n = 0; n < 3; n++) await page.keyboard.press("ArrowLeft");
      await isShown(page, "RAM");
      const [, end] = /end=(\d+)/.exec(page.url());
      ensure(end < Date.now() - 15_000, `the view ends at ${end}`);
      await until(async () => await coloured(card(page, "RAM"), [0, 1], [0.2, 0.8]) > 20, "nothing is drawn there");
      await close(page);
      return "";
    },
  };
}
