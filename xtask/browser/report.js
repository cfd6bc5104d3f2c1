// Reports of `perfset report` in a browser, opened from disk without a network: each check a line.
//
//   node report.js RECORDING LONG      two reports: of a recording of this machine, and of a long log with hostile names
//
// Whoever starts it reads the output: "ok NAME: figures" and "FAIL NAME: why" are results.

import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [recording, long] = process.argv.slice(2).map(file => pathToFileURL(file).href);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

/** What went wrong in any page: messages of the console, violations of the policy, requests. */
const faults = [];

async function open(url, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", offline: true, timezoneId: "Asia/Kolkata", ...options,
  });
  context.setDefaultTimeout(8_000);
  await context.addInitScript(() => {
    globalThis.violations = [];
    document.addEventListener("securitypolicyviolation", event => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  const page = await context.newPage();
  page.on("console", message => {
    if (message.type() === "error" || message.type() === "warning") faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", error => faults.push(`error: ${error.stack}`));
  page.on("request", request => { if (request.url() !== url) faults.push(`request: ${request.url()}`); });
  await page.goto(url);
  if (options.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready]");
  return page;
}

async function close(page) {
  faults.push(...(await page.evaluate(() => globalThis.violations)).map(what => `policy: ${what}`));
  await page.context().close();
}

function ensure(condition, what) {
  if (!condition) throw new Error(what);
}

/** The charts whose titles begin so. */
const card = (page, title) => page.locator(".card", { has: page.locator("h2", { hasText: new RegExp(`^${title}`) }) });
/** Number of different colours of each canvas. */
const colours = page => page.locator(".card canvas").evaluateAll(all => all.map(canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}));
const legend = (page, title) => card(page, title).locator(".legend tbody tr:not(.note)").evaluateAll(rows => rows.map(row => ({
  name: row.querySelector(".name span:last-child").textContent,
  cells: [...row.querySelectorAll("td")].slice(0, 4).map(cell => cell.textContent),
})));

const checks = {
  async "a recording has findings, charts of every kind, tables and commands"() {
    const page = await open(recording);
    const kinds = await page.locator(".card").evaluateAll(all => all.map(card => card.dataset.drawn));
    for (const kind of ["lines", "stack", "heat"]) ensure(kinds.includes(kind), `no chart of ${kind}: ${kinds}`);
    const drawn = await colours(page);
    ensure(drawn.length >= kinds.length && drawn.every(count => count > 8), `nothing is drawn: ${drawn}`);
    ensure((await legend(page, "Memory")).every(line => line.cells.every(text => /\d/.test(text))), "no values of memory");
    const tables = await page.locator("#tables h3").allTextContents();
    for (const title of ["Processes", "Volumes", "Network interfaces"]) ensure(tables.includes(title), `no table ${title}: ${tables}`);
    ensure(await page.locator("#tables tbody tr").count() > 5, "no rows");
    ensure(await page.locator("#found").getAttribute("data-state") !== "unknown", "no rule was checked");
    ensure(await page.locator("#commands code.command").count() >= 6, "no commands");
    await close(page);
    return `${kinds.length} charts`;
  },

  async "a drag zooms all charts, a double-click goes back, and the cursor has values"() {
    const page = await open(long);
    const shown = () => page.locator("#shown").textContent();
    const whole = await shown();
    const over = page.locator(".card .u-over").first();
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    const at = share => [box.x + box.width * share, box.y + box.height / 2];
    await page.mouse.move(...at(0.5));
    await page.waitForFunction(text => document.getElementById("shown").textContent !== text, whole);
    ensure(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(await shown()), `the cursor has no time: ${await shown()}`);
    const heads = () => page.locator(".legend thead th:nth-child(2)").allTextContents();
    ensure((await heads()).every(text => /^(\d\d-\d\d )?\d\d:\d\d:\d\d$/.test(text)), `not all follow the cursor: ${await heads()}`);
    await page.mouse.move(...at(0.25));
    await page.mouse.down();
    await page.mouse.move(...at(0.4), { steps: 5 });
    await page.mouse.up();
    await page.mouse.move(10, 10);
    await page.waitForFunction(() => !document.getElementById("whole").disabled);
    const zoomed = await shown();
    ensure(zoomed !== whole && zoomed.includes(" – "), `not zoomed: ${zoomed}`);
    await page.mouse.dblclick(...at(0.5));
    await page.mouse.move(10, 10);
    await page.waitForFunction(() => document.getElementById("whole").disabled);
    ensure(await shown() === whole, `not back: ${await shown()}, was ${whole}`);
    await page.locator("#closer").click();
    ensure(await shown() !== whole, "the button does not zoom");
    await page.keyboard.press("Escape");
    ensure(await shown() === whole, "Escape does not go back");
    await close(page);
    return `${zoomed} of ${whole}`;
  },

  async "times follow the zone"() {
    const page = await open(long);
    const time = () => page.locator("#head time").first().textContent();
    const local = await time();
    await page.locator("label[for=utc]").click();
    const utc = await time();
    const apart = (Date.parse(`${local.replace(" ", "T")}Z`) - Date.parse(`${utc.replace(" ", "T")}Z`)) / 60_000;
    ensure(apart === 330, `${local} is not 5:30 h after ${utc}`);
    ensure(await page.locator("#head .zone-name").textContent() === "UTC", "the zone is not named");
    ensure((await page.locator("#shown").textContent()).startsWith(utc), "the bar has another zone");
    await close(page);
    return utc;
  },

  async "a long log has means with bands, gaps and reasons"() {
    const page = await open(long);
    const data = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
    ensure(data.is_bucketed && data.times.length <= 1_501, `${data.times.length} points`);
    const line = data.lines.find(line => line.instance === "plain");
    const missing = line.values.findIndex((value, row) => value === null && line.why.some(([from, to]) => from <= row && row <= to));
    ensure(missing > 0, "no missing value has a reason");
    ensure(line.values.some((value, row) => value !== null && line.rows.least[row] < value && value < line.rows.greatest[row]), "no band");
    ensure(line.values.some((value, row) => value === null && !line.why.some(([from, to]) => from <= row && row <= to)), "no gap");
    const [max] = (await legend(page, "Shop: Requests")).filter(({ name }) => name.includes("plain")).map(({ cells }) => cells[3]);
    ensure(max === "400", `the greatest sample is ${max}`);
    await close(page);
    return `${data.times.length} points`;
  },

  async "names of the log are text"() {
    const page = await open(long);
    ensure(await page.evaluate(() => globalThis.owned === undefined), "a name ran as a script");
    ensure(await page.locator("img, iframe, object, embed, link").count() === 0, "a name became an element");
    const names = (await legend(page, "Shop: Requests")).map(line => line.name);
    ensure(names.some(name => name.includes("<script>owned=1")), `not as it is: ${names}`);
    await close(page);
    return names.length;
  },

  async "a phone, the dark and paper show everything"() {
    const page = await open(recording, { viewport: { width: 390, height: 844 }, colorScheme: "dark" });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    ensure(wide <= 390, `${wide} pixels wide`);
    const light = () => page.evaluate(() => getComputedStyle(document.querySelector(".card")).backgroundColor);
    const dark = await light();
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    ensure(await light() !== dark && await light() === "rgb(255, 255, 255)", `paper is ${await light()}`);
    ensure(await page.locator("#bar").isHidden(), "paper has buttons");
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    ensure(await light() === dark, `not dark again: ${await light()}`);
    await page.emulateMedia({ media: "screen", colorScheme: "dark" });
    const pdf = await page.pdf({ format: "A4" });
    ensure(pdf.length > 30_000, `a PDF of ${pdf.length} bytes`);
    await close(page);
    return `PDF of ${Math.round(pdf.length / 1000)} kB`;
  },

  async "without scripts everything except the charts is there"() {
    const page = await open(recording, { javaScriptEnabled: false });
    for (const part of ["#head h1", "#found h2", "#tables h3", "#commands code", "noscript"]) {
      ensure(await page.locator(part).first().isVisible(), `no ${part}`);
    }
    await page.context().close();
    return "";
  },
};

for (const [name, check] of Object.entries(checks)) {
  try {
    const figures = await check();
    if (faults.length) throw new Error(faults.splice(0).join("; "));
    console.log(`ok ${name}${figures === "" ? "" : `: ${figures}`}`);
  } catch (error) {
    faults.length = 0;
    console.log(`FAIL ${name}: ${error.message.split("\n")[0]}`);
  }
}
await browser.close();
