// Colours that people with any colour vision tell apart (after Okabe and Ito), for light and for dark; with dashes
// for more lines than colours.

// In an order in which neighbours differ most for whoever sees them worst, normal vision included.
const LIGHT = ["#0b5394", "#d9730d", "#00916e", "#8e2f7d", "#7a6000", "#5b3fb5", "#3f95cf", "#7b828b"];
const DARK = ["#3d8fdc", "#e6d36a", "#ef9fda", "#1fa37e", "#8f78ec", "#a9dbfa", "#f5a35c", "#b4bbc4"];
const DASHES = [[], [7, 3], [2, 2], [9, 2, 2, 2]];

/** The font of texts in drawings. */
export const FONT = '11px -apple-system, "Segoe UI", Roboto, "Noto Sans", Cantarell, "Liberation Sans", Arial, system-ui, sans-serif';

const system = matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark now. */
export function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : system.matches;
}

/** Calls back when the system changes from light to dark, or back. */
export const onSystemTheme = act => system.addEventListener("change", act);

/** The colour of the nth line. */
export const colour = n => (isDark() ? DARK : LIGHT)[n % LIGHT.length];

/** The colour of the line of all that have none of their own. */
export const othersColour = () => isDark() ? "#6b737c" : "#b4bac1";

/** What is left of a whole, such as free memory: it must not look as if it were much of something. */
const restColour = () => isDark() ? "#3a434d" : "#dfe4e9";

/** The colour of a line of a chart: `{n, isRest, series}`. */
export const lineColour = ({ n, isRest, series }) => isRest ? restColour() : series.isOthers ? othersColour() : colour(n);

/** Its dashes: other ones than those of its neighbours, and after all colours once more others. */
export const dashes = n => DASHES[(n + Math.floor(n / LIGHT.length)) % DASHES.length];

/** A colour with an opacity, 0 to 1. */
export const faded = (hex, opacity) => hex + Math.round(opacity * 255).toString(16).padStart(2, "0");

/** A colour of the style sheet. */
export const styled = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// From little to much: from near the background away from it. One hue, so that everyone sees the same.
const RAMPS = {
  light: [[236, 241, 246], [160, 203, 232], [66, 146, 198], [8, 81, 156], [4, 34, 82]],
  dark: [[28, 35, 43], [22, 66, 110], [44, 123, 190], [88, 160, 220], [136, 196, 242]],
};

/** The colours of the heat map as a background: from the left little, to the right much. */
export const rampBackground = () => `linear-gradient(90deg, ${RAMPS[isDark() ? "dark" : "light"].map(stop => `rgb(${stop})`)})`;

/** 256 colours of the heat map, as [red, green, blue]. */
export function ramp() {
  const stops = RAMPS[isDark() ? "dark" : "light"];
  return Array.from({ length: 256 }, (_, n) => {
    const place = n / 255 * (stops.length - 1);
    const at = Math.min(Math.floor(place), stops.length - 2);
    return stops[at].map((from, part) => Math.round(from + (stops[at + 1][part] - from) * (place - at)));
  });
}
