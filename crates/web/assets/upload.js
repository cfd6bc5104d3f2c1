// Logs that are dropped onto the page or chosen: they go to the server in pieces, are checked there, and are shown.

import { problemOf, request } from "./api.js";
import { byId, h, setText } from "./dom.js";
import { show } from "./logs.js";

/** Bytes of a piece; the server takes at most twice as many. */
const PIECE = 512 * 1024;
/** How often a piece is sent again, and how long that waits, in ms. */
const TRIES = 4;
const PAUSE = 1000;
/** The longest name that the server takes, in bytes. */
const NAME_MAX = 200;

const MEGABYTE = 1e6;

/** A size in MB, with a decimal where it matters. */
const sizeText = bytes => `${bytes < 10 * MEGABYTE ? (bytes / MEGABYTE).toFixed(1) : Math.round(bytes / MEGABYTE)} MB`;

/** A name that fits. The end of it tells the most. */
export function fitted(name) {
  let text = name || "log";
  while (new TextEncoder().encode(text).length > NAME_MAX) text = [...text].slice(1).join("");
  return text;
}

const sleep = (time, signal) => new Promise((done, fail) => {
  const timer = setTimeout(done, time);
  signal.addEventListener("abort", () => { clearTimeout(timer); fail(signal.reason); }, { once: true });
});

/** Asks the server to change a log, and returns what it says about the log; throws an error with its words. */
async function ask(address, options) {
  const answer = await request(address, { isChange: true, ...options });
  if (answer.ok) return answer.json();
  const { error, hints } = await problemOf(answer);
  throw Object.assign(new Error([error, ...(hints ?? [])].join("; ")), { status: answer.status });
}

/** Sends a file. `told(part)` says how much of it is there. Returns the id of the log that was opened. */
export async function send(file, told, signal) {
  const { id } = await ask(`api/logs?${new URLSearchParams({ name: fitted(file.name) })}`, { method: "POST", signal });
  const address = `api/logs/${id}`;
  try {
    for (let offset = 0, tries = 0; offset < file.size;) {
      told(offset / file.size);
      try {
        const body = await file.slice(offset, offset + PIECE).arrayBuffer();
        const { bytes } = await ask(`${address}?offset=${offset}`, { method: "PUT", body, signal, headers: { "Content-Type": "application/octet-stream" } });
        [offset, tries] = [bytes, 0];
      } catch (error) {
        // What the server refuses stays refused; what was lost on the way is sent again, from where the server is.
        if (signal.aborted || error.status && error.status !== 408 && error.status < 500 || error.status === 507 || ++tries >= TRIES) throw error;
        await sleep(PAUSE * tries, signal);
        const known = await request(address, { signal }).catch(() => null);
        if (known?.ok) offset = (await known.json()).bytes;
      }
    }
    told(null);
    return (await ask(`${address}/open`, { method: "POST", signal })).id;
  } catch (error) {
    // It would take room until it is forgotten. One that is gone already is no matter.
    request(address, { method: "DELETE", isChange: true }).catch(() => null);
    throw error;
  }
}

export class Upload {
  #limits;
  #panel;
  #input = h("input", { type: "file", hidden: true, on: { change: () => this.#chosen() } });
  #running = null;
  /** Elements that the pointer with a file is inside of. */
  #depth = 0;

  /** `button` asks for a file, `panel` tells what becomes of it. */
  constructor(button, panel, limits) {
    this.#limits = limits;
    this.#panel = panel;
    button.after(this.#input);
    button.hidden = !limits;
    button.addEventListener("click", () => this.#input.click());
    this.#listen();
  }

  #listen() {
    const drop = byId("drop");
    const hasFiles = event => event.dataTransfer?.types.includes("Files");
    const over = depth => {
      this.#depth = Math.max(0, depth);
      drop.hidden = this.#depth === 0;
    };
    document.addEventListener("dragenter", event => { if (hasFiles(event)) over(this.#depth + 1); });
    document.addEventListener("dragleave", event => { if (hasFiles(event)) over(this.#depth - 1); });
    document.addEventListener("dragover", event => { if (hasFiles(event)) event.preventDefault(); });
    document.addEventListener("drop", event => {
      if (!hasFiles(event)) return;
      event.preventDefault(); // the browser would leave the page for the file
      over(0);
      this.#take([...event.dataTransfer.files]);
    });
  }

  #chosen() {
    const files = [...this.#input.files];
    this.#input.value = ""; // the same file can be chosen again
    this.#take(files);
  }

  async #take(files) {
    if (this.#running || files.length === 0) return;
    const [file] = files;
    if (!this.#limits) return this.#failed("This server takes no logs: perfset serve --upload-max 64MB takes some");
    if (files.length > 1) return this.#failed("One log at a time");
    if (file.size > this.#limits.most) {
      return this.#failed(`${file.name} has ${sizeText(file.size)}, and this server takes ${sizeText(this.#limits.most)}`);
    }
    const running = this.#running = new AbortController();
    const bar = h("progress", { max: 1, "aria-label": "Progress" });
    const text = h("span", { class: "what" });
    const cancel = h("button", { type: "button", on: { click: () => running.abort() } }, "Cancel");
    this.#panel.replaceChildren(h("bdi", {}, file.name), bar, text, cancel);
    const told = part => {
      if (part === null) bar.removeAttribute("value"); else bar.value = part;
      setText(text, part === null ? "The server checks it" : `${Math.round(part * 100)} % of ${sizeText(file.size)}`);
    };
    told(0);
    try {
      const id = await send(file, told, running.signal);
      this.#panel.replaceChildren();
      show(id, false);
    } catch (error) {
      if (running.signal.aborted) this.#panel.replaceChildren();
      else this.#failed(`${file.name}: ${error.status ? error.message : "the server cannot be reached"}`);
    } finally {
      this.#running = null;
    }
  }

  #failed(text) {
    const close = h("button", { type: "button", on: { click: () => this.#panel.replaceChildren() } }, "Close");
    this.#panel.replaceChildren(h("bdi", { class: "what" }, text), close);
    close.focus({ preventScroll: true });
  }
}
