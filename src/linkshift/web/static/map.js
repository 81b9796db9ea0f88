// The map: rows as points on a plane. Draws when something has changed, and not otherwise.
//
//   const map = new Scatter(canvas, { onHover, onPick, onLasso });
//
// The canvas has its size from the page's style. Another one, for marks, is put right after it and
// lies above it: both need a positioned box around them, such as `position: relative`.

import { colourOf as plainColour, luminance } from "./colours.js";
import { Cloud } from "./map_cloud.js";
import { Grid } from "./map_grid.js";
import { Hands } from "./map_hands.js";
import { drawMarks } from "./map_marks.js";
import { Pace } from "./map_pace.js";
import { Stage } from "./map_stage.js";
import * as views from "./map_view.js";
import { Ways } from "./map_ways.js";

const MILLISECONDS = { glide: 900, turn: 450, fly: 500, zoom: 180, pulse: 450 };
const REACH = 14; // pixels from the pointer to a point that it means
const PAPER = { light: [255, 255, 255], dark: [27, 30, 35] };
const NONE = new Uint32Array(0);
const none = () => {};

export class Scatter {
  tool = "pan";
  #cloud = new Cloud();
  #stage;
  #hands;
  #ways = new Ways();
  #pace = new Pace(() => this.#draw());
  #stop = new AbortController();
  #grid = null;
  #view = { x: 0, y: 0, scale: 1 };
  #isMoved = false; // somebody has looked elsewhere than at the whole
  #marks = { pair: null, selected: [], links: [], path: [] };
  #chosen = NONE; // selected rows, by their slots
  #marked = 0; // counted up when they change
  #hovered = null;
  #cursor = null; // the row that keys have led to
  #pointer = null;
  #lasso = null;
  #later = null; // a row to go to when the map is first shown
  #isDark = false;
  #steps = null;
  #request = 0;
  #isStale = { points: true, rest: false };

  /**
   * `onHover(row | null, [x, y] | null, how)`, `onPick(row)`, `onLasso(rows)`, `onRemark(text | null)`.
   * `how` is "keys" where those have led to the row, which is to be said aloud, and "arrived" when
   * the flight there is over and the row has its place.
   */
  constructor(canvas, { onHover = none, onPick = none, onLasso = none, onRemark = none } = {}) {
    this.canvas = canvas;
    this.on = { hover: onHover, pick: onPick, lasso: onLasso };
    canvas.style.touchAction = "none";
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-roledescription", "map of rows");
    this.#stage = new Stage(canvas, this.#cloud, {
      onResize: (before, now) => this.#resized(before, now),
      onRedraw: () => this.#draw(),
      onRemark,
    });
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", () => this.#recolour(), { signal: this.#stop.signal });
    this.#hands = new Hands(canvas, this);
    this.setTool("pan");
    this.#detect();
    this.#describe();
    this.#stage.measure();
  }

  /** What is to be said about how it is drawn; null if nothing is. */
  get remark() {
    return this.#stage.remark;
  }

  /** x0, y0, x1, y1, ... If there were as many rows before, points glide to their places. */
  setPositions(xy) {
    const glides = this.#cloud.setPositions(xy, this.#ways.share("glide"));
    this.#grid = this.#steps = null;
    if (glides) this.#ways.start("glide", MILLISECONDS.glide);
    else {
      this.#ways.stop("glide");
      this.#hovered = this.#cursor = null;
    }
    this.#choose();
    this.#describe();
    this.#look(this.#whole(), glides ? MILLISECONDS.glide : 0);
    this.#isMoved = false;
  }

  /** The cluster of each row, and [red, green, blue], 0 to 255, of a cluster (-1: of none). */
  setLabels(labels, colourOf = (k) => plainColour(k, this.#isDark)) {
    this.#detect();
    const turns = this.#cloud.setLabels(labels, colourOf, this.#ways.share("turn"));
    if (turns) this.#ways.start("turn", MILLISECONDS.turn);
    this.#steps = null;
    this.#describe();
    this.#draw();
  }

  /** What stands out: {pair, selected, links, path}. What is not named stays as it is. */
  setMarked(marked) {
    const before = this.#marks;
    this.#marks = { ...before, ...marked };
    const { pair, selected } = this.#marks;
    if (pair && String(pair) !== String(before.pair)) {
      this.#ways.start("pulse", MILLISECONDS.pulse);
    }
    const isOther = selected !== before.selected && String(selected) !== String(before.selected);
    if (isOther) this.#choose();
    this.#draw(isOther);
  }

  /** "pan" or "lasso": what dragging does. */
  setTool(tool) {
    if (tool !== "pan" && tool !== "lasso") throw new RangeError(`no tool of the map: ${tool}`);
    this.tool = tool;
    this.#point();
  }

  /** Show all points. */
  fit() {
    this.#look(this.#whole(), MILLISECONDS.fly);
    this.#isMoved = false;
  }

  /** Go to a row, near enough to tell it from others. */
  focus(row) {
    const place = this.#cloud.place(row, 1);
    if (this.#stage.isHidden) this.#later = row;
    if (!place || this.#stage.isHidden) return;
    const scale = Math.max(this.#goal().scale, 4 * this.#whole().scale);
    this.#look({ x: place[0], y: place[1], scale }, MILLISECONDS.fly);
  }

  /** Where a row is, in pixels of the canvas; null where it has no place. */
  screenOf(row) {
    const place = this.#cloud.place(row, this.#ways.share("glide"));
    return place && views.toScreen(this.#view, this.#stage.size, ...place);
  }

  /** The row at [x, y] in pixels; null if none is near. */
  rowAt([x, y]) {
    if (!this.#cloud.n || this.#stage.isHidden) return null;
    const place = views.toPlane(this.#view, this.#stage.size, x, y);
    const reach = Math.max(REACH, this.#looks().radius + 2) / this.#view.scale;
    return this.#places().nearest(...place, reach);
  }

  destroy() {
    cancelAnimationFrame(this.#request);
    this.#request = -1; // nothing is drawn any more
    this.#pace.stop();
    this.#stop.abort();
    this.#hands.destroy();
    this.#stage.destroy();
  }

  // What hands do -----------------------------------------------------------------------------

  pan(dx, dy) {
    this.#look(views.panned(this.#view, dx, dy), 0);
  }

  zoom(place, factor, isSmooth = false) {
    const from = isSmooth ? this.#goal() : this.#view;
    const to = views.zoomed(from, this.#stage.size, ...place, factor, this.#whole().scale);
    this.#look(to, isSmooth ? MILLISECONDS.zoom : 0);
  }

  hoverAt(place) {
    this.#pointer = place;
    const row = place && this.rowAt(place);
    if (row === this.#hovered) return;
    this.#hovered = row;
    this.#point();
    this.on.hover(row, row === null ? null : this.screenOf(row));
    this.#draw(false);
  }

  pickAt(place) {
    const row = this.rowAt(place);
    if (row === null) return;
    this.#cursor = null;
    this.on.pick(row);
    this.#draw(false);
  }

  pickCursor() {
    if (this.#cursor !== null) this.on.pick(this.#cursor);
  }

  showLasso(corners) {
    this.#lasso = corners;
    this.#draw(false);
  }

  lassoed(corners, adds) {
    const { size } = this.#stage;
    const polygon = corners.map(([x, y]) => views.toPlane(this.#view, size, x, y));
    const rows = this.#cloud.n ? Array.from(this.#places().inside(polygon)) : [];
    this.on.lasso(adds ? [...new Set([...this.#marks.selected, ...rows])] : rows);
  }

  /** Go to the next row, from left to right, of the cluster of the row where we are. */
  step(by) {
    const { n, labels } = this.#cloud;
    if (!n) return;
    const here = this.#cursor ?? this.#marks.selected[0] ?? this.#marks.pair?.[0] ?? null;
    const k = here === null || !labels ? null : labels[here];
    if (!this.#steps || this.#steps.k !== k) this.#steps = { k, rows: this.#cloud.fromLeft(k) };
    const { rows } = this.#steps;
    if (!rows.length) return;
    const at = here === null ? (by > 0 ? -1 : 0) : rows.indexOf(here);
    this.#cursor = rows[(at + by + rows.length) % rows.length];
    this.focus(this.#cursor);
    this.on.hover(this.#cursor, this.screenOf(this.#cursor), "keys");
  }

  leave() {
    if (this.#cursor === null) return;
    this.#cursor = null;
    this.on.hover(this.#hovered, this.#hovered === null ? null : this.screenOf(this.#hovered));
    this.#draw(false);
  }

  // Views -------------------------------------------------------------------------------------

  #whole() {
    const { width, height } = this.#stage.size;
    return views.fitted(this.#cloud.box ?? views.UNIT_BOX, width || 1, height || 1);
  }

  // Where a flight ends, or where we are.
  #goal() {
    return this.#ways.get("fly")?.to ?? this.#view;
  }

  #look(to, milliseconds) {
    this.#isMoved = true;
    this.#pace.move();
    if (!this.#ways.start("fly", milliseconds, { from: this.#view, to })) this.#view = to;
    this.#draw();
  }

  #looks() {
    const { size } = this.#stage;
    return views.looks(this.#cloud.n, this.#view, size, this.#whole().scale);
  }

  #resized(before, now) {
    if (!this.#isMoved || !before.width) {
      this.#ways.stop("fly");
      this.#view = this.#whole();
    } else if (now.width !== before.width || now.height !== before.height) {
      const grown = Math.min(now.width, now.height) / Math.min(before.width, before.height);
      this.#view = { ...this.#goal(), scale: this.#goal().scale * grown };
      this.#ways.stop("fly");
    }
    this.#detect();
    this.#draw();
    if (this.#later !== null) this.focus(this.#later);
    this.#later = null;
  }

  // Looks -------------------------------------------------------------------------------------

  // What the page is written on, told by the colour that it writes with.
  #detect() {
    const ink = getComputedStyle(this.canvas).color.match(/^rgba?\((\d+), (\d+), (\d+)/);
    this.#isDark = ink
      ? luminance(ink.slice(1).map(Number)) > 0.4
      : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  #recolour() {
    const { labels, colourOf } = this.#cloud;
    if (labels) this.setLabels(labels, colourOf);
    else this.#detect();
    this.#draw();
  }

  #point() {
    const idle = this.tool === "lasso" ? "crosshair" : "grab";
    this.canvas.style.cursor = this.#hovered !== null ? "pointer" : idle;
  }

  #choose() {
    const { n, slot } = this.#cloud;
    const rows = this.#marks.selected.filter((row) => row >= 0 && row < n);
    this.#chosen = rows.length > 1 ? Uint32Array.from(rows, (row) => slot[row]).sort() : NONE;
    this.#marked++;
  }

  #places() {
    this.#grid ??= new Grid(this.#cloud.rows);
    return this.#grid;
  }

  #describe() {
    const { n, labels } = this.#cloud;
    const rows = `${n.toLocaleString("en")} ${n === 1 ? "row" : "rows"}`;
    const found = labels ? new Set(labels) : new Set();
    found.delete(-1);
    const clusters = `${found.size} ${found.size === 1 ? "cluster" : "clusters"}`;
    this.canvas.setAttribute(
      "aria-label",
      `Map of ${rows}${labels ? ` in ${clusters}` : ""}. Arrow keys move it, plus and minus zoom, ` +
        "0 shows all, Shift with the arrows right and left goes from row to row, Enter picks one.",
    );
  }

  // Frames ------------------------------------------------------------------------------------

  #draw(points = true) {
    this.#isStale.points ||= points;
    if (this.#request === 0) {
      this.#pace.ask();
      this.#request = requestAnimationFrame((now) => this.#frame(now));
    }
  }

  #frame(now) {
    this.#request = 0;
    if (this.#stage.isHidden) return; // the stage tells when it is shown
    const flight = this.#ways.get("fly");
    if (flight) {
      this.#view = views.between(flight.from, flight.to, this.#ways.share("fly", now));
    }
    const { points, rest } = this.#isStale;
    this.#isStale = { points: false, rest: false };
    if (points || rest) this.#isStale.rest = this.#stage.draw(this.#about(now), !points);
    this.#drawMarks(now);
    const moved = ["fly", "glide", "turn"].some((name) => this.#ways.get(name));
    this.#ways.settle(now);
    if (flight && !this.#ways.get("fly") && this.#cursor !== null) {
      this.on.hover(this.#cursor, this.screenOf(this.#cursor), "arrived");
    }
    if (this.#ways.isBusy) this.#draw(moved);
    else if (this.#isStale.rest) this.#draw(false);
    else if (points && this.#pointer) this.hoverAt(this.#pointer);
  }

  #about(now) {
    return {
      view: this.#view,
      ratio: this.#stage.size.ratio,
      share: this.#pace.share(this.#cloud.n, ["fly", "glide"].some((name) => this.#ways.get(name))),
      moved: this.#ways.share("glide", now),
      turned: this.#ways.share("turn", now),
      ...this.#looks(),
      dimmed: this.#chosen.length ? 0.25 : 1,
      chosen: this.#chosen,
      marked: this.#marked,
      paper: PAPER[this.#isDark ? "dark" : "light"],
    };
  }

  #drawMarks(now) {
    const { size } = this.#stage;
    const moved = this.#ways.share("glide", now);
    const marks = {
      ...this.#marks,
      isDark: this.#isDark,
      radius: this.#looks().radius,
      pulse: this.#ways.share("pulse", now),
      hovered: this.#hovered,
      cursor: this.#cursor,
      lasso: this.#lasso,
    };
    drawMarks(this.#stage.ink, size, marks, (row) => {
      const place = this.#cloud.place(row, moved);
      return place && views.toScreen(this.#view, size, ...place);
    });
  }
}
