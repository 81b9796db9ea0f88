// The line at the foot: what was answered, what follows, and how good it is by now.

import { counted, el, fill, icon, number, percent, setAria } from "./dom.js";

const FIRST_AUDIT = 11;

export class Progress {
  constructor(page) {
    this.page = page;
    this.figures = el("span", { class: "ls-figures" });
    this.words = el("span", { class: "ls-stop", id: "ls-progress-text", data: { part: "progress" } });
    this.more = el("div", { class: "ls-more-figures", id: "ls-more-figures", hidden: true });
    this.button = el("button", {
      class: "ls-progress-button", type: "button", id: "ls-progress-button", data: { do: "progress" },
      aria: { expanded: false, controls: "ls-more-figures" },
      on: { click: () => this.toggle() },
    }, this.figures, icon("down"));
    this.node = el("footer", { class: "ls-progress", aria: { label: "Progress" } }, this.more,
      el("div", { class: "ls-progress-line" }, this.button, this.words));
    page.store.on("state", () => this.draw());
  }

  toggle() {
    this.more.hidden = !this.more.hidden;
    setAria(this.button, "expanded", !this.more.hidden);
  }

  draw() {
    const { state } = this.page.store;
    if (!state || state.phase !== "ready") {
      fill(this.figures);
      fill(this.words);
      this.node.hidden = true;
      return;
    }
    this.node.hidden = false;
    const ari = state.estimate?.ari;
    fill(this.figures, [
      figure("answers", number(state.answers), state.answers === 1 ? "answer" : "answers", "Pairs that were answered"),
      figure("implied", number(state.implied), "implied", "Pairs that follow from the answers: who is the same as the same is the same"),
      figure("clusters", number(state.n_clusters), state.n_clusters === 1 ? "cluster" : "clusters", "Clusters by now"),
      figure("moved", state.answers ? percent(state.moved) : "–", "moved by the last ten", "Share of the labels that the last ten answers changed"),
      figure("ari", ari ? ari[0].toFixed(2) : "–", "estimated ARI", this.whyNot(state) ?? state.estimate.text,
        ari ? el("small", {}, `${ari[1].toFixed(2)}–${ari[2].toFixed(2)}`) : null),
    ]);
    fill(this.words, state.progress ?? "");
    fill(this.more, this.details(state));
  }

  details(state) {
    const { estimate } = state;
    if (!estimate) return el("p", {}, this.whyNot(state));
    return [
      el("dl", { class: "ls-bars" }, [
        bar("Adjusted Rand index", estimate.ari, "1 where the clusters are those that answers to all pairs would give, 0 for chance"),
        bar("Precision of pairs", estimate.precision, "Of pairs of rows in one cluster, the share that belong together"),
        bar("Recall of pairs", estimate.recall, "Of pairs of rows that belong together, the share that are in one cluster"),
      ]),
      el("p", { class: "ls-note" }, estimate.n_audits
        ? `The session’s own estimate with its 90 % interval, from ${counted(estimate.n_audits, "pair")} drawn at random.`
        : "As is usual on other data: no pair drawn at random has been answered yet."),
      state.unknown ? el("p", { class: "ls-note" }, `${counted(state.unknown, "pair")} that nobody could tell.`) : null,
    ];
  }

  /** Why there is no estimate. */
  whyNot(state) {
    if (state.estimate) return null;
    return state.answers < FIRST_AUDIT
      ? `No estimate yet: from the ${FIRST_AUDIT}th answer on, one question in five is drawn at random to measure it.`
      : "No estimate yet: it is worked out while nobody answers.";
  }
}

function figure(name, value, unit, title, extra = null) {
  return el("span", { class: "ls-figure", data: { figure: name, value }, title }, el("b", {}, value), " ", unit, extra ? [" ", extra] : null);
}

function bar(name, [value, low, high], title) {
  const [from, here, to] = [low, value, high].map((one) => Math.max(0, Math.min(1, one)));
  const at = { "--low": from, "--high": to, "--value": here };
  return el("div", { title },
    el("dt", {}, name),
    el("dd", {}, el("span", { class: "ls-bar", vars: at, aria: { hidden: true } }), el("b", {}, value.toFixed(2)), ` (${low.toFixed(2)} to ${high.toFixed(2)})`));
}
