// Elements. Text from elsewhere only ever becomes text: nothing here, or anywhere in the page, parses markup.

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element: attributes, `on` with its listeners, `class`; children are elements or texts, null is left out. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else if (value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter(child => child != null));
  return element;
}

/** One of the symbols of the page. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/** A button that shows a symbol; what it does is its name. */
export function iconButton(name, title, onClick) {
  return h("button", { type: "button", class: "icon", title, "aria-label": title, on: { click: onClick } }, icon(name));
}

/** Sets a text, if it is another than before. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The element of the page with this id. */
export const byId = id => document.getElementById(id);

/** Copies a text; where the browser refuses, shows it to be copied by hand. True if it was copied. */
export async function copy(text, title) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const dialog = byId("text");
    setText(byId("text-title"), title);
    const area = dialog.querySelector("textarea");
    area.value = text;
    dialog.showModal();
    area.select();
    return false;
  }
}
