// The clusters: a list with names and exemplars; one of them open, in grid.js.

import { counted, el, fill, focused, icon, number } from "./dom.js";
import { Grid } from "./grid.js";
import { dot, small } from "./items.js";
import { editName, mergeWith } from "./naming.js";

const AT_ONCE = 60;
const ORDERS = {
  size: ["Largest first", (p, q) => q.size - p.size || p.k - q.k],
  small: ["Smallest first", (p, q) => p.size - q.size || p.k - q.k],
  said: ["Fewest answers first", (p, q) => p.said - q.said || q.size - p.size],
  name: ["By name", (p, q) => String(p.name ?? "\uffff").localeCompare(String(q.name ?? "\uffff")) || p.k - q.k],
};

export class Clusters {
  constructor(page) {
    this.page = page;
    this.title = "Clusters";
    this.order = "size";
    this.at = null; // number of the cluster that has the focus
    this.shown = AT_ONCE;
    this.grid = new Grid(page, () => this.back());
    this.build();
    page.store.on("state", () => this.page.view === this && this.draw());
  }

  get keys() {
    if (this.grid.k !== null) return this.grid.keys;
    const one = () => this.at !== null && this.page.store.clusters.has(this.at);
    return [
      { key: "ArrowDown", says: "Next cluster", repeats: true, run: () => this.step(1) },
      { key: "ArrowUp", says: "Previous cluster", repeats: true, run: () => this.step(-1) },
      { key: "Enter", says: "Open the cluster", when: () => one() && !focused(this.page.root)?.closest?.("button"), run: () => this.open(this.at) },
      { key: "n", says: "Name the cluster", when: one, run: () => this.rename(this.at) },
      { key: "m", says: "Merge with another", when: one, run: () => this.merge(this.at) },
    ];
  }

  build() {
    this.find = el("input", { type: "search", class: "ls-field", placeholder: "Name or number", data: { field: "find" }, aria: { label: "Find clusters" }, on: { input: () => this.draw(true) } });
    this.sort = el("select", { class: "ls-field", data: { field: "order" }, aria: { label: "Order" }, on: { change: () => { this.order = this.sort.value; this.draw(true); } } },
      Object.entries(ORDERS).map(([value, [text]]) => el("option", { value }, text)));
    this.heading = el("h2", {}, "Clusters");
    this.list = el("ul", { class: "ls-cluster-list", data: { part: "clusters" } });
    this.more = el("button", { class: "ls-more", type: "button", data: { do: "more" }, on: { click: () => { this.shown += AT_ONCE; this.draw(); } } });
    this.overview = el("div", { class: "ls-overview" }, el("div", { class: "ls-head" }, this.heading, this.find, this.sort), this.list, this.more);
    this.node = el("section", { class: "ls-view ls-clusters", data: { view: "clusters" }, aria: { label: "Clusters" } }, this.overview);
  }

  show({ cluster } = {}) {
    if (cluster !== undefined) return this.open(cluster);
    if (this.grid.k !== null && !this.page.store.clusters.has(this.grid.k)) this.grid.shut();
    this.layers();
    return this.draw();
  }

  open(k) {
    this.at = k;
    this.grid.open(k);
    this.layers();
  }

  back() {
    this.grid.shut();
    this.layers();
    this.draw();
    this.line(this.at)?.querySelector("[data-open-cluster]")?.focus();
  }

  layers() {
    fill(this.node, this.grid.k === null ? this.overview : this.grid.node);
  }

  // The list ---------------------------------------------------------------------------------------

  found() {
    const text = this.find.value.trim().toLowerCase();
    const all = [...this.page.store.clusters.values()];
    const some = text ? all.filter((one) => this.page.store.nameOf(one.k).toLowerCase().includes(text) || String(one.k) === text) : all;
    return some.sort(ORDERS[this.order][1]);
  }

  draw(anew = false) {
    if (this.editing || this.grid.k !== null) return;
    if (anew) this.shown = AT_ONCE;
    const found = this.found();
    const { state } = this.page.store;
    fill(this.heading, counted(state.n_clusters, "cluster"));
    const print = JSON.stringify([found.slice(0, this.shown), this.page.settings.dark]);
    if (print === this.print) return; // nothing new: the focus stays where it is
    this.print = print;
    const had = focused(this.page.root)?.closest?.("[data-cluster]");
    const place = had ? [...this.list.children].indexOf(had) : -1;
    fill(this.list, found.slice(0, this.shown).map((one) => this.card(one)));
    if (!found.length) fill(this.list, el("li", { class: "ls-none" }, "No cluster is called so."));
    const left = found.length - this.shown;
    this.more.hidden = left <= 0;
    fill(this.more, icon("down"), `${number(left)} more`);
    if (place < 0) return;
    const again = this.line(had.dataset.cluster) ?? this.list.children[Math.min(place, this.list.children.length - 1)];
    again.querySelector("[data-open-cluster]")?.focus({ preventScroll: true });
  }

  card(one) {
    const { page } = this;
    const name = page.store.nameOf(one.k);
    const open = () => this.open(one.k);
    const label = el("span", { class: one.name ? "ls-cluster-title" : "ls-cluster-title ls-unnamed", dir: "auto" }, name);
    const button = (what, sign, text, run) =>
      el("button", { class: "ls-icon-button", type: "button", title: text, data: { do: what }, aria: { label: `${text}: ${name}` }, on: { click: run } }, sign);
    return el("li", { class: "ls-cluster", data: { cluster: one.k, size: one.size }, on: { focusin: () => { this.at = one.k; } } },
      el("div", { class: "ls-cluster-head" },
        el("button", { class: "ls-plain ls-open", type: "button", data: { openCluster: one.k }, on: { click: open } }, dot(page, one.k), label),
        el("span", { class: "ls-soft ls-counts" }, counted(one.size, "row"), one.said ? ` · ${counted(one.said, "answer")}` : null),
        button("name", icon("edit"), "Name", () => this.rename(one.k)),
        el("button", { class: "ls-quiet", type: "button", data: { do: "merge" }, aria: { label: `Merge with another: ${name}` }, on: { click: () => this.merge(one.k) } }, "Merge …")),
      el("div", { class: "ls-exemplars", on: { click: open } }, one.exemplars.map((row) => small(page, row))));
  }

  line(k) {
    return this.list.querySelector(`[data-cluster="${Number(k)}"]`);
  }

  step(by) {
    const lines = [...this.list.querySelectorAll("[data-cluster]")];
    const i = lines.findIndex((line) => Number(line.dataset.cluster) === this.at);
    const next = lines[i < 0 ? 0 : Math.max(0, Math.min(lines.length - 1, i + by))];
    next?.querySelector("[data-open-cluster]").focus();
  }

  merge(k) {
    mergeWith(this.page, k);
  }

  rename(k) {
    const line = this.line(k);
    const title = line?.querySelector(".ls-cluster-title");
    if (!title) return;
    this.editing = true;
    editName(this.page, k, title.parentElement, (kept) => {
      this.editing = false;
      this.print = null;
      this.draw();
      if (kept !== undefined) this.line(k)?.querySelector("[data-open-cluster]")?.focus();
    });
  }
}
