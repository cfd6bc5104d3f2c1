// The machine and the logs of the server: which of them is shown, and the list to choose from.
//
// Another one is shown by loading the page anew with its id in the address: nothing of the one before is left.

import { problemOf, request, shownLog } from "./api.js";
import { byId, h, iconButton, setText } from "./dom.js";
import { OTHER_LOG } from "./view.js";

const textOf = ({ error, hints }) => [error, ...(hints ?? [])].join("; ");

/** Shows a log, or what the server shows by itself. With `keepCharts`, the charts that were chosen stay. */
export function show(id, keepCharts) {
  const now = new URLSearchParams(location.hash.slice(1));
  const next = new URLSearchParams();
  if (id) next.append("log", id);
  // Times of one log are no times of another.
  const left = new Set(keepCharts ? ["log", "end", "zoom"] : ["log", "end", "zoom", "none", "chart", "kind", "wide", "path", "top", "hide"]);
  for (const [name, value] of now) if (!left.has(name) && !(name === "compare" && OTHER_LOG.test(value))) next.append(name, value);
  const url = `${location.pathname}${location.search}#${next}`;
  if (url === `${location.pathname}${location.search}${location.hash}`) return;
  history.pushState(null, "", url);
  location.reload();
}

/** Says that the log of the address is gone. What the server shows by itself is one press away. */
export function sayGone(problem) {
  document.title = "perfset: no such log";
  const back = h("button", { type: "button", on: { click: () => show(null, false) } }, "Show what is there");
  byId("notices").replaceChildren(h("b", {}, "This log is not there: "), `${textOf(problem)} `, back);
}

export class Logs {
  #select = h("select", { "aria-label": "Machine or log that is shown", hidden: true, on: { change: () => show(this.#select.value, true) } });
  #remove = iconButton("close", "Remove this log from the server", () => this.#removed());
  #shown = null;

  constructor(host) {
    this.#remove.hidden = true;
    host.append(this.#select, this.#remove);
  }

  /**
   * Reads the list anew. Returns the other logs, `{id, name, first, last}`, with which what is shown can be compared, and
   * the limits for logs that are sent; `upload` is null if the server takes none.
   */
  async refresh() {
    const answers = await Promise.all(["api/logs", "api/v1/about"].map(address => request(address, { of: null }).catch(() => null)));
    if (!answers.every(answer => answer?.ok)) return { others: [], upload: null };
    const [{ logs, upload }, own] = await Promise.all(answers.map(answer => answer.json()));
    const open = logs.filter(log => log.state === "open" && log.id !== "log");
    const id = shownLog() ?? "";
    const first = logs.find(log => log.id === "log");
    const options = [["", first?.name ?? own.machine], ...open.map(log => [log.id, this.#nameOf(log)])];
    this.#select.replaceChildren(...options.map(([value, name]) => h("option", { value, dir: "auto", selected: value === id }, name)));
    this.#select.value = id;
    this.#select.hidden = options.length < 2;
    this.#shown = open.find(log => log.id === id) ?? null;
    this.#remove.hidden = this.#shown?.kind !== "upload";
    if (this.#shown) {
      document.title = `${this.#shown.name}: ${this.#shown.machine}: perfset`;
      this.#remove.title = `Remove ${this.#shown.name} from the server`;
      this.#remove.setAttribute("aria-label", this.#remove.title);
    }
    // What the server shows by itself may be a log or have a recording, which is in the list, too.
    const shown = id || (first ? "log" : "recording");
    const others = logs.filter(log => log.state === "open" && log.id !== shown);
    return { others: others.map(log => ({ id: log.id, name: this.#nameOf(log), first: log.first, last: log.last })), upload };
  }

  #nameOf({ kind, name, machine, machines, damages }) {
    const of = machines.length > 1 ? `${machine}, 1 of ${machines.length} machines` : machine;
    const parts = [kind === "recording" ? "recording" : name, of, damages ? `${damages} damaged places` : null];
    return parts.filter(part => part).join(" – ");
  }

  async #removed() {
    const answer = await request(`api/logs/${encodeURIComponent(this.#shown.id)}`, { method: "DELETE", isChange: true }).catch(() => null);
    if (answer?.ok || answer?.status === 404) show(null, false);
    else setText(byId("notices"), answer ? textOf(await problemOf(answer)) : "The server cannot be reached");
  }
}
