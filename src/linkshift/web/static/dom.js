// Elements, and nothing else that touches the document. What comes from data is text, never markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element: el("button", {class: "big", on: {click}, data: {key: "s"}, aria: {label}}, "Same").
 * `vars` are custom properties of CSS; other names are properties where the element has them, and
 * attributes otherwise. Children are nodes, text, lists of these, or nothing.
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "on") for (const [kind, run] of Object.entries(value)) node.addEventListener(kind, run);
    else if (name === "data") Object.assign(node.dataset, stringed(value));
    else if (name === "aria") for (const [key, said] of Object.entries(value)) setAria(node, key, said);
    else if (name === "vars") for (const [key, said] of Object.entries(value)) node.style.setProperty(key, said);
    else if (name in node && name !== "role" && name !== "list") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  put(node, children);
  return node;
}

const stringed = (values) =>
  Object.fromEntries(Object.entries(values).filter(([, said]) => said !== undefined && said !== null).map(([k, v]) => [k, String(v)]));

export function setAria(node, key, said) {
  if (said === undefined || said === null) node.removeAttribute(`aria-${key}`);
  else node.setAttribute(`aria-${key}`, String(said));
}

/** Append children: nodes, text, numbers, nested lists; nothing where there is nothing. */
export function put(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** Replace what is in a node. */
export function fill(node, ...children) {
  node.replaceChildren();
  return put(node, ...children);
}

const ICONS = {
  undo: "M4 7h7a4.5 4.5 0 0 1 0 9H6 M7 4 4 7l3 3",
  help: "M7.2 7.4a2.8 2.8 0 1 1 4.2 2.4c-.9.5-1.4 1-1.4 2 M10 14.6v.2",
  settings: "M3 6h8 M15 6h2 M3 14h2 M9 14h8 M13 6m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0 M7 14m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
  search: "M9 9m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0 M13 13l4 4",
  edit: "M4 16l.7-3.2L13 4.500l2.500 2.500-8.300 8.300z",
  close: "M5 5l10 10 M15 5L5 15",
  back: "M12 4l-6 6 6 6",
  play: "M7 5l8 5-8 5z",
  pause: "M7 5v10 M13 5v10",
  lasso: "M10 4c4 0 7 1.800 7 4.500S14 13 10 13 3 11.200 3 8.500 6 4 10 4 M6 12.500c-1.500 1.500-.5 3.500 1.500 3.500",
  fit: "M4 8V4h4 M12 4h4v4 M16 12v4h-4 M8 16H4v-4",
  pan: "M10 3v14 M3 10h14 M8 5l2-2 2 2 M8 15l2 2 2-2 M5 8l-2 2 2 2 M15 8l2 2-2 2",
  target: "M10 10m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0 M10 2v4 M10 14v4 M2 10h4 M14 10h4",
  down: "M5 8l5 5 5-5",
  flip: "M4 7h11 M12 4l3 3-3 3 M16 13H5 M8 10l-3 3 3 3",
  save: "M10 3v9 M6 9l4 4 4-4 M4 16h12",
  eye: "M2.500 10S5.500 5 10 5s7.500 5 7.500 5-3 5-7.500 5-7.500-5-7.500-5 M10 10m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
};

/** A drawn sign, for the eye alone: the element around it has the words. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, said] of [["viewBox", "0 0 20 20"], ["class", "ls-icon"], ["aria-hidden", "true"]]) svg.setAttribute(key, said);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export const kbd = (key) => el("kbd", { aria: { hidden: true } }, key);

/** "1,234 answers", "1 answer". */
export function counted(n, one, many = `${one}s`) {
  return `${number(n)} ${n === 1 ? one : many}`;
}

export const number = (n) => Number(n ?? 0).toLocaleString("en-US");

/** A share as people read it: never 0% of what is not nothing. */
export function percent(share) {
  if (share === null || share === undefined) return "–";
  if (share > 0 && share < 0.001) return "<0.1%";
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;
}

/** The element that has the focus, also inside a shadow tree. */
export function focused(root) {
  return root.getRootNode().activeElement ?? null;
}
