// Files that the page saves: pictures of charts, and reports; each check a line of page.js.

import { readFile } from "node:fs/promises";

const RECORDED = process.env.RECORDED;

/** Names that would be elements, attributes, comments or no XML at all, if they were not treated as text. */
const HOSTILE = ["<script>owned=1</script>", "\" onload=\"owned=1", "]]><!-- & &amp;", "bell\u0007 half \ud800 end \u{202e}"];

/** Clicks an item of a chart's menu, or a button, and returns the file that is saved: `{name, bytes}`. */
async function saved(page, click) {
  const [download] = await Promise.all([page.waitForEvent("download"), click()]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

export const ofMenu = (page, card, item) => saved(page, async () => {
  await card.locator(".menu-host button").first().click();
  await page.getByRole("menuitem", { name: item }).click();
});

/** What checks need: pages, their parts, and how to wait for something and to say what is wrong. */
export const checksOfFiles = ({ open, close, ensure, same, until, card, legend, numbers }) => ({
  async "charts of every kind are saved as SVG, in which names are text"() {
    const page = await open("#none=1");
    const got = await page.evaluate(async hostile => {
      const [{ svgOf, timeMarks }, { linesOf, ordered }, { fileName }] = await Promise.all(["svg", "names", "save"].map(name => import(`/assets/${name}.js`)));
      const times = Array.from({ length: 61 }, (_, n) => 100_000 + n * 1000);
      const column = (instance, n, unit) => {
        const values = times.map((_, at) => at === 30 + n ? null : 10 * n + at);
        return {
          series: { path: `\\Set(${instance})\\Counter`, counterset: "Set", instance, counter: "Counter", unit, range: "unbounded" },
          values, least: values.map(value => value === null ? null : value - 3), greatest: values.map(value => value === null ? null : value + 3),
        };
      };
      const draw = (kind, columns, title) => svgOf({
        title, kind, lines: linesOf(kind, ordered(kind, columns)), times, interval: 1000, range: [100_000, 160_000], bounds: [0, 61],
        marks: [{ time: 120_000, text: hostile[0] }, { time: 121_000, text: "hidden", is_of_recorder: true }],
      });
      const all = {};
      for (const kind of ["lines", "stack", "heat"]) {
        const columns = hostile.map((name, n) => column(name, n, n < 2 ? "By" : "%"));
        const { text, width, height } = draw(kind, columns, hostile[0] + hostile[1]);
        const { documentElement: svg } = new DOMParser().parseFromString(text, "image/svg+xml");
        const elements = [...svg.querySelectorAll("*")];
        all[kind] = {
          root: svg.tagName, size: [svg.getAttribute("width"), svg.getAttribute("height")].join() === `${width},${height}`,
          tags: [...new Set(elements.map(one => one.tagName))].sort(), handlers: elements.flatMap(one => [...one.attributes]).filter(({ name }) => /^on|href|style/i.test(name)).length,
          texts: [...svg.querySelectorAll("text")].map(one => one.textContent), title: svg.querySelector("title").textContent,
          wrong: elements.filter(one => /NaN|Infinity|undefined/.test(one.outerHTML)).length,
          colours: new Set(elements.map(one => one.getAttribute("fill"))).size,
        };
      }
      const bare = new DOMParser().parseFromString(draw("lines", [], "").text, "image/svg+xml").documentElement.tagName;
      const names = [hostile[0], "", "../a\u202eb", "x".repeat(999)].map(title => fileName(title, 0, "svg").replace(/-\d{4}-\d\d-\d\dT\d{6}/, ""));
      const marks = [60_000, 86_400_000, 3e12].map(length => timeMarks([1e12, 1e12 + length], 800).length);
      return { all, bare, names, marks, owned: globalThis.owned === undefined };
    }, HOSTILE);
    for (const [kind, { root, size, tags, handlers, texts, title, wrong, colours }] of Object.entries(got.all)) {
      same([root, size, handlers, wrong], ["svg", true, 0, 0], `the picture of ${kind}`);
      const known = ["circle", "clipPath", "g", "linearGradient", "path", "rect", "stop", "text", "title"];
      same(tags.filter(tag => !known.includes(tag)), [], `elements of ${kind}`);
      same(title, HOSTILE[0] + HOSTILE[1], `the title of ${kind}`);
      for (const name of [HOSTILE[0], HOSTILE[1], HOSTILE[2], "bell\ufffd half \ufffd end \u{202e}"]) {
        // Rows of a heat map have shortened names.
        ensure(texts.some(text => kind === "heat" ? text.length > 2 && name.endsWith(text.replace(/^.*…/, "")) : text === name), `${kind} lacks ${name}: ${texts}`);
      }
      ensure(texts.some(text => /^\d\d:\d\d:\d\d$/.test(text)) && texts.some(text => /%$/.test(text)) && texts.some(text => /B$/.test(text)), `axes of ${kind}: ${texts}`);
      ensure(texts.includes(HOSTILE[0]) && !texts.includes("hidden"), `the marks of ${kind}`);
      ensure(colours > 5, `${kind} has ${colours} colours`);
    }
    same([got.bare, got.owned], ["svg", true], "a chart without lines, and what ran");
    same(got.names, ["script-owned-1-script.svg", "chart.svg", "a-b.svg", `${"x".repeat(60)}.svg`], "names of files");
    for (const count of got.marks) ensure(count >= 4 && count <= 13, `${got.marks} marks on time axes`);
    await close(page);
    return `${got.all.heat.tags.length} kinds of elements`;
  },

  async "a chart is saved by its menu as SVG and, twice as finely, as PNG"() {
    const page = await open(`#${new URLSearchParams([["w", 60], ["theme", "light"], ["chart", "RAM <b>"], ["path", "\\Memory\\Available Bytes"], ["path", "\\Memory\\Committed Bytes"]])}`);
    const ram = card(page, "RAM <b>");
    await until(async () => (await legend(page, "RAM <b>")).filter(line => numbers(line.cells)).length === 2, "no values");
    await ram.locator(".legend .name").nth(1).click();
    const svg = await ofMenu(page, ram, "Save as SVG");
    ensure(/^ram-b-\d{4}-\d\d-\d\dT\d{6}\.svg$/.test(svg.name), `it is called ${svg.name}`);
    const text = svg.bytes.toString("utf8");
    ensure(text.startsWith("<?xml") && text.includes("Available Bytes") && text.includes("GiB"), text.slice(0, 300));
    ensure(!text.includes(">Committed Bytes<"), "a hidden line is in it");
    const png = await ofMenu(page, ram, "Save as PNG");
    ensure(png.name === svg.name.replace(".svg", ".png") || png.name.endsWith(".png"), `it is called ${png.name}`);
    const [width, height] = [png.bytes.readUInt32BE(16), png.bytes.readUInt32BE(20)];
    const [, wide, high] = /<svg[^>]* width="(\d+)" height="([\d.]+)"/.exec(text);
    same([width, height], [2 * wide, Math.round(2 * high)], "pixels of the picture");
    const pixels = await page.evaluate(async bytes => {
      const { colour } = await import("/assets/palette.js");
      const bitmap = await createImageBitmap(new Blob([new Uint8Array(bytes)], { type: "image/png" }));
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      context.drawImage(bitmap, 0, 0);
      const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
      const wanted = [1, 3, 5].map(at => parseInt(colour(0).slice(at, at + 2), 16));
      let [own, dark] = [0, 0];
      for (let at = 0; at < data.length; at += 4) {
        if (wanted.every((part, n) => Math.abs(part - data[at + n]) < 12)) own++;
        if (data[at] + data[at + 1] + data[at + 2] < 200) dark++;
      }
      return { own, dark };
    }, [...png.bytes]);
    ensure(pixels.own > 50 && pixels.dark > 100, `${pixels.own} pixels of the line, ${pixels.dark} of the title`);
    // Rankings are tables, and no pictures.
    const rank = await open(`#${new URLSearchParams([["chart", "Busy"], ["kind", "rank"], ["path", "\\Process V2(*)\\% Processor Time"], ["top", 8]])}`);
    await card(rank, "Busy").locator(".menu-host button").first().click();
    same(await rank.getByRole("menuitem", { name: /Save as/ }).count(), 0, "pictures of a ranking");
    await close(rank);
    await close(page);
    return `${width} × ${height} pixels`;
  },

  async "a report of what is shown is saved, and opens without a network"() {
    const bare = await open("#none=1");
    ensure(await bare.locator("#report").isHidden(), "a server without a recording has the button");
    await close(bare);
    const added = new URLSearchParams([["w", 60], ["chart", "Added"], ["path", "\\System\\Context Switches/sec"], ["path", "\\Memory\\Available Bytes"]]);
    const page = await open(`#${added}`, { base: RECORDED });
    await until(async () => (await legend(page, "Added")).filter(line => numbers(line.cells)).length === 2, "no values");
    const { name, bytes } = await saved(page, () => page.getByRole("button", { name: "Report" }).click());
    ensure(/^[\w.-]+-\d{4}-\d\d-\d\dT\d{6}Z\.html$/.test(name), `it is called ${name}`);
    const html = bytes.toString("utf8");
    const data = JSON.parse(/id="data">(.*?)<\/script>/s.exec(html)[1]);
    ensure(data.to - data.from <= 61_000 && data.times.length > 1, `it is of ${data.to - data.from} ms`);
    same(data.charts[0].title, "System: Context Switches/sec", "the first chart");
    ensure(data.charts.length > 5, `${data.charts.length} charts`);
    // Beside the page it is a file, and where a browser shows it anyway, nothing of it runs.
    const answer = await page.evaluate(async () => {
      const { request } = await import("/assets/api.js");
      const { headers } = await request("api/v1/report?from=-10s");
      return [headers.get("content-disposition"), headers.get("content-security-policy")];
    });
    ensure(answer[0].startsWith("attachment;") && /(^|; )sandbox(;|$)/.test(answer[1]) && !answer[1].includes("script-src"), answer.join(" | "));
    await close(page);
    return `${name}, ${Math.round(bytes.length / 1000)} kB`;
  },
});
