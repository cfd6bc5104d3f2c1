// The modules of the page by themselves, with data that are made here; each check a line of page.js.

/** Opens a page, closes it, and says what is wrong. */
export const checksOfModules = ({ open, close, ensure, same }) => ({
  async "findings say what is not known, names stay text, and an error shows nothing of before"() {
    const page = await open("#w=60&none=1");
    const got = await page.evaluate(async () => {
      const { Findings } = await import("/assets/findings.js");
      const section = document.createElement("section");
      document.body.append(section);
      const findings = new Findings(section, "ada", 1e9);
      const said = () => [section.querySelector(".summary").textContent, section.dataset.state ?? null, section.querySelectorAll("ul:not(details ul) > li").length, section.querySelector("details").hidden];
      const answer = (summary, findings, unchecked, more = 0) => ({ time: 0, summary, findings, more, rules: 3, unchecked });
      const one = (severity, name, words) => ({ rule: "r", severity, subject: name, text: name + words, parts: [{ name }, { words }], next: "perfset disk" });
      const name = "<img src=x onerror=\"owned=1\">";
      const unknown = { rule: "r", condition: "a disk is busy", subject: name, status: "late", reason: "late" };
      const all = [said()];
      for (const shown of [answer("nothing", [], []), answer("nothing_in_part", [], [unknown]), answer("found", [one("critical", name, " is full"), one("note", "b", " is busy")], [unknown], 7), answer("unknown", [], [unknown, unknown, unknown])]) {
        findings.show(shown);
        all.push(said());
      }
      findings.show(answer("found", [one("critical", name, " is full")], [unknown]));
      const isolated = [...section.querySelectorAll("bdi")].map(one => one.textContent);
      const texts = [section.querySelector(".text").textContent, section.querySelector("details li").textContent, section.querySelectorAll("img").length];
      findings.fail("the server is busy");
      all.push(said());
      section.remove();
      return { all, texts, isolated, owned: globalThis.owned ?? null };
    });
    same(got.all, [
      ["Measuring the first interval", null, 0, true], ["Nothing remarkable", "fine", 0, true],
      ["Nothing remarkable in what is known", "unknown", 0, false], ["9 now, the first 2 are shown", "critical", 2, false],
      ["Unknown", "unknown", 0, false], ["Unknown: the server is busy", "unknown", 0, true],
    ], "what it says");
    same([got.texts, got.owned], [["<img src=x onerror=\"owned=1\"> is full", "a disk is busy: <img src=x onerror=\"owned=1\">: late", 0], null], "names");
    same(got.isolated, ["<img src=x onerror=\"owned=1\">", "<img src=x onerror=\"owned=1\">", "late"], "isolated names");
    await close(page);
    return `${got.all.length} states`;
  },

  async "a row of findings stays with its finding, and an unknown time is none"() {
    const page = await open("#w=60&none=1");
    const got = await page.evaluate(async () => {
      const { Findings } = await import("/assets/findings.js");
      const section = document.createElement("section");
      document.body.append(section);
      const findings = new Findings(section, "ada", 1e9);
      const one = (rule, subject, words, severity = "warning") => ({ rule, severity, subject, text: words, parts: [{ words }], next: `perfset ${rule}` });
      const show = (...findings_) => findings.show({ time: null, summary: "found", findings: findings_, more: 0, rules: 3, unchecked: [] });
      const rows = () => [...section.querySelectorAll(".text")].map(text => text.textContent);
      const seen = [];
      const see = () => seen.push([rows(), document.activeElement.title]);
      show(one("disk", "sda", "a 1"), one("net", "eth0", "drops 1"), one("net", "eth0", "errors 1"));
      section.querySelectorAll("button")[1].focus();
      see();
      show(one("disk", "sda", "a 2"), one("disk", "sdb", "b 2"), one("net", "eth0", "drops 2"), one("net", "eth0", "errors 2"));
      see();
      show(one("net", "eth0", "drops 3"), one("net", "eth0", "errors 3"));
      see();
      show(one("mem", null, "m 4", "critical"), one("net", "eth0", "drops 4"));
      see();
      const time = section.querySelector("header small").textContent;
      section.remove();
      return { seen, time };
    });
    const focus = "Copy perfset net";
    same(got.seen, [
      [["a 1", "drops 1", "errors 1"], focus], [["a 2", "b 2", "drops 2", "errors 2"], focus],
      [["drops 3", "errors 3"], focus], [["m 4", "drops 4"], focus],
    ], "rows and the focus");
    same(got.time, "", "the time");
    await close(page);
    return `${got.seen.length} states`;
  },

  async "of many instances the largest are drawn, stay, and the others are one line"() {
    const page = await open("#w=60&none=1");
    const got = await page.evaluate(async () => {
      const [{ Store }, { View }, { Card }] = await Promise.all(["store", "view", "card"].map(name => import(`/assets/${name}.js`)));
      const ask = { path: "\\Set(*)\\Counter", top: 0 };
      const series = (id, instance, more) => ({ id, path: `\\Set(${instance})\\Counter`, ask: 0, counterset: "Set", instance, counter: "Counter", unit: "%", ...more });
      const draw = async (kind, hasSum, more = 0) => {
        const store = new Store(1000, 3_600_000);
        store.request([ask]);
        // A hundred, of which the last are the largest; `_Total` first, as servers tell it.
        const ids = Array.from({ length: 100 }, (_, n) => n + 1);
        store.series([series(0, "_Total", { total: true }), ...ids.map(id => series(id, `p${id}`)), ...hasSum ? [series(999, "*", { sum: true })] : []]);
        const value = (id, n) => id > 85 ? 10 + id : id > 70 ? 0 : id % 3 + (id === 7 && n > 50 ? more : 0);
        const card = new Card({ title: "Many", kind, wide: false, asks: [ask], hidden: new Set() }, { store, view: new View(), cursor: { at: null, held: null }, marks: [], get range() { return this.view.range(this.store.last); }, cursorAt() {}, changed() {} });
        document.getElementById("charts").append(card.element);
        const drawn = [];
        for (let n = 1; n <= 60; n++) {
          const values = ids.map(id => value(id, n));
          const sum = values.reduce((sum, value) => sum + value, 0);
          store.sample({ time: 100_000 + n * 1000, ids: [0, ...ids, ...hasSum ? [999] : []], values: [sum, ...values, ...hasSum ? [sum + 5] : []], without: [["denied", 3], ["new_instance", 1]].map(([status, instances]) => ({ ask: 0, counter: "Counter", status, instances, of: 104 })) });
          card.draw();
          const rows = [...card.element.querySelectorAll(".legend tbody tr")];
          drawn.push(rows.map(row => row.querySelector(".name span:last-child")?.textContent).filter(Boolean));
        }
        const rows = [...card.element.querySelectorAll(".legend tbody tr")];
        const cell = name => rows.find(row => row.querySelector(".name span:last-child")?.textContent === name)?.querySelector("td").textContent;
        const notes = rows.filter(row => row.classList.contains("note")).map(row => row.textContent);
        card.destroy();
        return { drawn, others: cell("others"), notes };
      };
      const { Choice } = await import("/assets/choice.js");
      // Thirty, of which two have a value and the others none.
      const column = (instance, value, more) => ({ key: instance, series: series(0, instance, more), values: [value], why: new Map(), marks: new Map() });
      const few = Array.from({ length: 30 }, (_, n) => column(`p${n}`, n < 2 ? 5 : null));
      const none = new Choice().lines([[ask, [...few, column("*", 10, { sum: true })]]], "lines", "", [0, 1]);
      few[7].values = [0];
      const nothing = new Choice().lines([[ask, [...few, column("*", 10, { sum: true })]]], "lines", "", [0, 1]);
      // The first had twice its value for half of the step.
      const first = { ...few[0], values: [8], shares: new Map([[0, 0.5]]) };
      const half = new Choice().lines([[ask, [first, ...few.slice(1), column("*", 12, { sum: true })]]], "lines", "", [0, 1]);
      const unknown = [none, nothing, half].map(({ columns }) => columns.map(({ series, values }) => [series.instance, values[0]]));
      return { unknown, stack: await draw("stack", true), grown: await draw("stack", true, 400), lines: await draw("lines", false), heat: await draw("heat", true) };
    });
    const { stack, grown, lines, heat } = got;
    const unknown = [[["p0", 5], ["p1", 5], ["others", null]], [["p0", 5], ["p1", 5], ["others", 0]], [["p0", 8], ["p1", 5], ["others", 3]]];
    same(got.unknown, unknown, "others of which nothing is known, that have nothing, and beside a part of half a step");
    const large = Array.from({ length: 15 }, (_, n) => `p${100 - n}`);
    same(stack.drawn.at(-1).slice(0, 15), large, "the largest");
    same([stack.drawn.at(-1).length, stack.drawn.at(-1).at(-1)], [21, "others"], "lines of a stack");
    same(new Set(stack.drawn.slice(1).map(names => names.join())).size, 1, "choices while nothing changes");
    // The sum has 5 of what this page does not know; drawn are the fifteen, and five of those with 2.
    const rest = Array.from({ length: 70 }, (_, n) => (n + 1) % 3).reduce((sum, value) => sum + value, 0) - 5 * 2 + 5;
    same(stack.others, `${rest.toFixed(1)} %`, "the others");
    ensure(stack.notes.some(note => note.includes("4 of 104 instances have no value: the system refuses 3 (denied), 1 is new")), `how many have none: ${stack.notes}`);
    ensure(!grown.drawn[49].includes("p7") && grown.drawn.at(-1).includes("p7"), "what grows is drawn");
    same(grown.drawn.at(-1).filter(name => large.includes(name)).length, 15, "what was large stays");
    same(lines.drawn.at(-1).length, 50, "lines of what has no sum");
    same(lines.drawn.at(-1).slice(0, 15), large, "the largest of what has no sum");
    ensure(lines.notes.some(note => note.startsWith("50 more")), `how many are not drawn: ${lines.notes}`);
    same([heat.drawn.at(-1).length, heat.drawn.at(-1)[0]], [100, "p1"], "rows of a heat map");
    await close(page);
    return "";
  },

  async "a stack has no hole where a line has no value"() {
    const page = await open("#w=60&none=1");
    const heights = await page.evaluate(async () => {
      const [{ Store }, { View }, { Card }] = await Promise.all(["store", "view", "card"].map(name => import(`/assets/${name}.js`)));
      const ask = { path: "\\Set(*)\\Counter", top: 0 };
      const store = new Store(1000, 60_000);
      store.request([ask]);
      store.series(["a", "b", "c"].map((instance, id) => ({ id, path: `\\Set(${instance})\\Counter`, ask: 0, counterset: "Set", instance, counter: "Counter", unit: "%" })));
      // The lowest ends, the middle one begins later, and for a while there is nothing.
      for (let n = 0; n <= 60; n++) {
        const values = n > 25 && n < 35 ? [null, null, null] : [n < 15 ? 25 : null, n > 45 ? 25 : null, 25];
        store.sample({ time: 100_000 + n * 1000, ids: [0, 1, 2], values });
      }
      const view = new View();
      view.window = 60;
      const card = new Card({ title: "Stack", kind: "stack", wide: true, asks: [ask], hidden: new Set() }, { store, view, cursor: { at: null, held: null }, marks: [], get range() { return this.view.range(this.store.last); }, cursorAt() {}, changed() {} });
      document.getElementById("charts").append(card.element);
      card.draw();
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      const canvas = card.element.querySelector("canvas");
      const [over, own] = [card.element.querySelector(".u-over").getBoundingClientRect(), canvas.getBoundingClientRect()];
      const [left, top, width, height] = [over.left - own.left, over.top - own.top, over.width, over.height].map(size => Math.round(size * devicePixelRatio));
      const { data } = canvas.getContext("2d").getImageData(left, top, width, height);
      card.destroy();
      // Areas are filled with colours, the grid is grey and faint.
      const isFilled = (x, y) => {
        const [red, green, blue, alpha] = data.subarray(4 * (y * width + x));
        return alpha > 150 && Math.max(red, green, blue) - Math.min(red, green, blue) > 30;
      };
      return [7, 20, 30, 40, 53].map(second => {
        const x = Math.round((second + 0.4) / 60 * width);
        return Array.from({ length: height }, (_, y) => isFilled(x, y)).filter(Boolean).length / height;
      });
    });
    const want = [0.5, 0.25, 0, 0.25, 0.5];
    ensure(heights.every((height, n) => Math.abs(height - want[n]) < 0.06), `filled are ${heights}, should be ${want}`);
    await close(page);
    return "";
  },

  async "two that have the same name are two lines"() {
    const page = await open("#none=1");
    const got = await page.evaluate(async () => {
      const { Store, askKey } = await import("/assets/store.js");
      const store = new Store(1000, 60_000);
      const ask = { path: "\\Set(*)\\Counter", top: 0 };
      store.request([ask]);
      const series = id => ({ id, path: "\\Set(a:42)\\Counter", ask: 0, counterset: "Set", instance: "a:42", counter: "Counter", unit: "" });
      store.series([series(1)]);
      store.sample({ time: 1000, ids: [1], values: [10] });
      // It ended, and another one has its name and number.
      store.series([series(2)]);
      store.sample({ time: 2000, ids: [2], values: [20] });
      const values = () => store.columnsOf(askKey(ask)).map(column => column.values);
      const apart = structuredClone(values());
      // Another connection tells both, and what was missed.
      store.connected();
      store.series([series(1), series(2)]);
      store.history({ ids: [1, 2], times: [500, 1000, 2000], values: [[5, 10, null], [null, null, 20]] });
      const again = structuredClone(values());
      // The server was started anew: numbers mean other things, and the path is what is left.
      store.connected();
      store.series([series(3)]);
      store.sample({ time: 3000, ids: [3], values: [30] });
      return { apart, again, last: values().map(list => list.at(-1)) };
    });
    same(got.apart, [[10, null], [null, 20]], "one after the other");
    same(got.again, [[5, 10, null], [null, null, 20]], "as the history has them");
    same(got.last, [30, null], "after a restart");
    await close(page);
    return "";
  },

  async "values that are missing are gaps, with their reasons"() {
    const page = await open("#w=60&none=1");
    const got = await page.evaluate(async () => {
      const [{ Store }, { View }, { Card }, { csv }, { Ranking }] = await Promise.all(["store", "view", "card", "names", "ranking"].map(name => import(`/assets/${name}.js`)));
      const store = new Store(1000, 60_000);
      const [ask, ranked] = [{ path: "\\Set(*)\\Counter", top: 0 }, { path: "\\Set(*)\\Counter", top: 2 }];
      store.request([ask, ranked]);
      const series = (id, instance, ask) => ({ id, path: `\\Set(${instance})\\Counter`, ask, counterset: "Set", instance, counter: "Counter", unit: "By" });
      store.series([series(7, "a", 0), series(8, "=b", 0), series(7, "a", 1), series(8, "=b", 1), { ...series(9, "_Total", 1), total: true }, series(7, "a", 1)]);
      const sample = (time, a, b, missing) => store.sample({ time, ids: [7, 8, 9], values: [a, b, 100], missing, without: [{ ask: 1, counter: "Counter", status: "denied", instances: 150, of: 152 }] });
      sample(100_000, 2, 3);
      sample(101_000, 5, null, { 8: "denied" });
      const spec = { title: "Gaps", kind: "lines", wide: false, asks: [ask], hidden: new Set() };
      const card = new Card(spec, { store, view: new View(), cursor: { at: null, held: null }, marks: [], get range() { return this.view.range(this.store.last); }, cursorAt() {}, changed() {} });
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
      const ranking = new Ranking();
      ranking.update(store.rankedAt("\\Set(*)\\Counter\ttop=2", 109_500), true);
      const without = ranking.element.querySelector(".without").textContent;
      const said = () => [ranking.element.querySelector("table").hidden, ranking.element.querySelector(".empty").hidden, ranking.element.querySelector(".empty").textContent];
      const key = "\\Set(*)\\Counter\ttop=2";
      store.sample({ time: 110_000, ids: [], values: [], without: [{ ask: 1, counter: "Counter", status: "denied", instances: 152, of: 152 }], nothing: [{ ask: 1, status: "denied", reason: "denied: read as root" }] });
      ranking.update(store.rankedAt(key, 110_000), true);
      const refused = [said(), ranking.element.querySelector(".without").textContent];
      const early = new Store(1000, 60_000);
      early.request([ranked]);
      early.sample({ time: 100_000, ids: [], values: [], without: [{ ask: 0, counter: "Counter", status: "needs_two_samples", instances: 2, of: 2 }], nothing: [{ ask: 0, status: "needs_two_samples", reason: "once more" }] });
      ranking.update(early.rankedAt(key, 100_000), true);
      const waiting = [early.rankedAt(key, 100_000), said()[2]];
      const late = store.rankedAt("\\Set(*)\\Counter\ttop=2", 200_000);
      card.destroy();
      return { legend, lost, found, rank, late, without, refused, waiting, csv: csv([0, 1500], [{ name: "=1+1", values: [1, null] }, { name: 'a"b', values: [0.5, 2] }]) };
    });
    same(got.legend, [["5 B", "3.50 B", "2 B", "5 B"], ["is refused by the system", "3 B", "3 B", "3 B"]], "the legend");
    same(got.lost, [[100_000, 101_000, 102_000, 109_000], [2, 5, null, 7]], "a connection that was lost");
    const times = [99_000, 100_000, 101_000, 102_000, 103_000, 104_000, 109_000];
    same(got.found, [times, [1, 2, 5, 13, 17, null, 7], [null, 3, null, null, null, null, 11]], "what was missed");
    same([got.rank, got.late], [[["=b", 11], ["a", 7]], null], "the ranking");
    same(got.without, "150 of 152 instances have no value: the system refuses 150 (denied)", "how many are not in the ranking");
    same(got.refused, [[true, false, "Nothing to rank: denied: read as root"], "152 of 152 instances have no value: the system refuses 152 (denied)"], "a ranking of which all are refused");
    same(got.waiting, [null, "Waiting for the first sample"], "a ranking before its second sample");
    same(got.csv, "time,'=1+1,\"a\"\"b\"\n1970-01-01T00:00:00.000Z,1,0.5\n1970-01-01T00:00:01.500Z,,2\n", "as CSV");
    await close(page);
    return "";
  },

  async "a heat map has the colour of values at their times, and gaps where there are none"() {
    const page = await open("#w=60&none=1");
    const got = await page.evaluate(async () => {
      const [{ Store }, { View }, { Card }, { ramp }] = await Promise.all(["store", "view", "card", "palette"].map(name => import(`/assets/${name}.js`)));
      const colours = ramp().map(colour => colour.join());
      /** Draws rows of `[time, value...]`, and says what is wrong in the picture, and at which times which colours are. */
      const picture = async (seconds, rows) => {
        const ids = rows[0].slice(1).map((_, n) => n);
        const ask = { path: "\\Set(*)\\Counter", top: 0 };
        const store = new Store(1000, 3_600_000);
        store.request([ask]);
        store.series(ids.map(id => ({ id, path: `\\Set(${id})\\Counter`, ask: 0, counterset: "Set", instance: `${id}`, counter: "Counter", unit: "%" })));
        for (const [time, ...values] of rows) store.sample({ time, ids, values });
        const view = new View();
        view.window = seconds;
        const card = new Card({ title: "Heat", kind: "heat", wide: true, asks: [ask], hidden: new Set() }, { store, view, cursor: { at: null, held: null }, marks: [], get range() { return this.view.range(this.store.last); }, cursorAt() {}, changed() {} });
        document.getElementById("charts").append(card.element);
        card.draw();
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        const canvas = card.element.querySelector("canvas");
        const over = card.element.querySelector(".u-over").getBoundingClientRect();
        const own = canvas.getBoundingClientRect();
        const [left, top, width, height] = [over.left - own.left, over.top - own.top, over.width, over.height].map(size => Math.round(size * devicePixelRatio));
        const [min, max] = view.range(store.last);
        const timeOf = x => min + (x + 0.5) / width * (max - min);
        const { data } = canvas.getContext("2d").getImageData(left, top, width, height);
        const found = ids.map(row => Array.from({ length: width }, (_, x) => {
          const at = 4 * (Math.round((row + 0.6) * height / ids.length) * width + x);
          return data[at + 3] ? colours.indexOf(data.subarray(at, at + 3).join()) : null;
        }));
        card.destroy();
        const wrong = [];
        const pixel = (max - min) / width;
        ids.forEach(row => found[row].forEach((colour, x) => {
          const time = timeOf(x);
          const near = rows.filter(values => values[row + 1] !== null && Math.abs(values[0] - time) <= Math.max(540, pixel));
          const fits = near.some(values => Math.abs(values[row + 1] * 2.55 - colour) <= 1);
          if (colour !== null && !fits) wrong.push(`row ${row}: colour ${colour} at ${Math.round(time)}`);
          if (colour !== null && time < rows[0][0] - pixel) wrong.push(`row ${row}: ${Math.round(rows[0][0] - time)} ms before the first sample`);
          const isDue = values => time >= values[0] || rows.some(other => other[0] < values[0] && values[0] - other[0] < 2000);
          if (colour === null && near.some(values => Math.abs(values[0] - time) < 450 && isDue(values))) wrong.push(`row ${row}: nothing at ${Math.round(time)}`);
        }));
        return { wrong: wrong.slice(0, 5), count: wrong.length, found, pixel };
      };
      // Sixty seconds: the first sample after twenty, times that are never whole, a lost connection, a value that is missing.
      const jitter = n => 37 * Math.sin(n * 7);
      const few = [];
      for (let n = 20; n <= 60; n++) if (n <= 35 || n >= 44) few.push([100_000 + n * 1000 + jitter(n), n * 1.5, n === 28 ? null : (n * 37) % 100]);
      const some = await picture(60, few);
      // An hour, of which several samples share a pixel: one of them is large.
      const hour = Array.from({ length: 3601 }, (_, n) => [1_000_000 + n * 1000 + jitter(n), n === 1801 ? 100 : 10]);
      const many = await picture(3600, hour);
      const loud = many.found[0].filter(colour => colour > 200).length;
      return { some: [some.count, some.wrong], many: [many.count, many.wrong], loud, pixel: many.pixel };
    });
    same(got.some, [0, []], "the last minute");
    same(got.many, [0, []], "the last hour");
    ensure(got.pixel > 1500, `${got.pixel} ms a pixel: too few to share one`);
    same(got.loud, 1, "pixels with the one large sample");
    await close(page);
    return `${Math.round(got.pixel)} ms a pixel`;
  },

  async "a clock that is set back does not mix what was before with what is later"() {
    const page = await open("#w=60&none=1");
    const got = await page.evaluate(async () => {
      const [{ Store }, { Stream }] = await Promise.all(["store", "stream"].map(name => import(`/assets/${name}.js`)));
      const opened = [];
      window.fetch = async (address, { headers, signal }) => {
        if (!address.startsWith("api/stream")) return new Response("{}", { status: 503 }); // the page's own
        const source = { headers, signal };
        const body = new ReadableStream({ start(controller) { source.controller = controller; } });
        source.say = (name, data) => source.controller.enqueue(new TextEncoder().encode(`event: ${name}\n${data.time ? `id: ${data.time}\n` : ""}data: ${JSON.stringify(data)}\n\n`));
        opened.push(source);
        return new Response(body);
      };
      const path = "\\Set(a)\\Counter";
      const store = new Store(1000, 60_000);
      new Stream(store).ask([{ path, top: 0 }], 60);
      const begin = (source, times, values) => {
        source.say("series", { series: [{ id: 7, path, ask: 0, counterset: "Set", instance: "a", counter: "Counter", unit: "By" }] });
        source.say("history", { ids: [7], times, values: [values] });
      };
      await until(() => opened.length === 1, "a request");
      begin(opened[0], [900_000, 901_000], [1, 2]);
      opened[0].say("sample", { time: 902_000, ids: [7], values: [3] });
      opened[0].say("sample", { time: 3_000, ids: [7], values: [4] }); // by the new clock
      await until(() => opened.length === 2, "a request after the clock was set back");
      begin(opened[1], [1_000, 2_000, 3_000], [2, 3, 4]); // the server's history is by the new clock, too
      opened[1].say("sample", { time: 4_000, ids: [7], values: [5] });
      await until(() => store.last === 4_000, "the last sample");
      return { times: store.times, values: store.columns.get(path).values, opened: opened.length, aborted: opened.map(({ signal }) => signal.aborted), last: opened[1].headers["Last-Event-ID"] ?? null };
    });
    same(got, { times: [1_000, 2_000, 3_000, 4_000], values: [2, 3, 4, 5], opened: 2, aborted: [true, false], last: null }, "the store");
    await close(page);
    return "";
  },

  async "events are read however they are cut into pieces"() {
    const page = await open("#none=1");
    const got = await page.evaluate(async () => {
      const { parser } = await import("/assets/events.js");
      const text = ":\n\nevent: a\nid: 7\ndata: {\"x\":1}\n\nevent: b\ndata: one\ndata: two\n\n: silence\n\ndata:three\n\n";
      const read = pieces => {
        const events = [];
        const parse = parser(event => events.push([event.name, event.id, event.data]));
        pieces.forEach(parse);
        return JSON.stringify(events);
      };
      const whole = read([text]);
      const wrong = [];
      for (let at = 0; at <= text.length; at++) {
        for (let to = at; to <= text.length; to++) {
          const pieces = [text.slice(0, at), text.slice(at, to), text.slice(to)];
          if (read(pieces) !== whole) wrong.push(pieces);
        }
      }
      return { whole: JSON.parse(whole), wrong: wrong.slice(0, 3), single: read([...text]) === whole };
    });
    same(got.whole, [["a", "7", "{\"x\":1}"], ["b", null, "one\ntwo"], ["message", null, "three"]], "the events");
    same([got.wrong, got.single], [[], true], "pieces that are read wrongly");
    await close(page);
    return "";
  },

  async "a lost stream is tried again, later each time, and goes on behind its last event"() {
    const page = await open("#none=1");
    const got = await page.evaluate(async () => {
      const [{ Store }, { Stream }] = await Promise.all(["store", "stream"].map(name => import(`/assets/${name}.js`)));
      // The test calls what is due. Beside retries there is the watch of a connection: three samples and 10 s.
      const [tried, timers, watch] = [[], holdTimers("stream.js"), 13_000];
      const retry = async () => {
        const find = () => [...timers.values()].find(([, ms]) => ms !== watch);
        await until(find, "a retry");
        const [act, ms] = find();
        timers.clear();
        return [act, ms];
      };
      let answer = () => { throw new TypeError("no connection"); };
      window.fetch = async (address, { headers }) => {
        if (!address.startsWith("api/stream")) return new Response("{}", { status: 503 }); // the page's own
        tried.push(headers["Last-Event-ID"] ?? null);
        return answer();
      };
      const stream = new Stream(new Store(1000, 60_000));
      const states = [];
      stream.addEventListener("state", () => states.push(stream.state));
      stream.ask([{ path: "\\Set(a)\\Counter", top: 0 }], 60);
      const retries = [];
      for (let n = 0; n < 6; n++) {
        const [act, ms] = await retry();
        retries.push(ms);
        if (n === 5) answer = () => new Response("event: sample\nid: 5000\ndata: {\"time\":5000,\"ids\":[],\"values\":[]}\n\n");
        act();
      }
      const [act, first] = await retry();
      answer = () => new Response("{}", { status: 401 });
      act();
      await until(() => stream.state === "login", "a login");
      answer = () => new Response("event: end\ndata: {\"error\":\"because\"}\n\n");
      dispatchEvent(new StorageEvent("storage", { key: "perfset-key", newValue: "x" }));
      await until(() => stream.state === "lost", "the end of the stream");
      return { tried, retries, first, states, reason: stream.reason?.error };
    });
    const fits = got.retries.every((ms, n) => ms >= 0.75 * Math.min(15000, 1000 * 2 ** n) && ms <= 1.25 * Math.min(15000, 1000 * 2 ** n));
    ensure(fits && got.first <= 1250, `waits of ${got.retries}, and after a sample ${got.first}`);
    same(got.tried, [null, null, null, null, null, null, null, "5000", "5000"], "where it goes on");
    same([got.states, got.reason], [["lost", "live", "lost", "login", "lost"], "because"], "states");
    await close(page);
    return `${got.retries.map(ms => (ms / 1000).toFixed(1)).join(", ")} s`;
  },

  async "a log that does not grow is live, and stays so when it goes on"() {
    const page = await open("#none=1");
    const got = await page.evaluate(async () => {
      const [{ Store }, { Stream }] = await Promise.all(["store", "stream"].map(name => import(`/assets/${name}.js`)));
      const [tried, timers, bodies, watches] = [[], holdTimers("stream.js"), [], []];
      window.fetch = async (address, { headers }) => {
        if (!address.startsWith("api/stream")) return new Response("{}", { status: 503 }); // the page's own
        tried.push(headers["Last-Event-ID"] ?? null);
        return new Response(new ReadableStream({ start(body) { bodies.push(body); } }));
      };
      const stream = new Stream(new Store(1000, 60_000), true);
      const states = [];
      stream.addEventListener("state", () => states.push(stream.state));
      stream.ask([{ path: "\\Set(a)\\Counter", top: 0 }], 60);
      await until(() => bodies.length === 1, "a request");
      bodies[0].enqueue(new TextEncoder().encode("event: sample\nid: 5000\ndata: {\"time\":5000,\"ids\":[],\"values\":[]}\n\n"));
      await until(() => stream.state === "live", "a sample");
      watches.push(timers.size);
      bodies[0].close();
      await until(() => stream.state === "lost", "the end");
      const [[retry]] = timers.values();
      timers.clear();
      retry();
      await until(() => stream.state === "live", "a second connection");
      watches.push(timers.size);
      return { tried, states, watches };
    });
    same([got.tried, got.states, got.watches], [[null, "5000"], ["live", "lost", "live"], [0, 0]], "requests, states and watches");
    await close(page);
    return "no watch";
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
      const page = { store, view, cursor: { at: null, held: null }, marks: [], get range() { return this.view.range(this.store.last); }, cursorAt() {}, changed() {} };
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
      const { axisTexts, unitOf, valueText } = await import("/assets/units.js");
      return [cases.map(([value, unit]) => valueText(value, unitOf(unit))),
        [[0, 256, 512, 1024], [0, 128, 1024]].map(marks => axisTexts(marks, unitOf("By"))), [[0, 0.2], [0, 5, 10], [0, 0.025]].map(marks => axisTexts(marks, unitOf("")))];
    }, cases);
    cases.forEach(([value, unit, want], n) => same(got[0][n], want, `${value} ${unit}`));
    same(got.slice(1), [[["0.00 KiB", "0.25 KiB", "0.50 KiB", "1.00 KiB"], ["0.000 KiB", "0.125 KiB", "1.000 KiB"]], [["0.0", "0.2"], ["0", "5", "10"], ["0.000", "0.025"]]], "marks of axes");
    await close(page);
    return `${cases.length} of them`;
  },

  async "times have a zone, means the ends of their samples, and values that stand alone are points"() {
    const page = await open("#none=1", { timezoneId: "America/New_York" });
    const got = await page.evaluate(async () => {
      const { axisClock, clock, day, useZone, zoned } = await import("/assets/zone.js");
      const { figures } = await import("/assets/legend.js");
      const { lone } = await import("/assets/plot.js");
      const of = zone => { useZone(zone); return [clock(0), clock(0, false), day(0), axisClock(0, 1000), axisClock(3_600_000, 3_600_000), zoned(0).getHours()]; };
      const zones = [of(0), of(330), of(null)];
      return [
        zones, figures({ values: [1, null, 5] }, 0, 3), figures({ values: [1, 5], least: [0, 4], greatest: [2, 9], counts: [1, 3] }, 0, 2), figures({ values: [null] }, 0, 1),
        lone([1, null, 2, 3, null, 4], [0, 5]), lone([1, 2], [0, 1]),
      ];
    });
    same(got, [
      [["00:00:00", "00:00", "1970-01-01", "01-01", "01:00", 0], ["05:30:00", "05:30", "1970-01-01", "05:30:00", "06:30", 5],
        ["19:00:00", "19:00", "1969-12-31", "19:00:00", "20:00", 19]],
      { average: 3, min: 1, max: 5 }, { average: 4, min: 0, max: 9 }, null, [0, 5], null,
    ], "zones, figures, points");
    await close(page);
    return "";
  },

  async "views read back from their addresses"() {
    const page = await open("#none=1");
    const result = await page.evaluate(async () => {
      const { View } = await import("/assets/view.js");
      const fragments = [
        "w=300", "w=300&tz=utc", "w=300&tz=local", "w=60&end=1700000000000", "w=60&end=1700000000000&zoom=1699999990000-1699999999000&theme=dark", "w=300&none=1",
        "w=60&chart=t&kind=table&set=Process+V2&column=%25+User+Time&column=%3Cb%3E&sort=name&order=asc&filter=a%26b&tree=parent&facts=1&rows=300",
        "w=3600&theme=light&chart=a%26b&kind=stack&wide=1&path=%5CA%28x%29%5Cb&path=%5CC%28*%29%5Cd&top=12&hide=%5CA%28x%29%5Cb&chart=&kind=rank",
      ];
      const bad = ["", "w=7&end=x&zoom=9-3&theme=<b>&tz=x&path=lost&kind=__proto__&top=3", "chart=x&kind=constructor&top=1e9&zoom=1", "%%%",
        "chart=x&kind=table&tree=__proto__&order=up&rows=7&facts=x&kind=lines&set=y"];
      return [fragments.map(text => [View.fromFragment(text).toFragment(), text]), bad.map(text => View.fromFragment(text).toFragment())];
    });
    for (const [got, want] of result[0]) same(got, want, "a fragment");
    same(result[1], ["w=300", "w=300", "w=300&chart=x&kind=lines", "w=300", "w=300&chart=x&kind=lines"], "bad fragments");
    await close(page);
    return `${result[0].length + result[1].length} of them`;
  },
});
