// What one takes along: labels, links, the model, a report.

import { counted, el, fill, icon, number } from "./dom.js";

const FILES = [
  ["labels.csv", "Labels", "CSV", "Each row’s id, its cluster and the cluster’s name. Opens in any spreadsheet."],
  ["labels.parquet", "Labels", "Parquet", "The same with types, for pandas, Polars, DuckDB, R."],
  ["links.csv", "Links", "CSV", "All answers as links, for “--links” of any linkshift command, or for another program."],
  ["model.npz", "Model", "NPZ", "Labels new rows: linkshift predict, or model_files in Python."],
  ["report.html", "Report", "HTML", "One file with the clusters in pictures and words, to send to others."],
];

export class Out {
  constructor(page) {
    this.page = page;
    this.title = "Out";
    this.lead = el("p", { class: "ls-soft" });
    this.list = el("ul", { class: "ls-files" }, FILES.map((file) => this.file(file)));
    this.node = el("section", { class: "ls-view ls-out", data: { view: "out" }, aria: { label: "Out" } },
      el("div", { class: "ls-head" }, el("h2", {}, "Take it along")), this.lead, this.list,
      el("p", { class: "ls-soft" }, "Answers themselves need no saving: each is on disk before the next pair is shown, and the same command goes on where you left."));
    page.store.on("state", () => this.draw());
  }

  keys = [];

  show() {
    this.draw();
  }

  draw() {
    const { state } = this.page.store;
    fill(this.lead, `${counted(state.n_rows ?? 0, "row")} in ${counted(state.n_clusters ?? 0, "cluster")}, from ${number(state.answers)} answers.`);
  }

  file([name, title, kind, text]) {
    const said = el("p", { class: "ls-bad", hidden: true, role: "alert" });
    const button = el("button", { class: "ls-file", type: "button", data: { download: name }, on: { click: () => this.take(name, button, said) } },
      icon("save"), el("span", { class: "ls-file-name" }, el("b", {}, title), " ", el("span", { class: "ls-kind" }, kind)), el("span", { class: "ls-soft" }, text));
    return el("li", {}, button, said);
  }

  async take(name, button, said) {
    button.disabled = true;
    said.hidden = true;
    try {
      await this.page.api.download(`/api/export/${name}`);
      this.page.announce(`${name} is in your downloads.`);
    } catch (refused) {
      fill(said, el("strong", {}, refused.message), " ", refused.remedy ?? "");
      said.hidden = false;
    } finally {
      button.disabled = false;
      button.focus();
    }
  }
}
