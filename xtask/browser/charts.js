// Charts of the page: how they look, and what can be done with them; each check a line of page.js.

import { readFile } from "node:fs/promises";

const DESKTOP = { viewport: { width: 1440, height: 900 } };
const LAPTOP = { viewport: { width: 1280, height: 720 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** What checks need: pages, their parts, and how to wait for something and to say what is wrong. */
export const checksOfCharts = ({ open, close, ensure, same, until, card, legend, state, numbers, hasValues, url }) => ({
  async "values of legends have their units in full, at a desktop and a phone"() {
    let seen = 0;
    for (const options of [DESKTOP, PHONE]) {
      const page = await open("#w=60&none=1", options);
      const got = await page.evaluate(async () => {
        const [{ Store }, { View }, { Card }] = await Promise.all(["store", "view", "card"].map(name => import(`/assets/${name}.js`)));
        const large = { "By/s": 1023 * 1024 ** 2, "By": 1023 * 1024 ** 3, "%": 12_345, "/s": 9_990_000, "bit/s": 9.99e9, "s": 123_456, "": 999_999, "MHz": 2800, "mW": 9.99 };
        const units = { "By/s": "MiB/s", "By": "GiB", "%": "%", "/s": "M/s", "bit/s": "Gbit/s", "s": "1 d 10:17", "": "999,999", "MHz": "GHz", "mW": "mW" };
        const wrong = [];
        let values = 0;
        for (const [unit, size] of Object.entries(large)) {
          const store = new Store(1000, 60_000);
          const ask = { path: "\\Set(*)\\Counter", top: 0 };
          store.request([ask]);
          store.series(["a long name of an interface", "b"].map((instance, id) => ({ id, path: `\\Set(${instance})\\Counter`, ask: 0, counterset: "Set", instance, counter: "Counter", unit })));
          for (let n = 0; n < 3; n++) store.sample({ time: 100_000 + n * 1000, ids: [0, 1], values: [size, size], marks: { 0: "held" } });
          const card = new Card({ title: unit, kind: "lines", wide: false, asks: [ask], hidden: new Set() }, { store, view: new View(), cursor: { at: null, held: null }, marks: [], get range() { return this.view.range(this.store.last); }, cursorAt() {}, changed() {} });
          document.getElementById("charts").append(card.element);
          card.draw();
          await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
          const cells = [...card.element.querySelectorAll(".legend tbody td")].filter(cell => cell.offsetWidth && cell.textContent);
          if (cells.length < 4) wrong.push(`${unit}: ${cells.length} values`);
          for (const cell of cells) {
            values++;
            if (cell.scrollWidth > cell.clientWidth || !cell.textContent.includes(units[unit])) wrong.push(`${unit}: ${cell.textContent} needs ${cell.scrollWidth} of ${cell.clientWidth} pixels`);
          }
        }
        return { wrong, values, width: document.documentElement.scrollWidth - innerWidth };
      });
      same([got.wrong, got.width], [[], 0], `values at ${options.viewport.width} pixels`);
      seen += got.values;
      await close(page);
    }
    return `${seen} values`;
  },

  async "neighbouring lines differ in dashes and, for every colour vision, in colours"() {
    const page = await open("#none=1");
    const colours = {};
    for (const theme of ["light", "dark"]) {
      colours[theme] = await page.evaluate(async theme => {
        document.documentElement.dataset.theme = theme;
        const { colour, dashes } = await import("/assets/palette.js");
        return Array.from({ length: 32 }, (_, n) => [colour(n), dashes(n).join()]);
      }, theme);
    }
    // Machado, Oliveira and Fernandes, 2009: what remains of red, green and blue.
    const visions = [
      [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
      [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
      [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
      [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
    ];
    const linear = hex => [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16) / 255).map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const times = (rows, parts) => rows.map(row => row.reduce((sum, factor, n) => sum + factor * parts[n], 0));
    const lab = parts => {
      const [x, y, z] = times([[0.4124 / 0.95047, 0.3576 / 0.95047, 0.1805 / 0.95047], [0.2126, 0.7152, 0.0722], [0.0193 / 1.08883, 0.1192 / 1.08883, 0.9505 / 1.08883]], parts.map(part => Math.max(0, Math.min(1, part))))
        .map(part => part > 0.008856 ? Math.cbrt(part) : 7.787 * part + 16 / 116);
      return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
    };
    const distance = (a, b) => Math.min(...visions.map(vision => Math.hypot(...lab(times(vision, linear(a))).map((part, n) => part - lab(times(vision, linear(b)))[n]))));
    let least = Infinity;
    for (const [theme, lines] of Object.entries(colours)) {
      lines.slice(1).forEach(([colour, dashes], n) => {
        const [before, others] = lines[n];
        ensure(dashes !== others, `${theme}: lines ${n} and ${n + 1} have the dashes ${dashes}`);
        least = Math.min(least, distance(colour, before));
      });
      same(new Set(lines.map(line => line.join(" "))).size, 32, `${theme}: lines that differ`);
    }
    ensure(least > 20, `neighbours are ${least} apart`);
    await close(page);
    return `${least.toFixed(0)} apart at least`;
  },

  async "lines of each unit have a panel, below each other on one time axis"() {
    const query = new URLSearchParams([["w", 60], ["chart", "Units"], ["path", "\\Memory\\Available Bytes"],
      ["path", "\\Processor Information(_Total)\\% User Time"], ["path", "\\System\\Context Switches/sec"], ["path", "\\Memory\\Committed Bytes"]]);
    const page = await open(`#${query}`);
    await until(async () => (await legend(page, "Units")).filter(line => numbers(line.cells)).length === 4, "no values");
    const panels = () => card(page, "Units").locator(".plot").evaluateAll(plots => plots.map(plot => {
      const { left, right, top } = plot.querySelector(".u-over").getBoundingClientRect();
      return { left, right, top, axes: plot.querySelectorAll(".u-axis").length, cursor: plot.querySelector(".u-cursor-x").style.transform };
    }));
    const before = await panels();
    same([before.length, before.map(({ axes }) => axes)], [3, [2, 2, 2]], "panels, and their axes");
    same([new Set(before.map(({ left }) => left)).size, new Set(before.map(({ right }) => right)).size], [1, 1], "where they begin and end");
    ensure(before[0].top < before[1].top && before[1].top < before[2].top, "they are not below each other");
    await page.mouse.move(before[2].right - 60, before[2].top + 20);
    await until(async () => new Set((await panels()).map(({ cursor }) => cursor)).size === 1 && (await panels())[0].cursor !== before[0].cursor, "the cursor is not in all panels");
    await card(page, "Units").locator("select").selectOption("heat");
    await until(async () => (await card(page, "Units").locator(".key").allTextContents()).length === 3, "not a scale of colours for each unit");
    await close(page);
    return "";
  },

  async "a heat map has a scale of its colours, and names that can be told apart"() {
    const page = await open("#w=60&none=1");
    const got = await page.evaluate(async () => {
      const [{ Store }, { View }, { Card }] = await Promise.all(["store", "view", "card"].map(name => import(`/assets/${name}.js`)));
      const draw = async (names, unit, size) => {
        const store = new Store(1000, 60_000);
        const ask = { path: "\\Set(*)\\Counter", top: 0 };
        store.request([ask]);
        store.series(names.map((instance, id) => ({ id, path: `\\Set(${instance})\\Counter`, ask: 0, counterset: "Set", instance, counter: "Counter", unit })));
        for (let n = 0; n < 60; n++) store.sample({ time: 100_000 + n * 1000, ids: names.map((_, id) => id), values: names.map((_, id) => size * (id + 1)) });
        const card = new Card({ title: "Heat", kind: "heat", wide: false, asks: [ask], hidden: new Set() }, { store, view: new View(), cursor: { at: null, held: null }, marks: [], get range() { return this.view.range(this.store.last); }, cursorAt() {}, changed() {} });
        document.getElementById("charts").append(card.element);
        card.draw();
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        const { left } = card.element.querySelector(".u-over").getBoundingClientRect();
        const spans = [...card.element.querySelectorAll(".rows span")];
        const own = card.element.getBoundingClientRect();
        const result = {
          texts: spans.map(span => span.textContent), titles: spans.map(span => span.title.split("\n")[0]),
          fit: spans.every(span => span.getBoundingClientRect().left >= own.left && span.getBoundingClientRect().right <= left),
          key: [...card.element.querySelectorAll(".key span")].map(span => span.textContent),
          ramp: getComputedStyle(card.element.querySelector(".ramp")).backgroundImage.startsWith("linear-gradient"),
        };
        card.destroy();
        return result;
      };
      const devices = Array.from({ length: 8 }, (_, n) => `/dev/mapper/volume-group-of-the-machine/logical-volume-${n}`);
      const processes = ["a-daemon-with-a-very-long-name-that-goes-on-and-on:1234", "another-one-that-is-as-long-as-the-first-of-them:99"];
      const many = Array.from({ length: 200 }, (_, n) => `cpu${n}`);
      return { devices, processes, few: await draw(devices, "%", 1), own: await draw(processes, "By/s", 1024 ** 2), many: await draw(many, "%", 0.1) };
    });
    for (const shown of [got.few, got.own, got.many]) {
      ensure(shown.fit, `names outside of their room: ${shown.texts}`);
      same(new Set(shown.texts).size, shown.texts.length, `names that differ of ${shown.texts}`);
      ensure(shown.ramp, "no colours in the scale");
    }
    same(got.few.titles, got.devices, "full names");
    ensure(got.few.texts.every((text, n) => text.endsWith(`${n}`)), `the end of a name is cut: ${got.few.texts}`);
    ensure(got.own.texts.every((text, n) => text.startsWith(got.processes[n].slice(0, 5)) && text.endsWith(got.processes[n].slice(-5))), `both ends are not there: ${got.own.texts}`);
    same([got.few.key, got.own.key], [["0 %", "", "100 %"], ["0 B/s", "", "2.00 MiB/s"]], "the scales");
    ensure(got.many.texts.length > 5 && got.many.texts.length < 20, `${got.many.texts.length} names of 200 rows`);
    await close(page);
    return got.few.texts[0];
  },

  async "what is left of a whole is drawn faint, on top of what is used"() {
    const page = await open("#w=60&none=1");
    for (const theme of ["light", "dark"]) {
      const got = await page.evaluate(async theme => {
        document.documentElement.dataset.theme = theme;
        const [{ Store }, { View }, { Card }] = await Promise.all(["store", "view", "card"].map(name => import(`/assets/${name}.js`)));
        const store = new Store(1000, 60_000);
        const counters = ["MemFree", "AnonPages", "Cached"];
        const asks = counters.map(counter => ({ path: `\\Linux Memory\\${counter}`, top: 0 }));
        store.request(asks);
        store.series(counters.map((counter, id) => ({ id, path: asks[id].path, ask: id, counterset: "Linux Memory", instance: "", counter, unit: "By" })));
        for (let n = 0; n <= 60; n++) store.sample({ time: 100_000 + n * 1000, ids: [0, 1, 2], values: [2e9, 1e9, 1e9] });
        const view = new View();
        view.window = 60;
        const card = new Card({ title: "Rest", kind: "stack", wide: true, asks, hidden: new Set() }, { store, view, cursor: { at: null, held: null }, marks: [], get range() { return this.view.range(this.store.last); }, cursorAt() {}, changed() {} });
        document.getElementById("charts").append(card.element);
        card.draw();
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        const canvas = card.element.querySelector("canvas");
        const [over, own] = [card.element.querySelector(".u-over").getBoundingClientRect(), canvas.getBoundingClientRect()];
        const panel = getComputedStyle(card.element).backgroundColor.match(/\d+/g).slice(0, 3).map(Number);
        const [x, top, height] = [over.left - own.left + over.width * 0.47, over.top - own.top, over.height].map(place => Math.round(place * devicePixelRatio));
        const { data } = canvas.getContext("2d").getImageData(x, top, 1, height);
        // The colour that is seen a part of the height above the axis.
        const at = part => {
          const [red, green, blue, alpha] = data.subarray(4 * Math.round((1 - part) * height));
          return [red, green, blue].map((colour, n) => colour * alpha / 255 + panel[n] * (1 - alpha / 255));
        };
        const names = [...card.element.querySelectorAll(".name span:last-child")].map(span => span.textContent);
        const seen = { panel, anonymous: at(0.1), cached: at(0.35), free: at(0.77), names };
        card.destroy();
        return seen;
      }, theme);
      const luminance = colour => colour.map(part => part / 255).map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4).reduce((sum, part, n) => sum + part * [0.2126, 0.7152, 0.0722][n], 0);
      const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
      const [free, ...used] = [got.free, got.anonymous, got.cached].map(colour => contrast(colour, got.panel));
      same(got.names, ["AnonPages", "Cached", "MemFree"], "the order");
      ensure(free > 1.02 && free < 1.4, `${theme}: free memory has a contrast of ${free}`);
      ensure(used.every(contrast => contrast > 1.8), `${theme}: used memory has contrasts of ${used}`);
    }
    await close(page);
    return "";
  },

  async "charts are renamed, moved, removed and restored, and the overview comes back"() {
    const page = await open("#w=60");
    await until(async () => (await state(page).textContent()) === "Live", "not live");
    const titles = () => page.locator(".card h2").allTextContents();
    const overview = await titles();
    const more = async (title, item) => {
      await page.getByRole("button", { name: `More of ${title}`, exact: true }).click();
      await page.getByRole("menuitem", { name: item }).click();
    };
    await more("Memory", "Rename");
    await page.keyboard.type("<b>RAM</b>");
    await page.keyboard.press("Escape");
    same(await titles(), overview, "titles after Escape");
    await more("Memory", "Rename");
    await page.keyboard.type("<b>RAM</b>");
    await page.keyboard.press("Enter");
    const renamed = overview.map(title => title === "Memory" ? "<b>RAM</b>" : title);
    same(await titles(), renamed, "titles");
    ensure(new URLSearchParams(new URL(page.url()).hash).getAll("chart").includes("<b>RAM</b>"), `the address is ${page.url()}`);
    // By the menu, which stays open, and by keys, which leave the focus where it is.
    await more("<b>RAM</b>", "Move earlier");
    await page.keyboard.press("Enter");
    const front = ["<b>RAM</b>", ...overview.filter(title => title !== "Memory")];
    same(await titles(), front, "moved to the front");
    await page.keyboard.press("Escape");
    const isOfCard = title => page.evaluate(title => document.activeElement.closest(".card")?.querySelector("h2").textContent === title, title);
    ensure(await isOfCard("<b>RAM</b>"), "the menu lost the focus");
    await page.keyboard.press(">");
    same(await titles(), [front[1], front[0], ...front.slice(2)], "moved by a key");
    ensure(await isOfCard("<b>RAM</b>"), "the moved chart lost the focus");
    ensure((await page.locator("#said").textContent()).includes(`chart 2 of ${overview.length}`), "nobody hears where it is");
    await page.keyboard.press("<");
    await page.getByRole("button", { name: "Remove <b>RAM</b>", exact: true }).click();
    same(await titles(), front.slice(1), "titles without it");
    await page.locator("#removed").getByRole("button", { name: "Restore" }).click();
    same(await titles(), front, "restored");
    same(await page.locator("#removed").textContent(), "", "the notice stays");
    ensure(await isOfCard("<b>RAM</b>"), "the restored chart does not have the focus");
    await until(async () => (await legend(page, "<b>RAM</b>")).some(line => numbers(line.cells)), "the restored chart has no values");
    await page.getByRole("button", { name: "Remove Disks", exact: true }).click();
    await page.keyboard.press("z");
    same(await titles(), front, "restored by a key");
    await page.getByRole("button", { name: "Remove Disks", exact: true }).click();
    await card(page, "Network").locator("select").selectOption("stack");
    same(await page.locator("#removed").textContent(), "", "what was removed before another change");
    for (const title of await titles()) await page.getByRole("button", { name: `Remove ${title}`, exact: true }).click();
    await page.getByRole("button", { name: "Show the overview" }).click();
    same(await titles(), overview, "the overview");
    ensure(!page.url().includes("chart=") && !page.url().includes("none="), `the address is ${page.url()}`);
    ensure(!await page.locator("#bare").isVisible(), "it says that there are no charts");
    await close(page);
    return `${overview.length} charts`;
  },

  async "a chart has few tab stops, and keys move the cursor, which is read out"() {
    const page = await open("#w=60");
    await hasValues(page, "Processors");
    // What was recorded is drawn before the stream has begun.
    await until(async () => (await state(page).textContent()) === "Live", "not live");
    await until(async () => (await page.locator(".ranking tbody tr:not(.none)").count()) > 5, "no ranking");
    await page.locator("#help").focus();
    const stops = new Map();
    const plain = { first: null };
    for (let tab = 0; tab < 60; tab++) {
      await page.keyboard.press("Tab");
      const [title, isMarked, name] = await page.evaluate(() => {
        const { activeElement: element } = document;
        return [element.closest(".card")?.querySelector("h2").textContent ?? null, getComputedStyle(element).outlineStyle !== "none", element.className];
      });
      if (title === null) { if (stops.size) break; else continue; }
      plain.first ??= title;
      ensure(isMarked, `one does not see that ${name} of ${title} has the focus`);
      stops.set(title, (stops.get(title) ?? 0) + 1);
    }
    const titles = await page.locator(".card h2").allTextContents();
    same([...stops.keys()], titles, "charts that are reached");
    ensure(Math.max(...stops.values()) <= 4, `stops of charts: ${JSON.stringify([...stops])}`);
    // In the buttons and in the legend arrow keys go on.
    await card(page, "Processors").locator("select").focus();
    const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent);
    await page.keyboard.press("End");
    same(await focused(), "Remove Processors", "the last button");
    await page.keyboard.press("ArrowLeft");
    same(await focused(), "More of Processors", "the button before it");
    await card(page, "Processors").locator(".name").first().focus();
    const [first, second] = (await legend(page, "Processors")).map(line => line.name);
    await page.keyboard.press("ArrowDown");
    same(await focused(), second, "the next line");
    await page.keyboard.press("ArrowUp");
    same(await focused(), first, "the line before it");
    await page.keyboard.press("ArrowRight");
    same(await focused(), `Remove ${first}`, "the button of a line");
    // The cursor, while the charts go on.
    await card(page, "Processors").locator(".plots").focus();
    const heads = () => page.locator(".legend thead th:nth-child(2)").allTextContents();
    const seconds = text => text.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
    // The first sample of a server has no rates.
    const at = async (value = /\d %/) => {
      await until(async () => /^\d\d:\d\d:\d\d$/.test((await heads())[0]), "no time at the cursor");
      const times = (await heads()).slice(0, 3);
      same(new Set(times).size, 1, `times at the cursor ${times}`);
      const said = await page.locator("#said").textContent();
      ensure(said.startsWith(`${times[0]}: ${first} `) && value.test(said), `what is read out at ${times[0]} is ${said}`);
      return seconds(times[0]);
    };
    // A frame may lie between a key and what it shows.
    const move = async key => {
      const before = (await heads())[0];
      await page.keyboard.press(key);
      await until(async () => (await heads())[0] !== before, `${key} does not move the cursor from ${before}`);
    };
    await move("End");
    await move("ArrowLeft");
    const one = await at();
    await move("ArrowLeft");
    const two = await at();
    ensure(two < one && one - two < 4, `a step is of ${one - two} s`);
    await move("Home");
    const home = await at(/\d %|no value|second sample/);
    ensure(home < two, `Home is at ${home}, before it was at ${two}`);
    await move("Shift+ArrowRight");
    ensure(await at(/\d %|no value|second sample/) - home >= 2 || one - home <= 2, "Shift does not go further");
    const drawn = await card(page, "Memory").locator(".u-cursor-x").evaluate(line => line.style.transform);
    ensure(/translate\((?!-10px)/.test(drawn), `the other charts have their cursor at ${drawn}`);
    same(await state(page).textContent(), "Live", "the state");
    await page.keyboard.press("Escape");
    await until(async () => (await heads())[0] === "Last", "the cursor stays");
    await close(page);
    return `${Math.max(...stops.values())} stops at most, ${[...stops.values()].reduce((sum, count) => sum + count)} in ${stops.size} charts`;
  },

  async "a counter that was chosen is in sight, whichever it is"() {
    const searches = ["cpu usage", "iowait", "rss", "disk full", "packet loss", "context switches", "swap", "latency", "retransmit", "threads",
      "page faults", "steal", "dirty", "queue length", "handles", "interrupts", "uptime", "slab", "huge pages", "tcp connections"];
    let seen = 0;
    await Promise.all([DESKTOP, PHONE].map(async options => {
      const page = await open("#none=1", options);
      await page.locator("#add").click();
      for (const words of searches) {
        await page.getByLabel("Search counters").fill(words);
        // Those that were found for the words before are gone.
        const found = page.locator(`.results[data-words="${words}"] h3:text-is("Counters") ~ .result`);
        await found.first().waitFor();
        const counter = await found.first().locator("b").textContent();
        await found.first().click();
        const row = page.locator(".counter.chosen");
        await until(async () => await row.count() && (await row.locator("input").inputValue()) === counter, `${words}: ${counter} is not chosen`);
        const [inner, outer, isFocused] = await row.evaluate(row => {
          const edges = element => { const { top, bottom } = element.getBoundingClientRect(); return { top, bottom }; };
          return [edges(row), edges(row.closest(".detail")), row.contains(document.activeElement)];
        });
        ensure(inner.top >= outer.top && inner.top + 20 < outer.bottom && isFocused, `${words}: ${counter} is at ${inner.top} to ${inner.bottom} of ${outer.top} to ${outer.bottom}`);
        ensure(inner.bottom <= outer.bottom + 1, `${words}: the text of ${counter} ends at ${inner.bottom}, outside of ${outer.bottom}`);
        seen++;
        if (options.isMobile) await page.locator(".detail .back").click();
      }
      await close(page);
    }));
    return `${seen} searches`;
  },

  async "times are in the zone of the browser or in UTC, on all clocks"() {
    const page = await open("#w=60", { timezoneId: "Asia/Kolkata" });
    await hasValues(page, "Memory");
    await until(async () => (await page.locator("#findings small").first().textContent()).startsWith("at "), "no time of findings");
    await until(async () => (await page.locator(".ranking tbody tr:not(.none)").count()) > 5, "no ranking");
    await page.keyboard.press("Space");
    await until(async () => (await state(page).textContent()) === "Paused", "it does not pause");
    const canvas = () => card(page, "Memory").locator("canvas").evaluate(canvas => canvas.toDataURL());
    const box = await card(page, "Memory").locator(".u-over").boundingBox();
    await page.mouse.move(box.x + box.width - 2, box.y + 30);
    const heads = () => page.locator(".legend thead th:nth-child(2)").allTextContents();
    await until(async () => (await heads()).slice(0, 3).every(text => /^\d\d:\d\d:\d\d$/.test(text)), "no time at the cursor");
    const seen = async () => ({
      zone: await page.locator("#zone").textContent(), legend: (await heads())[0],
      ranking: await page.locator(".ranking thead th:nth-child(2)").first().textContent(),
      findings: (await page.locator("#findings small").first().textContent()).slice(3),
      range: (await page.locator("#range-text").textContent()).replace(/^\S{10} /, ""),
    });
    /** A time that is so many minutes later. */
    const later = (text, minutes) => text.replace(/\d\d:\d\d:\d\d/g, text => {
      const [hour, minute, second] = text.split(":").map(Number);
      const all = (hour * 60 + minute + minutes + 1440) % 1440;
      return [Math.floor(all / 60), all % 60, second].map(part => String(part).padStart(2, "0")).join(":");
    });
    const [own, drawn] = [await seen(), await canvas()];
    same(own.zone, "UTC+5:30", "the label");
    await page.keyboard.press("u");
    await until(async () => (await seen()).zone === "UTC", "the label stays");
    await until(async () => await canvas() !== drawn, "the axis stays as it is");
    const want = Object.fromEntries(Object.entries(own).map(([name, text]) => [name, name === "zone" ? "UTC" : later(text, -330).replace("UTC+5:30", "UTC")]));
    await until(async () => JSON.stringify(await seen()) === JSON.stringify(want), "other clocks", 4000).catch(async () => same(await seen(), want, "the clocks"));
    ensure(page.url().includes("tz=utc"), `the address is ${page.url()}`);
    const next = await page.context().newPage();
    await next.goto(new URL(url).origin);
    await until(async () => (await next.locator("#zone").textContent()) === "UTC", "the next visit forgets it");
    await next.locator("#zone").click();
    await until(async () => (await next.locator("#zone").textContent()) === "UTC+5:30", "the button does not switch");
    ensure(next.url().includes("tz=local"), `the address is ${next.url()}`);
    await next.close();
    await close(page);
    return own.range;
  },

  async "axe finds nothing, in light and dark, at three sizes, with dialogs open"() {
    const axe = await readFile(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
    let looks = 0;
    const look = async (page, where, rules) => {
      const found = await page.evaluate(async rules => (await globalThis.axe.run(document.querySelector("dialog[open]") ?? document, { resultTypes: ["violations"], ...rules && { runOnly: rules } })).violations
        .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, any }) => `${html} ${any[0]?.message ?? ""}`).join(" and ")}`), rules);
      looks++;
      same(found, [], `${where}, ${page.viewportSize().width} pixels wide`);
    };
    // A chart of each kind: more of the same would only take longer.
    const chart = (title, kind, path, ...more) => [["chart", title], ["kind", kind], ["path", path], ...more];
    const page = await open(`#${new URLSearchParams([["w", 60], ...chart("Memory", "stack", "\\Linux Memory\\AnonPages", ["path", "\\Linux Memory\\MemFree"]),
      ...chart("Processors", "heat", "\\Processor Information(*)\\% User Time"), ...chart("Busiest", "rank", "\\Process V2(*)\\% Processor Time", ["top", 12]),
      ...chart("Pressure", "lines", "\\Pressure Stall(*)\\% Some Stalled Time"), ...chart("Mixed", "lines", "\\System\\Processes", ["path", "\\Processor Information(_Total)\\Parking Status"]),
      ...chart("Bars", "bars", "\\Processor Information(*)\\% User Time"), ...chart("Report", "report", "\\Memory\\Available Bytes"),
      ["chart", "Table"], ["kind", "table"], ["wide", 1], ["set", "Process V2"], ["facts", 1], ["tree", "cgroup"]])}`);
    for (const title of ["Memory", "Processors", "Mixed"]) await hasValues(page, title);
    await until(() => page.locator(".ranking tbody tr:not(.none)").count(), "no ranking");
    await card(page, "Table").scrollIntoViewIfNeeded();
    await until(() => page.locator(".grid tbody tr.group").count(), "no table");
    await card(page, "Table").getByRole("button", { name: "Columns", exact: true }).click();
    await until(() => page.locator(".grid .ticks input").count(), "no columns to choose");
    await page.evaluate(axe);
    const everywhere = async (where, sizes = [DESKTOP, LAPTOP, PHONE]) => {
      for (const { viewport } of sizes) {
        await page.setViewportSize(viewport);
        for (const colorScheme of ["light", "dark"]) {
          await page.emulateMedia({ colorScheme });
          // Of all rules only this one depends on the colours.
          await look(page, `${colorScheme}, ${where}`, colorScheme === "dark" ? ["color-contrast"] : null);
        }
      }
      await page.setViewportSize(DESKTOP.viewport);
    };
    await card(page, "Memory").locator(".name").first().click();
    await page.locator("#toggle").click();
    await page.getByRole("button", { name: "Remove Pressure", exact: true }).click();
    await page.locator(".menu-host button").first().click();
    await everywhere("paused, a line hidden, a chart removed, a menu open");
    await page.keyboard.press("Escape");
    await page.locator("#help").click();
    await everywhere("keys and hints");
    await page.keyboard.press("Escape");
    await page.locator("#add").click();
    await page.getByLabel("Search counters").fill("disk full");
    const found = page.locator(".results[data-words='disk full'] .result").first();
    await found.waitFor();
    await everywhere("what was found", [PHONE]); // on others it stays beside the counters
    await found.click();
    await page.locator(".counter.chosen").waitFor();
    await everywhere("the counters of a counterset");
    await close(page);
    const bare = await open("#none=1");
    await bare.evaluate(axe);
    await bare.locator("#overview").waitFor();
    await look(bare, "without charts", null);
    await close(bare);
    return `${looks} looks`;
  },
});
