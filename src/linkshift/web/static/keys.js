// Keys: tables of {key, says, run}, of which the page hears those of its view and those of all views.
// `when()` says if a key means something at this moment, `only` for which kind of data it is there.

const TYPED = new Set(["INPUT", "TEXTAREA", "SELECT"]);
const SHOWN = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", " ": "Space" };

/** What stands on a key. */
export const shown = (key) => SHOWN[key] ?? key;

export class Keys {
  /** `allowed()` says if single keys are heard at all. */
  constructor(allowed) {
    this.allowed = allowed;
    this.everywhere = [];
    this.here = () => [];
  }

  /** Take an event of the keyboard; true if it meant something. */
  hear(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return false;
    const target = event.composedPath?.()[0] ?? event.target;
    if (target?.closest?.("dialog")) return false; // has keys of its own
    if (isTyped(target)) return false;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!this.allowed() && key.length === 1) return false;
    const found = [...this.here(), ...this.everywhere].find((one) => one.key === key && (one.when?.() ?? true));
    if (!found) return false;
    event.preventDefault();
    if (event.repeat && !found.repeats) return true; // a key that is held down is one answer
    found.run(event);
    return true;
  }
}

function isTyped(target) {
  if (!target?.tagName) return false;
  if (target.tagName === "INPUT" && ["checkbox", "radio", "range", "button"].includes(target.type)) return false;
  return TYPED.has(target.tagName) || target.isContentEditable;
}

/** Keys within an element of its own, as a dialog: {Enter: run, Escape: run}. */
export function local(node, table) {
  node.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.composedPath()[0];
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const run = table[key];
    if (!run || (key.length === 1 && isTyped(target))) return;
    if (run(event) === false) return;
    event.preventDefault();
    event.stopPropagation();
  });
}
