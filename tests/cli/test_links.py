"""`linkshift links check`: every conflict, its chain, what to remove; exit codes."""

import numpy as np
import pytest

from linkshift import Links


def test_no_conflicts(run, links):
    result = run("links", "check", links("0,1,must", "1,2,cannot"))
    assert result.stdout == "No conflicts among 1 must-link and 1 cannot-link.\n"


def test_conflicts_with_chain_and_removal(run, links):
    file = links("a,b,must", "b,c,must", "a,c,cannot", "c,d,must", "a,d,cannot")
    out = run("links", "check", file, code=1).stdout
    assert out.splitlines() == [
        "2 conflicts among 3 must-links and 2 cannot-links:",
        "  cannot-link ('a', 'c') against must-links 'a' - 'b' - 'c'",
        "  cannot-link ('a', 'd') against must-links 'a' - 'b' - 'c' - 'd'",
        "Smallest removal that leaves no conflict, 1 link:",
        out.splitlines()[-1],
    ]
    assert out.splitlines()[-1] in ("  must-link ('a', 'b')", "  must-link ('b', 'c')")


def test_all_conflicts_and_whole_chains_are_shown(run, links):
    chain = [f"{i},{i + 1},must" for i in range(30)]
    cannot = [f"0,{i},cannot" for i in range(2, 31)]
    out = run("links", "check", links(*chain, *cannot), code=1).stdout
    assert out.count("against must-links") == 29
    assert " - ".join(str(i) for i in range(31)) in out
    assert "more" not in out


def test_removing_what_is_said_helps(run, links):
    file = links("0,1,must", "1,2,must", "0,2,cannot")
    last = run("links", "check", file, code=1).stdout.splitlines()[-1].strip()
    kind, pair = last.split("-link ")
    gone = ",".join(part.strip() for part in pair.strip("()").split(",")) + f",{kind}"
    lines = [line for line in ("0,1,must", "1,2,must", "0,2,cannot") if line != gone]
    assert len(lines) == 2
    run("links", "check", links(*lines))


@pytest.mark.parametrize("how", ["--n-samples", "--data"])
def test_rows_beyond_the_data(run, refused, here, links, how):
    np.save("t.npy", np.zeros((5, 2)))
    size = 5 if how == "--n-samples" else "t.npy"
    run("links", "check", links("0,4,must"), how, size)
    message = refused("links", "check", links("0,4,must", "0,5,must"), how, size)
    assert "(0, 5): row 5 is out of range for 5 samples" in message


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


def test_gaps_in_the_data_do_not_matter(run, here, links):
    (here / "t.csv").write_text("x\n1\n\n,\n3\n".replace(",", '""'))
    run("links", "check", links("0,1,must"), "--data", "t.csv")


def test_json(run, here):
    Links(must=[(0, 1)], cannot=[(0, 1)]).to_json("links.json")
    assert "1 conflict among" in run("links", "check", "links.json", code=1).stdout


def test_options_that_make_no_sense(refused, data, links):
    file = links("0,1,must")
    assert "give one" in refused("links", "check", file, "--data", data, "--n-samples", 3)
    assert "give --data too" in refused("links", "check", file, "--id-column", "name")
    assert "give --data too" in refused("links", "check", file, "--no-header")


def test_missing_file(refused):
    assert "does not exist" in refused("links", "check", "links.csv")
