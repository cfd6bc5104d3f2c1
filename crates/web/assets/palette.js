// Colours that people with any colour vision tell apart (after Okabe and Ito), for light and for dark; with dashes
// for more lines than colours.

const LIGHT = ["#0b63a5", "#c95f0a", "#00805f", "#b0459a", "#3f95cf", "#8f7200", "#6a4fc0", "#70767e"];
const DARK = ["#58a6e8", "#f08f3e", "#36c39b", "#e18bcd", "#a3d6f7", "#dcc44f", "#ab97f5", "#a9b0b9"];
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

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

/** Its dashes; none for the first lines. */
export const dashes = n => DASHES[Math.floor(n / LIGHT.length) % DASHES.length];

/** A colour with an opacity, 0 to 1. */
export const faded = (hex, opacity) => hex + Math.round(opacity * 255).toString(16).padStart(2, "0");

/** A colour of the style sheet. */
export const styled = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// From little to much: from near the background away from it. One hue, so that everyone sees the same.
const RAMPS = {
  light: [[236, 241, 246], [160, 203, 232], [66, 146, 198], [8, 81, 156], [4, 34, 82]],
  dark: [[28, 35, 43], [22, 66, 110], [44, 123, 190], [88, 160, 220], [136, 196, 242]],
};

/** 256 colours of the heat map, as [red, green, blue]. */
export function ramp() {
  const stops = RAMPS[isDark() ? "dark" : "light"];
  return Array.from({ length: 256 }, (_, n) => {
    const place = n / 255 * (stops.length - 1);
    const at = Math.min(Math.floor(place), stops.length - 2);
    return stops[at].map((from, part) => Math.round(from + (stops[at + 1][part] - from) * (place - at)));
  });
}
