// The page: it puts view, store, stream and cards together, and hears buttons and keys.

import { isLoggedIn, logIn, logOf, onLogin, problemOf, request, showLog, shownLog } from "./api.js";
import { byId, copy, h, setText } from "./dom.js";
import { onSystemTheme } from "./palette.js";
import { saveReport } from "./save.js";
import { Browser } from "./browser.js";
import { Charts } from "./charts.js";
import { Cursor } from "./cursor.js";
import { Findings } from "./findings.js";
import { Logs, sayGone } from "./logs.js";
import { FILLED, Past } from "./past.js";
import { askKey, Store } from "./store.js";
import { Stream } from "./stream.js";
import { Upload } from "./upload.js";
import { asksOf, isFixed, OTHER_LOG, overviewCharts, View, WINDOWS } from "./view.js";
import { clock, day, ownZone, usesUtc, useZone, zoneText } from "./zone.js";

const STATES = { connecting: "Connecting", live: "Live", lost: "Connection lost", refused: "Refused", login: "Logged out" };

/** What an earlier visit chose. A browser may keep nothing. */
const kept = name => { try { return localStorage.getItem(name); } catch { return null; } };

function keep(name, value) {
  try {
    if (value) localStorage.setItem(name, value); else localStorage.removeItem(name);
  } catch { /* it is chosen for this visit only */ }
}

/** Windows up to so many times what was recorded are offered. */
const WHOLE = 5;

/** A range of times, with their days where they are not of today. */
function spanText(from, to) {
  const ofDay = day(from) === day(Date.now()) ? "" : `${day(from)} `;
  const ofEnd = day(from) === day(to) ? "" : `${day(to)} `;
  return `${ofDay}${clock(from)} – ${ofEnd}${clock(to)} ${zoneText(to)}`;
}

const textOf = ({ error, hints }) => [error, ...(hints ?? [])].join("; ");

class Page {
  cursor = new Cursor();
  /** The samples as they come, with what came just before. */
  #live;
  /** What was recorded; null without a recording. */
  #past = null;
  /** The store that was shown when it was last looked at. */
  #looked = null;
  #about;
  #charts;
  #stream;
  #browser;
  #findings;
  #frame = 0;
  #legends = 0;
  #written = null;
  /** Why the last report could not be saved; null if it was. */
  #unsaved = null;
  /** Logs to compare with: `{id, name, first, last}`; null until the server has said which there are. */
  #others = null;

  constructor(about) {
    this.#about = about;
    this.view = View.fromFragment(location.hash.slice(1));
    // A short log fills its charts, unless the address says how long they are.
    if (about.log && !/(^|&)w=/.test(location.hash.slice(1))) {
      const [first, last] = about.log;
      const whole = WINDOWS.find(([seconds]) => seconds * 1000 >= last - first)?.[0] ?? this.view.window;
      this.view.window = Math.min(this.view.window, whole);
    }
    this.#live = new Store(about.interval_ms, about.history_s * 1000);
    const recorded = about.recording ?? about.log;
    if (recorded) {
      this.#past = new Past(recorded, about.interval_ms, Boolean(about.log));
      this.#past.addEventListener("data", () => {
        this.#look();
        this.#showState();
        this.draw();
      });
    }
    const fill = recorded ? (seconds, signal) => this.#past.fill(this.#live, this.#charts.specs, seconds, signal) : null;
    this.#stream = new Stream(this.#live, Boolean(about.log), fill);
    this.#findings = new Findings(byId("findings"), about.machine, about.interval_ms);
    this.#stream.addEventListener("data", () => {
      this.#look();
      this.draw();
      this.#findings.ask();
    });
    this.#stream.addEventListener("state", () => this.#showState());
    this.#stream.addEventListener("refused", () => this.#sieve());
    this.#charts = new Charts({ element: byId("charts"), notice: byId("removed"), bare: byId("bare") }, this);
    this.#browser = new Browser(byId("browser"), {
      targets: () => this.#charts.specs.map((chart, n) => [n, chart.title, chart.kind]).filter(([, , kind]) => !isFixed(kind)),
      add: (n, spec) => this.#charts.add(n, spec),
      room: asks => this.#room(asks),
    });
    setText(byId("machine"), about.machine);
    byId("machine").title = about.system;
    setText(byId("version"), `perfset ${about.version} on ${about.system}.`);
    byId("metrics").hidden = Boolean(about.log);
    setText(byId("not-shown"), about.not_shown.map(why => `Not shown: ${why}.`).join(" "));
    document.title = `${about.machine}: perfset`;
    this.#listen();
    this.#restore();
    this.#findings.ask();
  }

  /** What the charts show: the samples as they come, or a range of what was recorded. */
  get store() { return this.#past?.store ?? this.#live; }

  /** The newest time of all; now if nothing has come yet. */
  get #now() { return this.#live.last ?? this.#past?.last ?? Date.now(); }

  /** The time of the first sample that can be shown. */
  get #first() { return this.#past?.first ?? this.#now - this.#about.history_s * 1000; }

  /** What was written into the recording: `{time, text}`. */
  get marks() { return this.#past?.marks ?? []; }

  /** A ranking as it was at a time; null if nothing is known of it yet. */
  rankedAt(ask, time) {
    if (!time) return null;
    return this.#live.rankedAt(askKey(ask), time) ?? this.#past?.ranked(ask, time) ?? null;
  }

  /** The range that is shown. */
  get range() {
    const { view } = this;
    if (view.isLive && this.#past && (view.window > FILLED || this.#isCompared)) {
      const end = this.#past.endOf(this.#now, view.window * 1000);
      return [end - view.window * 1000, end];
    }
    return view.range(this.#now);
  }

  /** Reads what was recorded, where the samples that have come do not have it. */
  #look() {
    if (!this.#past) return;
    const { view, range } = this;
    const compared = this.#comparison;
    const isNeeded = compared !== null || (view.isLive ? view.window > FILLED : range[0] < this.#live.oldest || range[1] - range[0] > FILLED * 1000);
    this.#past.show(this.#charts.specs, isNeeded ? range : null, { compared, goesOn: view.isLive });
    if (!isNeeded) this.#past.lookForMarks(this.#charts.specs);
    // Rows of one store are none of another.
    if (this.#looked !== this.store) this.cursor.release();
    this.#looked = this.store;
  }

  /** The log that what is shown is compared with; null without. */
  get otherLog() {
    const [, , id] = OTHER_LOG.exec(this.view.compared) ?? [];
    return this.#others?.find(log => log.id === id) ?? null;
  }

  /** Whether there is something to compare with. */
  get #isCompared() {
    const { compared } = this.view;
    return this.#past !== null && compared !== null && (!OTHER_LOG.test(compared) || this.otherLog !== null);
  }

  /** The values beside those that are shown, as `Past` reads them: `{earlier, of}`; null without. */
  get #comparison() {
    const { compared } = this.view;
    if (!this.#isCompared) return null;
    if (OTHER_LOG.test(compared)) {
      const { otherLog } = this;
      return { earlier: compared.startsWith("begin:") ? this.#first - otherLog.first : 0, of: otherLog.id };
    }
    // The time just before is as long as what is shown.
    return { earlier: compared === "before" ? Math.round(this.range[1] - this.range[0]) : compared };
  }

  /** What the dotted lines are. */
  get comparedText() {
    const { range, otherLog } = this;
    const comparison = this.#comparison;
    if (!comparison) return "";
    const [from, to] = range.map(time => time - comparison.earlier);
    return `${otherLog ? `${otherLog.name}, ` : ""}${spanText(from, to)}`;
  }

  /** The server has these other logs, `{id, name, first, last}`. */
  compareWith(others) {
    this.#others = others;
    const [first, last] = [this.#first, this.#now];
    const options = others.flatMap(({ id, name, first: begin, last: end }) => [
      ...(begin <= last && end >= first ? [[`same:${id}`, `${name}, the same time`]] : []),
      [`begin:${id}`, `${name}, from its beginning`],
    ]);
    const group = byId("compare-logs");
    group.replaceChildren(...options.map(([value, text]) => h("option", { value, dir: "auto" }, text)));
    group.hidden = options.length === 0;
    this.#moved();
  }

  /** The charts of the view; without any of its own those of the server. */
  #specs() { return this.view.charts ?? overviewCharts(this.#about.overview); }

  /** Shows the view, whatever it was before. */
  #restore() {
    // Where the address says nothing, theme and zone stay as an earlier visit chose them.
    this.#retheme(this.view.theme ?? document.documentElement.dataset.theme ?? null);
    this.#rezone(this.view.zone ?? kept("zone"));
    this.#charts.show(this.#specs());
    this.#moved();
  }

  /** A chart was changed: from now on the address has all of them. */
  changed() {
    this.view.charts = this.#charts.specs;
    this.#charts.changed();
    this.#asked();
    this.#write();
    this.draw();
  }

  /** Adds a chart. */
  add(spec) { this.#charts.add(null, spec); }

  /** Whether the server knows the values of times before now. */
  get hasPast() { return Boolean(this.#about.log ?? this.#about.recording); }

  remove(card) { this.#charts.remove(card); }

  move(card, by) { this.#charts.move(card, by); }

  /** Back to the charts of the server. */
  #showOverview() {
    this.view.charts = null;
    this.#restore();
    byId("charts").focus({ preventScroll: true });
  }

  #asked() {
    const seconds = Math.max(this.view.window, (this.#now - this.range[0]) / 1000);
    this.#stream.ask(asksOf(this.#charts.specs), Math.min(seconds, this.#past ? FILLED : this.#about.history_s));
    this.#look();
  }

  /** How many more paths the server takes if these come too; negative if they are too many. */
  #room(asks) {
    return this.#about.limits.paths - asksOf([...this.#charts.specs, { asks }]).length;
  }

  /** The server refused the stream: which paths it does not like is asked one by one, a few at a time. */
  async #sieve() {
    if (shownLog() !== null) {
      const answer = await request("api/about").catch(() => null);
      // Not the paths are wrong: the log is gone.
      if (answer && [403, 404].includes(answer.status)) return sayGone(await problemOf(answer));
    }
    const paths = [...new Set(asksOf(this.#charts.specs).map(ask => ask.path))];
    const test = async path => {
      const answer = await request(`api/query?${new URLSearchParams({ path })}`).catch(() => null);
      if (!answer || ![400, 404].includes(answer.status)) return;
      const { error } = await problemOf(answer);
      for (const ask of this.#charts.specs.flatMap(chart => chart.asks)) if (ask.path === path) ask.error = error;
    };
    while (paths.length) await Promise.all(paths.splice(0, 8).map(test));
    this.#asked();
    this.draw();
  }

  // Time

  zoomTo(from, to) {
    if (to - from < 2 * this.#live.interval) return;
    this.view.zoom = [from, to];
    this.#moved();
  }

  unzoom() {
    this.view.zoom = null;
    this.#moved();
  }

  #pause(end = this.#now) {
    this.view.end = end;
    this.view.zoom = null;
    this.#moved();
  }

  #resume() {
    this.view.end = null;
    this.unzoom();
  }

  #toggle() { if (this.view.isLive) this.#pause(); else this.#resume(); }

  /** Earlier or later by a part of what is shown, within what is known. */
  #step(direction) {
    if (this.#live.last === undefined && !this.#past) return;
    const [from, to] = this.range;
    const length = to - from;
    const end = Math.min(this.#now, Math.max(this.#first + length, to + direction * length / 3));
    if (this.view.zoom) {
      this.view.zoom = [end - length, end];
      this.#moved();
    } else if (!this.view.isLive || direction < 0) {
      this.#pause(end);
    }
  }

  /** Compares as the view says it, or with nothing. */
  #compare(text) {
    this.view.compared = text === "" ? null : /^\d+$/.test(text) ? Number(text) : text;
    this.#moved();
  }

  #setWindow(seconds) {
    this.view.window = seconds;
    this.view.zoom = null;
    this.#moved();
  }

  /** The time shown is another one. */
  #moved() {
    const { view } = this;
    for (const input of byId("windows").querySelectorAll("input")) input.checked = Number(input.value) === view.window;
    const toggle = byId("toggle");
    setText(toggle.querySelector("span"), view.isLive ? "Pause" : "Resume");
    toggle.querySelector("use").setAttribute("href", view.isLive ? "#i-pause" : "#i-play");
    byId("past").hidden = view.isLive;
    byId("compare").value = view.compared ?? "";
    // What was recorded has findings of any time.
    if (this.#past) this.#findings.at = view.isLive ? null : Math.round(this.range[1]);
    else this.#findings.isLive = view.isLive;
    this.#asked();
    this.#write();
    this.#showState();
    this.draw();
  }

  #showPast() {
    const { comparedText } = this;
    byId("compared").hidden = !comparedText;
    setText(byId("compared"), comparedText && `Dotted: ${comparedText}`);
    if (this.view.isLive) return;
    const [from, to] = this.range;
    setText(byId("range-text"), `${spanText(from, to)}${this.view.zoom ? ", zoomed" : ""}`);
    const position = byId("position");
    const [first, span] = [this.#first, Math.max(1, this.#now - this.#first)];
    if (document.activeElement !== position) position.value = Math.round((to - first) / span * 1000);
  }

  #slid(part) {
    const [from, to] = this.range;
    const length = to - from;
    const end = Math.min(this.#now, Math.max(this.#first + length, this.#first + part * (this.#now - this.#first)));
    if (this.view.zoom) this.view.zoom = [end - length, end]; else this.view.end = end;
    this.#moved();
  }

  // Drawing

  /** Draws at the next frame, once however often it is asked; nothing while nobody can see it. */
  draw() {
    if (this.#frame || document.hidden) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.store.last !== undefined) this.cursor.follow(this.store, this.range);
      this.#charts.draw();
      this.#showPast();
      this.#showZone();
    });
  }

  /** The pointer is at this row of the store in one of the charts, or in none. */
  cursorAt(at) {
    if (at === this.cursor.at || this.cursor.held !== null) return;
    this.cursor.at = at;
    this.#drawLegends();
  }

  #drawLegends() {
    if (this.#legends) return;
    this.#legends = requestAnimationFrame(() => {
      this.#legends = 0;
      this.#charts.drawLegends();
    });
  }

  /** Keys move the cursor of all charts by so many samples; of one its values are read out. */
  moveCursor(card, by) {
    if (this.store.last === undefined || !this.cursor.move(this.store, this.range, by)) return;
    this.#charts.drawCursor();
    this.say(card.reading());
  }

  /** Takes the cursor away that keys have put somewhere. False if there is none. */
  releaseCursor() {
    if (this.cursor.held === null) return false;
    this.cursor.release();
    this.#charts.drawCursor();
    return true;
  }

  /** Says something to those who hear the page. */
  say(text) { setText(byId("said"), text); }

  #showState() {
    const { state, since, reason } = this.#stream;
    const isStill = state === "live" && !this.view.isLive;
    byId("state").dataset.state = isStill ? "paused" : state;
    const text = state === "live" && this.#about.log ? "Recorded" : STATES[state];
    setText(byId("state-text"), isStill ? (this.view.zoom ? "Zoomed" : "Paused") : text);
    const notices = byId("notices");
    const texts = [];
    if (state === "lost") {
      texts.push(h("b", {}, "Connection lost"), ` ${since ? `at ${clock(since)}` : ""}: ${reason?.error ?? "trying again"}`);
    }
    if (this.#past?.problem) texts.push(h("b", {}, "Past: "), textOf(this.#past.problem));
    const isGone = this.#others !== null && OTHER_LOG.test(this.view.compared) && !this.otherLog;
    if (isGone) texts.push(h("b", {}, "Not compared: "), "the other log is not there any more");
    if (this.#unsaved) texts.push(h("b", {}, "No report: "), textOf(this.#unsaved));
    if (state === "refused") texts.push(h("b", {}, "The server refuses: "), textOf(reason));
    if (state === "login") texts.push(h("b", {}, "Log in again: "), textOf(reason));
    notices.replaceChildren(...texts);
  }

  // The address, the theme, the time zone

  #write() {
    const fragment = this.view.toFragment();
    if (fragment === this.#written) return;
    this.#written = fragment;
    history.replaceState(null, "", `#${fragment}`);
  }

  #retheme(theme) {
    this.view.theme = theme;
    if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
    keep("theme", theme);
    this.#charts.recolour();
  }

  /** Times are in UTC, or in the browser's zone: `utc`, `local`, or null for what is usual. */
  #rezone(zone) {
    this.view.zone = zone;
    useZone(zone === "utc" ? 0 : null);
    keep("zone", zone);
    this.#showZone();
    this.#charts.rezone();
    this.#findings.clocks();
    this.#showState();
    this.draw();
  }

  #switchZone() {
    this.#rezone(usesUtc() ? "local" : "utc");
    this.#write();
  }

  /** A zone has another distance from UTC in summer: the label is of the times that are shown. */
  #showZone() {
    const button = byId("zone");
    setText(button, zoneText(this.range[1]));
    const [now, other] = usesUtc() ? ["UTC", ownZone()] : [ownZone(), "UTC"];
    button.title = `Times are in ${now}; show ${other} (u)`;
    button.setAttribute("aria-label", `Times are in ${now}, ${button.textContent}; show ${other}`);
  }

  #nextTheme() {
    const next = { null: "light", light: "dark", dark: null };
    this.#retheme(next[this.view.theme]);
    const text = `Theme: ${this.view.theme ?? "as the system"}`;
    byId("theme-switch").title = `${text} (t)`;
    byId("theme-switch").setAttribute("aria-label", text);
    this.#write();
  }

  /** A link does not send what a server with a token asks for: then the text is fetched and shown. */
  async #showMetrics(event) {
    if (!isLoggedIn()) return;
    event.preventDefault();
    const answer = await request("metrics").catch(() => null);
    if (!answer?.ok) {
      setText(byId("notices"), answer ? textOf(await problemOf(answer)) : "The server cannot be reached");
      return;
    }
    location.assign(URL.createObjectURL(new Blob([await answer.text()], { type: "text/plain;charset=utf-8" })));
  }

  /** Saves a report of the range that is shown: the usual charts, and those of counters that were added. */
  async #saveReport() {
    const button = byId("report");
    const usual = new Set(this.#about.overview.flatMap(chart => chart.paths));
    const paths = asksOf(this.#charts.specs).map(ask => ask.path).filter(path => !usual.has(path));
    button.disabled = true;
    setText(button, "Writing…");
    this.#unsaved = await saveReport(this.range, paths.slice(0, this.#about.limits.paths));
    setText(button, "Report");
    button.disabled = false;
    this.#showState();
  }

  // Buttons and keys

  #listen() {
    const click = (id, act) => byId(id).addEventListener("click", act);
    click("toggle", () => this.#toggle());
    click("earlier", () => this.#step(-1));
    click("later", () => this.#step(1));
    click("add", () => this.#browser.open());
    click("help", () => byId("keys").showModal());
    click("theme-switch", () => this.#nextTheme());
    click("zone", () => this.#switchZone());
    click("overview", () => this.#showOverview());
    click("add-first", () => this.#browser.open());
    click("metrics", event => this.#showMetrics(event));
    byId("report").hidden = !this.#past;
    click("report", () => this.#saveReport());
    click("link", async () => {
      if (await copy(location.href, "A link to this view")) {
        byId("link").classList.add("done");
        setTimeout(() => byId("link").classList.remove("done"), 1200);
      }
    });
    for (const [seconds, text] of WINDOWS) {
      if (seconds > 60 && seconds > (this.#past ? WHOLE * (this.#now - this.#first) / 1000 : this.#about.history_s)) continue;
      const input = h("input", { type: "radio", name: "window", value: seconds, id: `window-${seconds}`, on: { change: () => this.#setWindow(seconds) } });
      byId("windows").append(input, h("label", { for: `window-${seconds}` }, text));
    }
    byId("compare").hidden = !this.#past;
    byId("compare").addEventListener("change", ({ target }) => this.#compare(target.value));
    byId("position").addEventListener("input", event => this.#slid(event.target.value / 1000));
    document.addEventListener("visibilitychange", () => {
      this.draw();
      this.#findings.ask();
    });
    window.addEventListener("hashchange", () => {
      if (logOf(location.hash) !== shownLog()) return location.reload();
      this.view = View.fromFragment(location.hash.slice(1));
      this.#written = null;
      this.#restore();
    });
    onSystemTheme(() => this.#charts.recolour());
    document.addEventListener("keydown", event => this.#key(event));
    // Sideways: through time.
    document.addEventListener("wheel", event => {
      if (Math.abs(event.deltaX) <= Math.abs(event.deltaY) || !event.target.closest(".plot")) return;
      this.#step(Math.sign(event.deltaX) / 4);
      event.preventDefault();
    }, { passive: false });
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const { target } = event;
    const isTyping = target.matches("input:not([type=radio], [type=checkbox]), select, textarea");
    const isButton = target.matches("button, a, input, select");
    const acts = {
      "/": () => this.#browser.open(),
      "?": () => byId("keys").showModal(),
      t: () => this.#nextTheme(),
      u: () => this.#switchZone(),
      z: () => this.#charts.undo(),
      Escape: () => { if (this.view.zoom) this.unzoom(); },
      " ": isButton ? null : () => this.#toggle(),
      ArrowLeft: target.matches("input") ? null : () => this.#step(-1),
      ArrowRight: target.matches("input") ? null : () => this.#step(1),
    };
    WINDOWS.forEach(([seconds], n) => { if (byId(`window-${seconds}`)) acts[n + 1] = () => this.#setWindow(seconds); });
    if (isTyping || !Object.hasOwn(acts, event.key) || !acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }
}

/** What the server is; it may still be starting, or this browser may have to log in. */
async function about() {
  let first = globalThis.early.about;
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      await logIn();
      const answer = await (first ?? request("api/about"));
      first = null;
      if (answer.ok) return await answer.json();
      const problem = await problemOf(answer);
      if (shownLog() !== null && [403, 404].includes(answer.status)) {
        sayGone(problem);
        await new Promise(() => {}); // until another one is chosen
      }
      setText(byId("notices"), textOf(problem));
      if (answer.status === 401) {
        document.title = "perfset: log in";
        await new Promise(onLogin);
        continue;
      }
    } catch {
      first = null;
      setText(byId("notices"), "The server cannot be reached; trying again");
    }
    await new Promise(done => setTimeout(done, wait));
  }
}

showLog(logOf(location.hash));
const page = new Page(await about());
const { others, upload } = await new Logs(byId("logs")).refresh();
page.compareWith(others);
new Upload(byId("open-log"), byId("sending"), upload);
