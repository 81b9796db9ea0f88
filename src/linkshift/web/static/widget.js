// The page in a notebook, where no port can be reached: what it asks goes by the kernel's channel.
// anywidget calls `render`; linkshift/web/widget.py is the other end.

import { Refused } from "./api.js";
import { mount } from "./main.js";

const PATIENCE = 30000; // milliseconds until a request counts as lost
const MOST_PICTURES = 400; // kept at a time

/** Show the page in an element of a notebook; gives what takes it away again. */
export function render({ model, el }) {
  const root = document.createElement("div");
  root.style.height = `${model.get("height")}px`;
  el.append(root);
  const api = channel(model);
  const page = mount(root, api);
  return () => {
    page.close();
    api.close();
  };
}

/** The functions that the page needs, by messages. */
export function channel(model) {
  const mine = `${Date.now().toString(36)}${Math.random().toString(36).slice(2)}`; // of several views
  const waiting = new Map();
  const ears = new Set();
  const pictures = new Map();
  let count = 0;

  const hear = (message, buffers) => {
    if (message.event) {
      for (const ear of ears) ear({ type: message.event, ...message.data });
      return;
    }
    const asked = waiting.get(message.id);
    if (!asked) return;
    waiting.delete(message.id);
    clearTimeout(asked.timer);
    if (message.status < 300) asked.done({ ...message, bytes: buffers?.[0] });
    else asked.failed(new Refused(message.status, message.json?.error ?? `${message.status}`, message.json?.remedy ?? ""));
  };
  model.on("msg:custom", hear);

  const ask = (method, path, body = null) =>
    new Promise((done, failed) => {
      const id = `${mine}-${(count += 1)}`;
      const late = () => {
        waiting.delete(id);
        failed(new Refused(0, "The notebook's kernel does not answer.", "Is it busy with another cell, or was it started anew? What was saved stays saved."));
      };
      waiting.set(id, { done, failed, timer: setTimeout(late, PATIENCE) });
      model.send({ id, method, path, body });
    });

  const blob = (reply) => new Blob([reply.bytes], { type: reply.media_type });

  return {
    get: async (path) => (await ask("GET", path)).json,
    post: async (path, body) => (await ask("POST", path, body ?? {})).json,
    bytes: async (path) => {
      const { bytes } = await ask("GET", path);
      // A copy: numbers of four bytes have to begin at a multiple of four.
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    },
    media: (row, column) => {
      const path = `/api/media/${row}/${column}`;
      if (!pictures.has(path)) {
        if (pictures.size >= MOST_PICTURES) {
          const [oldest, url] = pictures.entries().next().value;
          pictures.delete(oldest);
          url.then(URL.revokeObjectURL, () => {});
        }
        pictures.set(path, ask("GET", path).then((reply) => URL.createObjectURL(blob(reply))));
        pictures.get(path).catch(() => pictures.delete(path));
      }
      return pictures.get(path);
    },
    listen: (ear) => {
      ears.add(ear);
      queueMicrotask(() => ears.has(ear) && ear({ type: "open" }));
      return () => ears.delete(ear);
    },
    download: async (path) => {
      const reply = await ask("GET", path);
      const url = URL.createObjectURL(blob(reply));
      const link = document.createElement("a");
      link.href = url;
      link.download = path.split("/").pop();
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 60000);
    },
    close: () => {
      model.off("msg:custom", hear);
      for (const { timer } of waiting.values()) clearTimeout(timer);
      for (const url of pictures.values()) url.then(URL.revokeObjectURL, () => {});
    },
  };
}
