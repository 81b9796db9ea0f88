// The page as a server sends it: all of the window is the page's.

import { http } from "./api.js";
import { mount } from "./main.js";

const page = mount(document.getElementById("linkshift"), http(), {
  titled: (text) => {
    document.title = `${text} – linkshift`;
  },
});

// Where nothing has the focus, keys are the page's all the same.
document.addEventListener("keydown", (event) => {
  if (event.target === document.body || event.target === document.documentElement) page.key(event);
});
