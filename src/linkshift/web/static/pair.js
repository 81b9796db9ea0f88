// Two items side by side, with what differs marked, by the kind of the data.

import { el, fill, icon, number } from "./dom.js";
import { cell, FIRST_COLUMNS, idOf, mediaColumns, moreButton, picture, play, player, textColumns } from "./items.js";
import { differences } from "./words.js";

const SHORT = 48; // letters, up to which cells are compared letter by letter
const ALIKE = 0.34; // share of common words below which those are marked instead
const LIKE_LETTERS = 0.55;

/** The pair on the screen: `node`, and what keys do with it. */
export class Pair {
  constructor(page, a, b) {
    this.page = page;
    this.rows = [a, b];
    this.marks = []; // where the clusters are told
    this.side = null; // which picture is shown in place: 0, 1, or both side by side
    const { state } = page.store;
    const files = mediaColumns(page.store);
    this.node = el("div", { class: `ls-pair ls-of-${state.kind}`, data: { pair: `${a.row}-${b.row}` } });
    if (files.length && state.kind === "image") this.node.append(this.pictures(files));
    else if (files.length && state.kind === "audio") this.node.append(this.sounds(files));
    const columns = textColumns(page.store);
    if (state.kind === "text" && columns.length === 1) this.node.append(this.texts(columns[0].i));
    else if (columns.length) this.node.append(this.table(columns, files.length > 0));
    else if (!files.length) this.node.append(this.heads());
  }

  get flips() {
    return Boolean(this.stage);
  }

  get plays() {
    return Boolean(this.players);
  }

  // Names ------------------------------------------------------------------------------------------

  head(which, extra = null) {
    const row = this.rows[which];
    return el("header", { class: "ls-item-head" },
      el("span", { class: "ls-which", aria: { hidden: true } }, which ? "B" : "A"),
      el("span", { class: "ls-item-id", dir: "auto", title: idOf(row) }, idOf(row)),
      extra, (this.marks[which] = el("span", { class: "ls-mark-place" }, this.mark(row))));
  }

  /** After a new clustering, and after a choice to label blind or not. */
  remark() {
    this.rows.forEach((row, i) => this.marks[i] && fill(this.marks[i], this.mark(row)));
  }

  /** Its cluster, unless one labels blind. */
  mark(row) {
    if (this.page.settings.blind) return null;
    const k = this.page.store.clusterOf(row.row);
    if (k === null) return null;
    return el("span", { class: "ls-mark", vars: { "--dot": this.page.colour(k) } },
      el("span", { class: "ls-dot" }), this.page.store.nameOf(k));
  }

  heads() {
    return el("div", { class: "ls-two" }, [0, 1].map((i) => el("article", { class: "ls-item", data: { item: i } }, this.head(i))));
  }

  // Text -------------------------------------------------------------------------------------------

  texts(column) {
    const [a, b] = this.rows.map((row) => row.cells[column]);
    const { parts, rule } = compared(a ?? "", b ?? "");
    const one = (i, text) =>
      el("article", { class: "ls-item", data: { item: i }, aria: { label: `Item ${i ? "B" : "A"}: ${idOf(this.rows[i])}` } },
        this.head(i),
        el("div", { class: `ls-words ${rule}`, dir: "auto", tabIndex: 0 }, text === null || text === "" ? el("span", { class: "ls-none" }, "no text") : parts[i]));
    return el("div", {}, el("div", { class: "ls-two" }, one(0, a), one(1, b)), legend(rule));
  }

  // Tables -----------------------------------------------------------------------------------------

  table(columns, below) {
    const body = el("tbody");
    const add = (some) => body.append(...some.map((one) => this.line(one)));
    const differ = (some) => some.filter(({ i }) => !equal(this.rows[0].cells[i], this.rows[1].cells[i])).length;
    add(columns.slice(0, FIRST_COLUMNS));
    const heads = below ? null : el("thead", {}, el("tr", {},
      el("td", { class: "ls-corner" }),
      [0, 1].map((i) => el("th", { scope: "col", data: { item: i } }, this.head(i)))));
    const table = el("table", { class: below ? "ls-compare ls-below" : "ls-compare", aria: { label: "The two items, column by column" } }, heads, body);
    const more = columns.slice(FIRST_COLUMNS);
    const button = more.length
      ? moreButton(`${number(more.length)} more columns, ${number(differ(more))} of them differ`, () => {
          add(more);
          button.remove();
        })
      : null;
    return el("div", { class: "ls-compare-frame" }, table, button);
  }

  line({ name, i }) {
    const [a, b] = this.rows.map((row) => row.cells[i]);
    const same = equal(a, b);
    const { parts } = same ? { parts: [null, null] } : compared(String(a ?? ""), String(b ?? ""), true);
    return el("tr", { class: same ? "ls-equal" : "ls-differs", data: { column: i } },
      el("th", { scope: "row", dir: "auto" }, name, same ? null : el("span", { class: "ls-hidden" }, " (differs)")),
      el("td", {}, cell(a, parts[0])), el("td", {}, cell(b, parts[1])));
  }

  // Pictures ---------------------------------------------------------------------------------------

  pictures(files) {
    this.stage = el("div", { class: "ls-two ls-stage" }, [0, 1].map((i) =>
      el("article", { class: "ls-item", data: { item: i }, aria: { label: `Item ${i ? "B" : "A"}: ${idOf(this.rows[i])}` } },
        this.head(i), files.map((column) => picture(this.page, this.rows[i], column, { zoom: true })))));
    const button = el("button", { class: "ls-quiet", type: "button", data: { do: "flip" }, on: { click: () => this.flip() } },
      icon("flip"), el("span", {}, "Flip in place"), el("kbd", {}, "f"));
    return el("div", { class: "ls-pictures" }, this.stage, el("div", { class: "ls-under" }, button));
  }

  /** One picture in the place of the other, so that the eye finds what differs. */
  flip() {
    if (!this.stage) return;
    this.side = this.side === 0 ? 1 : 0;
    this.show();
  }

  /** Both side by side again. */
  apart() {
    if (this.side === null) return false;
    this.side = null;
    this.show();
    return true;
  }

  show() {
    this.stage.classList.toggle("ls-flipping", this.side !== null);
    [...this.stage.children].forEach((one, i) => {
      one.classList.toggle("ls-behind", this.side !== null && this.side !== i);
    });
    this.page.announce(this.side === null ? "Side by side." : `Showing ${this.side ? "B" : "A"}.`, { quiet: true });
  }

  // Sounds -----------------------------------------------------------------------------------------

  sounds(files) {
    this.players = [0, 1].map((i) =>
      el("article", { class: "ls-item", data: { item: i } }, this.head(i, el("kbd", {}, i + 1)),
        files.map((column) => player(this.page, this.rows[i], column, i ? "B" : "A"))));
    return el("div", { class: "ls-two" }, this.players);
  }

  play(which) {
    if (this.players) play(this.page.root, this.players[which]);
  }
}

const empty = (value) => value === null || value === undefined || value === "";
const equal = (a, b) => (empty(a) && empty(b)) || String(a ?? "") === String(b ?? "");

/** Both texts as nodes, what differs marked; what is common instead, where little is. */
function compared(a, b, short = false) {
  if (a === b) return { parts: [[a], [b]], rule: "ls-alike" };
  const letters = short && a.length <= SHORT && b.length <= SHORT ? differences(a, b, "letters") : null;
  if (letters && letters.share >= LIKE_LETTERS && !figures(a, b)) return { parts: marked(letters, false), rule: "ls-marks-differ" };
  const found = differences(a, b);
  if (short && found.share < ALIKE) return { parts: [[a], [b]], rule: "" };
  const common = found.share < ALIKE;
  const parts = marked(found, common);
  const any = parts.flat().some((part) => typeof part !== "string");
  return { parts, rule: any ? (common ? "ls-marks-common" : "ls-marks-differ") : "" };
}

/** Of numbers the digits in common say nothing. */
const figures = (a, b) => a.trim() !== "" && b.trim() !== "" && Number.isFinite(Number(a)) && Number.isFinite(Number(b));

function marked(found, common) {
  const worth = (text) => !common || /[\p{L}\p{N}]{4,}/u.test(text); // an "of" in both means nothing
  return [found.a, found.b].map((runs) =>
    runs.map(([text, same]) => (same === common && text.trim() && worth(text) ? el("mark", {}, text) : text)));
}

function legend(rule) {
  const said = {
    "ls-marks-differ": [el("mark", {}, "marked"), " words differ"],
    "ls-marks-common": [el("mark", {}, "underlined"), " words are in both"],
    "ls-alike": ["The two texts are the same, letter by letter"],
  }[rule];
  return said ? el("p", { class: `ls-legend ${rule}` }, said) : null;
}

/** Ask for the media of pairs that come next, so that they are there when they are shown. */
export async function preload(page, rows, kept) {
  const { state } = page.store;
  for (const row of rows)
    for (const column of mediaColumns(page.store)) {
      const key = `${row.row}/${column}`;
      if (kept.has(key)) continue;
      const ahead = state.kind === "audio" ? new Audio() : new Image();
      kept.set(key, ahead);
      if (state.kind === "audio") ahead.preload = "auto";
      ahead.src = await page.api.media(row.row, column);
      if (kept.size > 60) kept.delete(kept.keys().next().value);
    }
}

