// Logs on the page: dropped, chosen, refused, taken back; each check a line of page.js.

import { readFile } from "node:fs/promises";

const LOG = new URL("../../testdata/logs/BasicPerfCounters.blg", import.meta.url);
const HOSTILE = "<img src=x onerror=\"owned=1\">.blg";

/** What checks need: pages, their parts, and how to wait for something and to say what is wrong. */
export const checksOfLogs = ({ open, close, ensure, same, until, legend, state, numbers, isDrawn, faults }) => {
  /** Drops a file onto the page, as a pointer does. */
  const drop = async (page, name, bytes) => {
    const data = await page.evaluateHandle(([name, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(text), letter => letter.charCodeAt(0))], name));
      return data;
    }, [name, bytes.toString("base64")]);
    await page.dispatchEvent("body", "dragenter", { dataTransfer: data });
    ensure(await page.locator("#drop").isVisible(), "nothing says that it can be dropped");
    await page.dispatchEvent("body", "dragover", { dataTransfer: data });
    await page.dispatchEvent("body", "drop", { dataTransfer: data });
    ensure(!await page.locator("#drop").isVisible(), "the page still waits for a file");
  };
  /** What the browser says about responses that a check wants: they are no faults. */
  const forgive = () => faults.splice(0, faults.length, ...faults.filter(fault => !/^console: Failed to load resource: .* (404|422) /.test(fault)));
  const faultsOf = async page => {
    await page.evaluate(await readFile(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8"));
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.target.join(" ")).join(", ")}`);
  };
  const logs = page => page.evaluate(async () => (await (await (await import("/assets/api.js")).request("api/logs")).json()).logs);
  /** While another log is loaded, there is no page to ask. */
  const stateOf = page => state(page).textContent().catch(() => null);
  const ready = page => until(() => page.locator("#open-log").isVisible(), "no button for logs");

  return {
    async "a log that is dropped is shown in place of the machine, to this browser only, until it is removed"() {
      const page = await open("#tz=utc");
      await ready(page);
      const begin = Date.now();
      await drop(page, "Basic.blg", await readFile(LOG));
      await until(() => /[#&]log=/.test(page.url()), "it is not shown");
      await until(async () => numbers((await legend(page, "Processor").catch(() => []))[0]?.cells ?? [""]), "no values of the log");
      const time = Date.now() - begin;
      await until(() => isDrawn(page, "Processor").catch(() => false), "nothing is drawn");
      await until(async () => (await stateOf(page)) === "Recorded", "not recorded");
      same((await legend(page, "Processor")).map(line => line.name).filter(name => name), ["0", "1", "2", "3", "_Total"], "lines");
      same(await page.title(), "Basic.blg: GEORGIS3: perfset", "the title");
      same(await page.locator("#machine").textContent(), "GEORGIS3", "the machine");
      const chooser = page.getByLabel("Machine or log that is shown");
      const [own, ...others] = await chooser.locator("option").allTextContents();
      same(others, ["Basic.blg – GEORGIS3"], "the list");
      ensure(own && !own.includes("GEORGIS3"), `the server's own machine is ${own}`);
      same(await faultsOf(page), [], "faults of accessibility");
      await page.keyboard.press("/");
      await page.getByLabel("Search counters").fill("queue");
      await until(() => page.locator(".result", { hasText: "Avg. Disk Queue Length" }).count(), "its counters are not found");
      await page.keyboard.press("Escape");
      const link = new URL(page.url()).hash;
      // Another login has nothing of it, and an address from another time neither.
      const other = await open(link);
      await until(async () => (await other.locator("#notices").textContent()).startsWith("This log is not there"), "another login sees it");
      await other.getByRole("button", { name: "Show what is there" }).click();
      await until(async () => (await stateOf(other)) === "Live", "the machine is not shown");
      await close(other);
      forgive();
      // The list leads to the machine and back.
      await chooser.selectOption({ index: 0 });
      await until(async () => (await stateOf(page)) === "Live", "the list does not lead to the machine");
      await until(() => chooser.isVisible(), "no list");
      await chooser.selectOption({ index: 1 });
      await until(async () => (await stateOf(page)) === "Recorded", "the list does not lead to the log");
      await page.getByRole("button", { name: "Remove Basic.blg from the server" }).click();
      await until(async () => (await stateOf(page)) === "Live", "it is not removed");
      same([await logs(page), /log=/.test(page.url())], [[], false], "logs that are left");
      await close(page);
      return `shown after ${time} ms`;
    },

    async "what is no log is refused in words, and its name is text"() {
      const page = await open();
      await ready(page);
      const panel = page.locator("#sending");
      await drop(page, HOSTILE, Buffer.from("<script>owned=1</script>"));
      await until(async () => (await panel.textContent()).includes("the file is not a log"), "it is not refused");
      forgive();
      ensure((await panel.textContent()).startsWith(`${HOSTILE}: `), `its name: ${await panel.textContent()}`);
      same(await faultsOf(page), [], "faults of accessibility");
      same([await page.evaluate(() => globalThis.owned), await panel.locator("img, script").count()], [undefined, 0], "what its name has done");
      await page.keyboard.press("Enter"); // the focus is at the button that closes it
      same(await panel.textContent(), "", "the panel");
      same(await logs(page), [], "logs that are left");
      // A hostile name of a log that is one.
      await drop(page, HOSTILE, await readFile(LOG));
      await until(async () => (await page.title().catch(() => "")).startsWith(HOSTILE), "it is not shown");
      same(await page.evaluate(() => globalThis.owned), undefined, "what its name has done");
      await page.getByRole("button", { name: `Remove ${HOSTILE} from the server` }).click();
      await until(async () => (await stateOf(page)) === "Live", "it is not removed");
      forgive(); // of requests for the log that were under way
      await close(page);
      return "";
    },

    async "a log is chosen by keys, told how far it is, and taken back"() {
      const page = await open();
      await ready(page);
      await page.route("**/api/logs/*?offset=*", () => {}); // a piece that does not arrive
      // It is there when the page knows whether logs can be sent.
      await page.locator("#open-log").waitFor();
      await page.locator("#open-log").focus();
      const chosen = new Promise(done => page.once("filechooser", done));
      await page.evaluate(() => 0); // by then the browser passes choosers on
      await page.keyboard.press("Enter");
      const chooser = await chosen;
      await chooser.setFiles(LOG.pathname);
      const panel = page.locator("#sending");
      await until(() => panel.getByRole("progressbar").count(), "no progress");
      same(await panel.locator(".what").textContent(), "0 % of 0.4 MB", "how far it is");
      same((await logs(page)).map(log => [log.name, log.state]), [["BasicPerfCounters.blg", "receiving"]], "logs");
      await panel.getByRole("button", { name: "Cancel" }).click();
      await until(async () => (await logs(page)).length === 0, "it is not taken back");
      same(await panel.textContent(), "", "the panel");
      await page.unroute("**/api/logs/*?offset=*");
      await close(page);
      return "";
    },
  };
};
