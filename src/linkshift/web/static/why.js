// Why an item is where it is; and the search for one.

import { linkLine, pickCluster, planned } from "./dialogs.js";
import { counted, el, fill, icon, kbd, percent } from "./dom.js";
import { clusterMark, full, idOf, small } from "./items.js";

const PAUSE = 180; // milliseconds after a letter until it is searched for

export class Why {
  constructor(page) {
    this.page = page;
    this.title = "Why";
    this.row = null;
    this.field = el("input", {
      type: "search", class: "ls-field ls-search-field", placeholder: "Find an item by id or text", id: "ls-search", data: { field: "search" },
      aria: { label: "Find an item by its id or by what it says" }, dir: "auto",
      on: { input: () => this.typed(), keydown: (event) => this.pressed(event) },
    });
    this.found = el("ul", { class: "ls-found", data: { part: "found" }, aria: { label: "Items found" } });
    this.body = el("div", { class: "ls-explained" });
    this.node = el("section", { class: "ls-view ls-why", data: { view: "why" }, aria: { label: "Why" } },
      el("div", { class: "ls-head" }, el("label", { class: "ls-search" }, icon("search"), this.field, kbd("/"))), this.found, this.body);
    page.store.on("labels", () => this.page.view === this && this.row !== null && this.load());
  }

  get keys() {
    const one = () => this.row !== null;
    return [
      { key: "x", says: "Not in its cluster: take it out", when: one, run: () => this.out() },
      { key: "b", says: "Belongs to another cluster", when: one, run: () => this.join() },
      { key: "Escape", says: "Back to the search", run: () => this.field.focus() },
    ];
  }

  show({ row, search } = {}) {
    if (row !== undefined) {
      this.field.value = "";
      fill(this.found);
      this.explain(row);
    } else if (this.row === null) {
      const { chosen } = this.page.map;
      if (chosen !== null) this.explain(chosen);
      else this.empty();
    }
    if (search || (this.row === null && this.page.wide())) this.field.focus();
    if (search) this.field.select();
  }

  empty() {
    fill(this.body, el("div", { class: "ls-rest" },
      el("p", { class: "ls-rest-head" }, "Why is an item where it is?"),
      el("p", {}, "Find one above, pick one on the map, or press w on one in a cluster.")));
  }

  // Search -----------------------------------------------------------------------------------------

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.search(), PAUSE);
  }

  async search() {
    const text = this.field.value.trim();
    this.asked = text;
    if (!text) return fill(this.found);
    try {
      const { rows } = await this.page.api.get(`/api/search?text=${encodeURIComponent(text)}`);
      if (this.asked !== text) return undefined;
      const numbers = rows.map((row) => (typeof row === "number" ? row : row.row));
      fill(this.found, numbers.map((row) =>
        el("li", {}, small(this.page, row, { tag: "button", type: "button", data: { found: row }, on: { click: () => this.take(row) } }))));
      if (!rows.length) fill(this.found, el("li", { class: "ls-none" }, "No item says that."));
      this.page.announce(counted(rows.length, "item found", "items found"), { quiet: true });
    } catch (refused) {
      this.page.fail(refused);
    }
    return undefined;
  }

  async pressed(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      this.field.value = "";
      fill(this.found);
      this.page.focus();
    }
    if (event.key === "ArrowDown") {
      event.preventDefault();
      this.found.querySelector("button")?.focus();
    }
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(this.timer);
    await this.search();
    this.found.querySelector("button")?.click();
  }

  take(row) {
    fill(this.found);
    this.explain(row);
    this.page.map.focus(row);
    this.page.focus();
  }

  // An item ----------------------------------------------------------------------------------------

  explain(row) {
    this.row = row;
    this.page.map.choose(row);
    fill(this.body, el("p", { class: "ls-wait ls-soft" }, "Looking it up …"));
    return this.load();
  }

  async load() {
    const { row } = this;
    try {
      const [[item], why] = await Promise.all([this.page.store.rows([row]), this.page.api.get(`/api/why/${row}`)]);
      if (this.row !== row) return;
      this.draw(item, why);
      this.page.map.choose(row, why.path ?? []);
    } catch (refused) {
      if (this.row !== row) return;
      fill(this.body, el("p", { class: "ls-bad", role: "alert" }, el("strong", {}, refused.message), " ", refused.remedy ?? ""));
      if (refused.status === undefined) throw refused;
    }
  }

  draw(item, why) {
    const { page } = this;
    const lines = (title, all, part) => (all?.length ? el("section", { data: { part } }, el("h3", {}, title), el("ul", { class: "ls-lines" }, all.map((text) => el("li", { dir: "auto" }, text)))) : null);
    const button = (what, text, key, run) => el("button", { class: "ls-button", type: "button", data: { do: what }, on: { click: run } }, text, key ? kbd(key) : null);
    const rest = (why.path ?? []).filter((row) => row !== item.row);
    fill(this.body,
      el("article", { class: "ls-explained-item", data: { why: item.row } },
        el("header", { class: "ls-item-head" }, el("span", { class: "ls-item-id", dir: "auto", title: idOf(item) }, idOf(item)), clusterMark(page, why.cluster)),
        full(page, item)),
      el("div", { class: "ls-row" },
        button("out", "Not in here", "x", () => this.out()),
        button("join", "Belongs to …", "b", () => this.join()),
        button("focus", "On the map", null, () => {
          if (!page.wide()) page.go("map");
          page.map.focus(item.row);
        })),
      lines("Why it is here", why.text, "why"),
      why.other ? el("p", { class: "ls-other" }, "Next best: ", clusterMark(page, why.other.k), ` at ${percent(why.other.probability)}.`) : null,
      rest.length ? el("section", {}, el("h3", {}, "Its path to the heart of the cluster"), el("ol", { class: "ls-path" }, rest.map((row) =>
        el("li", {}, small(page, row, { tag: "button", type: "button", data: { row }, on: { click: () => this.explain(row) } }))))) : null,
      why.links?.length ? el("section", {}, el("h3", {}, "Answers that bear on it"), el("ul", { class: "ls-links" }, why.links.map((link) =>
        linkLine(page, link, link.role ? el("span", { class: "ls-soft ls-link-note" }, link.role) : null)))) : null,
      lines("What if", why.what_if, "what-if"));
  }

  out() {
    planned(this.page, { do: "out", row: this.row }, "Not in this cluster");
  }

  join() {
    const { row, page } = this;
    const k = page.store.clusterOf(row);
    pickCluster(page, "It belongs to", { without: [k] }, (cluster) => planned(page, { do: "join", row, cluster }, `Into ${page.store.nameOf(cluster)}`));
  }
}
