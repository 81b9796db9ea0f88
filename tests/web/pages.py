"""Desks and servers for tests: with a worker, or with a stand-in that does as it is told."""

import asyncio
import http.client
import json
import time
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import numpy as np
import pytest

from linkshift._core.messages import Refusal
from linkshift.web.actions import Standing, planned
from linkshift.web.desk import Desk
from linkshift.web.engine import Labels, Questions
from linkshift.web.items import Items
from linkshift.web.material import Material
from linkshift.web.opening import open_store
from linkshift.web.store import Store

LABELS = np.repeat([0, 1, 2], 4)  # of the rows of `material_of`
PATIENCE = 60  # seconds for what takes long on a machine that is busy


def material_of(n=12, ids=True, d=2, **more):
    """Rows in heaps of four, far apart."""
    X = np.repeat(np.arange(-(-n // 4)), 4)[:n, None] * 10.0 + np.arange(n)[:, None] * np.ones(d)
    names = [f"r{i}" for i in range(n)] if ids else None
    items = Items(
        "table", {"x": X[:, 0].tolist(), "note": [f"<i>{i}</i>" for i in range(n)]}, names
    )
    return Material(X, items, title="rows.csv", id_column="name", columns=("x", "y"), **more)


class StandIn:
    """An engine that works nothing out: what it knows is set by the test."""

    def __init__(self, X, *_, **__):
        self.X, n = X, len(X)
        self.labels = Labels(-1, np.zeros(n, dtype=np.int32), 0, 0.0)
        self.questions = Questions(-1, [])
        self.contradictions, self.exemplars = [], {}
        self.progress, self.estimate, self.places, self.phase = "", None, None, "looking"
        self.remedy = ""
        self.on_change = None
        self.logs, self.asked, self.waited = [], [], []
        self.prompt = True  # whether fresh questions come in time

    @classmethod
    async def start(cls, X, *args, **kwargs):
        return cls(X)

    def send(self, version, given, answers):
        self.logs.append((version, given, answers))

    async def fresh(self, version, timeout):
        self.waited.append((version, timeout))
        if self.prompt:
            self.questions = self.questions._replace(version=version)
        else:
            await asyncio.sleep(timeout)
        return self.prompt

    async def request(self, kind, **about):
        self.asked.append((kind, about))
        if kind == "order":
            rows = np.flatnonzero(self.labels.labels == about["cluster"])
            return {"version": self.labels.version, "rows": rows}
        if kind == "plan":
            said = [(a, b, word) for a, b, word, *_ in self.logs[-1][2] if word != "unknown"]
            rows = np.arange(len(self.X))
            standing = Standing(self.X, self.labels.labels, self.exemplars, said, rows)
            return planned(standing, about["do"], about["about"]).to_dict()
        return {"row": about["row"], "text": ["because"]}

    async def again(self):
        if not self.phase.startswith("failed"):
            raise Refusal("Nothing has failed.", "Wait a moment.")
        self.phase = "looking"

    async def stop(self):
        self.stopped = True

    # What tests do -------------------------------------------------------------------------------

    def cluster(self, labels, version=None):
        """Have clusters, as if a refit were done."""
        labels = np.asarray(labels, dtype=np.int32)
        known = self.logs[-1][0] if version is None else version
        self.labels = Labels(known, labels, len(np.unique(labels)), 0.25)
        self.exemplars = {
            int(k): np.flatnonzero(labels == k)[:6].tolist() for k in np.unique(labels)
        }
        self.phase = "ready"
        self.on_change("labels")

    def offer(self, *pairs, purpose="learn", version=None):
        """Have questions."""
        known = self.logs[-1][0] if version is None else version
        found = [
            {"a": a, "b": b, "why": "", "at_stake": 1.0, "purpose": purpose, "probability": 0.5}
            for a, b in pairs
        ]
        self.questions = Questions(known, found)
        self.on_change("questions")


async def get(desk, path, status=200, **query):
    """Ask a desk, as the page does by GET."""
    reply = await desk.handle("GET", path, {k: str(v) for k, v in query.items()})
    assert reply.status == status, reply.content
    return reply.content


async def post(desk, path, status=200, **body):
    """Ask a desk, as the page does by POST."""
    reply = await desk.handle("POST", path, {}, json.loads(json.dumps(body)))
    assert reply.status == status, reply.content
    return reply.content


@asynccontextmanager
async def desk_at(path, monkeypatch, material=None, who="Anna"):
    """A desk with a stand-in for the worker."""
    monkeypatch.setattr("linkshift.web.desk.Engine", StandIn)
    material = material_of() if material is None else material
    desk = await Desk.open(material, open_store(path, material, who), who=who)
    try:
        yield desk
    finally:
        await desk.close()


class Visitor:
    """Speaks HTTP with a server, as the page does; `raw` takes all care off."""

    def __init__(self, address):
        parts = urlsplit(address)
        self.host, self.port, self.netloc = parts.hostname, parts.port, parts.netloc
        self.token = parts.query.removeprefix("token=")
        self.cookie = None
        status, headers, _ = self.raw("GET", f"/?{parts.query}")
        assert status == 303
        self.cookie = headers["set-cookie"].partition(";")[0]

    def raw(self, method, target, body=None, headers=None, *, usual=True):
        """Send a request; gives status, headers and body."""
        given = {"Host": self.netloc} if usual else {}
        if usual and self.cookie:
            given["Cookie"] = self.cookie
        if usual and method == "POST":
            given |= {"Content-Type": "application/json", "Origin": f"http://{self.netloc}"}
        given |= headers or {}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
            if data is not None and "Transfer-Encoding" not in given:
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            reply = connection.getresponse()
            names = {name.lower(): value for name, value in reply.getheaders()}
            return reply.status, names, reply.read()
        finally:
            connection.close()

    def get(self, target):
        status, _, body = self.raw("GET", target)
        assert status == 200, body
        return json.loads(body)

    def post(self, target, **body):
        status, _, data = self.raw("POST", target, body)
        assert status == 200, data
        return json.loads(data)

    def ready(self):
        """Wait until there are clusters of all that was said."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            state = self.get("/api/state")
            assert not state["phase"].startswith("failed"), state["phase"]
            if state["phase"] == "ready" and state["labels_version"] >= state["version"]:
                return state
            time.sleep(0.05)
        raise AssertionError(state)


@pytest.fixture
def at(tmp_path, monkeypatch):
    """Run a test of a desk in a loop of its own: ``at(test)``; the store is ``at.path``."""

    def run(test, path=None, **settings):
        async def within():
            async with desk_at(path or run.path, monkeypatch, **settings) as desk:
                return await test(desk)

        return asyncio.run(within())

    run.path = tmp_path / "rows.linkshift"
    return run


def stored(path):
    """What is in a store: who said it, its kind, and what it holds."""
    with Store(path, read_only=True) as store:
        return [(entry.who, entry.kind, entry.body) for entry in store.entries()]
