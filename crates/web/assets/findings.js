// Findings: remarkable facts about the machine now, with the command that shows more; and what is not known.

import { problemOf, request } from "./api.js";
import { copy, h, iconButton, setText } from "./dom.js";
import { clock, day } from "./zone.js";

/** How long the panel stays as high as it was, in ms: what comes and goes must not move the charts each time. */
const CALM = 10_000;

/** How long to wait after an error, in ms, unless a sample comes. */
const RETRY = 5000;

/** What is said where there are no findings. */
const SUMMARIES = {
  measuring: "Measuring the first interval",
  nothing: "Nothing remarkable",
  nothing_in_part: "Nothing remarkable in what is known",
  unknown: "Unknown",
};

export class Findings {
  #machine;
  #interval;
  #element;
  #summary = h("p", { class: "summary", role: "status" }, "Measuring the first interval");
  #time = h("small");
  /** The time of what is shown, in ms since 1970; null: of none. */
  #of = null;
  #list = h("ul");
  #unknown = h("ul");
  #details = h("details", { hidden: true }, h("summary"), this.#unknown);
  /** What the list of what is unknown shows. */
  #lines = "[]";
  /** Rows of the list, by finding: they stay as long as it does, so that a button keeps its focus. */
  #rows = new Map();
  #asking = false;
  #asked = 0;
  #retry = 0;
  #isLive = true;
  /** The time of a log that is asked for, in ms since 1970; null: the newest sample. */
  #at = null;
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
    else if (!this.#rows.size && !this.#time.textContent) setText(this.#summary, "Paused: Resume shows the findings of now");
  }

  /** Findings of another time of a log are asked for at once. */
  set at(at) {
    if (at === this.#at) return;
    this.#at = at;
    this.#asked = 0;
    this.ask();
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
      const answer = await request(`api/findings${this.#at === null ? "" : `?at=${this.#at}`}`, { signal: AbortSignal.timeout(10_000 + 3 * this.#interval) });
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
    this.#of = null;
    this.clocks();
    this.#element.dataset.state = "unknown";
  }

  /** Writes the time again: the zone may be another one. */
  clocks() { setText(this.#time, this.#of === null ? "" : `at ${day(this.#of) === day(Date.now()) ? "" : `${day(this.#of)} `}${clock(this.#of)}`); }

  /** Shows a response of the server. */
  show({ time, summary, findings, more, rules, unchecked }) {
    this.#draw(findings, unchecked);
    let text = SUMMARIES[summary] ?? `${findings.length + more} now`;
    if (more) text = `${text}, the first ${findings.length} are shown`;
    setText(this.#summary, text);
    this.#of = time;
    this.clocks();
    this.#element.dataset.state = findings[0]?.severity ?? (summary === "nothing" ? "fine" : "unknown");
    setText(this.#details.firstChild, `Unknown: ${unchecked.length} of ${rules} rules lack a value`);
  }

  #draw(findings, unchecked) {
    const gone = new Map(this.#rows);
    this.#rows = new Map();
    for (const finding of findings) {
      const key = this.#keyOf(finding);
      const row = gone.get(key) ?? new Row(this.#machine);
      gone.delete(key);
      row.show(finding);
      this.#rows.set(key, row);
    }
    for (const { element } of gone.values()) element.remove();
    let next = this.#list.firstChild;
    for (const { element } of this.#rows.values()) {
      // A row that is moved loses its focus, so one in its place is left there.
      if (element === next) next = next.nextSibling;
      else this.#list.insertBefore(element, next);
    }
    this.#details.hidden = unchecked.length === 0;
    const lines = JSON.stringify(unchecked);
    if (lines !== this.#lines) {
      this.#lines = lines;
      this.#unknown.replaceChildren(...unchecked.map(({ condition, subject, reason }) =>
        h("li", {}, `${condition}: `, subject === null ? null : [h("bdi", {}, subject), ": "], h("bdi", {}, reason))));
    }
    this.#calm();
  }

  /** A finding stays the same while its numbers change. Of one rule and subject there can be several. */
  #keyOf({ rule, subject }) {
    for (let n = 0; ; n++) {
      const key = JSON.stringify([rule, subject, n]);
      if (!this.#rows.has(key)) return key;
    }
  }

  /** Keeps the height of the list for a while after findings end. */
  #calm() {
    const now = Date.now();
    const { style } = this.#list;
    const kept = parseFloat(style.minHeight) || 0;
    const needed = [...this.#rows.values()].reduce((sum, { element }) => sum + element.offsetHeight, 0);
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
  /** The parts of the sentence that is shown. */
  #parts = "";

  constructor(machine) {
    this.#button = iconButton("copy", "Copy this command", () => this.#copy());
    this.element = h("li", {}, this.#severity, this.#text,
      h("span", { class: "next" }, h("small", {}, `more, on ${machine}:`), this.#command, this.#button));
  }

  show({ severity, parts, next }) {
    this.element.dataset.severity = severity;
    setText(this.#severity, severity);
    const known = JSON.stringify(parts);
    if (known !== this.#parts) {
      this.#parts = known;
      // A name in another direction would change the order of the words beside it.
      this.#text.replaceChildren(...parts.map(({ words, name }) => words ?? h("bdi", {}, name)));
    }
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
