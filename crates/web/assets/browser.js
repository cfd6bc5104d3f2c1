// Finding counters: search, help texts, instances to tick, and the chart that they go to.

import { problemOf, request } from "./api.js";
import { h, icon, iconButton, setText } from "./dom.js";
import { pathOf } from "./names.js";
import { RANKED, RANKED_ASKED } from "./ranking.js";
import { Columns } from "./columns.js";
import { tableSpec } from "./table.js";

const INSTANCES_MAX = 500;

/** All instances, as a table: a text that is no name of an instance. */
const TABLE = "*table";

async function get(address, signal) {
  const answer = await request(address, { signal });
  if (answer.ok) return answer.json();
  const { error, hints } = await problemOf(answer);
  throw new Error([error, ...(hints ?? [])].join("; "));
}

export class Browser {
  #search;
  #results = h("div", { class: "results", role: "group", "aria-label": "What was found" });
  #detail = h("div", { class: "detail" });
  #target = h("select", { "aria-label": "Where the lines go" });
  #count = h("span", { class: "count", role: "status" });
  #add;
  #set = null;
  #counters = new Set();
  #instances = new Set();
  #asked = null;
  #timer = 0;

  /**
   * `page.targets()` names the charts that lines can go to, `page.add(chart or null, spec)` adds them, `page.room(asks)`
   * says for how many more there is room.
   */
  constructor(dialog, page) {
    this.dialog = dialog;
    this.page = page;
    this.#search = h("input", {
      type: "search", placeholder: "Search counters: cpu usage, disk full, packet loss, …", autocomplete: "off",
      spellcheck: "false", "aria-label": "Search counters", on: { input: () => this.#typed(), keydown: event => this.#key(event) },
    });
    this.#add = h("button", { type: "button", class: "primary", disabled: true, on: { click: () => this.#done() } }, "Add to chart");
    dialog.append(
      h("div", { class: "top" },
        h("h2", { id: "browser-title" }, "Add counters"), this.#search,
        iconButton("close", "Close", () => dialog.close())),
      h("div", { class: "middle" }, this.#results, this.#detail),
      h("div", { class: "bottom" }, this.#count, h("label", {}, "to ", this.#target), this.#add));
    dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });
    this.#results.addEventListener("keydown", event => this.#key(event));
    this.#detail.addEventListener("change", () => this.#ticked());
  }

  open() {
    this.#target.replaceChildren(h("option", { value: "" }, "a new chart"),
      ...this.page.targets().map(([n, title]) => h("option", { value: n }, title)));
    this.dialog.showModal();
    this.#search.select();
    this.#search.focus();
    this.#find();
    if (!this.#set) this.#hint();
  }

  #hint() {
    this.dialog.classList.remove("has-detail");
    this.#detail.replaceChildren(h("p", { class: "empty" }, "Choose a counterset, or search: what is found by its name or its help has a text beside it."));
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#find(), 120);
  }

  async #find() {
    this.#asked?.abort();
    const stop = this.#asked = new AbortController();
    const words = this.#search.value.trim();
    try {
      const [sets, found] = await Promise.all([
        get(`api/countersets${words ? `?${new URLSearchParams({ filter: words })}` : ""}`, stop.signal),
        words ? get(`api/find?${new URLSearchParams({ words })}`, stop.signal) : { matches: [], more: 0, words: [], unknown: [] },
      ]);
      if (stop === this.#asked) this.#show(sets.countersets, found, words);
    } catch (error) {
      if (error.name !== "AbortError") this.#results.replaceChildren(h("p", { class: "empty" }, error.message));
    }
  }

  #show(sets, { matches, more, words: searched, unknown }, words) {
    const item = (name, note, help, act) => h("button", { type: "button", class: "result", on: { click: act } },
      h("span", { class: "line" }, h("b", {}, name), h("small", {}, note)), help ? h("span", { class: "help" }, help) : null);
    const list = [];
    if (sets.length && words) list.push(h("h3", {}, "Countersets"));
    for (const set of sets) {
      const note = `${set.counters} counters`;
      list.push(item(set.name, note, set.help, () => this.#choose(set.name)));
    }
    if (matches.length) list.push(h("h3", {}, "Counters"));
    if (matches.length && matches.every(match => match.matched.length < searched.length)) {
      list.push(h("p", { class: "empty" }, `No counter has all of “${searched.join(" ")}”; these have most of them.`));
    }
    for (const match of matches) {
      list.push(item(match.counter, match.counterset, match.help, () => this.#choose(match.counterset, match.counter)));
    }
    if (more) list.push(h("p", { class: "empty" }, `and ${more} more: say more words`));
    for (const { word, nearest } of unknown) list.push(this.#unknown(word, nearest, words));
    if (list.length === 0) list.push(h("p", { class: "empty" }, `Nothing has “${words}”.`));
    this.#results.replaceChildren(...list);
    this.#results.dataset.words = words;
    this.#results.scrollTop = 0;
  }

  /** A word that nothing has, with the nearest words as buttons that search for them instead. */
  #unknown(word, nearest, words) {
    const instead = near => () => {
      const at = words.toLowerCase().indexOf(word);
      this.#search.value = at < 0 ? near : words.slice(0, at) + near + words.slice(at + word.length);
      this.#search.focus();
      this.#find();
    };
    const buttons = nearest.map(near => h("button", { type: "button", class: "nearest", on: { click: instead(near) } }, near));
    return h("p", { class: "empty" }, `Nothing has “${word}”.`, nearest.length ? " Did you mean " : null, buttons, nearest.length ? "?" : null);
  }

  /** Arrow keys go through what was found, Enter in the search takes the first. */
  #key(event) {
    const buttons = [...this.#results.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    if (event.key === "ArrowDown") buttons[Math.min(at + 1, buttons.length - 1)]?.focus();
    else if (event.key === "ArrowUp" && at >= 0) (buttons[at - 1] ?? this.#search).focus();
    else if (event.key === "Enter" && event.target === this.#search) buttons[0]?.click();
    else return;
    event.preventDefault();
  }

  async #choose(name, counter = null) {
    this.dialog.classList.add("has-detail");
    if (this.#set?.name !== name) {
      try {
        this.#set = await get(`api/countersets/${encodeURIComponent(name)}`);
      } catch (error) {
        this.#detail.replaceChildren(this.#back(), h("p", { class: "empty" }, error.message));
        return;
      }
      this.#counters.clear();
      this.#instances = new Set(this.#usual());
    }
    if (counter) this.#counters.add(counter);
    this.#describe(counter);
    this.#ticked();
  }

  /** What is ticked at first: the total if there is one, all if there are few. */
  #usual() {
    const names = this.#names();
    if (this.#set.instances === "single") return [];
    if (names.includes("_Total")) return ["_Total"];
    return names.length <= 8 ? ["*"] : ["top"];
  }

  #names() { return [...new Set(this.#set.instance_names.map(instance => instance.name))]; }

  #back() {
    const button = h("button", { type: "button", class: "with-icon back", on: { click: () => this.#hint() } }, icon("back"), h("span", {}, "Found"));
    return button;
  }

  #describe(chosen) {
    const set = this.#set;
    const check = (ticked, value, ...content) => h("label", {}, h("input", { type: "checkbox", value, checked: ticked.has(value) }), ...content);
    const parts = [this.#back(), h("h3", {}, set.name), h("p", { class: "help" }, set.help)];
    if (set.instances !== "single") {
      const names = this.#names();
      const options = [
        check(this.#instances, "*", h("span", {}, "all, with those to come ", h("code", {}, "*"))),
        check(this.#instances, "top", h("span", {}, `the ${RANKED} largest, as a ranking`)),
        check(this.#instances, TABLE, h("span", {}, "all, as a table")),
        ...names.slice(0, INSTANCES_MAX).map(name => check(this.#instances, name, h("span", {}, name))),
      ];
      const more = set.more || Math.max(0, names.length - INSTANCES_MAX);
      if (more) options.push(h("p", { class: "empty" }, `and ${more} more`));
      const box = h("div", { class: "ticks" }, options);
      const filter = names.length > 12 ? this.#filter(box) : null;
      parts.push(h("fieldset", { class: "instances" }, h("legend", {}, `Instances, ${names.length} now`), filter, box));
    }
    const { counters } = set;
    const box = h("div", { class: "ticks counters" }, counters.map(counter => {
      const can = counter.is_available;
      return h("div", { class: can ? "counter" : "counter cannot" },
        check(this.#counters, counter.name, h("span", {}, counter.name), h("small", {}, counter.unit)),
        h("span", { class: "help" }, can ? counter.help : `${counter.help} Not here: ${counter.availability}`));
    }));
    parts.push(h("fieldset", {}, h("legend", {}, `Counters, ${counters.length}`), counters.length > 12 ? this.#filter(box) : null, box));
    this.#detail.replaceChildren(...parts);
    this.#detail.scrollTop = 0;
    const inputs = [...box.querySelectorAll("input")];
    const input = inputs.find(input => input.value === chosen);
    const row = input?.closest(".counter");
    row?.classList.add("chosen");
    // The focus must not scroll: it shows the box, and not the text beside it.
    (input ?? inputs.find(input => input.checked) ?? inputs[0])?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "center" });
  }

  #filter(box) {
    const narrow = event => {
      const words = event.target.value.toLowerCase();
      for (const child of box.children) child.hidden = !child.textContent.toLowerCase().includes(words);
    };
    return h("input", { type: "search", class: "narrow", placeholder: "Filter", "aria-label": "Filter the list", on: { input: narrow } });
  }

  #ticked() {
    const values = selector => [...this.#detail.querySelectorAll(`${selector} input:checked`)].map(input => input.value);
    this.#counters = new Set(values(".counters"));
    this.#instances = new Set(values(".instances"));
    const asks = this.#asks();
    const over = -this.page.room(asks);
    const isTable = this.#instances.has(TABLE);
    this.#add.disabled = asks.length === 0 && !isTable || over > 0;
    const isSingle = this.#set?.instances === "single";
    const count = asks.length === 1 ? "1 path" : `${asks.length} paths`;
    const missing = isTable && asks.length === 0 ? "A table" : this.#counters.size === 0 ? "Tick a counter" : !isSingle && this.#instances.size === 0 ? "Tick an instance" : null;
    const full = over > 0 ? `${count}, ${over} more than the server takes: remove a chart, or ask for all instances at once` : null;
    setText(this.#count, missing ?? full ?? count);
  }

  #asks() {
    const { name, instances } = this.#set ?? {};
    if (!name) return [];
    const list = instances === "single" ? [null] : this.#instances.has("*") ? ["*"] : [...this.#instances].filter(name => name !== "top" && name !== TABLE);
    return [...this.#counters].flatMap(counter => [
      ...list.map(instance => ({ path: pathOf(name, instance, counter), top: 0 })),
      ...(this.#instances.has("top") ? [{ path: pathOf(name, "*", counter), top: RANKED_ASKED }] : []),
    ]);
  }

  #done() {
    const asks = this.#asks();
    const title = asks.length === 1 || this.#counters.size === 1 ? `${this.#set.name}: ${[...this.#counters][0]}` : this.#set.name;
    const rankings = asks.filter(ask => ask.top);
    const lines = asks.filter(ask => !ask.top);
    const spec = (asks, kind) => ({ title, kind, wide: false, asks, hidden: new Set() });
    if (lines.length) this.page.add(this.#target.value === "" ? null : Number(this.#target.value), spec(lines, "lines"));
    for (const ask of rankings) this.page.add(null, spec([ask], "rank"));
    // Without counters it has the usual columns.
    if (this.#instances.has(TABLE)) this.page.add(null, tableSpec(this.#set.name, { columns: [...this.#counters].slice(0, Columns.MOST) }));
    this.dialog.close();
    this.#counters.clear();
    this.#set = null;
    this.#ticked();
  }
}
