"""An oracle answers over HTTP: the labels are those of the same answers given in Python."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.active import sets
from benchmarks.harness import Options, Row, Times, left_out
from benchmarks.web.pages import PATIENCE
from linkshift import Session

NAME = "cms_dkm-mnist"
ROWS, ANSWERS = 2_000, 200
PAUSE = 0.02  # seconds between two looks


class _Line:
    """A line to the server, as a page has it."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._host = parts.netloc
        self._line = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)
        self._cookie = ""
        reply, _ = self._ask("GET", f"/?{parts.query}")
        self._cookie = str(reply.getheader("Set-Cookie")).partition(";")[0]

    def _ask(
        self, method: str, target: str, body: str | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        headers = {"Cookie": self._cookie, "Origin": f"http://{self._host}"}
        headers |= {} if body is None else {"Content-Type": "application/json"}
        self._line.request(method, target, body, headers)
        reply = self._line.getresponse()
        return reply, reply.read()

    def read(self, target: str) -> bytes:
        """Read an address."""
        reply, data = self._ask("GET", target)
        if reply.status != 200:
            raise RuntimeError(f"{target}: {reply.status} {data[:200]!r}")
        return data

    def state(self) -> Any:
        """Read the state."""
        return json.loads(self.read("/api/state"))

    def settle(self) -> None:
        """Wait for the clusters of all that was said."""
        end = time.monotonic() + PATIENCE
        while (state := self.state())["phase"] != "ready" or state["refitting"]:
            if state["phase"].startswith("failed") or time.monotonic() > end:
                raise RuntimeError(state["phase"])
            time.sleep(PAUSE)

    def answer(self, **said: Any) -> list[Any]:
        """Answer a pair. Gives the next questions."""
        reply, data = self._ask("POST", "/api/answer", json.dumps(said))
        if reply.status != 200:
            raise RuntimeError(f"{reply.status} {data[:200]!r}")
        found: list[Any] = json.loads(data)["questions"]
        return found


def run(options: Options) -> Iterator[Row]:
    """Answer the first of the questions each time, by the classes."""
    if not sets.is_here(NAME):
        yield left_out("drive", f"needs {NAME}")
        return
    X, y = sets.load(NAME, options.seed, options.pick(200, ROWS, ROWS))
    session, took = Session(X), []
    with session.serve(browser=False) as page:
        line = _Line(page.address)
        line.settle()
        questions = json.loads(line.read("/api/next"))["questions"]
        for _ in range(options.pick(10, ANSWERS, ANSWERS)):
            if not questions:  # all that were prepared are used up
                line.settle()
                questions = json.loads(line.read("/api/next"))["questions"]
            a, b, purpose = (questions[0][name] for name in ("a", "b", "purpose"))
            start = time.perf_counter()
            word = "same" if y[a] == y[b] else "different"
            questions = line.answer(a=a, b=b, word=word, purpose=purpose)
            took.append(time.perf_counter() - start)
        line.settle()
        shown = np.frombuffer(line.read("/api/labels"), "<i4")
        log = session.log
    again = Session(X)
    for one in log:
        again.answer(one["word"], pair=(one["a"], one["b"]), purpose=one["purpose"])
    labels = again.labels_
    yield Row(
        {
            "table": "an oracle over HTTP",
            "data": NAME,
            "rows": len(X),
            "answers": len(log),
            "audits": sum(one["purpose"] == "audit" for one in log),
            "clusters": int(labels.max()) + 1,
            "the same labels as in Python": _alike(shown, labels),
            "the same needed": True,
            "ARI to the classes": round(float(adjusted_rand_score(y, shown)), 3),
            "answer, median ms": round(1e3 * float(np.median(took)), 1),
            "95 % ms": round(1e3 * float(np.quantile(took, 0.95)), 1),
        },
        {"answer": Times(took, [])},
    )


def _alike(one: Any, other: Any) -> bool:
    """Whether two labellings part the rows alike, whatever the numbers of their clusters."""
    pairs = len(np.unique(np.column_stack([one, other]), axis=0))
    return pairs == len(np.unique(one)) == len(np.unique(other))
