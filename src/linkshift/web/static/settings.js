// What a person has chosen for this page, kept in the browser where it keeps anything.

const PLACE = "linkshift.page";
const FIRST = { theme: "auto", blind: true, keys: true, view: "ask" };

export class Settings {
  constructor() {
    this.values = { ...FIRST, ...stored() };
    this.listeners = new Set();
    this.night = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
    this.turned = () => this.theme === "auto" && this.say("theme");
    this.night?.addEventListener("change", this.turned);
  }

  get theme() {
    return this.values.theme;
  }

  get blind() {
    return this.values.blind;
  }

  get dark() {
    return this.theme === "dark" || (this.theme === "auto" && Boolean(this.night?.matches));
  }

  get(name) {
    return this.values[name];
  }

  set(name, value) {
    if (this.values[name] === value) return;
    this.values[name] = value;
    try {
      localStorage.setItem(PLACE, JSON.stringify(this.values));
    } catch {
      // A browser that keeps nothing: the choice holds until the page is closed.
    }
    this.say(name);
  }

  on(run) {
    this.listeners.add(run);
    return () => this.listeners.delete(run);
  }

  say(name) {
    for (const run of this.listeners) run(name);
  }

  close() {
    this.night?.removeEventListener("change", this.turned);
  }
}

function stored() {
  try {
    return JSON.parse(localStorage.getItem(PLACE)) ?? {};
  } catch {
    return {};
  }
}
