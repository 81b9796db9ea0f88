"""Whatever a request holds, it is answered in words, and the store holds nothing but answers."""

import asyncio
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web.pages import LABELS, desk_at

from linkshift.web.desk import _ROUTES
from linkshift.web.store import Store

NAMES = (
    "a",
    "b",
    "word",
    "purpose",
    "by",
    "confidence",
    "action",
    "do",
    "links",
    "clusters",
    "row",
    "rows",
    "cluster",
    "exemplars",
    "name",
    "theme",
    "blind",
    "keys",
    "asked",
)
GOOD = st.sampled_from(
    [
        "same",
        "different",
        "learn",
        "confirm",
        "merge",
        "split",
        "name",
        "out",
        "join",
        "dark",
        0,
        1,
        5,
        2,
        1.0,
        True,
        "0-5-learn",
        [0, 1],
        [0, 5],
        [{"a": 0, "b": 5, "word": "same"}],
    ]
)
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([10**400, -1, 12, "\ud800", "\0", "9" * 5000, 1e308]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
BODIES = st.dictionaries(st.sampled_from(NAMES), GOOD | GOOD | ODD, max_size=6)
POSTS = sorted(path for path, methods in _ROUTES.items() if "POST" in methods)
READS = [
    "/api/rows",
    "/api/search",
    "/api/cluster/0",
    "/api/cluster/7",
    "/api/why/3",
    "/api/doctor",
    "/api/state",
    "/api/next",
    "/api/links",
    "/api/media/0/0",
    "/api/why/12",
]
QUERIES = st.dictionaries(
    st.sampled_from(["rows", "text", "start", "count"]), st.text(max_size=6) | GOOD.map(str)
)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(POSTS), BODIES) | st.tuples(st.sampled_from(READS), QUERIES),
        min_size=1,
        max_size=6,
    )
)
def test_any_request_is_answered_in_words(asked):
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.linkshift"

        async def test():
            async with desk_at(path, patch) as desk:
                desk.engine.cluster(LABELS)
                desk.engine.offer((0, 5), (1, 9))
                for target, what in asked:
                    if target in POSTS:
                        reply = await desk.handle("POST", target, {}, what)
                    else:
                        reply = await desk.handle("GET", target, what)
                    assert reply.status in (200, 400, 404, 409), reply
                    text = json.dumps(reply.content, allow_nan=False)
                    text.encode("ascii")
                    assert (reply.status == 200) != ("error" in reply.content)
                return desk.ledger.record

        record = asyncio.run(test())
        with Store(path, read_only=True) as store:
            entries = store.entries()
        assert type(record).of(entries) == record  # what was taken in is what stands there
