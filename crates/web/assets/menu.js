// A button that opens a short menu.

import { h, iconButton } from "./dom.js";

export class Menu {
  #items;
  #list;

  /** `items` are `{text, act, stays}`: with `stays` the menu stays open, so that it can be done again. */
  constructor(name, items) {
    this.button = iconButton("more", name, () => { if (this.#list.hidden) this.#open(); else this.#close(); });
    this.button.setAttribute("aria-haspopup", "menu");
    this.button.setAttribute("aria-expanded", "false");
    this.#items = items.map(item => this.#button(item));
    this.#list = h("div", { class: "menu", role: "menu", "aria-label": name, hidden: true }, this.#items);
    this.element = h("span", { class: "menu-host", on: {
      keydown: event => this.#key(event),
      focusout: ({ relatedTarget }) => { if (!this.element.contains(relatedTarget)) this.#hide(); },
    } }, this.button, this.#list);
  }

  #button({ text, act, stays }) {
    return h("button", {
      type: "button", role: "menuitem", tabindex: "-1",
      on: { click: () => {
        if (!stays) this.#close();
        act();
      } },
    }, text);
  }

  /** Adds items behind the others. */
  add(...items) {
    const buttons = items.map(item => this.#button(item));
    this.#items.push(...buttons);
    this.#list.append(...buttons);
  }

  /** Gives the button another name. */
  rename(name) {
    this.button.title = name;
    for (const element of [this.button, this.#list]) element.setAttribute("aria-label", name);
  }

  #open() {
    this.#list.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.#items[0].focus();
  }

  #hide() {
    this.#list.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
  }

  #close() {
    this.button.focus();
    this.#hide();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.#list.hidden) {
      if (event.key !== "ArrowDown") return;
      this.#open();
    } else {
      const at = this.#items.indexOf(document.activeElement);
      const count = this.#items.length;
      const targets = { ArrowDown: (at + 1) % count, ArrowUp: (at + count - 1) % count, Home: 0, End: count - 1 };
      if (event.key === "Escape") this.#close();
      else if (Object.hasOwn(targets, event.key)) this.#items[targets[event.key]].focus();
      // Tab leaves, Enter and space press; other keys do nothing to the page behind it.
      else if (event.key === "Tab" || event.key === "Enter" || event.key === " ") return event.stopPropagation();
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
