// The first view: a pair, and the keys that answer it. An answer counts when the server has it on disk.

import { el, fill, focused, icon, kbd, percent, setAria } from "./dom.js";
import { idOf } from "./items.js";
import { Pair, preload } from "./pair.js";

const PATIENT = 400; // milliseconds of waiting, after which a key pressed meanwhile is no answer
const TRAIL = 40;
const POLL = 1000;
const AHEAD = 5; // pairs

export const SAID = { same: "Same", different: "Different", unknown: "Don’t know" };
const ANSWERS = [["same", "s"], ["different", "d"], ["unknown", "u"]];
// What a question is for, where its own words do not say it.
const PURPOSES = { learn: "Its answer decides a lot.", audit: "An audit.", confirm: "Once more." };

export class Ask {
  constructor(page) {
    this.page = page;
    this.title = "Ask";
    this.prepared = [];
    this.current = null;
    this.pair = null;
    this.busy = false;
    this.queued = null; // one key pressed while an answer is on its way
    this.sent = 0; // answers and the like; what was asked for before one is old
    this.first = true;
    this.media = new Map();
    this.trail = [];
    this.build();
    const { store } = page;
    store.on("questions", () => this.ask());
    store.on("state", () => this.draw());
    store.on("online", () => this.draw());
    store.on("labels", () => this.pair?.remark());
    page.settings.on((name) => (name === "blind" || name === "theme") && this.pair?.remark());
  }

  get keys() {
    const asking = () => Boolean(this.current);
    return [
      ...ANSWERS.map(([word, key]) => ({ key, says: SAID[word], when: asking, run: () => this.answer(word) })),
      { key: "?", says: "Why this pair", when: asking, run: () => this.toggleWhy() },
      { key: "f", only: "image", says: "Flip the two pictures in place", when: () => this.pair?.flips, run: () => this.pair.flip() },
      { key: "1", only: "audio", says: "Play the first sound", when: () => this.pair?.plays, run: () => this.pair.play(0) },
      { key: "2", only: "audio", says: "Play the second sound", when: () => this.pair?.plays, run: () => this.pair.play(1) },
      { key: "Escape", only: "image", says: "Pictures side by side again", when: () => this.pair?.side !== null && this.pair?.flips, run: () => this.pair.apart() },
    ];
  }

  // Parts ------------------------------------------------------------------------------------------

  build() {
    this.stage = el("div", { class: "ls-asking", id: "ls-pair", data: { part: "pair" } });
    this.buttons = ANSWERS.map(([word, key]) =>
      el("button", {
        class: `ls-answer ls-say-${word}`, type: "button", data: { answer: word, key },
        on: { click: () => this.answer(word) },
      }, el("span", {}, SAID[word]), kbd(key)));
    this.undoButton = el("button", { class: "ls-answer ls-lesser", type: "button", data: { do: "undo", key: "z" }, on: { click: () => this.page.undo() } },
      icon("undo"), el("span", {}, "Undo"), kbd("z"));
    this.whyButton = el("button", { class: "ls-answer ls-lesser", type: "button", data: { do: "why", key: "?" }, aria: { expanded: false, controls: "ls-why-pair" }, on: { click: () => this.toggleWhy() } },
      icon("help"), el("span", {}, "Why"), kbd("?"));
    this.why = el("section", { class: "ls-why-pair", id: "ls-why-pair", hidden: true, aria: { label: "Why this pair" } });
    this.path = el("ol", { class: "ls-trail", data: { part: "trail" }, aria: { label: "Latest answers" } });
    this.node = el("section", { class: "ls-view ls-ask", data: { view: "ask" }, aria: { label: "Ask" } },
      el("h2", { class: "ls-question", id: "ls-question", tabIndex: -1 }, "Are these two the same?"),
      this.stage, this.why,
      el("div", { class: "ls-answers", role: "group", aria: { label: "Answer" } }, this.buttons, this.undoButton, this.whyButton),
      el("div", { class: "ls-trail-line" }, this.path, this.page.outcome));
  }

  show() {
    if (!this.current && this.page.store.state?.phase === "ready") this.ask();
    this.page.map?.marks();
  }

  // Questions --------------------------------------------------------------------------------------

  /** Ask the server for the questions that it has prepared. */
  async ask() {
    if (this.busy || this.asking) return;
    this.asking = true;
    const { sent } = this;
    try {
      const reply = await this.page.api.get("/api/next");
      if (sent !== this.sent) return; // an answer that came in between brings newer ones
      this.page.store.take(reply.state);
      this.keep(reply);
      const questions = this.first ? await this.broughtBack(reply.questions) : reply.questions;
      if (sent === this.sent) this.accept(questions);
    } catch (refused) {
      this.page.fail(refused);
    } finally {
      this.asking = false;
    }
  }

  /** Rows of the first question come with it: it can be shown at once. */
  keep(reply) {
    for (const row of reply.rows ?? []) this.page.store.keep(row);
  }

  /** The prepared questions are these; the pair on the screen stays where it is. */
  accept(questions) {
    this.prepared = questions.filter((one) => one.key !== this.current?.key);
    this.ahead();
    if (!this.current) this.next();
    else if (this.pair) this.draw();
    else this.showPair(); // its rows could not be had when it was its turn
  }

  /** After links that were written elsewhere: a pair that is known by now is not asked. */
  async forget() {
    const sent = ++this.sent;
    try {
      const reply = await this.page.api.get("/api/next");
      this.page.store.take(reply.state);
      if (sent !== this.sent) return;
      this.keep(reply);
      const { current } = this;
      if (current && !reply.questions.some((one) => one.key === current.key)) this.current = null;
      this.accept(reply.questions);
    } catch (refused) {
      this.page.fail(refused);
    }
  }

  /** After a reload the same pair as before comes first, if it is still to be asked. */
  async broughtBack(questions) {
    this.first = false;
    const key = this.page.settings.get("asked");
    if (!key || !questions.length) return questions;
    const before = questions.find((one) => one.key === key) ?? (await this.askedBefore(key));
    return before ? [before, ...questions.filter((one) => one !== before)] : questions;
  }

  /** The pair of a key where the server has others in mind by now, as after undo; null if it was answered. */
  async askedBefore(key) {
    const { store } = this.page;
    const [a, b, purpose] = key.split("-");
    const pair = [Number(a), Number(b)];
    if (purpose === "confirm" || !pair.every((row) => row < store.state.n_rows)) return null;
    const links = await store.links().catch(() => null);
    if (!links || links.some((one) => pair.includes(one.a) && pair.includes(one.b))) return null;
    return { key, a: pair[0], b: pair[1], purpose, why: "It was asked before the page was loaded anew.", at_stake: 0, probability: null };
  }

  ahead() {
    const rows = [...new Set(this.prepared.flatMap((one) => [one.a, one.b]))];
    const soon = 2 * AHEAD; // whose pictures and sounds are asked for
    this.page.store.rows(rows).then((found) => preload(this.page, found.slice(0, soon), this.media), () => {});
  }

  next() {
    clearTimeout(this.timer);
    this.current = this.prepared.shift() ?? null;
    this.why.hidden = true;
    setAria(this.whyButton, "expanded", false);
    if (!this.current && !this.page.store.state?.finished) this.timer = setTimeout(() => this.ask(), POLL);
    return this.showPair();
  }

  /** Show the pair: at once where both rows are there already, as they nearly always are. */
  async showPair() {
    const question = this.current;
    this.pair = null;
    this.page.map?.marks();
    if (!question) return this.draw();
    const { store } = this.page;
    let rows = [store.row(question.a), store.row(question.b)];
    if (!rows[0] || !rows[1]) {
      try {
        rows = await store.rows([question.a, question.b]);
      } catch (refused) {
        return this.page.fail(refused, () => this.showPair());
      }
      if (this.current !== question) return undefined;
    }
    this.pair = new Pair(this.page, ...rows);
    fill(this.stage, this.pair.node);
    this.stage.scrollTop = 0;
    this.stage.dataset.question = question.key;
    this.page.settings.set("asked", question.key);
    return this.draw();
  }

  /** For those who listen: which pair comes next. */
  inWords() {
    return this.pair ? `Next: ${this.pair.rows.map(idOf).join(" and ")}.` : "";
  }

  // Answers ----------------------------------------------------------------------------------------

  /** Send an answer. The next pair is shown when the server has this one on disk. */
  answer(word) {
    const question = this.current;
    if (this.busy) return this.queue(() => this.answer(word));
    if (!question || !this.pair || !this.page.canWrite()) return undefined;
    return this.send(
      "/api/answer",
      { a: question.a, b: question.b, word, purpose: question.purpose },
      async (reply) => {
        this.pushTrail(word, question);
        this.current = null;
        this.keep(reply);
        this.prepared = reply.questions.filter((one) => one.key !== question.key);
        this.ahead();
        await this.next();
        this.page.announce(`${SAID[word]}: saved.`, { also: this.inWords() });
      },
      () => `“${SAID[word]}” is not saved.`,
      () => this.current === question && this.answer(word),
    );
  }

  undo() {
    if (this.busy) return this.queue(() => this.undo());
    if (!this.page.mayUndo() && !this.page.canWrite()) return undefined;
    return this.send("/api/undo", {}, (reply) => this.tookBack(reply), () => "Nothing was taken back.", () => this.undo());
  }

  /** What the server took back; a pair is asked again. */
  tookBack(reply) {
    const last = this.trail.findLastIndex(({ a, b }) => a === reply.question?.a && b === reply.question?.b);
    const again = last < 0 ? null : reply.question; // of links that an action wrote nobody was asked
    if (again) this.trail = this.trail.filter((_, i) => i !== last);
    this.drawTrail();
    if (again) {
      const before = this.current;
      this.current = null;
      const others = [before, ...(reply.questions ?? [])].filter((one) => one && one.key !== again.key);
      this.prepared = [again, ...others.filter((one, i) => others.findIndex((other) => other.key === one.key) === i)];
    }
    this.page.announce(`Taken back: ${reply.undone}`);
    if (!again) return this.forget();
    this.keep(reply);
    this.ahead();
    return this.next();
  }

  /** Post something, with the keys waiting; the pair stays where it fails. */
  async send(path, body, then, failed, retry) {
    this.busy = true;
    this.sent++;
    this.node.classList.add("ls-busy");
    const start = performance.now();
    let queued = null;
    try {
      const reply = await this.page.write(path, body);
      this.page.settle();
      this.page.store.take(reply.state);
      await then(reply);
      queued = this.queued;
    } catch (refused) {
      this.page.fail(refused, retry, failed());
    } finally {
      this.busy = false;
      this.queued = null;
      this.node.classList.remove("ls-busy");
      this.draw();
    }
    if (!queued) return;
    const waited = performance.now() - start;
    if (waited <= PATIENT) queued();
    else this.page.announce(`Saving took ${(waited / 1000).toFixed(1)} s; the key pressed meanwhile was not taken as an answer to this pair.`);
  }

  queue(run) {
    this.queued ??= run;
  }

  // The line below ---------------------------------------------------------------------------------

  pushTrail(word, { a, b }) {
    this.trail = [...this.trail, { word, a, b }].slice(-TRAIL);
    this.drawTrail();
  }

  async loadTrail() {
    try {
      const { links } = await this.page.api.get("/api/links");
      const said = links.filter((one) => one.seq && one.by === "question");
      this.trail = said.sort((one, other) => one.seq - other.seq).slice(-TRAIL);
      this.drawTrail();
    } catch {
      // An ornament: without it nothing is missing.
    }
  }

  drawTrail() {
    fill(this.path, this.trail.map(({ word }) =>
      el("li", { class: `ls-say-${word}`, title: SAID[word] }, el("span", { class: "ls-hidden" }, SAID[word]))));
  }

  toggleWhy() {
    const open = this.why.hidden;
    this.why.hidden = !open;
    setAria(this.whyButton, "expanded", open);
    if (open) this.drawWhy();
    this.page.map?.marks();
  }

  drawWhy() {
    const { purpose, why, probability } = this.current;
    const sure = !this.page.settings.blind && purpose === "learn" && typeof probability === "number";
    fill(this.why,
      el("p", {}, el("strong", {}, PURPOSES[purpose] ?? ""), " ", why ?? ""),
      sure ? el("p", {}, `The present guess: ${percent(probability)} for the same.`) : null);
    this.page.announce(this.why.textContent, { quiet: true });
  }

  // Drawing ----------------------------------------------------------------------------------------

  draw() {
    const { state } = this.page.store;
    const asked = Boolean(this.current && this.pair);
    const may = this.page.mayWrite();
    const had = focused(this.page.root);
    for (const button of this.buttons) button.disabled = !asked || !may;
    this.whyButton.disabled = !asked;
    this.undoButton.disabled = !state?.undoable || !this.page.mayUndo();
    if (had?.disabled && this.node.contains(had)) this.page.focus(); // or keys would go astray
    this.undoButton.title = state?.undoable?.text ? `Takes back: ${state.undoable.text}` : "";
    this.node.classList.toggle("ls-idle", !asked);
    if (asked || this.current) return;
    delete this.stage.dataset.question;
    fill(this.stage, this.nothing(state));
  }

  nothing(state) {
    if (state?.finished)
      return el("div", { class: "ls-rest", data: { part: "finished" } },
        el("p", { class: "ls-rest-head" }, "No question is left"),
        el("p", {}, "Every pair is known by now, from what was answered and what follows from it."),
        el("p", { class: "ls-row" },
          el("button", { class: "ls-button", type: "button", on: { click: () => this.page.go("out") } }, "Take the clusters with you"),
          el("button", { class: "ls-button", type: "button", on: { click: () => this.page.go("clusters") } }, "Look at the clusters")));
    return el("div", { class: "ls-rest ls-wait", data: { part: "waiting" } },
      el("p", { class: "ls-rest-head" }, "Working out the next question"),
      el("p", {}, "It comes by itself."));
  }
}
