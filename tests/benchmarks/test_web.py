"""The benchmark of the page runs, and says when there is no browser."""

import pytest
from benchmarks import run
from benchmarks.web import keys, map_frames, pages
from tests.web.browser import chromium_or_skip


def test_the_map_is_moved_with_and_without_webgl(monkeypatch):
    chromium_or_skip()
    monkeypatch.setenv("LINKSHIFT_WEB_PARTS", "map")
    suite = run.run_suite("web", run.Options(size="tiny", repeats=1))
    assert suite["error"] is None
    rows = [row["cells"] for row in suite["rows"]]
    assert [row["drawn by"] for row in rows] == list(map_frames.WAYS)
    assert all(row["frames"] > 2 and row["frames a second"] > 1 for row in rows)


def test_no_browser_is_told(monkeypatch):
    monkeypatch.setattr(pages, "BROWSERS", ())
    for part in (map_frames, keys):
        (row,) = part.run(run.Options(size="tiny"))
        assert row.cells["why"] == "needs Chromium and Playwright"


@pytest.mark.slow
def test_keys_and_opening_are_timed(monkeypatch):
    chromium_or_skip()
    monkeypatch.setenv("LINKSHIFT_WEB_PARTS", "keys,opening")
    suite = run.run_suite("web", run.Options(size="tiny", repeats=1))
    assert suite["error"] is None
    pressed, opened = (row["cells"] for row in suite["rows"])
    assert pressed["answers"] == 5
    assert 0 < pressed["saved, median ms"] < pressed["painted, median ms"]
    assert 0 < opened["up, s"] < opened["first pair, s"]
    assert opened["memory, GB"] > 0.05
