// What the page knows of its server: state, labels, places on the map, rows. Whoever shows it listens.

const KEPT = 4000; // rows
const AT_ONCE = 60; // rows of a request
const AGAIN = 1500; // milliseconds

export class Store {
  constructor(api) {
    this.api = api;
    this.state = null;
    this.labels = null; // Int32Array, the cluster of each row
    this.places = null; // Float32Array, x and y of each row
    this.online = true;
    this.lost = null; // why not
    this.known = new Map(); // rows that were read, the latest last
    this.clusters = new Map();
    this.bare = null; // columns without text in all rows that were read
    this.waiting = new Map(); // rows to be read
    this.listeners = new Map();
    this.queued = false;
    this.loading = null;
    this.more = false; // asked for while reading
    this.stale = new Set();
  }

  /** Call `run` whenever `what` has changed: state, labels, places, online, questions, clusters. */
  on(what, run) {
    if (!this.listeners.has(what)) this.listeners.set(what, new Set());
    this.listeners.get(what).add(run);
    return () => this.listeners.get(what).delete(run);
  }

  say(what, detail) {
    for (const run of this.listeners.get(what) ?? []) run(detail);
  }

  start() {
    this.stop = this.api.listen((event) => this.hear(event));
    this.need("state", "labels", "map");
  }

  close() {
    this.stop?.();
    clearTimeout(this.timer);
    this.closed = true;
  }

  hear(event) {
    if (event.type === "lost") return this.disconnected(null);
    if (event.type === "open") {
      if (!this.online || !this.state) this.need("state", "labels", "map", "questions");
      return;
    }
    const what = event.what ?? [];
    this.need("state", ...what.filter((one) => ["labels", "map", "questions"].includes(one)));
  }

  /** Read some of it anew, soon and in one go, also when asked while reading. */
  need(...what) {
    for (const one of what) this.stale.add(one);
    if (this.loading) this.more = true;
    if (this.loading || this.closed) return;
    this.more = false;
    this.loading = this.read().finally(() => {
      this.loading = null;
      if (this.more) this.need();
    });
  }

  async read() {
    const what = new Set(this.stale);
    this.stale.clear();
    clearTimeout(this.timer);
    try {
      const late = !this.take(await this.api.get("/api/state"), true);
      this.connected();
      if (late) return this.need("state", ...what); // and read once more
      if (this.state.phase !== "ready") return this.later("state", "labels", "map", "questions");
      if (what.has("labels")) this.setLabels(new Int32Array(await this.api.bytes("/api/labels")));
      if (what.has("map")) this.setPlaces(new Float32Array(await this.api.bytes("/api/map")));
      if (what.has("questions")) this.say("questions");
    } catch (refused) {
      for (const one of what) this.stale.add(one);
      if (refused.status === 0 || refused.status === 401 || refused.status === 403) this.disconnected(refused);
      this.later();
      if (refused.status === undefined) throw refused; // a mistake of this page
    }
  }

  later(...what) {
    for (const one of what) this.stale.add(one);
    this.timer = setTimeout(() => this.need(), AGAIN);
  }

  connected() {
    if (this.online) return;
    this.online = true;
    this.lost = null;
    this.say("online");
  }

  disconnected(why) {
    const before = this.lost?.message;
    this.lost = why ?? this.lost;
    if (this.online || before !== this.lost?.message) {
      this.online = false;
      this.say("online");
    }
    clearTimeout(this.timer);
    if (!this.closed) this.timer = setTimeout(() => this.need("state", "labels", "map", "questions"), AGAIN);
  }

  /**
   * Take in a state, whole or the part that an answer comes back with; false if it is older than what
   * is known by now. One that was asked for before an answer may well arrive after that.
   */
  take(state, whole = false) {
    if (!state) return true;
    const before = this.state;
    if (this.online && before && older(state, before)) return false;
    this.state = whole ? state : { ...before, ...state };
    if (state.clusters) this.clusters = new Map(state.clusters.map((one) => [one.k, one]));
    this.say("state", before);
    return true;
  }

  setLabels(labels) {
    this.labels = labels;
    this.say("labels");
  }

  setPlaces(places) {
    this.places = places;
    this.say("places");
  }

  /** Number of the cluster of a row, as of the latest labels. */
  clusterOf(row) {
    return this.labels && row < this.labels.length ? this.labels[row] : (this.known.get(row)?.cluster ?? null);
  }

  /** What a cluster is called: the name that people gave it, or its number. */
  nameOf(k) {
    const name = this.clusters.get(k)?.name;
    return name ? name : `Cluster ${k}`;
  }

  /** Answers and links in force, read anew when there are others. */
  async links() {
    const now = `${this.state?.version} ${this.state?.answers}`;
    if (this.linksOf !== now) {
      this.linksOf = now;
      this.allLinks = this.api.get("/api/links").then((reply) => reply.links);
      this.allLinks.catch(() => {
        this.linksOf = null;
      });
    }
    return this.allLinks;
  }

  // Rows -------------------------------------------------------------------------------------------

  /** A row, if it has been read. */
  row(number) {
    return this.known.get(number) ?? null;
  }

  /** Rows by their numbers, read together with others that are asked for at this moment. */
  rows(numbers) {
    return Promise.all(numbers.map((one) => this.known.get(one) ?? this.fetched(one)));
  }

  fetched(number) {
    const there = this.waiting.get(number);
    if (there) return there.promise;
    const one = {};
    one.promise = new Promise((resolve, reject) => Object.assign(one, { resolve, reject }));
    this.waiting.set(number, one);
    if (!this.queued) {
      this.queued = true;
      queueMicrotask(() => this.readRows());
    }
    return one.promise;
  }

  readRows() {
    this.queued = false;
    const wanted = [...this.waiting].filter(([, one]) => !one.sent);
    for (let i = 0; i < wanted.length; i += AT_ONCE) this.readSome(wanted.slice(i, i + AT_ONCE));
  }

  async readSome(some) {
    for (const [, one] of some) one.sent = true;
    try {
      const reply = await this.api.get(`/api/rows?rows=${some.map(([number]) => number).join(",")}`);
      const found = new Map(reply.rows.map((row) => [row.row, row]));
      for (const [number, one] of some) {
        const row = found.get(number) ?? { row: number, id: number, cluster: null, cells: [] };
        this.keep(row);
        one.resolve(row);
      }
    } catch (refused) {
      for (const [, one] of some) one.reject(refused);
    } finally {
      for (const [number] of some) this.waiting.delete(number);
    }
  }

  keep(row) {
    const empty = row.cells.flatMap((cell, i) => (cell === null ? [i] : []));
    this.bare = this.bare ? this.bare.filter((i) => empty.includes(i)) : empty;
    this.known.delete(row.row);
    this.known.set(row.row, row);
    if (this.known.size > KEPT) this.known.delete(this.known.keys().next().value);
  }
}

/** Whether a state is from before another: a server that was started anew may begin anywhere. */
const older = (one, other) =>
  one.version < other.version || (one.version === other.version && one.labels_version < other.labels_version);
