"""From a key to the next pair on the screen, the answer being on the disk; in a real browser."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import numpy as np

from benchmarks.auto.sets import embed, table
from benchmarks.harness import Options, Row, Times, left_out
from benchmarks.web import pages

COLUMNS = 32
ROWS, MOST = 20_000, 50.0  # milliseconds at the 95th percentile
PAUSE = 400  # milliseconds that a person looks at a pair, at the least

# Pressed, saved, another pair in the page, and painted: after the frame that shows it. What the
# request alone took is what the browser measured of it.
PRESS = """
async (key) => {
  const pair = () => document.querySelector("[data-pair]")?.dataset.pair;
  const before = pair();
  const start = performance.now();
  const changed = new Promise((done) => {
    const observer = new MutationObserver(() => {
      if (pair() && pair() !== before) {
        observer.disconnect();
        done(performance.now());
      }
    });
    observer.observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  document.querySelector(".linkshift").dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const there = await changed;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const painted = performance.now();
  const asked = performance.getEntriesByType("resource")
    .filter((one) => one.name.endsWith("/api/answer")).pop();
  return [painted - start, there - start, asked ? asked.duration : NaN];
}
"""


def run(options: Options) -> Iterator[Row]:
    """Answer pairs of made topics by keyboard."""
    path = pages.chromium()
    if path is None:
        yield left_out("keys", "needs Chromium and Playwright")
        return
    n = options.pick(300, 2_000, ROWS)
    X, y = table(*embed(n, options.seed, COLUMNS))
    took = []
    with tempfile.TemporaryDirectory() as folder, pages.command(folder, X) as served:
        served.wait()
        with pages.browser(path) as page:
            page.goto(served.address)
            page.evaluate("performance.setResourceTimingBufferSize(100000)")
            for i in range(options.pick(5, 50, 200)):
                shown = page.wait_for_selector("[data-pair]", timeout=1e3 * pages.PATIENCE)
                a, b = map(int, shown.get_attribute("data-pair").split("-"))
                page.wait_for_timeout(PAUSE)
                found = page.evaluate(PRESS, "s" if y[a] == y[b] else "d")
                if i:  # the first one loads what is loaded once
                    took.append(found)
        n_kept = served.get("/api/state")["answers"]
    painted, there, asked = np.array(took).T
    yield Row(
        {
            "table": "from a key to the next pair",
            "rows": n,
            "columns": COLUMNS,
            "answers": n_kept,
            "painted, median ms": round(float(np.median(painted)), 1),
            "95 % ms": round(float(np.quantile(painted, 0.95)), 1),
            "95 % needed": MOST if n == ROWS else None,
            "worst ms": round(float(painted.max()), 1),
            "in the page, 95 % ms": round(float(np.quantile(there, 0.95)), 1),
            "saved, median ms": round(float(np.median(asked)), 1),
            "saved, 95 % ms": round(float(np.quantile(asked, 0.95)), 1),
        },
        {"painted": Times((painted / 1e3).tolist(), [])},
    )
