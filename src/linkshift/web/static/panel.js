// The map with what surrounds it: tools, a card of the item under the pointer, the chosen item, a lasso.

import { pickCluster, planned } from "./dialogs.js";
import { counted, el, fill, icon, setAria } from "./dom.js";
import { clusterMark, full, idOf, inShort, small } from "./items.js";
import { Scatter } from "./map.js";

const HOVER = 70; // milliseconds
const RESTS = 30; // frames without a movement

/** The view that gives the map all the room. The panel itself stays where it is. */
export class MapView {
  constructor(page) {
    this.page = page;
    this.title = "Map";
    this.node = el("section", { class: "ls-view ls-map-view", data: { view: "map" }, aria: { label: "Map" } });
  }

  get keys() {
    return this.page.map.keys;
  }

  /** What the map itself hears where it has the focus, for the sheet of keys. */
  within = {
    title: "On the map itself; beside other views Tab leads there",
    keys: [
      { key: "Shift →", says: "The next item of the cluster" },
      { key: "Shift ←", says: "The one before" },
      { key: "Enter", says: "Pick the item" },
      ...["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].map((key) => ({ key, says: "Move the map" })),
      ...["+", "-"].map((key) => ({ key, says: "Zoom" })),
    ],
  };
}

export class MapPanel {
  constructor(page) {
    this.page = page;
    this.tool = "pan";
    this.pairShown = false;
    this.chosen = null; // the row that was picked
    this.path = [];
    this.lassoed = [];
    this.links = [];
    this.build();
    page.store.on("labels", () => this.recolour());
    page.store.on("places", () => this.place());
    page.store.on("state", () => this.drawChosen());
    page.settings.on((name) => name === "blind" && this.marks());
  }

  get keys() {
    return [
      { key: "l", says: "Lasso, and back to moving", run: () => this.setTool(this.tool === "lasso" ? "pan" : "lasso") },
      { key: "0", says: "Show all points", run: () => this.scatter?.fit() },
      { key: "p", says: "Show the pair on the map", when: () => Boolean(this.page.ask.current), run: () => this.togglePair() },
      { key: "t", says: "Split the lassoed items off", when: () => this.lassoed.length > 0, run: () => this.splitOff() },
      { key: "Escape", says: "Forget the lasso or the chosen item", when: () => this.lassoed.length > 0 || this.chosen !== null || this.tool === "lasso", run: () => this.clear() },
    ];
  }

  // Parts ------------------------------------------------------------------------------------------

  build() {
    const tool = (what, sign, label, run) =>
      el("button", { class: "ls-icon-button", type: "button", data: { do: what }, title: label, aria: { label }, on: { click: run } }, icon(sign));
    this.tools = {
      pan: tool("tool-pan", "pan", "Move (drag) and zoom (wheel)", () => this.setTool("pan")),
      lasso: tool("tool-lasso", "lasso", "Lasso: draw around items (l)", () => this.setTool("lasso")),
      pair: tool("pair-on-map", "target", "Show the pair that is asked (p)", () => this.togglePair()),
    };
    this.canvas = el("canvas", { tabIndex: 0, aria: { label: "Map of the items: near ones are alike, colours are clusters. Arrow keys step through the items, Enter picks one." } });
    this.box = el("div", { class: "ls-canvas" }, this.canvas);
    this.hover = el("div", { class: "ls-hover", hidden: true, data: { part: "hover" }, aria: { hidden: true } });
    this.note = el("p", { class: "ls-map-note" });
    this.bar = el("div", { class: "ls-lassoed", hidden: true, data: { part: "lassoed" }, role: "group", aria: { label: "Lassoed items" } });
    this.card = el("section", { class: "ls-chosen", hidden: true, data: { part: "chosen" }, aria: { label: "Chosen item" } });
    this.node = el("aside", { class: "ls-map", data: { part: "map" }, aria: { label: "Map" } },
      el("div", { class: "ls-map-frame" }, this.box, this.hover, this.note,
        el("div", { class: "ls-map-tools", role: "group", aria: { label: "Tools of the map" } }, this.tools.pan, this.tools.lasso, this.tools.pair,
          tool("fit", "fit", "Show all (0)", () => this.scatter?.fit())),
        this.bar),
      this.card);
    this.setTool("pan");
  }

  begin() {
    if (this.scatter !== undefined) return this.scatter;
    try {
      this.scatter = new Scatter(this.canvas, {
        onHover: (row, at, how) => this.hovered(row, at, how),
        onPick: (row) => this.choose(row, [], true),
        onLasso: (rows) => this.lasso(rows),
      });
      fill(this.note, this.scatter.remark ?? null);
    } catch (failure) {
      this.scatter = null;
      fill(this.note, `There is no map: ${failure.message}`);
    }
    this.setTool(this.tool);
    return this.scatter;
  }

  close() {
    this.scatter?.destroy();
  }

  setTool(tool) {
    this.tool = tool;
    this.scatter?.setTool(tool);
    setAria(this.tools.pan, "pressed", tool === "pan");
    setAria(this.tools.lasso, "pressed", tool === "lasso");
  }

  place() {
    const { places } = this.page.store;
    if (!places?.length) return;
    this.begin()?.setPositions(places);
    this.recolour();
    this.marks();
  }

  recolour() {
    const { labels, places } = this.page.store;
    if (!this.scatter || !labels || labels.length * 2 !== places?.length) return;
    this.scatter.setLabels(labels, (k) => this.page.rgb(k));
    this.marks();
  }

  // Marks ------------------------------------------------------------------------------------------

  togglePair() {
    this.pairShown = !this.pairShown;
    this.marks();
  }

  /** While one labels blind, the pair is shown where one asks for it: the map has the clusters' colours. */
  get showsPair() {
    const { page } = this;
    return this.pairShown || !page.settings.blind || page.ask?.why.hidden === false;
  }

  marks() {
    const question = this.page.ask?.current;
    setAria(this.tools.pair, "pressed", this.showsPair);
    if (!this.scatter) return;
    const rows = this.lassoed.length ? this.lassoed : this.chosen === null ? [] : [this.chosen];
    const links = this.chosen === null ? [] : this.links.filter(({ a, b, word }) => (a === this.chosen || b === this.chosen) && word !== "unknown");
    this.scatter.setMarked({
      pair: question && this.showsPair ? [question.a, question.b] : null,
      selected: rows,
      links,
      path: this.path,
    });
  }

  // An item ----------------------------------------------------------------------------------------

  /** Show the card of an item; those who listen are told of it where keys led there. */
  hovered(row, at, how) {
    clearTimeout(this.timer);
    this.under = row;
    if (row === null) {
      this.hover.hidden = true;
      return;
    }
    this.timer = setTimeout(async () => {
      const { page } = this;
      let item;
      try {
        [item] = await page.store.rows([row]);
      } catch {
        return;
      }
      if (this.under !== row) return;
      const k = page.store.clusterOf(row);
      fill(this.hover, small(page, item), clusterMark(page, k, { open: false }));
      this.hover.hidden = false;
      const said = [idOf(item), inShort(page.store, item), k === null ? null : page.store.nameOf(k)];
      if (how === "keys") page.announce(`${said.filter(Boolean).join(", ")}.`, { quiet: true });
      this.follow(row, at);
    }, HOVER);
  }

  /** Keep the card beside its point for as long as the map moves below it. */
  follow(row, at, before = null, still = 0) {
    if (this.under !== row || this.hover.hidden) return;
    const place = this.scatter?.screenOf?.(row) ?? at ?? [0, 0];
    const moved = String(place) !== before;
    if (moved) this.beside(place);
    // Where it rests, it is enough to look now and then.
    const next = () => this.follow(row, at, String(place), moved ? 0 : still + 1);
    if (still < RESTS) requestAnimationFrame(next);
    else this.timer = setTimeout(next, 5 * HOVER);
  }

  /** Put the card beside a point, within the panel. */
  beside([x, y]) {
    const [width, height] = [this.box.clientWidth, this.box.clientHeight];
    const [wide, high] = [this.hover.offsetWidth, this.hover.offsetHeight];
    const left = x + 16 + wide > width ? x - 16 - wide : x + 16;
    const top = Math.min(Math.max(8, y - high / 2), Math.max(8, height - high - 8));
    this.hover.style.setProperty("--x", `${Math.max(8, Math.min(left, width - wide - 8))}px`);
    this.hover.style.setProperty("--y", `${top}px`);
  }

  /** Choose an item: its card, its links on the map. `byHand`: on the map, and it stays with the pair. */
  async choose(row, path = [], byHand = false) {
    this.chosen = row;
    this.byHand = byHand;
    this.path = path;
    this.lassoed = [];
    this.drawLassoed();
    this.marks();
    if (row === null) return this.drawChosen();
    this.shownVersion = null;
    await this.drawChosen();
    return undefined;
  }

  async drawChosen() {
    const { page, chosen } = this;
    if (chosen === null || page.name === "why") {
      this.card.hidden = true; // the view itself shows the item
      this.shownVersion = null;
      if (chosen !== null) this.links = await page.store.links().catch(() => []);
      this.marks();
      return;
    }
    const version = `${chosen} ${page.store.state?.version} ${page.store.state?.answers}`;
    if (this.shownVersion === version) return;
    this.shownVersion = version;
    try {
      const [[row], links] = await Promise.all([page.store.rows([chosen]), page.store.links()]);
      if (this.chosen !== chosen) return;
      this.links = links;
      this.drawCard(row);
      this.marks();
    } catch (refused) {
      page.fail(refused);
    }
  }

  drawCard(row) {
    const { page } = this;
    const k = page.store.clusterOf(row.row);
    const links = this.links.filter(({ a, b }) => a === row.row || b === row.row);
    const button = (what, text, run) => el("button", { class: "ls-button", type: "button", data: { do: what }, on: { click: run } }, text);
    fill(this.card,
      el("header", {},
        el("span", { class: "ls-item-id", dir: "auto", title: idOf(row) }, idOf(row)),
        clusterMark(page, k),
        el("button", { class: "ls-icon-button", type: "button", data: { do: "clear" }, aria: { label: "Close" }, on: { click: () => this.choose(null) } }, icon("close"))),
      el("div", { class: "ls-chosen-item", tabIndex: 0 }, full(page, row)),
      el("p", { class: "ls-soft" }, links.length ? `${counted(links.length, "link")} of its own, drawn on the map.` : "No answer names it."),
      el("div", { class: "ls-row" },
        button("why", "Why here", () => page.go("why", { row: row.row })),
        button("out", "Not in here", () => planned(page, { do: "out", row: row.row }, "Not in this cluster")),
        button("join", "Belongs to …", () => pickCluster(page, "It belongs to", { without: [k] }, (cluster) =>
          planned(page, { do: "join", row: row.row, cluster }, `Into ${page.store.nameOf(cluster)}`)))));
    this.card.hidden = false;
    this.card.dataset.row = row.row;
  }

  // The lasso --------------------------------------------------------------------------------------

  lasso(rows) {
    this.lassoed = rows;
    if (rows.length) this.chosen = null;
    this.drawChosen();
    this.drawLassoed();
    this.marks();
  }

  touched() {
    const { store } = this.page;
    return [...new Set(this.lassoed.map((row) => store.clusterOf(row)))].filter((k) => k !== null && k >= 0);
  }

  drawLassoed() {
    const { page } = this;
    const n = this.lassoed.length;
    this.bar.hidden = !n;
    if (!n) return;
    const clusters = this.touched();
    const button = (what, text, run) => el("button", { class: "ls-button", type: "button", data: { do: what }, on: { click: run } }, text);
    fill(this.bar,
      el("span", {}, el("b", {}, counted(n, "item")), ` of ${counted(clusters.length, "cluster")}`),
      button("split-off", "Split off", () => this.splitOff()),
      clusters.length > 1 ? button("merge-touched", `Merge these ${clusters.length}`, () => this.merge(clusters)) : null,
      button("merge-with", "Merge with …", () => pickCluster(page, "Merge with", { without: clusters }, (k) => this.merge([...clusters, k]))),
      el("button", { class: "ls-icon-button", type: "button", data: { do: "clear" }, aria: { label: "Forget the lasso" }, on: { click: () => this.clear() } }, icon("close")));
    page.announce(`${counted(n, "item")} of ${counted(clusters.length, "cluster")}.`, { quiet: true });
  }

  splitOff() {
    planned(this.page, { do: "split", rows: this.lassoed }, `Split ${counted(this.lassoed.length, "item")} off`, () => this.clear());
  }

  merge(clusters) {
    planned(this.page, { do: "merge", clusters }, `Merge ${clusters.length} clusters`, () => this.clear());
  }

  clear() {
    if (this.lassoed.length) this.lasso([]);
    else this.choose(null);
    if (this.tool === "lasso") this.setTool("pan");
  }

  /** Go to an item on the map. */
  focus(row) {
    this.scatter?.focus(row);
  }
}
