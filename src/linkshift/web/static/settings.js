// What a person has chosen for this page. It is kept by the server, in the log of who answers: a page
// has another port each time, so a browser would not know it again, and other pages of this machine
// could read what it keeps. Where the person is on the page is kept by `place`, if there is one.

const FIRST = { theme: "auto", blind: true, keys: true };
const WHERE = { view: "ask", asked: null };

export class Settings {
  /** `keep(values)` writes some; `place` has {read, write} of where the person is. */
  constructor(keep, place) {
    this.keep = keep;
    this.place = place;
    this.values = { ...FIRST, ...WHERE, ...read(place) };
    this.ahead = new Set(); // names of what was chosen here, and is not known to be kept
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
    if (!this.change(name, value)) return;
    if (name in WHERE) this.place?.write(Object.fromEntries(Object.keys(WHERE).map((one) => [one, this.values[one]])));
    else this.send(name, value);
  }

  async send(name, value) {
    this.ahead.add(name);
    try {
      await this.keep({ [name]: value });
      if (this.values[name] === value) this.ahead.delete(name);
    } catch {
      // Nothing can be saved, which the page says anyway: the choice holds until it is closed.
    }
  }

  /** Take in what the server has, but for what was chosen here meanwhile. */
  take(kept) {
    if (!kept) return;
    for (const [name, first] of Object.entries(FIRST))
      if (!this.ahead.has(name)) this.change(name, kept[name] ?? first);
  }

  change(name, value) {
    if (this.values[name] === value) return false;
    this.values[name] = value;
    this.say(name);
    return true;
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

function read(place) {
  const found = place?.read() ?? {};
  return Object.fromEntries(Object.keys(WHERE).filter((name) => typeof found[name] === "string").map((name) => [name, found[name]]));
}
