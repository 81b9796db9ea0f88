// The labelling page. `mount(root, api)` builds it in an element and needs nothing around it.
//
// For tests: what can be pressed or read has an attribute that stays.
//   [data-view=ask|map|clusters|doctor|why|out]      the view that is shown; [data-tab=...] the buttons to it
//   [data-part=pair] (data-question=KEY), [data-pair="a-b"], [data-item="0|1"]     the pair on the screen
//   [data-answer=same|different|unknown], [data-do=undo], [data-do=why], [data-do=flip], [data-zoom=ROW]
//   [data-part=outcome] what was saved or taken back; [data-part=trail] li, the latest answers
//   [data-part=waiting|finished|looking|failed]      where there is no pair; [data-do=again] where it failed
//   [data-part=banner] [data-banner=lost|refused|read-only|notes], [data-do=retry], [data-do=dismiss]
//   [data-figure=answers|implied|clusters|moved|ari] (data-value), [data-part=progress], [data-do=progress]
//   [data-do=tool-pan|tool-lasso|fit|pair-on-map], [data-part=map|hover|chosen|lassoed]
//   [data-do=split-off|merge-touched|merge-with|clear] after a lasso
//   [data-cluster=K] a line of the list; inside it [data-open-cluster=K], [data-do=name], [data-field=name]
//   [data-part=members] [data-row=N] the grid; [data-do=out|merge|split|split-two|why|join|name-links|back]
//   [data-sheet=plan|pick|zoom|help|settings], [data-link="a-b"] (data-word), [data-do=write|cancel|close], [data-pick=K]
//   [data-contradiction=I], [data-disagreement=I], [data-doubt=I], [data-do=drop|keep|say-same|say-different], [data-badge=doctor]
//   [data-field=search|pick|find], [data-found=ROW], [data-why=ROW], [data-download="labels.csv"|...]
//   [data-do=help|settings], [data-setting=blind|keys], [data-theme=auto|light|dark], [data-part=who]

import { Ask } from "./ask.js";
import { Clusters } from "./clusters.js";
import { colourOf, cssOf } from "./colours.js";
import { help, options, zoomed } from "./dialogs.js";
import { Doctor } from "./doctor.js";
import { counted, el, fill, focused, icon, kbd } from "./dom.js";
import { Keys } from "./keys.js";
import { MapPanel, MapView } from "./panel.js";
import { Out } from "./out.js";
import { Progress } from "./progress.js";
import { Settings } from "./settings.js";
import { Store } from "./store.js";
import { Why } from "./why.js";

const OUTCOME = 8000; // milliseconds that an outcome stays in sight
const WIDE = 900; // pixels, as in style.css
const KEYS = "avcewo"; // of the views

class Page {
  constructor(root, api, titled, place) {
    this.root = root;
    this.api = api;
    this.titled = titled;
    this.settings = new Settings((values) => this.write("/api/settings", values), place);
    this.store = new Store(api);
    this.keys = new Keys(() => this.settings.get("keys"));
    this.writing = Promise.resolve();
    this.trouble = null; // what was refused: {title, refused, retry}
    this.hidden = new Set(); // notes that were read
    this.build();
    this.listen();
    this.theme();
    this.go(this.settings.get("view"), {}, true);
    this.store.start();
  }

  // Parts ------------------------------------------------------------------------------------------

  build() {
    this.root.classList.add("linkshift");
    this.root.tabIndex = -1; // a click anywhere brings the keys here
    this.root.dataset.lmSuppressShortcuts = "true"; // in JupyterLab d and d would delete the cell
    this.outcome = el("p", { class: "ls-outcome", data: { part: "outcome" }, aria: { hidden: true } });
    this.live = el("p", { class: "ls-hidden", role: "status", aria: { live: "polite" } });
    this.banners = el("div", { class: "ls-banners", data: { part: "banner" } });
    this.main = el("main", { class: "ls-main-view", tabIndex: -1 });
    this.map = new MapPanel(this);
    this.ask = new Ask(this);
    this.views = [this.ask, new MapView(this), new Clusters(this), new Doctor(this), new Why(this), new Out(this)];
    this.names = ["ask", "map", "clusters", "doctor", "why", "out"];
    this.tabs = this.views.map((view, i) => this.tab(view, this.names[i]));
    this.title = el("h1", { class: "ls-title", dir: "auto" }, "linkshift");
    this.progress = new Progress(this);
    const tool = (what, label, key, run) =>
      el("button", { class: "ls-icon-button", type: "button", title: `${label} (${key})`, data: { do: what }, aria: { label }, on: { click: run } }, icon(what));
    this.app = el("div", { class: "ls-app" },
      el("header", { class: "ls-header" }, this.title,
        el("nav", { class: "ls-tabs", aria: { label: "Views" } }, this.tabs),
        el("div", { class: "ls-tools" }, tool("settings", "Settings", ",", () => options(this)), tool("help", "Keys", "h", () => help(this)))),
      this.banners,
      el("div", { class: "ls-body" }, this.main, this.map.node),
      this.progress.node, this.live);
    this.root.append(this.app);
    this.keys.everywhere = this.common();
    this.keys.here = () => [...(this.view?.keys ?? []), ...(this.wide() ? this.map.keys : [])];
  }

  tab(view, name) {
    view.tab = el("button", { class: "ls-tab", type: "button", data: { tab: name }, title: `${view.title} (${KEYS[this.names.indexOf(name)]})`, on: { click: () => this.go(name) } }, view.title);
    return view.tab;
  }

  common() {
    const online = () => this.store.online;
    return [
      { key: "z", says: "Undo", run: () => this.undo() },
      { key: "r", says: "Try again what failed", when: () => Boolean(this.trouble?.retry || this.failed) && online(), run: () => this.retry() },
      { key: "/", says: "Find an item", run: () => this.go("why", { search: true }) },
      ...this.views.map((view, i) => ({ key: KEYS[i], says: view.title, run: () => this.go(this.names[i]) })),
      { key: ",", says: "Settings", run: () => options(this) },
      { key: "h", says: "Keys", run: () => help(this) },
    ];
  }

  listen() {
    const { store } = this;
    this.pressed = (event) => {
      this.keys.hear(event);
      event.stopPropagation(); // keys are the page's, not those of a notebook around it
    };
    this.root.addEventListener("keydown", this.pressed);
    store.on("online", () => this.draw());
    store.on("state", (before) => {
      this.settings.take(store.state.settings);
      if (before?.phase !== store.state.phase) {
        this.go(this.name, {}, true);
        if (store.state.phase === "ready") this.ask.loadTrail();
      }
      this.draw();
    });
    this.settings.on((name) => name === "theme" && this.theme());
  }

  theme() {
    const { theme } = this.settings;
    if (theme === "auto") delete this.root.dataset.theme;
    else this.root.dataset.theme = theme;
    this.map.recolour();
    if (this.view) this.view.show?.({});
  }

  /** Colour of a cluster, for CSS. */
  colour(k) {
    return cssOf(k, this.settings.dark);
  }

  rgb(k) {
    return colourOf(k, this.settings.dark);
  }

  // Views ------------------------------------------------------------------------------------------

  /** Show a view; `detail` says what of it. */
  go(name, detail = {}, quiet = false) {
    const i = Math.max(0, this.names.indexOf(name));
    const [view, before] = [this.views[i], this.view];
    this.view = view;
    this.name = this.names[i];
    this.app.dataset.view = this.name;
    this.views.forEach((one) => {
      if (one === view) one.tab.setAttribute("aria-current", "page");
      else one.tab.removeAttribute("aria-current");
    });
    if (before !== view) before?.hide?.();
    this.settings.set("view", this.name);
    const { state } = this.store;
    if (state?.phase !== "ready") return fill(this.main, this.waiting(state));
    if (view.node !== this.main.firstChild) fill(this.main, view.node);
    view.show?.(detail);
    if (this.name === "ask" && !this.map.byHand && this.map.chosen !== null) this.map.choose(null);
    else this.map.drawChosen();
    if (before !== view && !quiet) {
      this.announce(view.title, { quiet: true });
      const had = focused(this.root);
      // On the map arrows move the map, and would not go to the first cluster of a list.
      if (!this.root.contains(had) || this.map.node.contains(had) || this.name === "map") this.focus();
    }
    return undefined;
  }

  /** Whether the map stands beside the view. */
  wide() {
    return this.app.clientWidth >= WIDE;
  }

  focus() {
    (this.name === "map" ? this.map.canvas : this.main).focus({ preventScroll: true });
  }

  waiting(state) {
    if (this.failed) return this.broken(state);
    return el("div", { class: "ls-rest ls-wait", data: { part: "looking" } },
      el("p", { class: "ls-rest-head" }, state ? "Looking at the rows" : "Connecting"),
      state ? el("p", {}, `${counted(state.n_rows, "row")}: near ones are joined to small pieces, and the pieces are compared with each other. The first question comes by itself, in seconds mostly.`) : null);
  }

  /** What clusters has failed: why, and the ways out of it. */
  get failed() {
    return Boolean(this.store.state?.phase?.startsWith("failed"));
  }

  broken(state) {
    const button = (what, text, key, run) => el("button", { class: "ls-button", type: "button", data: { do: what }, on: { click: run } }, text, kbd(key));
    return el("div", { class: "ls-rest", data: { part: "failed" }, role: "alert" },
      el("p", { class: "ls-rest-head" }, "The clusters could not be worked out"),
      el("p", { dir: "auto" }, state.phase.replace(/^failed:?\s*/, "")),
      el("p", {}, state.remedy || "Answers are safe in their file. The terminal may say more."),
      el("p", { class: "ls-row" }, button("again", "Try again", "r", () => this.again()),
        state.undoable && this.mayUndo() ? button("undo", `Undo ${state.undoable.text}`, "z", () => this.undo()) : null));
  }

  async again() {
    try {
      this.store.take((await this.write("/api/again")).state);
      this.store.need("state");
    } catch (refused) {
      this.fail(refused, () => this.again());
    }
  }

  // What happened ----------------------------------------------------------------------------------

  /** Say something to those who listen, and, unless `quiet`, to those who look. */
  announce(text, { quiet = false, also = "" } = {}) {
    const heard = `${text} ${also}`;
    // The same words twice are heard twice only if they differ.
    this.live.textContent = this.live.textContent === heard ? `${heard}\u00a0` : heard;
    if (quiet) return;
    this.outcome.textContent = text;
    this.outcome.classList.remove("ls-fresh");
    void this.outcome.offsetWidth; // begins the movement anew
    this.outcome.classList.add("ls-fresh");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => fill(this.outcome), OUTCOME);
    this.toast(text);
  }

  /** Beside the pair there is a line for it; elsewhere it is shown above the foot. */
  toast(text) {
    this.bread?.remove();
    if (this.name === "ask") return;
    this.bread = el("div", { class: "ls-toast", aria: { hidden: true } }, text);
    this.app.append(this.bread);
    setTimeout((bread) => bread.remove(), OUTCOME, this.bread);
  }

  /** Say what was refused, with its remedy, until it works or is put away. */
  fail(refused, retry = null, title = "") {
    if (refused.status === undefined) throw refused; // no refusal, but a mistake of this page
    if (refused.status === 0) this.store.disconnected(refused);
    if (refused.status === 0 && !title) return; // the banner of the connection says it
    this.trouble = { refused, retry, title };
    this.draw();
  }

  retry() {
    const { retry } = this.trouble ?? {};
    this.settle();
    if (retry) retry();
    else if (this.failed) this.again();
  }

  /** Something has worked: what failed before is no news any more. */
  settle() {
    if (!this.trouble) return;
    this.trouble = null;
    this.draw();
  }

  /** Write something, after whatever is being written: undo takes back what came before it. */
  write(path, body) {
    const done = this.writing.then(() => this.api.post(path, body));
    this.writing = done.catch(() => {});
    return done;
  }

  mayWrite() {
    const { state, online } = this.store;
    return Boolean(online && state?.phase === "ready" && !state.read_only);
  }

  /** The same, and it is said why not: a key that does nothing would be a riddle. */
  canWrite() {
    if (this.mayWrite()) return true;
    const { state, online } = this.store;
    if (!online) this.announce("Nothing can be saved while the server does not answer.");
    else if (state?.read_only) this.announce("Nothing can be saved: the file of answers is only to be read.");
    else this.announce("Nothing can be changed before there are clusters.");
    return false;
  }

  /** Also where the clusters have failed: it may be the last answer that they failed of. */
  mayUndo() {
    return this.mayWrite() || Boolean(this.failed && this.store.online && !this.store.state.read_only);
  }

  undo() {
    return this.ask.undo();
  }

  /** An action was written: its links, and the questions that fall away with them. Some are undone. */
  acted(reply, text, undone = true) {
    this.settle();
    this.store.take(reply.state);
    this.announce(undone ? `${text} z undoes it.` : text);
    this.store.need("state", "labels");
    this.ask.forget();
  }

  zoom(url, name) {
    zoomed(this, url, name);
  }

  // Banners ----------------------------------------------------------------------------------------

  draw() {
    const { state, online, lost } = this.store;
    if (state) this.app.dataset.kind = state.kind ?? "";
    if (state && this.title.title !== state.title) {
      this.title.textContent = this.title.title = state.title;
      this.titled(state.title);
    }
    this.app.classList.toggle("ls-offline", !online);
    const shown = [];
    if (!online)
      shown.push(this.banner("lost", lost?.message ?? "The connection to the server is lost.", [
        lost?.remedy ?? "Keys wait. It is tried again by itself; what was saved stays saved."]));
    if (state?.read_only) shown.push(this.banner("read-only", "Nothing can be saved.", [state.read_only]));
    if (this.trouble) shown.push(this.troubled());
    for (const note of state?.notes ?? []) {
      if (this.hidden.has(note)) continue;
      shown.push(this.banner("notes", "", [note], this.dismiss(() => this.hidden.add(note))));
    }
    const text = shown.map((one) => one.textContent).join("\n");
    if (text !== this.shownBanners) fill(this.banners, shown); // read aloud once only
    this.shownBanners = text;
    if (state && state.phase !== "ready") this.drawWaiting(state);
  }

  drawWaiting(state) {
    const node = this.waiting(state);
    if (this.main.textContent !== node.textContent) fill(this.main, node); // else the focus stays
  }

  banner(kind, title, text, ...buttons) {
    return el("div", { class: `ls-banner ls-${kind}`, data: { banner: kind }, role: kind === "notes" ? "note" : "alert" },
      el("p", {}, title ? el("strong", {}, title) : null, title ? " " : null, text), buttons);
  }

  troubled() {
    const { refused, retry, title } = this.trouble;
    const again = retry
      ? el("button", { class: "ls-button", type: "button", data: { do: "retry" }, on: { click: () => this.retry() } }, "Try again", kbd("r"))
      : null;
    return this.banner("refused", title || refused.message, [title ? `${refused.message} ` : null, refused.remedy], again,
      this.dismiss(() => {
        this.trouble = null;
      }));
  }

  dismiss(run) {
    return el("button", {
      class: "ls-icon-button", type: "button", data: { do: "dismiss" }, aria: { label: "Put away" },
      on: { click: () => { run(); this.draw(); this.focus(); } },
    }, icon("close"));
  }

  close() {
    this.store.close();
    this.settings.close();
    this.map.close();
    this.root.removeEventListener("keydown", this.pressed);
    this.root.replaceChildren();
  }
}

/**
 * Build the page in an element. Gives {key, close}: `key` takes events of the keyboard from around.
 * `titled` is told what the page is about; `place`, {read, write}, keeps where the person is on it.
 */
export function mount(root, api, { titled = () => {}, place = null } = {}) {
  const page = new Page(root, api, titled, place);
  return { key: (event) => page.keys.hear(event), close: () => page.close() };
}
