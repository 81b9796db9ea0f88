// How the page speaks with its server. `http()` is for a page that a server sent; a notebook widget
// hands over an object with the same functions. Paths are those of the server, "/api/...".

const PATIENCE = 20000; // milliseconds until a request counts as lost
const AGAIN = 1500; // until the stream of events is tried again

/** What the server refused, in its words; `status` 0 where it did not answer at all. */
export class Refused extends Error {
  constructor(status, error, remedy = "") {
    super(error);
    this.status = status;
    this.remedy = remedy;
  }
}

/** Ask, and read the whole answer as "json", "arrayBuffer" or "blob". */
async function ask(path, kind, options = {}) {
  let reply;
  try {
    reply = await fetch(path, {
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE),
      ...options,
    });
    if (reply.ok) return { reply, body: await reply[kind]() }; // it may end before it is whole
  } catch (failure) {
    const late = failure?.name === "TimeoutError";
    throw new Refused(
      0,
      late ? `The server has not answered for ${PATIENCE / 1000} seconds.` : "The server does not answer.",
      "Is “linkshift label” still running in its terminal? What was saved stays saved.",
    );
  }
  throw await refusal(reply);
}

async function refusal(reply) {
  const said = await reply.json().catch(() => null);
  if (said?.error) return new Refused(reply.status, said.error, said.remedy ?? "");
  if (reply.status === 401 || reply.status === 403)
    return new Refused(
      reply.status,
      "This page may not speak with the server.",
      "The server was started anew, perhaps. Open the address that it printed.",
    );
  return new Refused(reply.status, `The server said ${reply.status} ${reply.statusText}.`, "");
}

/** Open the stream of events, and open it again whenever it ends. Gives the function that stops it. */
function listen(hear) {
  let source = null;
  let timer = 0;
  let over = false;
  const open = () => {
    source = new EventSource("/api/events");
    source.addEventListener("open", () => hear({ type: "open" }));
    source.addEventListener("changed", (event) => hear({ type: "changed", ...JSON.parse(event.data) }));
    source.addEventListener("error", () => {
      hear({ type: "lost" });
      // A browser opens it again by itself, but not after an answer that was an error.
      if (source.readyState === EventSource.CLOSED && !over) timer = setTimeout(open, AGAIN);
    });
  };
  open();
  return () => {
    over = true;
    clearTimeout(timer);
    source.close();
  };
}

async function download(path) {
  const { reply, body } = await ask(path, "blob", { signal: undefined });
  const named = /filename\*?="?(?:UTF-8'')?([^";]+)/i.exec(reply.headers.get("Content-Disposition") ?? "");
  const url = URL.createObjectURL(body);
  const link = document.createElement("a");
  link.href = url;
  link.download = named ? decodeURIComponent(named[1]) : path.split("/").pop();
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/** The functions that the page needs, over HTTP. */
export function http() {
  const json = (body) => ({
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body ?? {}),
  });
  return {
    get: async (path) => (await ask(path, "json")).body,
    post: async (path, body) => (await ask(path, "json", json(body))).body,
    bytes: async (path) => (await ask(path, "arrayBuffer")).body,
    media: async (row, column) => `/api/media/${row}/${column}`,
    listen,
    download,
  };
}
