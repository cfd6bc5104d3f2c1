// One tab stop for many controls: arrow keys go from one to the next.

const isShown = element => element.offsetParent !== null && !element.disabled;

/**
 * Makes the controls of an element one tab stop. `rows` lists them, a list for each row: arrow keys go along and across,
 * Home and End to both ends. The function that is returned is called when controls have come or gone.
 */
export function rove(element, rows) {
  let current = null;
  const shown = () => rows().map(row => row.filter(isShown)).filter(row => row.length);
  const mark = control => {
    current = control;
    for (const other of rows().flat()) other.tabIndex = other === control ? 0 : -1;
  };
  const refresh = () => {
    const controls = rows().flat();
    mark(controls.includes(current) ? current : controls[0]);
  };
  element.addEventListener("focusin", ({ target }) => { if (rows().flat().includes(target)) mark(target); });
  element.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const all = shown();
    const at = all.findIndex(row => row.includes(event.target));
    if (at < 0) return;
    const place = all[at].indexOf(event.target);
    const across = by => all[at + by]?.[Math.min(place, all[at + by].length - 1)];
    const targets = {
      ArrowLeft: () => all[at][place - 1],
      ArrowRight: () => all[at][place + 1],
      ArrowUp: () => across(-1),
      ArrowDown: () => across(1),
      Home: () => all[0][0],
      End: () => all.at(-1).at(all.length > 1 ? 0 : -1),
    };
    // Up and down are a list's own, where there is one row.
    if (!Object.hasOwn(targets, event.key) || all.length === 1 && /Up|Down/.test(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    targets[event.key]()?.focus();
  });
  refresh();
  return refresh;
}
