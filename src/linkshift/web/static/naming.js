// A name in its place, and a merge with a cluster that is picked: for the list and for the grid.

import { pickCluster, planned } from "./dialogs.js";
import { el } from "./dom.js";

/** Pick another cluster and merge, after a look at the links. */
export function mergeWith(page, k, done) {
  pickCluster(page, `Merge ${page.store.nameOf(k)} with`, { without: [k] }, (other) =>
    planned(page, { do: "merge", clusters: [k, other] }, `Merge ${page.store.nameOf(k)} with ${page.store.nameOf(other)}`, done));
}

/** A field in the place of a name. Enter keeps it, Esc does not; `done` is called after either. */
export function editName(page, k, place, done) {
  if (!page.canWrite()) return done(null);
  const before = page.store.clusters.get(k)?.name ?? "";
  const field = el("input", { class: "ls-field ls-name-field", value: before, maxLength: 200, dir: "auto", data: { field: "name" }, aria: { label: `Name of cluster ${k}` }, placeholder: "Name, or nothing for none" });
  let over = false;
  const finish = async (keep) => {
    if (over) return;
    over = true;
    const name = field.value.trim();
    field.replaceWith(place);
    if (!keep || name === before) return done(null);
    try {
      const reply = await page.write("/api/name", { cluster: k, name });
      page.store.take(reply.state);
      const one = page.store.clusters.get(k);
      if (one) one.name = name || null;
      page.store.need("state");
      page.announce(name ? `Named “${name}”. z undoes it.` : "The name is taken away. z undoes it.");
    } catch (refused) {
      page.fail(refused, null, `“${name}” is not saved.`);
    }
    return done(name);
  };
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    finish(event.key === "Enter");
  });
  field.addEventListener("blur", () => finish(true));
  place.replaceWith(field);
  field.focus();
  field.select();
}
