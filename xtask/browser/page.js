// The page of `perfset serve` in a browser: what it shows and does, each check a line.
//
//   node page.js URL [WORDS]     all checks, or those with these words in their names
//
// Whoever starts it reads the output: "ok NAME: figures" and "FAIL NAME: why" are results; "please restart" asks for the
// server to be started anew at the same address, and waits for a line of input.

import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";

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

async function open(fragment = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(12_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await context.addInitScript(() => {
    globalThis.violations = [];
    document.addEventListener("securitypolicyviolation", event => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  const page = await context.newPage();
  page.on("console", message => {
    if (!isAway && (message.type() === "error" || message.type() === "warning")) faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", error => faults.push(`error: ${error.stack}`));
  page.on("request", request => {
    if (!request.url().startsWith(new URL(url).origin) && !request.url().startsWith("data:")) faults.push(`request: ${request.url()}`);
  });
  await page.goto(`${url}${fragment}`);
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

const numbers = cells => cells.every(text => /\d/.test(text));

const checks = {
  async "the overview has values and pictures at once"() {
    const page = await open();
    await until(async () => (await legend(page, "Memory")).some(line => numbers(line.cells)), "no values of memory");
    const { overview } = await page.evaluate(() => fetch("/api/about").then(answer => answer.json()));
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

  async "zoom and pause hold all charts, and let go"() {
    const page = await open("#w=60");
    await until(async () => numbers((await legend(page, "Memory"))[0]?.cells ?? [""]), "no values");
    await sleep(4000);
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
    await until(async () => numbers((await legend(page, "Memory"))[0]?.cells ?? [""]), "no values");
    await sleep(2500);
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
    await until(async () => numbers((await legend(page, "Memory"))[0]?.cells ?? [""]), "no values");
    await page.keyboard.press("t");
    await page.keyboard.press("t");
    await card(page, "Memory").locator(".name").nth(1).click();
    await card(page, "Memory").getByRole("button", { name: "Wider" }).click();
    await card(page, "Pressure").getByRole("button", { name: "Remove Pressure" }).click();
    await card(page, "Disks").locator("select").selectOption("stack");
    await sleep(3000);
    await page.locator("#toggle").click();
    await sleep(300);
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
    await until(async () => numbers((await legend(other, "Memory"))[0]?.cells ?? [""]), "nothing is restored");
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
    await until(async () => numbers((await legend(page, "Memory"))[0]?.cells ?? [""]), "no values");
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
    await until(async () => numbers((await legend(page, "Memory"))[0]?.cells ?? [""]), "no values");
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
    await until(async () => numbers((await legend(page, "Mixed"))[0]?.cells ?? [""]), "the good one has no values");
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

  async "a lost connection is seen, comes back and leaves a gap"() {
    const page = await open("#w=60");
    await until(async () => numbers((await legend(page, "Memory"))[0]?.cells ?? [""]), "no values");
    isAway = true;
    console.log("please restart");
    await until(async () => (await state(page).textContent()) === "Connection lost", "nobody sees that it is lost");
    ensure((await page.locator("#notices").textContent()).includes("Connection lost"), "no notice");
    await input.next();
    await until(async () => (await state(page).textContent()) === "Live", "it does not come back", 20_000);
    isAway = false;
    same(await page.locator("#notices").textContent(), "", "the notice stays");
    await card(page, "Memory").getByRole("button", { name: "Copy Memory as CSV" }).click();
    const text = await page.evaluate(() => navigator.clipboard.readText());
    const rows = text.trim().split("\n");
    const empty = rows.slice(2).filter(row => /^[^,]+,+$/.test(row));
    ensure(empty.length > 0, `no gap in ${rows.length} rows`);
    ensure(rows[0].startsWith("time,\\"), `the head of the CSV is ${rows[0]}`);
    await close(page);
    return `${rows.length} rows copied`;
  },

  async "values that are missing are gaps, with their reasons"() {
    const page = await open("#w=60&none=1");
    const got = await page.evaluate(async () => {
      const [{ Store }, { View }, { Card }, { csv }] = await Promise.all(["store", "view", "card", "names"].map(name => import(`/assets/${name}.js`)));
      const store = new Store(1000, 60_000);
      const [ask, ranked] = [{ path: "\\Set(*)\\Counter", top: 0 }, { path: "\\Set(*)\\Counter", top: 2 }];
      store.request([ask, ranked]);
      const series = (id, instance, ask) => ({ id, path: `\\Set(${instance})\\Counter`, ask, counterset: "Set", instance, counter: "Counter", unit: "By" });
      store.series([series(7, "a", 0), series(8, "=b", 0), series(7, "a", 1), series(8, "=b", 1), series(9, "_Total", 1), series(7, "a", 1)]);
      const sample = (time, a, b, missing) => store.sample({ time, ids: [7, 8, 9], values: [a, b, 100], missing });
      sample(100_000, 2, 3);
      sample(101_000, 5, null, { 8: "denied" });
      const spec = { title: "Gaps", kind: "lines", wide: false, asks: [ask], hidden: new Set() };
      const card = new Card(spec, { store, view: new View(), cursor: { at: null }, cursorAt() {}, changed() {} });
      document.getElementById("charts").append(card.element);
      card.draw();
      const legend = [...card.element.querySelectorAll("tbody tr")].map(row => [...row.querySelectorAll("td")].slice(0, 4).map(cell => cell.textContent));
      sample(109_000, 7, 11);
      const values = path => store.columns.get(path).values;
      const lost = [[...store.times], [...values("\\Set(a)\\Counter")]];
      // What was missed comes later, and what was before.
      store.history({ ids: [7], times: [99_000, 102_000, 103_000], values: [[1, 13, 17]] });
      const found = [[...store.times], [...values("\\Set(a)\\Counter")], [...values("\\Set(=b)\\Counter")]];
      const rank = store.rankedAt("\\Set(*)\\Counter\ttop=2", 109_500).list.map(item => [item.series.instance, item.value]);
      const late = store.rankedAt("\\Set(*)\\Counter\ttop=2", 200_000);
      card.destroy();
      return { legend, lost, found, rank, late, csv: csv([0, 1500], [{ name: "=1+1", values: [1, null] }, { name: 'a"b', values: [0.5, 2] }]) };
    });
    same(got.legend, [["5 B", "3.50 B", "2 B", "5 B"], ["is refused by the system", "3 B", "3 B", "3 B"]], "the legend");
    same(got.lost, [[100_000, 101_000, 102_000, 109_000], [2, 5, null, 7]], "a connection that was lost");
    const times = [99_000, 100_000, 101_000, 102_000, 103_000, 104_000, 109_000];
    same(got.found, [times, [1, 2, 5, 13, 17, null, 7], [null, 3, null, null, null, null, 11]], "what was missed");
    same([got.rank, got.late], [[["=b", 11], ["a", 7]], null], "the ranking");
    same(got.csv, "time,'=1+1,\"a\"\"b\"\n1970-01-01T00:00:00.000Z,1,0.5\n1970-01-01T00:00:01.500Z,,2\n", "as CSV");
    await close(page);
    return "";
  },

  async "a clock that is set back does not mix what was before with what is later"() {
    const page = await open("#w=60&none=1");
    const got = await page.evaluate(async () => {
      const [{ Store }, { Stream }] = await Promise.all(["store", "stream"].map(name => import(`/assets/${name}.js`)));
      const opened = [];
      window.EventSource = class extends EventTarget {
        constructor(address) { super(); this.address = address; opened.push(this); }
        close() {}
        say(name, data) { this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) })); }
      };
      const path = "\\Set(a)\\Counter";
      const store = new Store(1000, 60_000);
      new Stream(store).ask([{ path, top: 0 }], 60);
      const begin = (source, times, values) => {
        source.dispatchEvent(new Event("open"));
        source.say("series", { series: [{ id: 7, path, ask: 0, counterset: "Set", instance: "a", counter: "Counter", unit: "By" }] });
        source.say("history", { ids: [7], times, values: [values] });
      };
      begin(opened[0], [900_000, 901_000], [1, 2]);
      opened[0].say("sample", { time: 902_000, ids: [7], values: [3] });
      opened[0].say("sample", { time: 3_000, ids: [7], values: [4] }); // by the new clock
      begin(opened[1], [1_000, 2_000, 3_000], [2, 3, 4]); // the server's history is by the new clock, too
      opened[1].say("sample", { time: 4_000, ids: [7], values: [5] });
      return { times: store.times, values: store.columns.get(path).values, opened: opened.length };
    });
    same(got, { times: [1_000, 2_000, 3_000, 4_000], values: [2, 3, 4, 5], opened: 2 }, "the store");
    await close(page);
    return "";
  },

  async "fifty lines of an hour are drawn within a frame or a few"() {
    const page = await open("#w=3600&none=1");
    const { key, took, shown } = await page.evaluate(async () => {
      const { Store, askKey } = await import("/assets/store.js");
      const { View } = await import("/assets/view.js");
      const { Card } = await import("/assets/card.js");
      const store = new Store(1000, 3_600_000);
      const ask = { path: "\\Set(*)\\Counter", top: 0 };
      store.request([ask]);
      const ids = Array.from({ length: 50 }, (_, n) => n);
      store.series(ids.map(id => ({ id, path: `\\Set(${id})\\Counter`, ask: 0, counterset: "Set", instance: `${id}`, counter: "Counter", unit: "By/s" })));
      const start = Date.now() - 3_600_000;
      const value = (id, n) => 1e6 * (2 + Math.sin(n / (20 + id)) + Math.random());
      store.history({ ids, times: Array.from({ length: 3600 }, (_, n) => start + n * 1000), values: ids.map(id => Array.from({ length: 3600 }, (_, n) => value(id, n))) });
      const view = new View();
      view.window = 3600;
      const page = { store, view, cursor: { at: null }, cursorAt() {}, changed() {} };
      const card = new Card({ title: "Fifty", kind: "lines", wide: true, asks: [ask], hidden: new Set() }, page);
      document.getElementById("charts").append(card.element);
      const frame = () => new Promise(done => requestAnimationFrame(done));
      const [took, shown] = [[], []];
      for (let tick = 0; tick < 12; tick++) {
        await frame();
        const begin = performance.now();
        store.sample({ time: start + (3600 + tick) * 1000, ids, values: ids.map(id => value(id, 3600 + tick)) });
        card.draw();
        await Promise.resolve(); // the plot draws when the script is done
        const script = performance.now() - begin;
        await frame();
        await frame();
        shown.push(performance.now() - begin);
        took.push(script);
      }
      return { key: askKey(ask), took: took.slice(2), shown: shown.slice(2) };
    });
    same(key, "\\Set(*)\\Counter", "the key of a question");
    for (const list of [took, shown]) list.sort((a, b) => a - b);
    ensure(shown[5] < 900, `a tick takes ${shown[5]} ms until it is shown`);
    await close(page);
    return `${took[5].toFixed(0)} ms of script a tick, at most ${took.at(-1).toFixed(0)}; shown after ${shown[5].toFixed(0)} ms without a graphics card`;
  },

  async "numbers are written with their units"() {
    const page = await open("#none=1");
    const cases = [
      [0, "By", "0 B"], [1023, "By", "1,023 B"], [1536, "By", "1.50 KiB"], [24_586_936_320, "By", "22.9 GiB"],
      [3, "KiBy", "3.00 KiB"], [1, "kBy/s", "1,000 B/s"], [0.5, "By/s", "0.50 B/s"], [99.96, "%", "100 %"], [3.14159, "%", "3.14 %"],
      [12345, "", "12,345"], [1_234_567, "", "1.23 M"], [0.25, "", "0.25"], [2800, "MHz", "2.80 GHz"],
      [0.0123, "s", "12.3 ms"], [205, "s", "3:25"], [93_784, "s", "1 d 02:03"], [250, "ns", "250 ns"], [2_104, "/s", "2.10 k/s"],
      [-2048, "By", "-2.00 KiB"], [3000, "dK", "300 K"], [7, "furlong", "7.00 furlong"],
    ];
    const got = await page.evaluate(async cases => {
      const { unitOf, valueText } = await import("/assets/units.js");
      return cases.map(([value, unit]) => valueText(value, unitOf(unit)));
    }, cases);
    cases.forEach(([value, unit, want], n) => same(got[n], want, `${value} ${unit}`));
    await close(page);
    return `${cases.length} of them`;
  },

  async "views read back from their addresses"() {
    const page = await open("#none=1");
    const result = await page.evaluate(async () => {
      const { View } = await import("/assets/view.js");
      const fragments = [
        "w=300", "w=60&end=1700000000000", "w=60&end=1700000000000&zoom=1699999990000-1699999999000&theme=dark", "w=300&none=1",
        "w=3600&theme=light&chart=a%26b&kind=stack&wide=1&path=%5CA%28x%29%5Cb&path=%5CC%28*%29%5Cd&top=12&hide=%5CA%28x%29%5Cb&chart=&kind=rank",
      ];
      const bad = ["", "w=7&end=x&zoom=9-3&theme=<b>&path=lost&kind=__proto__&top=3", "chart=x&kind=constructor&top=1e9&zoom=1", "%%%"];
      return [fragments.map(text => [View.fromFragment(text).toFragment(), text]), bad.map(text => View.fromFragment(text).toFragment())];
    });
    for (const [got, want] of result[0]) same(got, want, "a fragment");
    same(result[1], ["w=300", "w=300", "w=300&chart=x&kind=lines", "w=300"], "bad fragments");
    await close(page);
    return `${result[0].length + result[1].length} of them`;
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks).filter(([name]) => name.includes(process.argv[3] ?? ""))) {
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
