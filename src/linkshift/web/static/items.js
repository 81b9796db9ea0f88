// Items as people see them: small in lists, in full, as text, picture, sound or cells of a table.

import { el, fill, icon, number } from "./dom.js";

export const FIRST_COLUMNS = 20;
const SMALL_CELLS = 3;

/** What an item is called: its id. */
export const idOf = (row) => String(row.id ?? row.row);

/** Columns that are files: their cells have addresses, not text. */
export function mediaColumns({ state, bare }) {
  if (state.media) return state.media;
  if (state.kind !== "image" && state.kind !== "audio") return [];
  return (bare ?? []).slice(0, 1);
}

/** Columns that are shown as text, with their names. */
export function textColumns(store) {
  const files = new Set(mediaColumns(store));
  return store.state.columns.map((name, i) => ({ name, i })).filter(({ i }) => !files.has(i));
}

/** A picture of a row, which says so where there is none. */
export function picture(page, row, column, { zoom = false } = {}) {
  const frame = el("span", { class: "ls-picture" });
  const image = el("img", { alt: `Picture of ${idOf(row)}`, draggable: false, decoding: "async" });
  image.addEventListener("load", () => image.classList.toggle("ls-pixels", isSmall(image)));
  image.addEventListener("error", () => fill(frame, el("span", { class: "ls-none" }, "No picture: the file is missing or broken")));
  frame.append(image);
  page.api.media(row.row, column).then((url) => {
    image.src = url;
  }, () => image.dispatchEvent(new Event("error")));
  if (!zoom) return frame;
  return el("button", {
    class: "ls-plain ls-zoomable",
    type: "button",
    data: { zoom: row.row },
    aria: { label: `Enlarge the picture of ${idOf(row)}` },
    on: { click: () => page.zoom(image.src, idOf(row)) },
  }, frame);
}

/** Whether each pixel of a picture is to be seen, where it is drawn larger. */
const isSmall = (image) => Math.max(image.naturalWidth, image.naturalHeight) < 64;

/** A player of a row's sound. */
export function player(page, row, column, name = "Sound") {
  const sound = el("audio", { controls: true, preload: "auto", aria: { label: `${name} of ${idOf(row)}` } });
  const frame = el("span", { class: "ls-player" }, sound);
  sound.addEventListener("error", () => fill(frame, el("span", { class: "ls-none" }, "No sound: the file is missing or broken")));
  page.api.media(row.row, column).then((url) => {
    sound.src = url;
  }, () => sound.dispatchEvent(new Event("error")));
  return frame;
}

/** Play the sound in a node and stop all others of the page. */
export function play(root, node) {
  const sound = node?.querySelector("audio");
  for (const other of root.querySelectorAll("audio")) if (other !== sound) other.pause();
  if (!sound) return;
  if (sound.paused) {
    sound.currentTime = 0;
    sound.play()?.catch(() => {});
  } else sound.pause();
}

/** A row in a few words, for lists. */
export function inShort(store, row, n = SMALL_CELLS) {
  const cells = textColumns(store).map(({ i }) => row.cells[i]);
  return cells.filter((cell) => cell !== null && cell !== "" && String(cell) !== idOf(row)).slice(0, n)
    .map((cell) => String(cell).slice(0, 160)).join(" · ");
}

/** A small card: picture or words, and the id. `row` may be a number that is still to be read. */
export function small(page, row, { tag = "span", id = true, ...props } = {}) {
  const node = el(tag, { ...props, class: `ls-small ${props.class ?? ""}` });
  const show = (found) => fill(node, smallInside(page, found, id));
  const found = typeof row === "number" ? page.store.row(row) : row;
  if (found) show(found);
  else {
    node.classList.add("ls-coming");
    page.store.rows([row]).then(([read]) => {
      node.classList.remove("ls-coming");
      show(read);
    }, () => fill(node, el("span", { class: "ls-none" }, `row ${row}`)));
  }
  return node;
}

function smallInside(page, row, id) {
  const { store } = page;
  const { state } = store;
  const [file] = mediaColumns(store);
  const parts = [];
  if (state.kind === "image" && file !== undefined) parts.push(picture(page, row, file));
  else if (state.kind === "audio" && file !== undefined) parts.push(el("span", { class: "ls-note-sign" }, icon("play")));
  else parts.push(el("span", { class: "ls-excerpt", dir: "auto" }, inShort(store, row) || "–"));
  if (id) parts.push(el("span", { class: "ls-id", dir: "auto", title: idOf(row) }, idOf(row)));
  return parts;
}

/** One item in full. */
export function full(page, row) {
  const { state } = page.store;
  const node = el("div", { class: `ls-full ls-of-${state.kind}` });
  for (const column of mediaColumns(page.store))
    node.append(state.kind === "audio" ? player(page, row, column) : picture(page, row, column, { zoom: true }));
  const columns = textColumns(page.store);
  if (state.kind === "text" && columns.length === 1) node.append(words(row.cells[columns[0].i]));
  else if (columns.length) node.append(list(row, columns));
  return node;
}

function words(text) {
  return el("p", { class: "ls-words", dir: "auto", tabIndex: 0 }, text ?? el("span", { class: "ls-none" }, "no text"));
}

function list(row, columns) {
  const body = el("tbody");
  const add = (some) => {
    for (const { name, i } of some)
      body.append(el("tr", {}, el("th", { scope: "row", dir: "auto" }, name), el("td", {}, cell(row.cells[i]))));
  };
  add(columns.slice(0, FIRST_COLUMNS));
  const table = el("table", { class: "ls-list" }, body);
  const more = columns.slice(FIRST_COLUMNS);
  if (!more.length) return table;
  const button = moreButton(`${number(more.length)} more columns`, () => {
    add(more);
    button.remove();
  });
  return el("div", {}, table, button);
}

export function moreButton(text, run) {
  return el("button", { class: "ls-more", type: "button", data: { do: "columns" }, on: { click: run } }, icon("down"), text);
}

/** What stands in a cell: text as it is, with its lines, long ones in a box that scrolls. */
export function cell(value, inside = null) {
  if (value === null || value === undefined || value === "") return el("span", { class: "ls-none" }, "–");
  const long = String(value).length > 400;
  return el("div", { class: long ? "ls-cell ls-long" : "ls-cell", dir: "auto", tabIndex: long ? 0 : undefined }, inside ?? String(value));
}

/** The dot of a cluster, with its colour. */
export function dot(page, k) {
  return el("span", { class: "ls-dot", vars: { "--dot": page.colour(k) }, aria: { hidden: true } });
}

/** Dot and name of a cluster; a button that opens it where `open` is true. */
export function clusterMark(page, k, { open = true } = {}) {
  if (k === null || k === undefined) return el("span", { class: "ls-none" }, "no cluster yet");
  const inside = [dot(page, k), el("span", { dir: "auto", class: "ls-cluster-name" }, page.store.nameOf(k))];
  if (!open) return el("span", { class: "ls-mark" }, inside);
  return el("button", {
    class: "ls-plain ls-mark", type: "button", data: { openCluster: k }, title: "Open the cluster",
    on: { click: () => page.go("clusters", { cluster: k }) },
  }, inside);
}
