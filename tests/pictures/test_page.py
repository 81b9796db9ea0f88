"""The page of a report: valid, harmless, without network, with the right numbers."""

import base64
import hashlib
import re
import shlex
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pictures.pages import NASTY, Page, blobs, full_report

from linkshift import Links, bandwidth_path
from linkshift._core.markup import plain
from linkshift.pictures.page import Report, render

# --- the page -----------------------------------------------------------------------------------


def test_is_balanced_and_has_each_section():
    page = Page(render(full_report()))
    sections = ["picture", "clusters", "links", "bandwidths", "views", "reproduce"]
    assert [i for i in page.ids if i in sections] == sections
    assert page.tags[0][0] == "html"


def test_leaves_out_what_is_not_given():
    page = Page(render(Report(X=[[0.0, 1.0]], labels=[0])))
    assert not {"links", "bandwidths", "views"} & set(page.ids)
    assert "1 row → 1 cluster." in page.words


def test_reads_nothing_from_elsewhere():
    html = render(full_report())
    page = Page(html)
    assert not re.findall(r"https?:|//[a-z]|@import|url\(", html.replace("// Everything", ""))
    assert not {"src", "href", "xlink:href", "action", "srcset"} & {
        k for _, k, _ in page.attributes
    }
    assert not {"link", "img", "iframe", "object"} & {tag for tag, _ in page.tags}


def test_policy_allows_only_the_page_s_own_script():
    page = Page(render(full_report()))
    (policy,) = [v for v in page.values("content") if "script-src" in v]
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_same_report_same_bytes():
    assert render(full_report()) == render(full_report())


def test_needs_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from linkshift import report\n"
        "three = report.Report(X=[[0, 1], [2, 3]], labels=[0, 1])\n"
        "print(len(report.render(three)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) > 1000


def with_words(words: list[str]) -> Report:
    """A report in which all that users may choose is some of the words."""
    word = [words[i % len(words)] for i in range(400)]
    return full_report(
        title=word[0],
        names=word[1:3],
        ids=word[3:123],
        method="m" + word[4],
        why="w" + word[5],
        done="d" + word[6],
        parameters={"p" + word[7]: word[8]},
        view_names=word[9:11],
        versions={"v" + word[11]: word[12]},
        command=["linkshift", *word[13:40], "--links", word[40]],
        labels=np.array([f"c{i % 3} {word[i % 3]}" for i in range(120)]),
    )


@cache
def harmless() -> list[tuple[str, tuple[str, ...]]]:
    return Page(render(with_words(["plain"]))).tags


@pytest.mark.parametrize("word", NASTY)
def test_nasty_words_are_text(word):
    html = render(with_words([word]))
    html.encode("utf-8")
    page = Page(html)
    assert page.tags == harmless()
    assert page.data["ids"][0] == plain(word)
    assert set(page.data["ids"]) == {plain(word)}


@settings(max_examples=30, deadline=None)
@given(words=st.lists(st.text(st.characters(), min_size=1, max_size=40), min_size=1, max_size=5))
def test_words_never_change_the_tags(words):
    html = render(with_words(words))
    assert Page(html).tags == harmless()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", html)


def test_command_is_quoted_and_whole():
    words = ["linkshift", "cluster", "it's <mine> & " + "long " * 60 + ".csv", "--links=$x"]
    page = Page(render(full_report(command=words)))
    assert shlex.join(words) in page.words


# --- validation ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"X": [1.0, 2.0]}, ValueError, "table"),
        ({"X": np.full((120, 2), np.nan)}, ValueError, "missing or infinite"),
        ({"labels": [0, 1]}, ValueError, "labels must have shape"),
        ({"ids": ["a"]}, ValueError, "ids must hold 120"),
        ({"names": "ab"}, ValueError, "names must hold 2"),
        ({"modes": [[1.0]]}, ValueError, "modes must have shape"),
        ({"links": Links(must=[(0, 500)])}, ValueError, "500"),
        ({"level": 4}, ValueError, "has 4 levels"),
        ({"path": None}, ValueError, "has 0 levels"),
        ({"view_names": ["one"]}, ValueError, "view_names must hold 2"),
        ({"view_importances": None}, ValueError, "without view_importances"),
        ({"view_importances": [[1.0, 1.0]]}, ValueError, "shares"),
        ({"command": "linkshift cluster"}, TypeError, "list of words"),
        ({"links": None, "n_conflicts": 2}, ValueError, "conflicts without links"),
        ({"method": ""}, ValueError, "give method"),
    ],
)
def test_what_does_not_fit_is_refused(changes, error, words):
    with pytest.raises(error, match=words):
        full_report(**changes)


def test_a_path_that_shows_nothing_is_left_out():
    X, y = blobs()
    path = bandwidth_path(X, bandwidths=[100, 200], n_jobs=1)
    assert path.n_clusters.tolist() == [1, 1]
    page = Page(render(Report(X=X, labels=y, path=path)))
    assert "bandwidths" not in page.ids
