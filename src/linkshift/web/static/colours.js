// Colours of clusters and links: those of linkshift/pictures/colours.py, which a test holds this
// file to. A cluster has its colour by its number, so it keeps the one while it keeps the other.

export const PALETTE = [
  "#3B6FB6", "#E2711D", "#2A9D8F", "#B5387F", "#E8C547", "#6CC5EA",
  "#3A2A7D", "#F29CB4", "#7A4A1E", "#CB6CFF", "#6824C1", "#822155",
  "#967158", "#7A57F2", "#8EBA7A", "#53E488", "#7D8ED0", "#D9A02C",
  "#044B97", "#CD4805", "#376C79", "#924958", "#09E0DB", "#BA37BA",
  "#5F3B74", "#B397F9", "#8A9B52", "#ED5CD1", "#67772E", "#825D99",
];
export const MUST = "#1B7F3B";
export const CANNOT = "#D0202E";
export const NOISE_GREY = "#9A9A9A";
/** The darker of what points are drawn on: the panel of a report in the dark. */
export const PANEL_DARK = "#1B1E23";

const LEAST_CONTRAST = 3;
const LINE_CONTRAST = 5; // a line is thin, and lies on points
const GOLDEN_ANGLE = 137.50776405003785;
// Beyond the palette: levels of OKLab's lightness with a contrast of 3 and more on white.
const LEVELS = [0.56, 0.63, 0.47];
const CHROMA = 0.15;

/** Red, green and blue, from 0 to 255, of a colour as "#RRGGBB". */
export function rgb(colour) {
  return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
}

/** A colour as "#RRGGBB" of red, green and blue from 0 to 255. */
export function hex(colour) {
  return "#" + colour.map((c) => c.toString(16).padStart(2, "0")).join("").toUpperCase();
}

/** Relative luminance as in WCAG 2 of red, green and blue from 0 to 255. */
export function luminance(colour) {
  const [r, g, b] = colour.map((c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Contrast as in WCAG 2, from 1 to 21. */
export function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((one, other) => one - other);
  return (high + 0.05) / (low + 0.05);
}

/** Mix with white until a colour stands out from a dark panel. */
export function lightened(colour, panel = rgb(PANEL_DARK), least = LEAST_CONTRAST) {
  const own = colour.map((c) => c / 255);
  for (let share = 0; ; share += 0.05) {
    const mixed = own.map((c) => 255 * (c + share * (1 - c)));
    if (contrast(mixed, panel) >= least) return mixed.map(toEven);
  }
}

// Halves go to the even number, as numpy has it: reports show the same colours.
function toEven(value) {
  const up = Math.round(value);
  return up - value === 0.5 && up % 2 ? up - 1 : up;
}

/** Whether black is the better text on a colour. */
export function takesBlack(colour) {
  return luminance(colour) > 0.179;
}

const light = new Map();
const dark = new Map();

/** Colour [red, green, blue], 0 to 255, of cluster k; grey below 0, where rows are of none. */
export function colourOf(k, isDark = false) {
  const known = isDark ? dark : light;
  let colour = known.get(k);
  if (colour === undefined) {
    colour = k < 0 ? rgb(NOISE_GREY) : k < PALETTE.length ? rgb(PALETTE[k]) : beyond(k);
    if (isDark) colour = lightened(colour);
    known.set(k, colour);
  }
  return colour;
}

/** The same as "#RRGGBB". */
export function cssOf(k, isDark = false) {
  return hex(colourOf(k, isDark));
}

/** Colour of a link by its word, "same" or "different", as "#RRGGBB". */
export function linkColour(word, isDark = false) {
  const colour = word === "same" || word === "must" ? MUST : CANNOT;
  return isDark ? hex(lightened(rgb(colour), rgb(PANEL_DARK), LINE_CONTRAST)) : colour;
}

// Hues by the golden angle: each is far from those just before it, however many there are.
function beyond(k) {
  const i = k - PALETTE.length;
  const hue = (i * GOLDEN_ANGLE * Math.PI) / 180;
  const level = LEVELS[i % LEVELS.length];
  for (let chroma = CHROMA; ; chroma -= 0.01) {
    const linear = fromOklab(level, chroma * Math.cos(hue), chroma * Math.sin(hue));
    if (chroma <= 0 || linear.every((c) => c >= 0 && c <= 1)) return linear.map(toByte);
  }
}

function fromOklab(l, a, b) {
  const x = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const y = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const z = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z,
    -1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z,
    -0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z,
  ];
}

function toByte(c) {
  const s = c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055;
  return Math.round(255 * Math.min(1, Math.max(0, s)));
}
