// Findings: remarkable facts about the machine now, with the command that shows more; and what is not known.

import { problemOf, request } from "./api.js";
import { copy, h, iconButton, setText } from "./dom.js";
import { clock } from "./units.js";

/** How long the panel stays as high as it was, in ms: what comes and goes must not move the charts each time. */
const CALM = 10_000;

/** How long to wait after an error, in ms, unless a sample comes. */
const RETRY = 5000;

export class Findings {
  #machine;
  #interval;
  #element;
  #summary = h("p", { class: "summary", role: "status" }, "Measuring the first interval");
  #time = h("small");
  #list = h("ul");
  #unknown = h("ul");
  #details = h("details", { hidden: true }, h("summary"), this.#unknown);
  /** Rows of the list, by finding: they stay as long as it does, so that a button keeps its focus. */
  #rows = [];
  #asking = false;
  #asked = 0;
  #retry = 0;
  #isLive = true;
  /** When the panel was last as high as it may be. */
  #high = 0;

  constructor(element, machine, interval) {
    this.#element = element;
    this.#machine = machine;
    this.#interval = interval;
    element.append(h("header", {}, h("h2", {}, "Findings"), this.#summary, this.#time), this.#list, this.#details);
  }

  /** Whether findings are asked for: they are of now, and the past has none. */
  set isLive(isLive) {
    if (isLive === this.#isLive) return;
    this.#isLive = isLive;
    this.#element.classList.toggle("old", !isLive);
    if (isLive) this.ask();
    else if (!this.#rows.length && !this.#time.textContent) setText(this.#summary, "Paused: Resume shows the findings of now");
  }

  /** Asks the server, unless it was asked just now. Nothing happens while nobody can see the page. */
  async ask() {
    if (this.#asking || !this.#isLive || document.hidden) return;
    if (Date.now() - this.#asked < this.#interval / 2) return;
    this.#asking = true;
    this.#asked = Date.now();
    clearTimeout(this.#retry);
    let wait = RETRY;
    try {
      // A request that hangs would leave findings of the past as those of now.
      const answer = await request("/api/findings", { signal: AbortSignal.timeout(10_000 + 3 * this.#interval) });
      if (answer.ok) {
        this.show(await answer.json());
        wait = 0;
      } else {
        this.fail((await problemOf(answer)).error);
        // After a login the stream goes on, and its samples ask.
        if (answer.status === 401) wait = null;
      }
    } catch {
      this.fail("the server cannot be reached");
    }
    this.#asking = false;
    // Each sample asks. A page without charts receives none, so this does instead.
    if (wait !== null) this.#retry = setTimeout(() => this.ask(), wait + 1.5 * this.#interval);
  }

  /** Nothing is known now, and why: what was found before is shown no more. */
  fail(reason) {
    this.#draw([], []);
    setText(this.#summary, `Unknown: ${reason}`);
    setText(this.#time, "");
    this.#element.dataset.state = "unknown";
  }

  /** Shows a response of the server. */
  show({ time, findings, more, rules, unchecked }) {
    this.#draw(findings, unchecked);
    const isPart = unchecked.length > 0;
    let text = `${findings.length + more} now`;
    if (more) text = `${text}, the first ${findings.length} are shown`;
    if (findings.length === 0 && unchecked.length >= rules) text = "Unknown";
    else if (findings.length === 0) text = isPart ? "Nothing remarkable in what is known" : "Nothing remarkable";
    setText(this.#summary, text);
    setText(this.#time, `at ${clock(time)}`);
    this.#element.dataset.state = findings[0]?.severity ?? (isPart ? "unknown" : "fine");
    setText(this.#details.firstChild, `Unknown: ${unchecked.length} of ${rules} rules lack a value`);
  }

  #draw(findings, unchecked) {
    while (this.#rows.length > findings.length) this.#rows.pop().element.remove();
    findings.forEach((finding, n) => {
      const row = this.#rows[n] ??= new Row(this.#machine);
      row.show(finding);
      if (!row.element.isConnected) this.#list.append(row.element);
    });
    this.#details.hidden = unchecked.length === 0;
    const lines = unchecked.map(({ condition, subject, reason }) => `${condition}: ${subject === null ? "" : `${subject}: `}${reason}`);
    if (lines.join("\n") !== [...this.#unknown.children].map(line => line.textContent).join("\n")) {
      this.#unknown.replaceChildren(...lines.map(line => h("li", {}, line)));
    }
    this.#calm();
  }

  /** Keeps the height of the list for a while after findings end. */
  #calm() {
    const now = Date.now();
    const { style } = this.#list;
    const kept = parseFloat(style.minHeight) || 0;
    const needed = this.#rows.reduce((sum, { element }) => sum + element.offsetHeight, 0);
    if (needed >= kept || now - this.#high > CALM) {
      style.minHeight = needed ? `${needed}px` : "";
      this.#high = now;
    }
  }
}

/** One finding: its urgency, its sentence, and the next command with a button that copies it. */
class Row {
  #severity = h("b");
  #text = h("span", { class: "text" });
  #command = h("code");
  #button;
  #said = 0;

  constructor(machine) {
    this.#button = iconButton("copy", "Copy this command", () => this.#copy());
    this.element = h("li", {}, this.#severity, this.#text,
      h("span", { class: "next" }, h("small", {}, `more, on ${machine}:`), this.#command, this.#button));
  }

  show({ severity, text, next }) {
    this.element.dataset.severity = severity;
    setText(this.#severity, severity);
    setText(this.#text, text);
    setText(this.#command, next);
    const title = `Copy ${next}`;
    if (this.#button.title === title) return;
    this.#button.title = title;
    this.#button.setAttribute("aria-label", title);
  }

  async #copy() {
    if (!await copy(this.#command.textContent, "The next command")) return;
    this.#button.classList.add("done");
    clearTimeout(this.#said);
    this.#said = setTimeout(() => this.#button.classList.remove("done"), 1200);
  }
}
