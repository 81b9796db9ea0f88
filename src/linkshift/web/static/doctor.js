// What does not fit: answers that contradict each other, people who disagree, answers in doubt.

import { linkLine } from "./dialogs.js";
import { counted, el, fill, focused, kbd } from "./dom.js";
import { small } from "./items.js";

const MOST = 50; // cases of a kind that are shown at a time

export class Doctor {
  constructor(page) {
    this.page = page;
    this.title = "Doctor";
    this.at = 0;
    this.found = null;
    this.body = el("div", { class: "ls-cases" });
    this.node = el("section", { class: "ls-view ls-doctor", data: { view: "doctor" }, aria: { label: "Doctor" } },
      el("div", { class: "ls-head" }, el("h2", {}, "What does not fit")), this.body);
    page.store.on("state", () => this.changed());
    page.store.on("labels", () => this.page.view === this && this.load());
  }

  get keys() {
    const contradiction = () => Boolean(this.here()?.dataset.weakest);
    const disagreement = () => Boolean(this.here()?.dataset.disagreement);
    return [
      { key: "ArrowDown", says: "Next case", repeats: true, run: () => this.step(1) },
      { key: "ArrowUp", says: "Previous case", repeats: true, run: () => this.step(-1) },
      { key: "x", says: "Drop the weakest answer", when: contradiction, run: () => this.press("drop") },
      { key: "k", says: "Keep it: it is right all the same", when: contradiction, run: () => this.press("keep") },
      { key: "s", says: "Settle a disagreement: same", when: disagreement, run: () => this.press("say-same") },
      { key: "d", says: "Settle a disagreement: different", when: disagreement, run: () => this.press("say-different") },
    ];
  }

  /** The badge on the tab, and the cases where they are shown. */
  changed() {
    const { state } = this.page.store;
    const n = (state.contradictions ?? 0) + (state.disagreements ?? 0);
    if (n !== this.n) {
      this.n = n;
      fill(this.tab, "Doctor", n ? el("span", { class: "ls-badge", data: { badge: "doctor" }, aria: { label: counted(n, "case") } }, n) : null);
      if (this.page.view === this) this.load();
    }
  }

  show() {
    this.load();
  }

  async load() {
    try {
      this.found = await this.page.api.get("/api/doctor");
      this.draw();
    } catch (refused) {
      this.page.fail(refused, () => this.load());
    }
  }

  draw() {
    const { contradictions = [], disagreements = [], doubts = [] } = this.found;
    const had = this.body.contains(focused(this.page.root));
    if (!contradictions.length && !disagreements.length && !doubts.length) {
      fill(this.body, el("div", { class: "ls-rest", data: { part: "healthy" } },
        el("p", { class: "ls-rest-head" }, "All answers fit together"),
        el("p", {}, "Answers that contradict each other, and people who disagree, are shown here as soon as there are any.")));
      return;
    }
    const section = (title, note, cases) => (cases.length ? el("section", {}, el("h3", {}, title), el("p", { class: "ls-soft" }, note), el("ol", {}, cases.slice(0, MOST)),
      cases.length > MOST ? el("p", { class: "ls-soft" }, `and ${counted(cases.length - MOST, "more", "more")}, after these`) : null) : null);
    fill(this.body,
      section(counted(contradictions.length, "contradiction"), "One answer of each was set aside, as the least probable. Nothing is lost: drop it, or keep it because it is right.", contradictions.map((one, i) => i < MOST && this.contradiction(one, i))),
      section(counted(disagreements.length, "disagreement"), "People said different things of one pair; the latest word counts.", disagreements.map((one, i) => i < MOST && this.disagreement(one, i))),
      section("In doubt", "The clusters go against these answers, though no chain of others contradicts them.", doubts.map((one, i) => i < MOST && this.doubt(one, i))));
    if (had) this.step(0);
  }

  contradiction(one, i) {
    const { page } = this;
    const weak = one.weakest ?? null;
    const links = [...one.chain, one.against];
    const line = (link, note) =>
      linkLine(page, link, el("span", { class: "ls-soft ls-link-note" }, link.who ? el("span", { dir: "auto" }, link.who) : null,
        link.action !== undefined && link.action === weak ? el("strong", { class: "ls-weak" }, "the weakest") : null, note));
    const weakest = links.find((link) => link.action === weak) ?? one.against;
    return el("li", { class: "ls-case", tabIndex: 0, data: { contradiction: i, weakest: weak ?? "" }, aria: { label: one.text } },
      el("p", {}, "These say one thing …"),
      el("ul", { class: "ls-links ls-chain" }, one.chain.map((link) => line(link))),
      el("p", {}, "… and this says the opposite:"),
      el("ul", { class: "ls-links" }, line(one.against, el("em", {}, "set aside"))),
      this.choices(weak, weakest.word));
  }

  disagreement({ a, b, said }, i) {
    const button = (word, key) => el("button", { class: "ls-button", type: "button", data: { do: `say-${word}` }, on: { click: () => this.settle(a, b, word) } }, word === "same" ? "Same" : "Different", kbd(key));
    return el("li", { class: "ls-case", tabIndex: 0, data: { disagreement: i } },
      el("div", { class: "ls-link" }, small(this.page, a), el("span", { class: "ls-word" }, "?"), small(this.page, b)),
      el("ul", { class: "ls-said" }, said.map(({ who, word, at }) =>
        el("li", {}, el("b", { dir: "auto" }, who || "nobody named"), " said ", el("span", { class: `ls-word ls-say-${word}` }, word), el("span", { class: "ls-soft" }, ` ${moment(at)}`)))),
      el("div", { class: "ls-row" }, button("same", "s"), button("different", "d")));
  }

  doubt(one, i) {
    const fixed = one.given || one.action === undefined || one.action === null;
    return el("li", { class: "ls-case", tabIndex: 0, data: { doubt: i, weakest: fixed ? "" : one.action } },
      el("ul", { class: "ls-links" }, linkLine(this.page, one, one.who ? el("span", { class: "ls-soft ls-link-note", dir: "auto" }, one.who) : null)),
      one.text ? el("p", {}, one.text) : null,
      this.choices(fixed ? null : one.action, one.word));
  }

  /** One key each to drop an answer and to keep it. */
  choices(action, word) {
    const none = action === null || action === undefined;
    const button = (what, text, key, run) => el("button", { class: "ls-button", type: "button", data: { do: what }, disabled: none, on: { click: run } }, text, kbd(key));
    return el("div", { class: "ls-row" },
      button("drop", `Drop “${word}”`, "x", () => this.send("/api/undo", { action }, "Dropped.")),
      button("keep", "Keep it", "k", () => this.send("/api/keep", { action }, "Kept, and said once more.")),
      none ? el("span", { class: "ls-soft" }, "It came with the links that were given: change it in their file, or answer the pair.") : null);
  }

  settle(a, b, word) {
    this.send("/api/answer", { a, b, word, purpose: "confirm" }, `${word === "same" ? "Same" : "Different"}: saved.`);
  }

  async send(path, body, said) {
    if (this.busy || !this.page.canWrite()) return;
    this.busy = true;
    try {
      const reply = await this.page.write(path, body);
      const dropped = path === "/api/undo"; // which z does not bring back: it takes back, too
      this.page.acted(reply, dropped ? `Taken back: ${reply.undone}.` : said, !dropped);
      await this.load();
    } catch (refused) {
      this.page.fail(refused);
    } finally {
      this.busy = false;
    }
  }

  // Moving -----------------------------------------------------------------------------------------

  cases() {
    return [...this.body.querySelectorAll(".ls-case[tabindex]")];
  }

  here() {
    const focus = focused(this.page.root)?.closest?.(".ls-case");
    return this.body.contains(focus) ? focus : (this.cases()[this.at] ?? null);
  }

  step(by) {
    const all = this.cases();
    if (!all.length) return;
    const i = Math.max(0, all.indexOf(this.here()));
    this.at = Math.max(0, Math.min(all.length - 1, i + by));
    all[this.at].focus();
  }

  press(what) {
    this.here()?.querySelector(`[data-do="${what}"]`)?.click();
  }
}

function moment(at) {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
