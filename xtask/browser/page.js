// The page of `perfset serve` in a browser: what it shows and does, each check a line.
//
//   node page.js URL [WORDS]     all checks, or those with these words in their names
//   node page.js URL --busy      all checks that are right on a machine that is busy with other work
//   node page.js URL --alone     the others
//
// Whoever starts it reads the output: "ok NAME: figures" and "FAIL NAME: why" are results; "please restart" asks for the
// server to be started anew at the same address, "please stand still" for it to be stopped for nine seconds; both wait
// for a line of input.

import { spawn } from "node:child_process";
import { createServer, get, request as send } from "node:http";
import { createInterface } from "node:readline";
import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";
import { checksOfCharts } from "./charts.js";
import { checksOfComparisons } from "./compare.js";
import { checksOfFiles } from "./files.js";
import { checksOfLogs } from "./logs.js";
import { checksOfModules } from "./modules.js";
import { checksOfPast } from "./past.js";
import { checksOfTables } from "./tables.js";

const url = process.argv[2];
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

/** What went wrong in any page: messages of the console, violations of the policy, requests to elsewhere. */
const faults = [];
/** While the server is away, the browser complains about it. */
let isAway = false;

async function open(fragment = "", { base = url, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(12_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await context.addInitScript(() => {
    globalThis.violations = [];
    document.addEventListener("securitypolicyviolation", event => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
    const [start, clear] = [window.setTimeout.bind(window), window.clearTimeout.bind(window)];
    /** Waits for a condition, however slow the machine is. */
    globalThis.until = async (condition, what) => {
      for (const end = Date.now() + 12_000; !condition();) {
        if (Date.now() > end) throw new Error(`${what}: not after 12 s`);
        await new Promise(done => start(done, 5));
      }
    };
    /** Holds back the timers of one module, and returns those that wait: `[act, ms]`. The page's other modules keep theirs. */
    globalThis.holdTimers = module => {
      const waiting = new Map();
      let last = 0;
      window.setTimeout = (act, ms) => {
        if (!new Error().stack.includes(`/${module}:`)) return start(act, ms);
        const id = `held ${last++}`;
        waiting.set(id, [act, ms]);
        return id;
      };
      window.clearTimeout = id => { if (!waiting.delete(id)) clear(id); };
      return waiting;
    };
  });
  const page = await context.newPage();
  page.on("console", message => {
    if (!isAway && (message.type() === "error" || message.type() === "warning")) faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", error => faults.push(`error: ${error.stack}`));
  page.on("request", request => {
    const { origin } = new URL(base);
    if (![origin, `blob:${origin}`, "data:"].some(own => request.url().startsWith(own))) faults.push(`request: ${request.url()}`);
  });
  await page.goto(`${base}${fragment}`);
  // Buttons do something once the page knows its server, or says why it does not.
  await page.waitForFunction(() => {
    const text = id => document.getElementById(id)?.textContent;
    return text("version") === undefined || text("version") || text("notices");
  }).catch(() => {});
  return page;
}

async function close(page) {
  faults.push(...(await page.evaluate(() => globalThis.violations)).map(what => `policy: ${what}`));
  await page.context().close();
}

function ensure(condition, what) {
  if (!condition) throw new Error(what);
}

function same(got, want, what) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  ensure(a === b, `${what}: ${a}, should be ${b}`);
}

const card = (page, title) => page.locator(".card", { has: page.locator("h2", { hasText: title }) });
const state = page => page.locator("#state-text");
/** Names and numbers of a legend. */
const legend = (page, title) => card(page, title).locator(".legend tbody tr").evaluateAll(rows => rows.map(row => ({
  name: row.querySelector(".name span:last-child")?.textContent, off: row.classList.contains("off"),
  cells: [...row.querySelectorAll("td")].slice(0, 4).map(cell => cell.textContent),
})));
/** Whether a canvas has more than one colour in it. */
const isDrawn = (page, title) => card(page, title).locator("canvas").evaluate(canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const pixels = new Uint32Array(data.buffer);
  return new Set(pixels).size > 8;
});

async function until(condition, what, patience = 12_000) {
  const end = Date.now() + patience;
  while (!await condition()) {
    if (Date.now() > end) throw new Error(`${what}, not after ${patience} ms`);
    await sleep(50);
  }
}

/** Waits until the server has so many samples, of which charts of the overview have all. */
const samples = (page, count) => until(() => page.evaluate(async count =>
  (await (await (await import("/assets/api.js")).request("/api/about")).json()).now.samples >= count, count), `not ${count} samples`);

const numbers = cells => cells.every(text => /\d/.test(text));

/** Waits until the first line of a chart has values. Charts that are far below the window are not drawn. */
async function hasValues(page, title, what = `${title} has no values`) {
  await card(page, title).first().scrollIntoViewIfNeeded();
  await until(async () => numbers((await legend(page, title))[0]?.cells ?? [""]), what);
}

const checks = {
  async "the overview has values and pictures at once"() {
    const page = await open();
    await until(async () => (await legend(page, "Memory")).some(line => numbers(line.cells)), "no values of memory");
    const { overview } = await page.evaluate(async () => (await (await import("/assets/api.js")).request("/api/about")).json());
    const titles = await page.locator(".card h2").allTextContents();
    same(titles, overview.map(chart => chart.title), "titles");
    await until(() => isDrawn(page, "Memory"), "nothing is drawn");
    await until(async () => (await page.locator(".ranking tbody tr:not(.none)").count()) > 5, "no ranking");
    await until(async () => (await state(page).textContent()) === "Live", "not live"); // history comes before the first sample
    const figures = await page.evaluate(() => {
      const files = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")
        .filter(entry => entry.name.includes("/assets/"))];
      return {
        paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
        bytes: files.reduce((sum, file) => sum + file.encodedBodySize, 0), files: files.length,
      };
    });
    ensure(figures.bytes < 200_000, `${figures.bytes} bytes of assets`);
    await close(page);
    return `${overview.length} charts, first paint after ${Math.round(figures.paint)} ms, ${figures.files} files of ${(figures.bytes / 1000).toFixed(1)} kB`;
  },

  async "counters are found and added, to a new chart and to one that is there"() {
    const page = await open();
    await until(async () => (await state(page).textContent()) === "Live", "not live");
    await page.keyboard.press("/");
    await page.keyboard.type("context switches");
    await page.locator(".result", { hasText: "Context Switches/sec" }).and(page.locator(".result", { hasText: "System" })).first().click();
    await until(() => page.locator(".detail h3", { hasText: "System" }).count(), "no counterset");
    ensure(await page.locator(".detail input[value='Context Switches/sec']").isChecked(), "the counter is not ticked");
    await page.getByRole("button", { name: "Add to chart" }).click();
    const title = "System: Context Switches/sec";
    await until(async () => {
      const [line] = await legend(page, title);
      return line && numbers(line.cells);
    }, "the new chart has no values");
    ensure((await legend(page, title))[0].cells[0].includes("/s"), "no unit");
    await page.keyboard.press("/");
    await page.getByLabel("Search counters").fill("Processor Information");
    await page.locator(".result", { has: page.locator("b", { hasText: /^Processor Information$/ }) }).click();
    await page.locator(".instances").getByLabel("_Total", { exact: true }).uncheck();
    await page.locator(".instances").getByLabel("all, with those to come").check();
    await page.locator(".counters").getByLabel("% User Time", { exact: false }).first().check();
    await page.getByLabel("Where the lines go").selectOption({ label: title });
    await page.getByRole("button", { name: "Add to chart" }).click();
    await until(async () => (await legend(page, title)).length > 2, "the lines are not there");
    await until(async () => (await legend(page, title)).every(line => numbers(line.cells.slice(0, 1))), "the lines have no values");
    const lines = (await legend(page, title)).length;
    await card(page, title).getByRole("button", { name: `Remove ${title}` }).click();
    same(await card(page, title).count(), 0, "charts of that title");
    await close(page);
    return `${lines} lines`;
  },

  async "the best counter is found first, and a mistyped word is answered with the nearest"() {
    const page = await open();
    await until(async () => (await state(page).textContent()) === "Live", "not live");
    await page.keyboard.press("/");
    const search = page.getByLabel("Search counters");
    const first = page.locator(".result").first();
    for (const [words, counter] of [["iowait", "% I/O Wait Time"], ["rss", "Working Set"], ["disk full", "% Free Space"]]) {
      await search.fill(words);
      await until(async () => (await first.locator("b").textContent()) === counter, `${words} does not find ${counter}`);
    }
    await search.fill("latncy");
    await page.getByRole("button", { name: "latency", exact: true }).click();
    same(await search.inputValue(), "latency", "the search");
    await until(async () => (await first.locator("b").textContent()) === "Avg. Disk sec/Transfer", "latency finds nothing");
    await close(page);
    return "";
  },

  async "zoom and pause hold all charts, and let go"() {
    const page = await open("#w=60");
    await hasValues(page, "Memory");
    await samples(page, 6);
    const box = await card(page, "Memory").locator(".u-over").boundingBox();
    await page.mouse.move(box.x + box.width - 40, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 20, box.y + 50, { steps: 4 });
    await page.mouse.move(box.x + box.width - 2, box.y + 50, { steps: 4 });
    await page.mouse.up();
    await until(async () => (await state(page).textContent()) === "Zoomed", "it does not zoom");
    const [, from, to] = /zoom=(\d+)-(\d+)/.exec(page.url()) ?? [];
    ensure(to - from > 2000 && to - from < 20_000, `the zoom is in the address: ${page.url()}`);
    await page.mouse.dblclick(box.x + box.width / 2, box.y + 40);
    await until(async () => (await state(page).textContent()) === "Live", "it does not zoom back");
    await page.mouse.move(2, 2);
    await page.keyboard.press("Space");
    await until(async () => (await state(page).textContent()) === "Paused", "it does not pause");
    await sleep(100);
    const held = async () => [await page.locator("#range-text").textContent(), await legend(page, "Memory")];
    const before = await held();
    await sleep(2500);
    same(await held(), before, "while it is paused");
    await page.keyboard.press("ArrowLeft");
    await sleep(100);
    ensure((await held())[0] !== before[0], "it does not scroll back");
    await page.keyboard.press("Space");
    await until(async () => (await state(page).textContent()) === "Live", "it does not go on");
    await until(async () => JSON.stringify(await legend(page, "Memory")) !== JSON.stringify(before[1]), "values stand still");
    await close(page);
    return "";
  },

  async "the cursor of one chart shows values in all"() {
    const page = await open("#w=60");
    await hasValues(page, "Memory");
    await samples(page, 6);
    const box = await card(page, "Memory").locator(".u-over").boundingBox();
    await page.mouse.move(box.x + box.width - 20, box.y + 30);
    const heads = () => page.locator(".legend thead th:nth-child(2)").allTextContents();
    await until(async () => (await heads()).slice(0, 3).every(text => /^\d\d:\d\d:\d\d$/.test(text)), "no time at the cursor");
    same(new Set((await heads()).slice(0, 3)).size, 1, "times at the cursor");
    await page.mouse.move(2, 2);
    await until(async () => (await heads())[0] === "Last", "the cursor stays");
    await close(page);
    return "";
  },

  async "an address restores charts, lines, time and theme in another browser"() {
    const page = await open("#w=60");
    await hasValues(page, "Memory");
    await page.keyboard.press("t");
    await page.keyboard.press("t");
    await card(page, "Memory").locator(".name").nth(1).click();
    await card(page, "Memory").getByRole("button", { name: "Wider" }).click();
    await card(page, "Pressure").getByRole("button", { name: "Remove Pressure" }).click();
    await card(page, "Disks").locator("select").selectOption("stack");
    await samples(page, 6);
    await page.locator("#toggle").click();
    await until(async () => (await state(page).textContent()) === "Paused", "it does not pause");
    const seen = async page => ({
      titles: await page.locator(".card h2").allTextContents(), memory: await legend(page, "Memory"),
      range: await page.locator("#range-text").textContent(), state: await state(page).textContent(),
      wide: await page.locator(".card.wide h2").allTextContents(), disks: await card(page, "Disks").locator("select").inputValue(),
      theme: await page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]),
    });
    await page.locator("#link").click();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    same(link, page.url(), "the copied link");
    const want = await seen(page);
    same([want.theme[0], want.memory[1].off, want.wide], ["dark", true, ["Memory"]], "what was chosen");
    const other = await open(new URL(link).hash, { colorScheme: "light" });
    await hasValues(other, "Memory", "nothing is restored");
    await until(async () => JSON.stringify(await seen(other)) === JSON.stringify(want), "another view", 4000).catch(async () => {
      same(await seen(other), want, "the restored view");
    });
    await close(page);
    await close(other);
    return "";
  },

  async "light and dark, as the system or as chosen"() {
    const page = await open("", { colorScheme: "dark" });
    await until(async () => (await state(page).textContent()) === "Live", "not live");
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.emulateMedia({ colorScheme: "light" });
    const light = await ground();
    ensure(dark !== light, "the system's theme is not followed");
    await page.keyboard.press("t");
    await page.keyboard.press("t");
    same(await ground(), dark, "dark by choice");
    await page.reload();
    same(await ground(), dark, "dark after a reload");
    await page.goto(url);
    await until(async () => (await state(page).textContent()) === "Live", "not live");
    same(await ground(), dark, "dark at the next visit");
    await close(page);
    return "";
  },

  async "the keyboard reaches everything, and one sees where it is"() {
    const page = await open();
    await hasValues(page, "Memory");
    const stops = [];
    for (let tab = 0; tab < 24; tab++) {
      await page.keyboard.press("Tab");
      stops.push(await page.evaluate(() => {
        const { activeElement: element } = document;
        const marked = element.matches("input[type=radio]") ? element.nextElementSibling : element;
        return [element.id || element.className || element.tagName, getComputedStyle(marked).outlineStyle !== "none"];
      }));
    }
    for (const id of ["skip", "toggle", "earlier", "later", "window-300", "add", "link", "theme-switch", "help", "name"]) {
      ensure(stops.some(([name, isMarked]) => name === id && isMarked), `${id} is not reached, or one does not see it: ${stops.join(" ")}`);
    }
    await page.locator("#window-300").focus();
    await page.keyboard.press("ArrowRight");
    await until(() => page.url().includes("w=600"), "the arrow does not choose the next window");
    await page.locator("#help").focus();
    await page.keyboard.press("Enter");
    ensure(await page.locator("#keys").isVisible(), "no help");
    await page.keyboard.press("Escape");
    ensure(!await page.locator("#keys").isVisible(), "the help stays");
    await close(page);
    return `${stops.length} stops`;
  },

  async "at phone width nothing is wider than the screen"() {
    const page = await open("", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    await hasValues(page, "Memory");
    const widths = () => page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    same(await widths(), [390, 390], "the page");
    await page.locator("#add").click();
    await page.getByLabel("Search counters").fill("memory");
    await page.locator(".result").first().click();
    await until(() => page.locator(".detail h3").isVisible(), "no counterset");
    same(await widths(), [390, 390], "with the counters");
    const fits = await page.locator("#browser").evaluate(dialog => dialog.scrollWidth <= dialog.clientWidth);
    ensure(fits, "the dialog is wider than the screen");
    await close(page);
    return "";
  },

  async "names of strangers are text"() {
    const page = await open();
    await until(async () => (await state(page).textContent()) === "Live", "not live");
    await page.keyboard.press("/");
    await page.getByLabel("Search counters").fill("Fault Writer");
    await page.locator(".result", { hasText: "Fault Writer" }).first().click();
    await until(() => page.locator(".instances .ticks label", { hasText: "<script>" }).count(), "the instance is not there");
    await page.locator(".instances").getByLabel("all, with those to come").check();
    await page.locator(".counters input").first().check();
    await page.getByRole("button", { name: "Add to chart" }).click();
    await until(async () => (await legend(page, "Fault Writer")).length === 2, "not two lines");
    const names = (await legend(page, "Fault Writer")).map(line => line.name).sort();
    same(names, ['"><img src=x onerror="owned=1">', "<script>owned=1</script>"], "names");
    same(await page.evaluate(() => [typeof globalThis.owned, document.querySelectorAll("main img, main script").length]), ["undefined", 0], "what they did");
    const restored = await open(new URL(page.url()).hash);
    await until(async () => (await legend(restored, "Fault Writer")).length === 2, "they are not restored");
    same(await restored.evaluate(() => typeof globalThis.owned), "undefined", "what they did by the address");
    await close(page);
    await close(restored);
    return "";
  },

  async "what has no value has a reason, what is unknown does not take others along"() {
    const query = new URLSearchParams([["w", 60], ["chart", "Mixed"], ["path", "\\Memory\\Available Bytes"],
      ["path", "\\Processor Information(_Total)\\Parking Status"], ["path", "\\Nonsense\\Nothing"],
      ["chart", "<b>Other</b>"], ["path", "\\System\\Processes"]]);
    const page = await open(`#${query}`);
    await hasValues(page, "Mixed");
    await until(async () => (await legend(page, "Mixed")).length === 3, "not three rows");
    const notes = await card(page, "Mixed").locator(".note").allTextContents();
    ensure(notes.some(note => /Parking.*does not park/.test(note)), `of a counter that Linux does not have: ${notes}`);
    ensure(notes.some(note => /Nothing.*no counterset is named/.test(note)), `of a path that nobody knows: ${notes}`);
    same(await page.locator(".card h2").allTextContents(), ["Mixed", "<b>Other</b>"], "titles are text");
    // The browser says that a request was refused, which is so.
    const refused = faults.filter(fault => /console: Failed to load resource.*40[04]/.test(fault));
    for (const fault of refused) faults.splice(faults.indexOf(fault), 1);
    await close(page);
    return "";
  },

  async "percentages of different ranges have scales of their own"() {
    const chart = (title, counter) => [["chart", title], ["path", "\\Processor Information(_Total)\\% User Time"], ["path", `\\PhysicalDisk(_Total)\\${counter}`]];
    const query = new URLSearchParams([["w", 60], ...chart("Mixed", "% Disk Time"), ...chart("One", "% Idle Time")]);
    const page = await open(`#${query}`);
    for (const title of ["Mixed", "One"]) {
      await until(async () => (await legend(page, title)).filter(line => numbers(line.cells)).length === 2, `${title} has no values`);
    }
    const panels = title => card(page, title).locator(".plot").count();
    same([await panels("Mixed"), await panels("One")], [2, 1], "panels");
    await close(page);
    return "";
  },

  async "a login holds through a reload and in a second tab, and reads nothing from another port"() {
    const page = await open("#w=60");
    const isLive = async (page, what) => until(async () => (await state(page).textContent()) === "Live", what);
    await isLive(page, "not live");
    same(new URL(page.url()).search, "", "the token stays in the address");
    await page.reload();
    await isLive(page, "not live after a reload");
    const second = await page.context().newPage();
    await second.goto(`${new URL(url).origin}/#w=60`);
    await isLive(second, "not live in a second tab");
    await second.keyboard.press("?");
    await second.locator("#metrics").click();
    await until(async () => (await second.locator("body").textContent()).includes("# TYPE perf_"), "the link to the metrics shows none");
    // Somebody else listens on another port of this host. The browser sends the cookie there.
    const seen = [];
    const thief = createServer((request, response) => {
      seen.push(request.headers.cookie);
      response.end("<!doctype html><title>another port</title>");
    });
    await new Promise(done => thief.listen(0, "127.0.0.1", done));
    await second.goto(`http://127.0.0.1:${thief.address().port}/`);
    const kept = await second.evaluate(() => [localStorage.length, sessionStorage.length]);
    thief.close();
    ensure(seen[0]?.includes(`perfset-${new URL(url).port}=`), `the browser sent ${seen}: this check checks nothing`);
    same(kept, [0, 0], "what the other port finds in its storage");
    const { origin } = new URL(url);
    const replay = path => new Promise((done, fail) => {
      const headers = { cookie: seen[0], origin, referer: `${origin}/`, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" };
      get(`${origin}${path}`, { headers, agent: false }, response => { done(response.statusCode); response.destroy(); }).on("error", fail);
    });
    const paths = ["/metrics", "/api/login", "/api/about", "/api/countersets", "/api/countersets/Memory", "/api/find?words=memory",
      "/api/query?path=/Memory/Available+Bytes", "/api/stream?path=/Memory/Available+Bytes"];
    for (const path of paths) same(await replay(path), 401, `${path} with the cookie alone`);
    await second.close();
    await isLive(page, "the first tab is not live any more");
    await close(page);
    return `${paths.length} requests refused`;
  },

  async "below a path of a proxy the page is the same, and two servers of one proxy have logins of their own"() {
    const { port, search } = new URL(url);
    const outside = [];
    // What a proxy does whose configuration has the page at /perf/ and once more at /other/perf/.
    const proxy = createServer((request, response) => {
      const [, folder, path] = /^((?:\/other)?\/perf)(\/.*)$/.exec(request.url) ?? [];
      if (!folder) {
        outside.push(request.url);
        response.writeHead(404).end();
        return;
      }
      const onward = send({ host: "127.0.0.1", port, path, method: request.method, headers: { ...request.headers, host: `127.0.0.1:${port}` } }, answer => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      });
      onward.on("error", () => response.destroy());
      response.on("close", () => onward.destroy());
      onward.end();
    });
    await new Promise(done => proxy.listen(0, "127.0.0.1", done));
    try {
      const origin = `http://127.0.0.1:${proxy.address().port}`;
      const page = await open("#w=60", { base: `${origin}/perf/${search}` });
      await until(async () => (await state(page).textContent()) === "Live", "not live");
      await hasValues(page, "Memory");
      await until(async () => (await page.locator("#findings .summary").textContent()) !== "Measuring the first interval", "no findings");
      same(new URL(page.url()).pathname, "/perf/", "where the page is");
      await page.reload();
      await until(async () => (await state(page).textContent()) === "Live", "not live after a reload");
      await page.keyboard.press("/");
      await page.getByLabel("Search counters").fill("memory");
      await page.locator(".result", { has: page.locator("b", { hasText: /^Memory$/ }) }).first().click();
      await until(() => page.locator(".detail h3").isVisible(), "no counterset");
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await page.locator("#metrics").click();
      await until(async () => (await page.locator("body").textContent()).includes("# TYPE perf_"), "the link to the metrics shows none");
      const second = await page.context().newPage();
      await second.goto(`${origin}/other/perf/${search}#w=60`);
      await until(async () => (await state(second).textContent()) === "Live", "not live below the other path");
      const cookies = (await page.context().cookies()).filter(({ name }) => name.startsWith("perfset-")).map(({ path }) => path).sort();
      const keys = await second.evaluate(() => Object.keys(localStorage).filter(name => name.startsWith("perfset-key")).sort());
      same([cookies, keys], [["/other/perf", "/perf"], ["perfset-key/other/perf", "perfset-key/perf"]], "logins");
      await second.close();
      same(outside.filter(path => path !== "/favicon.ico"), [], "requests outside of its path");
      await page.context().close();
      return `${cookies.length} logins`;
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  },

  async "a lost connection is seen, comes back and leaves a gap"() {
    const page = await open("#w=60");
    await hasValues(page, "Memory");
    isAway = true;
    console.log("please restart");
    await until(async () => (await state(page).textContent()) === "Connection lost", "nobody sees that it is lost");
    ensure((await page.locator("#notices").textContent()).includes("Connection lost"), "no notice");
    await input.next();
    // Logins end with the server. What to do is said in this page and to whoever loads it anew.
    await until(async () => (await state(page).textContent()) === "Logged out", "it does not see that the login is over", 20_000);
    const notice = await page.locator("#notices").textContent();
    ensure(notice.includes("Log in again") && notice.includes("that perfset serve printed"), `the notice is ${notice}`);
    const other = await page.context().newPage();
    await other.goto(new URL(url).origin);
    const text = await other.locator("body").textContent();
    ensure(text.includes("Log in") && text.includes("that perfset serve printed"), `a page that is loaded anew says ${text}`);
    await other.goto(url);
    await until(async () => (await state(other).textContent()) === "Live", "the other tab is not logged in");
    await until(async () => (await state(page).textContent()) === "Live", "it does not come back", 20_000);
    await other.close();
    isAway = false;
    same(await page.locator("#notices").textContent(), "", "the notice stays");
    await card(page, "Memory").getByRole("button", { name: "Copy Memory as CSV" }).click();
    const rows = (await page.evaluate(() => navigator.clipboard.readText())).trim().split("\n");
    const empty = rows.slice(2).filter(row => /^[^,]+,+$/.test(row));
    ensure(empty.length > 0, `no gap in ${rows.length} rows`);
    ensure(rows[0].startsWith("time,\\"), `the head of the CSV is ${rows[0]}`);
    await close(page);
    return `${rows.length} rows copied`;
  },

  async "a server that stands still leaves a gap in lines and heat maps"() {
    const page = await open("#w=60");
    const title = "Each processor";
    await hasValues(page, title);
    await sleep(3000);
    isAway = true; // for longer than the page waits, if the machine is busy
    console.log("please stand still");
    await input.next();
    await until(async () => (await state(page).textContent()) === "Live", "it does not go on", 20_000);
    isAway = false;
    await sleep(3500);
    await page.mouse.move(2, 2);
    await page.keyboard.press("Space");
    await until(() => page.url().includes("end="), "it does not pause");
    await sleep(300);
    const end = Number(/end=(\d+)/.exec(page.url())[1]);
    await card(page, title).getByRole("button", { name: `Copy ${title} as CSV` }).click();
    const rows = (await page.evaluate(() => navigator.clipboard.readText())).trim().split("\n").slice(1).map(row => row.split(","));
    const times = rows.filter(row => row[1] !== "").map(row => Date.parse(row[0]));
    const widest = Math.max(...times.slice(1).map((time, n) => time - times[n]));
    const gap = times.findIndex((time, n) => times[n + 1] - time === widest);
    ensure(widest > 7500, `the gap is of ${widest} ms`);
    const inked = await card(page, title).evaluate((element, end) => {
      const canvas = element.querySelector("canvas");
      const [over, own] = [element.querySelector(".u-over").getBoundingClientRect(), canvas.getBoundingClientRect()];
      const [left, top, width, height] = [over.left - own.left, over.top - own.top, over.width, over.height].map(size => Math.round(size * devicePixelRatio));
      const { data } = canvas.getContext("2d").getImageData(left, top + Math.round(height / 4), width, 1);
      const times = [];
      for (let x = 0; x < width; x++) if (data[4 * x + 3]) times.push(end - 60_000 + (x + 0.5) / width * 60_000);
      return { times, pixel: 60_000 / width };
    }, end);
    const inside = inked.times.filter(time => time > times[gap] + 600 && time < times[gap + 1] - 600);
    const early = inked.times.filter(time => time < times[0] - inked.pixel - 600);
    ensure(inked.times.length > 50, `${inked.times.length} columns of the heat map are drawn`);
    same([inside.length, early.length], [0, 0], "columns of the heat map in the gap, and before the first sample");
    await close(page);
    return `${times.length} samples, and a gap of ${(widest / 1000).toFixed(1)} s`;
  },

  async "all processes, stacked, are as much as the processors are busy"() {
    const query = new URLSearchParams([["w", 60], ["chart", "All processes"], ["kind", "stack"], ["path", "\\Process V2(*)\\% Processor Time"],
      ["chart", "Busy"], ["kind", "lines"], ["path", "\\Processor Information(_Total)\\% Processor Time"]]);
    const page = await open(`#${query}`);
    // After the opening, and with the least priority: beside a load of its own priority the browser misses deadlines.
    const burners = cpus().map(() => spawn("nice", ["-n", "19", process.execPath, "-e", "for (;;);"], { stdio: "ignore" }));
    try {
      await until(async () => (await legend(page, "All processes")).some(line => numbers(line.cells)), "no values");
      await sleep(14_000);
      const rows = async title => {
        await card(page, title).getByRole("button", { name: `Copy ${title} as CSV` }).click();
        const text = await page.evaluate(() => navigator.clipboard.readText());
        return text.trim().split("\n").slice(1).map(row => row.split(",")).filter(row => row.slice(1).some(cell => cell !== ""))
          .map(([time, ...cells]) => [time, cells.reduce((sum, cell) => sum + Number(cell), 0)]);
      };
      const [stacked, busy] = [new Map(await rows("All processes")), await rows("Busy")];
      const pairs = busy.slice(2).filter(([time]) => stacked.has(time)).slice(-8).map(([time, value]) => [value * cpus().length, stacked.get(time)]);
      const [whole, shown] = [0, 1].map(n => pairs.reduce((sum, pair) => sum + pair[n], 0) / pairs.length);
      ensure(pairs.length === 8 && whole > 90 * cpus().length, `${pairs.length} samples, the processors are busy for ${whole} %`);
      ensure(Math.abs(whole - shown) < 15 * cpus().length, `the stack is of ${shown} %, the processors are busy for ${whole} %`);
      const lines = await legend(page, "All processes");
      ensure(lines.slice(0, 20).some(line => line.name.startsWith("node")), `the load is not drawn: ${lines.map(line => line.name)}`);
      ensure(lines.some(line => line.name === "others"), "the others are not drawn");
      ensure(lines.every(line => !/_Total|Idle/.test(line.name ?? "")), "totals are drawn");
      await close(page);
      return `${shown.toFixed(0)} % of ${whole.toFixed(0)} %, in ${lines.length} lines`;
    } finally {
      for (const burner of burners) burner.kill();
    }
  },

  async "findings name what is full and who is busy, with a command to copy, and stop while nobody looks"() {
    const full = process.env.FULL_FILE_SYSTEM;
    const page = await open();
    const rows = () => page.locator("#findings > ul > li").evaluateAll(rows => rows.map(row => ({
      severity: row.querySelector("b").textContent, text: row.querySelector(".text").textContent, next: row.querySelector("code").textContent,
    })));
    const found = async words => (await rows()).find(({ text }) => text.includes(words));
    const asked = () => page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("/api/findings")).length);
    const start = Date.now();
    await until(() => found(`${full} is `), "the full file system is not found");
    const first = Date.now() - start;
    const { text, next, severity } = await found(`${full} is `);
    ensure(/ is 9\d % full, /.test(text) && next === "perfset disk" && severity !== "note", `the file system: ${severity}, ${text}, ${next}`);
    await page.locator("#findings > ul > li", { hasText: full }).getByRole("button", { name: "Copy perfset disk" }).click();
    same(await page.evaluate(() => navigator.clipboard.readText()), "perfset disk", "what was copied");
    const own = await page.evaluate(async () => (await (await import("/assets/api.js")).request("/api/findings")).json());
    ensure(own.findings.some(one => one.rule === "file-system-full" && one.text === text), `the server says ${JSON.stringify(own)}`);
    const lines = await page.locator("#findings details li").allTextContents();
    same(lines.length, own.unchecked.length, "rules that lack a value");
    const begin = [await asked(), Date.now()];
    await sleep(4000);
    const rate = (await asked() - begin[0]) / (Date.now() - begin[1]) * 1000;
    ensure(rate > 0.5 && rate < 1.6, `${rate} requests a second`);
    // One process with many threads: also beside other programs it is the busiest, and the browser keeps its priority.
    const threads = `const { Worker } = require("node:worker_threads"); for (let n = 0; n < ${8 * cpus().length}; n++) new Worker("for (;;);", { eval: true });`;
    const burner = spawn("nice", ["-n", "10", process.execPath, "-e", threads], { stdio: "ignore" });
    const isBurner = ({ text }) => text.startsWith("the processors are ") && text.includes(`; node:${burner.pid} uses `);
    try {
      await until(async () => (await rows()).some(isBurner), "the load is not found by its name", 60_000);
    } finally {
      burner.kill("SIGKILL");
    }
    // Others may keep the processors busy.
    await until(async () => !(await rows()).some(isBurner), "the load is named when it is gone");
    await page.locator("#toggle").click();
    await until(() => page.url().includes("end="), "it does not pause");
    await sleep(1500); // one request may be on its way
    const [requests, time] = [await asked(), await page.locator("#findings small").first().textContent()];
    await sleep(2500);
    same([await asked(), await page.locator("#findings small").first().textContent()], [requests, time], "requests while it is paused");
    await page.locator("#toggle").click();
    await until(async () => await asked() > requests, "it does not go on");
    await close(page);
    const bare = await open("#none=1");
    await until(async () => await bare.locator("#findings .text", { hasText: full }).count(), "no findings without charts");
    await close(bare);
    return `after ${first} ms, ${rate.toFixed(2)} requests a second`;
  },

  ...checksOfCharts({ open, close, ensure, same, until, card, legend, state, numbers, hasValues, url }),
  ...checksOfFiles({ open, close, ensure, same, until, card, legend, numbers }),
  ...checksOfLogs({ open, close, ensure, same, until, legend, state, numbers, isDrawn, faults }),
  ...checksOfModules({ open, close, ensure, same }),
  ...checksOfComparisons({ open, close, ensure, same, card, legend, until }),
  ...checksOfPast({ open, close, ensure, same, card, legend, until, state }),
  ...checksOfTables({ open, close, ensure, same, until, card, legend, numbers, hasValues, samples, sleep }),
};

/** Checks that need the processors: beside compilers, much of their time is that of processes that no sample sees. */
const alone = ["all processes, stacked, are as much as the processors are busy"];
const words = process.argv[3] ?? "";
for (const name of alone) ensure(name in checks, `no check has the name ${name}`);
const isWanted = name => {
  if (words === "--busy") return !alone.includes(name);
  return words === "--alone" ? alone.includes(name) : name.includes(words);
};

let failed = 0;
for (const [name, check] of Object.entries(checks).filter(([name]) => isWanted(name))) {
  const start = Date.now();
  try {
    const figures = await check();
    const seen = faults.splice(0);
    if (seen.length) throw new Error(seen.join("; "));
    console.log(`ok ${name}${figures && `: ${figures}`} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed++;
    faults.length = 0;
    isAway = false;
    console.log(`FAIL ${name}: ${error.message.split("\n").join(" | ")}`);
    for (const context of browser.contexts()) await context.close();
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
