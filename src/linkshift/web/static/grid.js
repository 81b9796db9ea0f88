// One cluster: its items from the heart to the edge, and what can be said of them.

import { pickCluster, planned } from "./dialogs.js";
import { counted, el, fill, focused, icon, kbd, setAria } from "./dom.js";
import { dot, small } from "./items.js";
import { editName, mergeWith } from "./naming.js";

const AT_ONCE = 60;

export class Grid {
  constructor(page, back) {
    this.page = page;
    this.back = back;
    this.k = null; // the cluster that is open
    this.turn = this.reading = null; // each time that one is opened; the time that is being read for
    this.rows = [];
    this.n = 0;
    this.at = 0;
    this.picked = new Set();
    this.build();
    page.store.on("labels", () => this.k !== null && this.again());
  }

  get keys() {
    const one = () => this.rows.length > 0;
    const some = () => this.picked.size > 0;
    const step = (key, says, by) => ({ key, says, repeats: true, when: one, run: () => this.step(by()) });
    return [
      step("ArrowRight", "Move in the grid", () => 1),
      step("ArrowLeft", "Move in the grid", () => -1),
      step("ArrowDown", "Move in the grid", () => this.columns()),
      step("ArrowUp", "Move in the grid", () => -this.columns()),
      { key: "x", says: "Not in here: take the item out", when: one, run: () => this.out() },
      { key: "b", says: "Belongs to another cluster", when: one, run: () => this.join() },
      { key: "w", says: "Why the item is here", when: one, run: () => this.page.go("why", { row: this.rows[this.at] }) },
      { key: " ", says: "Pick the item, to split", when: one, run: () => this.pick(this.at) },
      { key: "t", says: "Split by what is picked", when: some, run: () => this.split() },
      { key: "m", says: "Merge with another cluster", run: () => this.merge() },
      { key: "n", says: "Name the cluster", run: () => this.rename() },
      { key: "Escape", says: "Back to all clusters", run: () => (this.picked.size ? this.forget() : this.back()) },
    ];
  }

  // Parts ------------------------------------------------------------------------------------------

  build() {
    this.name = el("h2", { class: "ls-cluster-title", dir: "auto" });
    this.count = el("span", { class: "ls-soft" });
    this.dot = el("span");
    const button = (what, text, key, run) => el("button", { class: "ls-button", type: "button", data: { do: what }, on: { click: run } }, text, key ? kbd(key) : null);
    this.actions = el("div", { class: "ls-row ls-grid-actions", role: "group", aria: { label: "The cluster" } },
      button("name", "Name", "n", () => this.rename()),
      button("merge", "Merge with …", "m", () => this.merge()),
      this.tie = button("name-links", "Hold together by its name", null, () => this.hold()));
    this.bar = el("div", { class: "ls-row ls-picked", data: { part: "picked" }, role: "group", aria: { label: "The items" } });
    this.list = el("ul", { class: "ls-grid", data: { part: "members" }, aria: { label: "Items from the heart to the edge" } });
    this.end = el("div", { class: "ls-grid-end" });
    this.watch = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.more(), { rootMargin: "300px" });
    this.node = el("div", { class: "ls-one-cluster" },
      el("div", { class: "ls-head" },
        el("button", { class: "ls-icon-button", type: "button", data: { do: "back" }, aria: { label: "All clusters" }, title: "All clusters (Esc)", on: { click: () => this.back() } }, icon("back")),
        this.dot, this.name, this.count, this.actions),
      el("p", { class: "ls-soft ls-hint" }, "From the heart to the edge: what does not belong is found at the end."),
      this.list, this.end, this.bar);
  }

  open(k) {
    this.k = k;
    this.turn = {}; // what is read for an earlier one comes too late
    this.rows = [];
    this.n = Infinity;
    this.at = 0;
    this.picked.clear();
    fill(this.list, el("li", { class: "ls-soft ls-wait" }, "Sorting …"));
    this.head();
    this.drawBar();
    this.watch.observe(this.end);
    this.more(true);
  }

  shut() {
    this.k = this.turn = null;
    this.watch.disconnect();
  }

  head() {
    const one = this.page.store.clusters.get(this.k);
    fill(this.name, this.page.store.nameOf(this.k));
    fill(this.dot, dot(this.page, this.k));
    fill(this.count, counted(one?.size ?? this.rows.length, "row"), one?.said ? `, ${counted(one.said, "answer")}` : "");
    this.tie.hidden = !one?.name;
  }

  /** Read the next items, and show them. */
  async more(first = false) {
    const { k, turn } = this;
    if (k === null || this.reading === turn || this.rows.length >= this.n) return;
    this.reading = turn;
    try {
      const reply = await this.page.api.get(`/api/cluster/${k}?start=${this.rows.length}&count=${AT_ONCE}`);
      if (this.turn !== turn) return;
      const from = this.rows.length;
      this.n = reply.rows.length ? reply.n : from;
      this.rows.push(...reply.rows);
      await this.page.store.rows(reply.rows).catch(() => {});
      if (this.turn !== turn) return;
      if (first) fill(this.list);
      this.list.append(...reply.rows.map((row, i) => this.card(row, from + i)));
      if (first) this.step(0);
      this.drawBar();
    } catch (refused) {
      if (this.turn !== turn) return;
      this.n = this.rows.length;
      if (refused.status === 404) this.back();
      else this.page.fail(refused, () => this.open(k));
    } finally {
      if (this.reading === turn) this.reading = null;
    }
    // The end may be in sight still.
    this.watch.unobserve(this.end);
    if (this.k !== null) this.watch.observe(this.end);
  }

  /** After a new clustering: the same cluster, with its items as they are now. */
  async again() {
    const { k, turn } = this;
    const here = this.rows[this.at];
    if (!this.page.store.clusters.has(k) && this.page.store.clusters.size) {
      this.page.announce("This cluster is no more: its items are in others.");
      return this.back();
    }
    const count = Math.max(AT_ONCE, this.rows.length);
    try {
      const reply = await this.page.api.get(`/api/cluster/${k}?start=0&count=${count}`);
      if (this.turn !== turn) return undefined;
      if (String(reply.rows) === String(this.rows)) return this.head();
      const had = this.list.contains(focused(this.page.root));
      [this.rows, this.n] = [reply.rows, reply.n];
      this.picked = new Set([...this.picked].filter((row) => reply.rows.includes(row)));
      await this.page.store.rows(reply.rows).catch(() => {});
      if (this.turn !== turn) return undefined;
      fill(this.list, reply.rows.map((row, i) => this.card(row, i)));
      this.at = Math.max(0, Math.min(reply.rows.includes(here) ? reply.rows.indexOf(here) : this.at, reply.rows.length - 1));
      this.head();
      this.drawBar();
      if (had) this.step(0);
    } catch (refused) {
      if (this.turn !== turn) return undefined;
      if (refused.status === 404) return this.back();
      this.page.fail(refused);
    }
    return undefined;
  }

  card(row, i) {
    const out = el("button", { class: "ls-icon-button ls-take-out", type: "button", tabIndex: -1, title: "Not in here (x)", data: { do: "out" }, aria: { label: "Not in here" }, on: { click: (event) => { event.stopPropagation(); this.at = i; this.out(); } } }, icon("close"));
    const button = small(this.page, row, {
      tag: "button", type: "button", tabIndex: i === this.at ? 0 : -1, data: { row }, class: this.picked.has(row) ? "ls-is-picked" : "",
      aria: { pressed: this.picked.has(row) },
      on: { click: () => this.clicked(i), focus: () => { this.at = i; this.drawBar(); } },
    });
    return el("li", {}, button, out);
  }

  buttons() {
    return this.list.querySelectorAll("[data-row]");
  }

  columns() {
    const [first, ...others] = [...this.list.children];
    if (!first) return 1;
    const below = others.findIndex((one) => one.offsetTop > first.offsetTop + 4);
    return below < 0 ? 1 + others.length : below + 1;
  }

  step(by) {
    const all = this.buttons();
    if (!all.length) return;
    const to = Math.max(0, Math.min(all.length - 1, this.at + by));
    if (all[this.at]) all[this.at].tabIndex = -1;
    this.at = to;
    all[to].tabIndex = 0;
    all[to].focus();
    if (to >= all.length - 2 * this.columns()) this.more();
    this.page.map.choose(this.rows[to]);
  }

  clicked(i) {
    this.at = i;
    this.step(0);
    this.pick(i);
  }

  // What is said of items --------------------------------------------------------------------------

  pick(i) {
    const row = this.rows[i];
    if (!this.picked.delete(row)) this.picked.add(row);
    const node = this.buttons()[i];
    node.classList.toggle("ls-is-picked", this.picked.has(row));
    setAria(node, "pressed", this.picked.has(row));
    this.drawBar();
  }

  forget() {
    this.picked.clear();
    for (const node of this.buttons()) {
      node.classList.remove("ls-is-picked");
      setAria(node, "pressed", false);
    }
    this.drawBar();
  }

  drawBar() {
    const n = this.picked.size;
    const row = this.rows[this.at];
    const button = (what, text, key, run) => el("button", { class: "ls-button", type: "button", data: { do: what }, on: { click: run } }, text, key ? kbd(key) : null);
    const print = `${n} ${row}`;
    if (print === this.print) return;
    this.print = print;
    if (n)
      fill(this.bar, el("b", {}, `${n} picked`),
        n === 2 ? button("split-two", "These two apart", "t", () => this.splitTwo()) : null,
        button("split", n === 1 ? "Split it off" : "Split these off", n === 2 ? null : "t", () => this.splitOff()),
        button("clear", "Forget", "Esc", () => this.forget()));
    else if (row === undefined) fill(this.bar);
    else
      fill(this.bar, el("span", { class: "ls-soft" }, "The item:"),
        button("out", "Not in here", "x", () => this.out()),
        button("join", "Belongs to …", "b", () => this.join()),
        button("why", "Why", "w", () => this.page.go("why", { row })),
        button("pick", "Pick", "Space", () => this.pick(this.at)));
  }

  split() {
    if (this.picked.size === 2) this.splitTwo();
    else this.splitOff();
  }

  splitTwo() {
    planned(this.page, { do: "split", exemplars: [...this.picked] }, "Split: these two apart", () => this.forget());
  }

  splitOff() {
    planned(this.page, { do: "split", rows: [...this.picked] }, `Split ${counted(this.picked.size, "item")} off`, () => this.forget());
  }

  out() {
    planned(this.page, { do: "out", row: this.rows[this.at] }, `Not in ${this.page.store.nameOf(this.k)}`);
  }

  join() {
    const row = this.rows[this.at];
    pickCluster(this.page, "It belongs to", { without: [this.k] }, (cluster) =>
      planned(this.page, { do: "join", row, cluster }, `Into ${this.page.store.nameOf(cluster)}`));
  }

  merge() {
    mergeWith(this.page, this.k);
  }

  /** The name as links: its items must stay together from now on. */
  hold() {
    const { name } = this.page.store.clusters.get(this.k) ?? {};
    planned(this.page, { do: "name", cluster: this.k, name }, `Hold “${name}” together`);
  }

  rename() {
    editName(this.page, this.k, this.name, () => {
      this.head();
      this.step(0);
    });
  }
}
