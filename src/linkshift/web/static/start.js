// The page as a server sends it: all of the window is the page's.

import { http } from "./api.js";
import { mount } from "./main.js";

// Where the person is, for a reload: the entry of this tab's history goes with the tab, and no other page reads it.
const place = {
  read: () => history.state?.linkshift ?? null,
  write: (where) => {
    try {
      history.replaceState({ ...history.state, linkshift: where }, "");
    } catch {
      // Browsers refuse many writes at a time: the next one will do.
    }
  },
};

const page = mount(document.getElementById("linkshift"), http(), {
  place,
  titled: (text) => {
    document.title = `${text} – linkshift`;
  },
});

// Where nothing has the focus, keys are the page's all the same.
document.addEventListener("keydown", (event) => {
  if (event.target === document.body || event.target === document.documentElement) page.key(event);
});
