// Tables, reports and bars of the page; each check a line of page.js.

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** The fragment of one table, and of other charts behind it. */
const fragment = (table, ...more) => `#${new URLSearchParams([["w", 60], ["chart", "All"], ["kind", "table"], ["wide", 1], ...table, ...more])}`;

const MEMORY = [["chart", "Memory"], ["kind", "lines"], ["path", "\\Memory\\Available Bytes"]];

/** What checks need: pages, their parts, and how to wait for something and to say what is wrong. */
export const checksOfTables = ({ open, close, ensure, same, until, card, legend, numbers, hasValues, samples, sleep }) => {
  const table = (page, title = "All") => card(page, title).locator(".grid");
  const status = (page, title) => table(page, title).locator(".status").textContent();
  const names = (page, title) => table(page, title).locator("tbody th[scope=row]").allTextContents();
  const hasRows = (page, title) => until(async () => (await names(page, title)).length > 3, "no rows");
  const view = page => new URLSearchParams(new URL(page.url()).hash.slice(1));
  /** Answers requests for tables; `act(query)` returns what they get, or nothing for what the server says. */
  const answered = async (page, act) => {
    await page.route(/\/api\/v1\/table\?/, async route => {
      const answer = await act(new URL(route.request().url()).searchParams);
      await (answer ? route.fulfill({ json: answer }) : route.continue());
    });
  };
  /** An answer with rows of `[name, value, reason, mark]`. */
  const answer = (rows, more) => ({
    counterset: "Process V2", time: 1_700_000_000_000, columns: [{ name: "% Processor Time", unit: "%", type: "", range: "unbounded" }],
    sort: "% Processor Time", order: "desc", count: rows.length, more: 0, without: [], errors: [],
    rows: rows.map(([name, value, reason, mark], id) => ({
      name, id, path: "", values: [value], missing: reason ? { 0: reason } : {}, marks: mark ? { 0: mark } : {}, facts: { user: "root", command_line: name },
    })), ...more,
  });

  return {
    async "a ranking becomes a table, which is sorted by keys, filtered, a tree, and restored by its address"() {
      const page = await open(`#${new URLSearchParams([["w", 60], ["chart", "Busiest"], ["kind", "rank"], ["path", "\\Process V2(*)\\% Processor Time"], ["top", 12]])}`);
      await page.getByRole("button", { name: "All columns" }).click();
      const title = "Process V2";
      const own = table(page, title);
      await hasRows(page, title);
      const order = () => own.locator("thead [aria-sort]").evaluateAll(cells => cells.map(cell => `${cell.textContent} ${cell.getAttribute("aria-sort")}`));
      same(await order(), ["% Processor Time descending"], "the order");
      // One tab stop for all heads.
      same(await own.locator("thead button[tabindex='0']").count(), 1, "tab stops");
      await own.locator("thead button").first().focus();
      await page.keyboard.press("Enter");
      await until(async () => (await order())[0] === "Name ascending", "not sorted by names");
      const listed = (await own.locator("tbody tr:not(.total) th").allTextContents()).map(name => name.toLowerCase());
      same(listed, [...listed].sort(), "the names");
      for (const wanted of ["Working Set", "Thread Count"]) {
        const place = async () => page.evaluate(() => document.activeElement.textContent);
        for (let n = 0; n < 20 && await place() !== wanted; n++) await page.keyboard.press("ArrowRight");
        same(await place(), wanted, "the focus");
      }
      await page.keyboard.press("Enter");
      await until(async () => (await order())[0] === "Thread Count descending", "not sorted by threads");
      same(await page.evaluate(() => document.activeElement.textContent), "Thread Count", "the focus after sorting");
      const at = (await own.locator("thead th").allTextContents()).indexOf("Thread Count");
      const counts = await own.locator("tbody tr:not(.total)").evaluateAll((rows, at) => rows.map(row => row.cells[at].textContent).filter(text => /\d/.test(text)).map(text => Number(text.replaceAll(",", ""))), at);
      ensure(counts.length > 3 && counts.every((count, n) => n === 0 || count <= counts[n - 1]), `the threads are ${counts}`);
      // Keys of the rows and of the text are not for the charts.
      await own.locator(".scroll").focus();
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("Space");
      await own.getByLabel("Filter names").press("<");
      await own.getByLabel("Filter names").press(">");
      same([await own.getByLabel("Filter names").inputValue(), await page.locator(".card h2").allTextContents()], ["<>", [title, "Busiest"]], "text, and charts");
      ensure(!page.url().includes("end="), "it is paused");
      // Text, and a tree with the ancestors of what has it.
      await own.getByLabel("Filter names").fill("node");
      await until(async () => (await names(page, title)).length && (await names(page, title)).every(name => name.includes("node")), "not filtered");
      await own.getByLabel("How rows are arranged").selectOption("parent");
      await until(() => own.locator("tbody .ancestor").count(), "no ancestors");
      const rooms = await own.locator("tbody th").evaluateAll(cells => cells.map(cell => parseFloat(cell.style.paddingLeft)));
      ensure(rooms[0] === 6 && Math.max(...rooms) > 6, `the rows begin at ${rooms}`);
      await own.getByLabel("How rows are arranged").selectOption("cgroup");
      await until(() => own.locator("tbody .group").count(), "no groups");
      await own.getByRole("button", { name: "Columns", exact: true }).click();
      await own.getByLabel("Handle Count").check();
      await until(async () => (await own.locator("thead th").allTextContents()).includes("Handle Count"), "no new column");
      await page.keyboard.press("Escape");
      ensure(await own.locator(".columns").isHidden(), "the columns stay open");
      const address = view(page);
      same([address.get("set"), address.get("sort"), address.get("order"), address.get("filter"), address.get("tree")], ["Process V2", "Thread Count", "desc", "node", "cgroup"], "the address");
      const shown = await own.locator("thead th").allTextContents();
      const other = await open(new URL(page.url()).hash);
      await until(() => table(other, title).locator("tbody .group").count(), "not restored");
      same(await table(other, title).locator("thead th").allTextContents(), shown, "restored columns");
      await close(other);
      await page.getByRole("button", { name: `Copy ${title} as CSV` }).click();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      ensure(copied.startsWith("Name,") && copied.includes("node:"), `copied ${copied.slice(0, 60)}`);
      await close(page);
      return `${counts.length} rows`;
    },

    async "a table is found among the counters, and a server that knows no past says so"() {
      const page = await open("#none=1");
      await page.locator("#add").click();
      await page.getByLabel("Search counters").fill("cgroup");
      await page.locator(".results[data-words=cgroup] .result", { hasText: /^CGroup/ }).first().click();
      await page.locator(".instances").getByLabel("all, as a table").check();
      for (const box of await page.locator(".instances input:checked:not([value='*table'])").all()) await box.uncheck();
      await page.getByRole("button", { name: "Add to chart" }).click();
      await until(async () => (await names(page, "CGroup")).length, "no rows");
      ensure(!(await page.locator(".grid thead th").allTextContents()).includes("Command"), "groups have no commands");
      await page.locator("#toggle").click();
      await until(async () => (await status(page, "CGroup")).includes("values of now: this server has no recording"), "it does not say what it shows");
      await close(page);
      return "";
    },

    async "a table asks once at a time, when its wish rests, and not while nobody sees it"() {
      const page = await open("#none=1");
      let [under, most, count] = [0, 0, 0];
      const filters = new Set();
      await answered(page, async query => {
        count++;
        most = Math.max(most, ++under);
        filters.add(query.get("filter"));
        await sleep(300);
        under--;
        return answer([["a", 1], ["b", 2], ["c", 3], ["d", 4]]);
      });
      await page.evaluate(hash => { location.hash = hash; }, fragment([["set", "Process V2"]]));
      await hasRows(page);
      await table(page).getByLabel("Filter names").pressSequentially("abcdefgh", { delay: 20 });
      await until(() => filters.has("abcdefgh"), "the filter is not asked for");
      ensure(filters.size <= 5, `asked for ${[...filters]}`);
      // Values of now come again by themselves.
      const before = count;
      await until(() => count >= before + 2, "it does not go on");
      await page.evaluate(() => { document.getElementById("charts").hidden = true; });
      await sleep(1500); // one may be under way
      const hidden = count;
      await sleep(4500);
      same(count, hidden, "requests while it is hidden");
      await page.evaluate(() => { document.getElementById("charts").hidden = false; });
      await until(() => count > hidden, "it does not come back");
      same(most, 1, "requests at the same time");
      await close(page);
      return `${count} requests, ${filters.size} filters`;
    },

    async "what a table does not know is a dash with its reason, and names of strangers are text"() {
      const page = await open("#none=1");
      const stranger = "<img src=x onerror=\"owned=1\"> \u202eevil";
      const groups = [{ path: "/<b>slice</b>", rows: 3 }];
      const rows = answer([[stranger, null, "denied"], ["no reason", null], ["zero", 0], ["held", 5, null, "held"]], { groups });
      rows.rows.slice(1).forEach(row => { row.group = 0; });
      let isBroken = false;
      await answered(page, () => isBroken ? { ...answer([]), nothing: { status: "failed", reason: "<i>the disk</i> is on fire" } } : rows);
      await page.evaluate(hash => { location.hash = hash; }, fragment([["set", "<script>"], ["tree", "cgroup"]]));
      await until(() => table(page).locator("tbody .group").count(), "no rows");
      const cells = await table(page).locator("tbody tr:not(.group)").evaluateAll(rows => rows.map(row => [row.cells[2].textContent, row.cells[2].title]));
      same(cells.slice(0, 3), [["–", "is refused by the system"], ["–", "no value"], ["0 %", ""]], "values");
      ensure(cells[3][0] === "5.00 % *" && cells[3][1].includes("stepped back"), `a mark is ${cells[3]}`);
      same((await names(page))[0], stranger, "the name");
      same(await page.evaluate(() => [globalThis.owned, document.querySelectorAll(".grid :is(img, b, i, script)").length]), [null, 0], "what ran");
      isBroken = true;
      await until(async () => (await status(page)).startsWith("No rows: <i>the disk</i> is on fire"), "no reason");
      ensure(await table(page).locator(".scroll").isHidden(), "old rows stay");
      await close(page);
      return "";
    },

    async "a table follows the cursor, and the right edge of what is shown, where there is a past"() {
      const page = await open("#none=1", { base: process.env.RECORDED });
      await samples(page, 3);
      const times = [];
      await answered(page, query => {
        times.push(query.get("at"));
        return answer([["a", 1], ["b", 2], ["c", 3], ["d", 4]], { time: Number(query.get("at") ?? Date.now()) });
      });
      await page.evaluate(hash => { location.hash = hash; }, fragment([["set", "Process V2"]], ...MEMORY));
      await page.reload();
      await hasRows(page);
      await hasValues(page, "Memory");
      same(times.at(-1), null, "the time at first");
      await until(async () => {
        // Charts move while what was recorded comes in.
        const box = await card(page, "Memory").locator(".u-over").boundingBox();
        await page.mouse.move(box.x + box.width - 2 - Math.random(), box.y + 30);
        return times.at(-1) !== null;
      }, "the cursor is not followed");
      const head = () => card(page, "Memory").locator(".legend thead th").nth(1).textContent();
      await until(async () => (await status(page)).endsWith(await head()), `the table is of ${await status(page)}, the legend of ${await head()}`);
      await page.mouse.move(5, 5);
      await until(() => times.at(-1) === null, "the cursor is gone, and its time stays");
      await page.locator("#toggle").click();
      await until(() => page.url().includes("end="), "it does not pause");
      await until(() => times.at(-1) === view(page).get("end"), "the right edge is not followed");
      const asked = times.length;
      await sleep(3000);
      same(times.length, asked, "requests for a time that stays");
      await close(page);
      return `${times.length} requests`;
    },

    async "reports and bars have the numbers of the charts, and follow the cursor"() {
      const query = new URLSearchParams([["w", 60], ["chart", "Numbers"], ["kind", "lines"], ["path", "\\Memory\\Available Bytes"], ["path", "\\Processor Information(_Total)\\% User Time"], ...MEMORY]);
      const page = await open(`#${query}`);
      await until(async () => (await legend(page, "Numbers")).filter(line => numbers(line.cells)).length === 2, "no values");
      const choose = kind => card(page, "Numbers").locator("select").selectOption(kind);
      await choose("report");
      const rows = () => card(page, "Numbers").locator(".numbers tr:has(td)").evaluateAll(rows => rows.map(row => [...row.cells].map(cell => cell.textContent)));
      await until(async () => (await rows()).length === 2, "no report");
      same((await rows()).map(([name]) => name), ["Available Bytes", "% User Time"], "counters");
      same(await card(page, "Numbers").locator("caption, .instance").allTextContents(), ["Memory", "Processor Information", "_Total"], "groups");
      ensure((await rows()).every(([, value]) => /\d/.test(value)), `values ${JSON.stringify(await rows())}`);
      ensure(await card(page, "Numbers").locator(".legend").isHidden() && await card(page, "Numbers").locator(".plots").isHidden(), "drawings stay");
      await choose("bars");
      await until(() => card(page, "Numbers").locator(".bars .bar").count(), "no bars");
      const [[, value], width] = [(await rows())[0], await card(page, "Numbers").locator(".bars .bar").first().evaluate(bar => bar.style.width)];
      ensure(/GiB/.test(value) && parseFloat(width) === 100, `the bar of ${value} is ${width} wide`);
      same(view(page).get("kind"), "bars", "the address");
      const when = () => card(page, "Numbers").locator(".when").textContent();
      ensure((await when()).startsWith("Last, "), `the values are of ${await when()}`);
      const box = await card(page, "Memory").locator(".u-over").boundingBox();
      await page.mouse.move(box.x + box.width - 2, box.y + 30);
      await until(async () => await when() === await card(page, "Memory").locator(".legend thead th").nth(1).textContent(), "the cursor is not followed");
      await page.mouse.move(5, 5);
      await choose("lines");
      await until(async () => (await legend(page, "Numbers")).filter(line => numbers(line.cells)).length === 2, "lines do not come back");
      ensure(await card(page, "Numbers").locator(".u-over").count() === 2, "no drawings");
      await close(page);
      return "";
    },

    async "tables, reports and bars fit a phone"() {
      const page = await open(fragment([["set", "Process V2"], ["facts", 1]], ["chart", "R"], ["kind", "report"], ["path", "\\Processor Information(*)\\% User Time"],
        ["chart", "B"], ["kind", "bars"], ["path", "\\Processor Information(*)\\% User Time"]), PHONE);
      await hasRows(page);
      await table(page).getByRole("button", { name: "Columns", exact: true }).click();
      await until(async () => (await table(page).locator(".ticks input").count()) > 5, "no columns to choose");
      same(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, "wider than the screen");
      // The names stay where the columns go.
      await table(page).locator(".scroll").evaluate(scroll => { scroll.scrollLeft = 400; });
      const left = await table(page).locator("tbody th").first().evaluate(cell => cell.getBoundingClientRect().left - cell.closest(".scroll").getBoundingClientRect().left);
      ensure(Math.abs(left) < 2, `the names are at ${left}`);
      await close(page);
      return "";
    },
  };
};
