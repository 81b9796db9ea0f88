// Sheets that lie over the page: what an action will write, which cluster, a picture, the keys, the settings.

import { counted, el, fill, focused, icon, kbd } from "./dom.js";
import { clusterMark, small } from "./items.js";
import { local, shown } from "./keys.js";

const MOST_LINKS = 200; // shown of a plan
const MOST_CHOICES = 120;

/** Open a sheet; gives {node, close}. It closes by Esc, and `closed` is called when it has. */
export function sheet(page, title, content, { name, closed, wide = false } = {}) {
  const before = focused(page.root);
  const node = el("dialog", { class: wide ? "ls-sheet ls-wide" : "ls-sheet", data: { sheet: name }, aria: { label: title } });
  const shut = el("button", { class: "ls-icon-button", type: "button", data: { do: "close" }, aria: { label: "Close" }, on: { click: () => close() } }, icon("close"));
  fill(node, el("header", {}, el("h2", {}, title), shut), content);
  const close = () => {
    if (!node.isConnected) return;
    node.close();
    node.remove();
    if (before?.isConnected) before.focus({ preventScroll: true });
    else page.focus();
    closed?.();
  };
  node.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  node.addEventListener("click", (event) => event.target === node && close());
  page.root.append(node);
  node.showModal();
  return { node, close };
}

/** Show the links that an action would write; Enter writes them, Esc does not. */
export async function planned(page, request, title, done) {
  if (!page.canWrite()) return;
  const body = el("div", { class: "ls-plan" }, el("p", { class: "ls-wait" }, "Working out the links …"));
  const open = sheet(page, title, body, { name: "plan" });
  local(open.node, { Enter: (event) => event.target.closest("button:not([data-do=write])") ? false : undefined });
  try {
    const plan = await page.api.post("/api/plan", request);
    showPlan(page, open, body, { request, title, done }, plan);
  } catch (refused) {
    fill(body, told(refused));
  }
}

function told(refused) {
  return el("p", { class: "ls-bad", role: "alert" }, el("strong", {}, refused.message), " ", refused.remedy ?? "");
}

function showPlan(page, open, body, { request, title, done }, plan) {
  let writing = false;
  const problem = el("div");
  const links = plan.links.slice(0, MOST_LINKS);
  const write = async () => {
    if (writing) return;
    writing = true;
    button.disabled = true;
    try {
      const reply = await page.write("/api/act", { do: request.do, links: plan.links, name: request.name, cluster: request.cluster });
      open.close();
      page.acted(reply, `${title}: ${counted(reply.n ?? plan.links.length, "link")} saved.`);
      done?.(reply);
    } catch (refused) {
      fill(problem, told(refused));
      writing = button.disabled = false;
      button.focus();
    }
  };
  const button = el("button", { class: "ls-button ls-main", type: "button", data: { do: "write" }, disabled: !plan.links.length && request.do !== "name", on: { click: write } },
    plan.links.length ? `Write ${counted(plan.links.length, "link")}` : "Nothing to write", kbd("Enter"));
  fill(body,
    el("p", {}, plan.text),
    plan.note ? el("p", { class: "ls-note" }, plan.note) : null,
    el("ul", { class: "ls-links", data: { part: "plan" }, tabIndex: 0 }, links.map((link) => linkLine(page, link))),
    plan.links.length > MOST_LINKS ? el("p", { class: "ls-note" }, `and ${counted(plan.links.length - MOST_LINKS, "more link", "more links")}`) : null,
    problem,
    el("div", { class: "ls-row ls-ends" }, button,
      el("button", { class: "ls-button", type: "button", data: { do: "cancel" }, on: { click: open.close } }, "Cancel", kbd("Esc"))));
  local(open.node, { Enter: (event) => (event.target.closest("button:not([data-do=write])") || button.disabled ? false : void write()) });
  button.focus();
}

/** A link: two small items and what is said between them. */
export function linkLine(page, { a, b, word }, extra = null) {
  return el("li", { class: "ls-link", data: { link: `${a}-${b}`, word } },
    small(page, a), el("span", { class: `ls-word ls-say-${word}` }, word === "unknown" ? "don’t know" : word), small(page, b), extra);
}

/** Pick a cluster by typing or with the arrows. Calls `picked` with its number. */
export function pickCluster(page, title, { without = [], first = null } = {}, picked = () => {}) {
  if (!page.canWrite()) return;
  const left = [...page.store.clusters.values()].filter((one) => !without.includes(one.k)).sort((p, q) => (q.k === first) - (p.k === first) || q.size - p.size);
  const list = el("ul", { class: "ls-choices", role: "listbox", aria: { label: "Clusters" } });
  const field = el("input", { type: "search", class: "ls-field", placeholder: "Name or number", autofocus: true, aria: { label: "Find a cluster by name or number" }, data: { field: "pick" } });
  let at = 0;
  const choose = (k) => {
    open.close();
    picked(k);
  };
  const matching = () => {
    const text = field.value.trim().toLowerCase();
    return left.filter((one) => !text || page.store.nameOf(one.k).toLowerCase().includes(text) || String(one.k) === text).slice(0, MOST_CHOICES);
  };
  const draw = () => {
    const found = matching();
    at = Math.max(0, Math.min(at, found.length - 1));
    fill(list, found.map((one, i) =>
      el("li", { role: "option", class: "ls-choice", data: { pick: one.k }, aria: { selected: i === at }, on: { click: () => choose(one.k) } },
        clusterMark(page, one.k, { open: false }), el("span", { class: "ls-soft" }, counted(one.size, "row")),
        el("span", { class: "ls-exemplars" }, one.exemplars.slice(0, 3).map((row) => small(page, row, { id: false }))))));
    if (!found.length) fill(list, el("li", { class: "ls-none" }, "No other cluster is called so."));
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  field.addEventListener("input", () => {
    at = 0;
    draw();
  });
  const step = (by) => () => {
    at += by;
    draw();
  };
  const open = sheet(page, title, el("div", {}, field, list), { name: "pick" });
  local(open.node, {
    ArrowDown: step(1),
    ArrowUp: step(-1),
    Enter: (event) => (event.target.closest("button") ? false : void (matching()[at] && choose(matching()[at].k))),
  });
  draw();
  field.focus();
}

/** A picture as large as there is room for; of a small one, its pixels. */
export function zoomed(page, url, name) {
  const image = el("img", { src: url, alt: `Picture of ${name}`, class: "ls-large" });
  image.addEventListener("load", () => image.classList.toggle("ls-pixels", image.naturalWidth < 160));
  const open = sheet(page, name, image, { name: "zoom", wide: true });
  image.addEventListener("click", open.close);
}

/** All keys, those of the view first. */
export function help(page) {
  const table = (keys) => {
    const seen = new Map();
    const here = keys.filter(({ says, only }) => says && (!only || only === page.store.state?.kind));
    for (const { key, says } of here) seen.set(says, [...(seen.get(says) ?? []), key]);
    return el("dl", { class: "ls-keys" }, [...seen].map(([says, all]) =>
      el("div", {}, el("dt", {}, all.map((key) => el("kbd", {}, shown(key)))), el("dd", {}, says))));
  };
  const views = page.views.filter((view) => view.keys?.length);
  views.sort((p, q) => (q === page.view) - (p === page.view));
  sheet(page, "Keys", el("div", { class: "ls-help" },
    views.map((view) => el("section", {}, el("h3", {}, view.title), table(view.keys),
      view.within ? [el("p", { class: "ls-soft" }, view.within.title), table(view.within.keys)] : null)),
    el("section", {}, el("h3", {}, "Everywhere"), table(page.keys.everywhere))), { name: "help", wide: true });
}

/** What a person may choose for this page. */
export function options(page) {
  const { settings, store } = page;
  const radio = (name, value, text) =>
    el("label", {}, el("input", { type: "radio", name: "ls-theme", value, checked: settings.theme === value, data: { theme: value }, on: { change: () => settings.set(name, value) } }), text);
  const box = (name, text, note, inverse = false) =>
    el("label", { class: "ls-option" },
      el("input", { type: "checkbox", checked: settings.get(name) !== inverse, data: { setting: name }, on: { change: (event) => settings.set(name, event.target.checked !== inverse) } }),
      el("span", {}, text, el("small", {}, note)));
  sheet(page, "Settings", el("div", { class: "ls-options" },
    el("p", {}, "Answers are kept under the name ", el("strong", { dir: "auto", data: { part: "who" } }, store.state?.who || "of nobody"), ". ",
      el("span", { class: "ls-soft" }, "Another one: ", el("code", {}, "linkshift label …"), " ", el("code", {}, "--as NAME"), ".")),
    el("fieldset", {}, el("legend", {}, "Light"), radio("theme", "auto", "As the system"), radio("theme", "light", "Light"), radio("theme", "dark", "Dark")),
    box("blind", "Label blind", "The pair shows neither its clusters nor its probability, which would lead the eye."),
    box("keys", "Single keys", "s, d, u and others do what the buttons do. Turn off where they get in the way of other tools.")), { name: "settings" });
}

