"""`linkshift links check`: conflicts with chains, what to drop, what is redundant; exit codes."""

import json

import numpy as np
import pytest

from linkshift import Links


def test_no_conflicts(run, links):
    result = run("links", "check", links("0,1,must", "1,2,cannot"))
    assert result.stdout.splitlines() == [
        "No conflicts among 1 must-link and 1 cannot-link.",
        "1 group of must-linked rows:",
        "  2 rows from 0: 1 must-link, 1 cannot-link to others",
        "Cannot-links: 1 between groups or single rows, 0 within a group.",
        "Confidence: must-links all 1; cannot-links all 1.",
        "The links name 3 rows.",
    ]
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("name", "separator", "told"),
    [
        ("l.tsv", "\t", ""),
        ("l.tab", "\t", ""),
        ("l.csv", ";", "l.csv: its cells are separated by semicolons.\n"),
        ("l.csv", "\t", "l.csv: its cells are separated by tabs.\n"),
        ("l.csv", "|", "l.csv: its cells are separated by bars (|).\n"),
        ("l.tsv", ",", "l.tsv: its cells are separated by commas.\n"),
    ],
)
def test_other_separators(run, refused, here, data, name, separator, told):
    lines = ["a,b,note,kind", "s00,s01,,must", "s00,s40,why not,cannot"]
    (here / "plain.csv").write_text("\n".join(lines))
    (here / name).write_text("\n".join(lines).replace(",", separator))
    result = run("links", "check", name)
    assert result.stdout == run("links", "check", "plain.csv").stdout
    assert result.stderr == told
    args = ("cluster", data, "--id-column", "name", "--links")
    assert run(*args, name).stdout == run(*args, "plain.csv").stdout
    assert told in run(*args, name, "--prepare").stderr
    assert f"{name}, line 2" in refused("cluster", data, "--links", name)


def test_confidences_with_decimal_commas(run, here):
    (here / "l.csv").write_text("a;b;kind;confidence\n0;1;must;0,8\n0;2;cannot;\n")
    assert "must-links all 0.8; cannot-links all 1" in run("links", "check", "l.csv").stdout


def test_no_links(run, links):
    out = run("links", "check", links()).stdout
    assert out == "No conflicts among 0 links.\nThe links name 0 rows.\n"


def test_conflicts_with_chain_and_removal(run, links):
    file = links("a,b,must", "b,c,must", "a,c,cannot", "c,d,must", "a,d,cannot")
    out = run("links", "check", file, code=1).stdout.splitlines()
    assert out[:4] == [
        "2 conflicts among 3 must-links and 2 cannot-links:",
        "  line 4: cannot-link ('a', 'c') against must-links 'a' - 'b' - 'c'",
        "  line 6: cannot-link ('a', 'd') against must-links 'a' - 'b' - 'c' - 'd'",
        "Smallest removal that leaves no conflict, 1 link:",
    ]
    assert out[4] in ("  line 2: must-link ('a', 'b')", "  line 3: must-link ('b', 'c')")
    assert "  4 rows from 'a': 3 must-links, 0 cannot-links to others, 2 cannot-links within" in out
    assert "Cannot-links: 0 between groups or single rows, 2 within a group." in out


def test_redundant_links_and_what_implies_them(run, links):
    file = links("0,1,must", "2,1,must", "2,0,must", "0,9,cannot", "9,1,cannot")
    out = run("links", "check", file).stdout.splitlines()
    assert out[1:4] == [
        "2 redundant links, implied by others that are at least as certain:",
        "  line 4: must-link (0, 2) follows from must-links 0 - 1 - 2",
        "  line 6: cannot-link (1, 9) follows from cannot-link (0, 9) and must-links 1 - 0",
    ]


def test_links_given_again(run, links):
    file = links("x,y,must", "y,z,must", "y,x,must", "x,y,must", "x,w,cannot", "w,x,cannot")
    out = run("links", "check", file).stdout.splitlines()
    assert out[:5] == [
        "No conflicts among 2 must-links and 1 cannot-link.",
        "3 links given again, and counted once:",
        "  line 4 repeats line 2: must-link ('y', 'x')",
        "  line 5 repeats line 2: must-link ('x', 'y')",
        "  line 7 repeats line 6: cannot-link ('w', 'x')",
    ]


def test_lines_are_those_of_the_file_whatever_is_given_again(run, refused, here, data, links):
    """Repeats and blank lines before it do not move a link's line."""
    lines = ["s00,s01,must", "s01,s00,must", "", "s02,s03,cannot", "s01,s02,must", "s02,s00,cannot"]
    out = run("links", "check", links(*lines), code=1).stdout
    assert "line 7: cannot-link ('s00', 's02') against must-links 's00' - 's01' - 's02'" in out
    names = ("--data", data, "--id-column", "name")
    assert (
        "line 7: cannot-link ('s00', 's02')"
        in run("links", "check", links(*lines), *names, code=1).stdout
    )
    message = refused("links", "check", links(*lines, "s02,zoe,cannot"), *names)
    assert "links.csv, line 8: cannot-link 2" in message


def test_confidences(run, links):
    header = "a,b,kind,confidence"
    file = links("0,1,must,0.5", "1,2,must,", "2,3,must,0.7", "0,4,cannot,0.25", header=header)
    out = run("links", "check", file).stdout
    assert "Confidence: must-links 0.5 to 1, median 0.7; cannot-links all 0.25." in out


def test_rows_without_links(run, links, data):
    out = run("links", "check", links("0,1,must", "1,5,cannot"), "--data", data).stdout
    assert "The links name 3 rows of 60; 57 rows without any link." in out


def test_long_lists_are_cut_and_json_has_all(run, links):
    chain = [f"{i},{i + 1},must" for i in range(30)]
    file = links(*chain, *[f"0,{i},cannot" for i in range(2, 31)])
    out = run("links", "check", file, code=1).stdout
    assert out.count("against must-links") == 10
    assert "  and 19 more" in out
    found = json.loads(run("links", "check", file, "--json", code=1).stdout)
    assert [c["cannot"] for c in found["conflicts"]] == [[0, i] for i in range(2, 31)]
    assert found["conflicts"][-1]["chain"] == list(range(31))
    assert found["conflicts"][-1]["place"] == "line 60"
    assert found["removal"]["exact"]
    out = run("links", "check", links(*chain, "0,30,cannot"), code=1).stdout
    assert "0 - 1 - 2 - 3 - 4 - 5 - 6 - 7 - 8 - 9 - [20 more] - 30" in out


def test_many_links_make_a_short_report(run, here):
    n = 20_000
    row = np.arange(n)
    must = np.concatenate((np.column_stack((row[:-1], row[1:])), [[0, n - 1]]))
    cannot = np.column_stack((row[:3000], np.full(3000, n + 5)))
    Links(must, cannot).to_csv("links.csv")
    out = run("links", "check", "links.csv").stdout
    assert len(out.splitlines()) < 25
    assert "3,000 redundant links" in out
    assert "[19989 more]" in out
    assert "  and 2,990 more" in out
    found = json.loads(run("links", "check", "links.csv", "--json").stdout)
    assert len(found["redundant"]) == 3000
    assert found["redundant"][0]["chains"] is None
    assert found["redundant"][1] == {
        "place": f"line {n + 3}",
        "kind": "cannot",
        "pair": [1, n + 5],
        "cannot": [0, n + 5],
        "chains": [[1, 0]],
    }


def test_json(run, here, data, links):
    file = links("s00,s01,must", "s01,s02,must", "s01,s00,must", "s00,s02,cannot", "s03,s00,cannot")
    args = ("links", "check", file, "--data", data, "--id-column", "name", "--json")
    found = json.loads(run(*args, code=1).stdout)
    removal = found.pop("removal")
    assert removal["confidence"] == 1
    assert removal["places"][0] in ("line 2", "line 3", "line 5")
    assert found == {
        "file": "links.csv",
        "keyed_by": "id",
        "n_must": 2,
        "n_cannot": 2,
        "n_apart": 0,
        "conflicts": [
            {"place": "line 5", "cannot": ["s00", "s02"], "chain": ["s00", "s01", "s02"]}
        ],
        "redundant": [],
        "repeats": [{"kind": "must", "pair": ["s01", "s00"], "place": "line 4", "first": "line 2"}],
        "groups": [
            {"first": "s00", "rows": 3, "must": 2, "cannot_out": 1, "cannot_within": 1},
        ],
        "cannot_between": 1,
        "cannot_within": 1,
        "confidence": {
            "must": {"min": 1, "median": 1, "max": 1},
            "cannot": {"min": 1, "median": 1, "max": 1},
        },
        "rows_named": 4,
        "rows": 60,
        "rows_without_links": [f"s{i:02d}" for i in range(4, 60)],
    }


def test_json_without_conflicts_or_data(run, links):
    found = json.loads(run("links", "check", links("0,1,must"), "--json").stdout)
    assert found["removal"] is None
    assert found["conflicts"] == found["redundant"] == []
    assert found["confidence"]["cannot"] is None
    assert (found["rows"], found["keyed_by"]) == (None, "row")
    assert "rows_without_links" not in found


def test_removing_what_is_said_helps(run, links):
    lines = ["0,1,must", "1,2,must", "0,2,cannot"]
    found = json.loads(run("links", "check", links(*lines), "--json", code=1).stdout)
    (place,) = found["removal"]["places"]
    del lines[int(place.removeprefix("line ")) - 2]
    run("links", "check", links(*lines))


@pytest.mark.parametrize("how", ["--n-samples", "--data"])
def test_rows_beyond_the_data(run, refused, here, links, how):
    np.save("t.npy", np.zeros((5, 2)))
    size = 5 if how == "--n-samples" else "t.npy"
    run("links", "check", links("0,4,must"), how, size)
    message = refused("links", "check", links("0,4,must", "0,5,must"), how, size)
    assert "links.csv, line 3: must-link 1: (0, 5): row 5 is out of range for 5 samples" in message


def test_ids_against_the_data(run, refused, data, links):
    run("links", "check", links("s00,s01,must"), "--data", data, "--id-column", "name")
    message = refused(
        "links", "check", links("s00,zoe,must"), "--data", data, "--id-column", "name"
    )
    assert "'zoe' is not among the 60 sample ids" in message
    assert "--id-column" in refused("links", "check", links("a,b,must"), "--data", data)


def test_conflicts_in_ids_of_the_data(run, data, links):
    file = links("s00,s01,must", "s00,s01,cannot")
    out = run("links", "check", file, "--data", data, "--id-column", "name", code=1).stdout
    assert "cannot-link ('s00', 's01') against must-links 's00' - 's01'" in out
    assert "2 rows from 's00'" in out


def test_gaps_in_the_data_do_not_matter(run, here, links):
    (here / "t.csv").write_text("x\n1\n\n,\n3\n".replace(",", '""'))
    run("links", "check", links("0,1,must"), "--data", "t.csv")


def test_links_in_json(run, here):
    Links(must=[(0, 1)], cannot=[(0, 1)]).to_json("links.json")
    out = run("links", "check", "links.json", code=1).stdout
    assert "1 conflict among" in out
    assert "  cannot 0: cannot-link (0, 1) against must-links 0 - 1" in out
    text = Links(must=[("a", "b"), ("b", "c")]).to_json()
    (here / "links.json").write_text(text.replace('"c"', '"a"'))
    assert (
        "must 1 repeats must 0: must-link ('b', 'a')" in run("links", "check", "links.json").stdout
    )


def test_options_that_make_no_sense(refused, data, links):
    file = links("0,1,must")
    assert "give one" in refused("links", "check", file, "--data", data, "--n-samples", 3)
    assert "give --data too" in refused("links", "check", file, "--id-column", "name")
    assert "give --data too" in refused("links", "check", file, "--no-header")


def test_missing_file(refused):
    assert "does not exist" in refused("links", "check", "links.csv")


def test_links_without_links_and_in_percent(run, data, links):
    empty = links()
    for args in (("cluster", data, "--links", empty), ("links", "check", empty)):
        assert "links.csv has a header, and no links below it." in run(*args).stderr
    file = links("0,1,must,95%", header="a,b,kind,confidence")
    for args in (("cluster", data, "--links", file), ("links", "check", file)):
        assert "a confidence of 95% is read as 0.95." in run(*args).stderr
