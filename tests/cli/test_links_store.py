"""`linkshift links export` and `import`: the file of a labelling page, and files of links."""

import csv
import io

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from linkshift import Links, Session
from linkshift._core.messages import Advice
from linkshift.cli.reading.stores import compared
from linkshift.web.fingerprint import Fingerprint
from linkshift.web.lines import Line, in_force
from linkshift.web.record import Record, disagreements
from linkshift.web.store import Event, Store

STORE = "people.linkshift"


def answer(a, b, word="same", purpose="learn", confidence=1.0, by="question", who=None):
    body = {"a": a, "b": b, "word": word, "confidence": confidence, "purpose": purpose, "by": by}
    return Event("answer", body, who)


def link(a, b, word="same", confidence=1.0):
    body = {"a": a, "b": b, "word": word, "confidence": confidence, "source": "links.csv"}
    return Event("link", body)


def undo(action):
    return Event("undo", {"action": action})


@pytest.fixture
def store(here, frame):
    """The file of a page that was opened with the rows s00 to s59."""
    with Store(STORE) as found:
        found.keep_data(Fingerprint.of(frame[["x", "y"]], frame["name"]))
        yield found


def lines(text):
    return list(csv.DictReader(io.StringIO(text)))


def brief(text):
    return [
        tuple(row[c] for c in ("a", "b", "kind", "confidence", "purpose")) for row in lines(text)
    ]


# Export ------------------------------------------------------------------------------------------


def test_what_stands_is_written(run, store):
    store.append([link("s00", "s01"), link("s00", "s40", "different", 0.75)], "Ben")
    (said,) = store.append([answer("s02", "s03", "unknown", "audit")], "Anna")
    action = store.append([answer("s04", "s05")], "Anna")[0].action
    store.append([answer("s06", "s07", "different", by="split"), answer("s08", "s09")], "Anna")
    store.append([undo(action)])
    result = run("links", "export", STORE)
    assert brief(result.stdout) == [
        ("s00", "s01", "must", "1", ""),
        ("s00", "s40", "cannot", "0.75", ""),
        ("s02", "s03", "unknown", "1", "audit"),
        ("s06", "s07", "cannot", "1", "learn"),
        ("s08", "s09", "must", "1", "learn"),
    ]
    rows = lines(result.stdout)
    assert [row["who"] for row in rows] == ["Ben", "Ben", "Anna", "Anna", "Anna"]
    assert rows[2]["at"] == said.at
    assert result.stderr == f"{STORE}: 3 answers and 2 given links.\n"
    assert result.stdout.startswith("a,b,kind,confidence,purpose,who,at\n")


@pytest.mark.parametrize("name", ["out.csv", "out.tsv"])
def test_into_a_file(run, store, here, name):
    store.append([answer("s00", "s01")], "Ann, \tand Ben".replace("\t", ""))
    out = run("links", "export", STORE, "-o", name)
    assert out.stdout == ""
    assert f"Written: {name}." in out.stderr
    plain = run("links", "export", STORE, "-o", "-").stdout
    separator = "\t" if name.endswith("tsv") else ","
    text = io.StringIO((here / name).read_bytes().decode())
    found = list(csv.reader(text, delimiter=separator))
    assert found == list(csv.reader(io.StringIO(plain)))
    assert Links.read_csv(name).must_ids == (("s00", "s01"),)


def test_every_reader_takes_it(run, store, data, here):
    store.append([answer(f"s{i:02d}", f"s{i + 20:02d}") for i in range(3)], "Anna")
    store.append([answer("s00", "s50", "different"), answer("s07", "s08", "unknown")], "Ben")
    run("links", "export", STORE, "-o", "links.csv")
    args = (data, "--id-column", "name", "--links", "links.csv")
    assert "Links kept: 3 of 3 must, 1 of 1 cannot" in run("cluster", *args).stderr
    run("links", "check", "links.csv", "--data", data, "--id-column", "name")
    asked = run("ask", *args, "--budget", "1", "-o", "labels.csv").stderr
    assert "5 answers; " in asked


def test_answers_that_others_took_the_place_of_stay_behind(run, store):
    store.append([link("s00", "s01", "different"), link("s05", "s06"), link("s06", "s05")])
    for word in ("different", "same"):
        store.append([answer("s00", "s01", word)])
    store.append([answer("s01", "s00", "same", "confirm")])
    store.append([answer("s02", "s03"), answer("s02", "s03", "different", "confirm")])
    found = brief(run("links", "export", STORE, "-o", "-").stdout)
    assert found == [
        ("s06", "s05", "must", "1", ""),
        ("s00", "s01", "must", "1", "learn"),
        ("s01", "s00", "must", "1", "confirm"),
        ("s02", "s03", "must", "1", "learn"),
        ("s02", "s03", "cannot", "1", "confirm"),
    ]


def test_one_person_alone(run, refused, store):
    store.append([answer("s00", "s01")], "Anna")
    store.append([answer("s00", "s01", "different")], "Ben")
    assert brief(run("links", "export", STORE, "--who", "Anna").stdout)[0][2] == "must"
    assert brief(run("links", "export", STORE).stdout)[0][2] == "cannot"  # said last
    told = refused("links", "export", STORE, "--who", "Ana")
    assert "There spoke: 'Anna', 'Ben'" in told
    assert "Did you mean 'Anna'?" in told


def test_rows_that_moved_and_rows_that_are_gone(run, here, groups):
    with Store(STORE) as store:
        store.keep_data(Fingerprint.of(groups))
        store.append([answer(0, 1), answer(2, 59), link(5, 4)])
        store.keep_data(Fingerprint.of(groups[::-1][1:]))
        result = run("links", "export", STORE)
        assert brief(result.stdout) == [
            ("58", "57", "must", "1", "learn"),
            ("53", "54", "must", "1", ""),
        ]
        assert "Warning: 1 answer names rows that are not in the data now" in result.stderr
        ids = [f"r{i}" for i in range(60)]
        store.keep_data(Fingerprint.of(groups, ids))
        found = brief(run("links", "export", STORE).stdout)
        assert [row[:2] for row in found] == [("r0", "r1"), ("r2", "r59"), ("r5", "r4")]


def test_an_empty_store(run, here):
    Store(STORE).close()
    result = run("links", "export", STORE)
    assert result.stdout == "a,b,kind,confidence,purpose,who,at\n"
    assert "0 answers and 0 given links" in result.stderr


def test_a_page_that_is_open_is_read(run, store, here):
    store.append([answer("s00", "s01")])
    assert len(lines(run("links", "export", STORE).stdout)) == 1
    store.append([answer("s00", "s02")])
    assert len(lines(run("links", "export", STORE).stdout)) == 2


@pytest.mark.parametrize("name", ["a\rb", 'a"b', "a,b", "a\nb", "ä", "=1+1", "a\tb"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_awkward_ids_come_back(run, here, name, suffix):
    with Store(STORE) as store:
        store.append([answer(name, "x"), answer("x", "y", "different")])
        run("links", "export", STORE, "-o", f"links{suffix}")
        assert Links.read_csv(f"links{suffix}").must_ids == ((name, "x"),)
        assert "0 new, 2 known" in run("links", "import", f"links{suffix}", STORE).stderr


@pytest.mark.parametrize("name", ["", " a", "a\t", "a\0b", "\ud800", "7"])
def test_ids_that_would_not_come_back_are_refused(refused, here, name):
    with Store(STORE) as store:
        store.append([answer(name, "x"), answer(7, "x")])
    told = refused("links", "export", STORE, "-o", "links.csv")
    assert "Give the rows other ids" in told or "no text" in told
    assert not (here / "links.csv").exists()


def test_mistakes_with_files_of_pages(refused, store, here):
    assert "Did you mean 'people.linkshift'?" in refused("links", "export", "peple.linkshift")
    assert "In its folder: people.linkshift" in refused("links", "export", "b.linkshift")
    (here / "links.csv").write_text("a,b,kind\ns00,s01,must\n")
    assert "looks like a file of links" in refused("links", "export", "links.csv")
    assert "looks like a file of links" in refused("links", "import", STORE, "links.csv")
    (here / "other.linkshift").write_text("nothing of the kind\n" * 50)
    assert "did not make it" in refused("links", "export", "other.linkshift")
    assert "did not make it" in refused("links", "import", "links.csv", "other.linkshift")
    assert "unknown suffix" in refused("links", "export", STORE, "-o", "links.json")
    assert "files of a labelling page are called" in refused("links", "import", "links.csv", "p")
    assert "mkdir" in refused("links", "import", "links.csv", "none/p.linkshift")
    assert not (here / "p").exists()


# Import ------------------------------------------------------------------------------------------


def test_links_that_were_given(run, store, links):
    file = links("s00,s01,same,0.5", "s00,s40,cannot,", header="a,b,kind,confidence")
    result = run("links", "import", file, STORE, "--as", "Anna")
    assert result.stderr == "links.csv: 2 pairs, 2 new, 0 known.\n"
    assert result.stdout == ""
    record = Record.of(store.entries())
    assert [(one.a, one.b, one.word, one.confidence) for one in record.links] == [
        ("s00", "s01", "same", 0.5),
        ("s00", "s40", "different", 1.0),
    ]
    assert {(one.source, one.who, one.data) for one in record.links} == {("links.csv", "Anna", 1)}
    assert len({one.action for one in record.links}) == 1  # taken back as one
    assert record.answers == ()


def test_links_that_are_given_again_are_counted(run, store, links):
    file = links(*["s00,s01,must"] * 3, "s01,s00,cannot", "s02,s03,must", "s03,s02,must",
                 "s04,s05,must", "s04,s05,cannot")  # fmt: skip
    result = run("links", "import", file, STORE)
    assert "answered several times, not always alike" in result.stderr
    with pytest.warns(Advice):
        expected = Links.read_csv(file)
    found = Record.of(store.entries()).links
    assert [(one.a, one.b) for one in found if one.word == "same"] == [*expected.must_ids]
    assert [(one.a, one.b) for one in found if one.word == "different"] == [*expected.cannot_ids]
    sure = [one.confidence for one in found if one.word == "same"]
    assert sure == expected.must_confidence.tolist()


def test_answers_of_ask(run, store, links):
    file = links(
        "s00,s01,must,1,learn", "s02,s03,cannot,0.5,audit", "s04,s05,unknown,1,learn",
        "s00,s01,must,1,confirm", "s06,s07,must,1,", "s08,s09,unknown,1,",
        header="a,b,kind,confidence,purpose",
    )  # fmt: skip
    run("links", "import", file, STORE)
    record = Record.of(store.entries())
    assert [(one.a, one.word, one.confidence, one.purpose, one.by) for one in record.answers] == [
        ("s00", "same", 1.0, "learn", "question"),
        ("s02", "different", 0.5, "audit", "question"),
        ("s04", "unknown", 1.0, "learn", "question"),
        ("s00", "same", 1.0, "confirm", "question"),
        ("s08", "unknown", 1.0, "learn", "question"),
    ]
    assert [one.a for one in record.links] == ["s06"]


def test_ask_and_the_page_hold_the_same(run, data, here, store):
    """What ask wrote, imported, is the session that ask would go on with."""
    args = ("ask", data, "--id-column", "name")
    from typer.testing import CliRunner

    from linkshift.cli.app import app

    words = "same\ndifferent\nunknown\nsame\ndifferent\n" * 4
    CliRunner().invoke(app, [*args, "--budget", "15"], input=words)
    run("links", "import", "data.answers.csv", STORE)
    said = Record.of(store.entries()).answers
    asked = lines((here / "data.answers.csv").read_text())
    kinds = {"must": "same", "cannot": "different", "unknown": "unknown"}
    assert [(one.a, one.b, one.word, one.purpose) for one in said] == [
        (row["a"], row["b"], kinds[row["kind"]], row["purpose"]) for row in asked
    ]
    assert len(said) > 5
    run("links", "export", STORE, "-o", "out.csv")
    assert brief((here / "out.csv").read_text()) == brief((here / "data.answers.csv").read_text())


def test_what_is_there_is_not_added_again(run, store, links):
    store.append([answer("s00", "s01"), link("s02", "s03", "different")], "Anna")
    file = links("s01,s00,must,1,learn", "s03,s02,cannot,1,", "s01,s00,must,1,",
                 "s04,s05,must,1,", "s05,s04,must,1,",
                 header="a,b,kind,confidence,purpose")  # fmt: skip
    assert "4 pairs, 1 new, 3 known" in run("links", "import", file, STORE).stderr
    n = len(store.entries())
    assert "4 pairs, 0 new, 4 known" in run("links", "import", file, STORE).stderr
    assert len(store.entries()) == n


def test_out_and_in_again(run, store, here):
    store.append([link("s00", "s01"), link("s00", "s40", "different", 0.75)], "Ben")
    store.append([answer("s02", "s03", "unknown", "audit")], "Anna")
    store.append([answer("s04", "s05"), answer("s04", "s05", "same", "confirm")], "Anna")
    store.append([answer("s04", "s05", "same", "confirm")], "Ben")
    run("links", "export", STORE, "-o", "links.csv")
    assert "6 pairs, 0 new, 6 known" in run("links", "import", "links.csv", STORE).stderr
    with Store("other.linkshift") as other:
        run("links", "import", "links.csv", "other.linkshift")
        run("links", "export", "other.linkshift", "-o", "again.csv")
        assert (here / "again.csv").read_text() == (here / "links.csv").read_text()
        whos = [(one.who, one.at) for one in Record.of(other.entries()).answers]
    assert whos == [(one.who, one.at) for one in Record.of(store.entries()).answers]


def test_two_people_with_two_files(run, store, links):
    first = links("s00,s01,must,learn", name="anna.csv", header="a,b,kind,purpose")
    second = links("s00,s01,cannot,learn", name="ben.csv", header="a,b,kind,purpose")
    run("links", "import", first, STORE, "--as", "Anna")
    told = run("links", "import", second, STORE, "--as", "Ben").stderr
    assert "1 of the new cannot be right" in told
    assert "'s00' and 's01' different, and there same (Anna)" in told
    (found,) = disagreements(Record.of(store.entries()))
    assert {one.who for one in found.said} == {"Anna", "Ben"}
    # The same said by another one is news; said by nobody in particular it is not.
    assert "1 new" in run("links", "import", first, STORE, "--as", "Cleo").stderr
    assert "0 new" in run("links", "import", first, STORE).stderr


def test_who_said_it_stands_in_the_file(run, store, links):
    file = links("s00,s01,must,Anna,2026-01-31T12:00:00+02:00", "s02,s03,must,,yesterday",
                 header="a,b,kind,who,at")  # fmt: skip
    told = run("links", "import", file, STORE, "--as", "Ben").stderr
    assert "1 time in the column at cannot be read" in told
    first, second = Record.of(store.entries()).links
    assert (first.who, first.at) == ("Anna", "2026-01-31T10:00:00.000Z")
    assert second.who == "Ben"
    assert second.at[:4] >= "2026"


def test_contradictions_by_a_chain_are_told(run, store, links):
    store.append([answer("s00", "s01"), answer("s01", "s02")])
    told = run("links", "import", links("s00,s02,cannot", "s05,s06,must"), STORE).stderr
    assert "2 new" in told
    assert "1 of the new cannot be right" in told
    assert "'s00' and 's02' different, and the same by 's00' - 's01' - 's02'" in told
    told = run("links", "import", links("s05,s07,must", "s06,s07,must"), STORE).stderr
    assert "cannot be right" not in told  # nor are those of before told again
    many = [f"s{i:02d},s{i + 1:02d},must" for i in range(10, 20)]
    many += [f"s10,s{i},cannot" for i in range(12, 21)]
    told = run("links", "import", links(*many), STORE).stderr
    assert "and 6 more" in told


def test_names_of_rows_are_those_of_the_data(run, refused, store, links, here):
    n = len(store.entries())
    for line in ("s00,zoe,must", "0,1,must"):
        told = refused("links", "import", links("s00,s01,must", line), STORE)
        assert "links.csv, line 3" in told or "links.csv, line 3: '0'" in told
        assert "is not among the 60 ids" in told
    assert "paired with itself" in refused("links", "import", links("s00,s00,must"), STORE)
    assert len(store.entries()) == n


def test_numbers_of_rows(run, refused, here, groups, links):
    with Store(STORE) as store:
        store.keep_data(Fingerprint.of(groups))
        run("links", "import", links("0,1.0,must"), STORE)
        (found,) = Record.of(store.entries()).links
        assert (found.a, found.b) == (0, 1)
        for wrong in ("60", "-1", "1.5", "s00"):
            told = refused("links", "import", links(f"0,{wrong},must"), STORE)
            assert "is not among the 60 rows, numbered from 0" in told


def test_ids_that_are_numbers(run, here, groups, links):
    with Store(STORE) as store:
        store.keep_data(Fingerprint.of(groups, range(100, 160)))
        run("links", "import", links("100,101,must", "102.0,103,must"), STORE)
        found = Record.of(store.entries()).links
        assert [(one.a, one.b) for one in found] == [(100, 101), (102, 103)]


def test_before_any_data_names_are_kept_as_they_are_written(run, here, links, groups):
    told = run("links", "import", links("7,x,must", "7,8,cannot"), STORE).stderr
    assert f"{STORE} did not exist, and is a new file." in told
    with Store(STORE) as store:
        found = Record.of(store.entries()).links
    assert [(one.a, one.b, one.data) for one in found] == [("7", "x", 0), ("7", "8", 0)]


def test_links_in_json(run, refused, store, here):
    Links([("s00", "s01")], [("s00", "s40")], must_confidence=[0.5]).to_json("links.json")
    assert "2 pairs, 2 new" in run("links", "import", "links.json", STORE).stderr
    found = Record.of(store.entries()).links
    assert [(one.a, one.b, one.word, one.confidence) for one in found] == [
        ("s00", "s01", "same", 0.5),
        ("s00", "s40", "different", 1.0),
    ]
    Links.apart_within(["x", "x", "x", "y"]).to_json("apart.json")
    assert "expanded()" in refused("links", "import", "apart.json", STORE)
    Links([("s00", 0.5)]).to_json("float.json")
    assert "text or whole numbers" in refused("links", "import", "float.json", STORE)


@pytest.mark.parametrize(
    ("header", "line", "told"),
    [
        ("a,b,kind", "s00,s01,perhaps", "kind must be"),
        ("a,b", "s00,s01", "expected the header"),
        ("a,b,kind,confidence", "s00,s01,must,2", "line 2: confidence must be"),
        ("a,b,kind,purpose", "s00,s01,must,fun", "purpose is 'fun'"),
        ("a,b,kind,who", "s00,s01,must,\x1b[1m", "links.csv, line 2: The name"),
    ],
)
def test_wrong_lines_write_nothing(refused, store, links, header, line, told):
    n = len(store.entries())
    assert told in refused("links", "import", links(line, header=header), STORE)
    assert len(store.entries()) == n


def test_nothing_is_made_for_a_file_that_cannot_be_used(refused, here, links):
    refused("links", "import", links("s00,s01,perhaps"), STORE)
    assert "does not exist" in refused("links", "import", "nolinks.csv", STORE)
    assert "none of them" in refused("links", "import", "links.txt", STORE)
    assert not (here / STORE).exists()


def test_a_name_in_one_line(refused, store, links):
    told = refused("links", "import", links("s00,s01,must"), STORE, "--as", "a\nb")
    assert "Give a name in one line" in told


def test_an_import_is_taken_back_as_one(run, store, links):
    run("links", "import", links("s00,s01,must", "s02,s03,must"), STORE)
    record = Record.of(store.entries())
    store.append([undo(record.undoable)])
    assert lines(run("links", "export", STORE).stdout) == []
    assert "2 new" in run("links", "import", "links.csv", STORE).stderr  # asked for again


# Laws --------------------------------------------------------------------------------------------

LINES = st.lists(
    st.builds(
        Line,
        st.sampled_from([0, 1]), st.sampled_from([2, 3]),
        st.sampled_from(["same", "different"]), st.sampled_from([0.5, 1.0]),
        st.sampled_from(["", "learn", "audit", "confirm"]), st.sampled_from(["", "Anna"]),
    ),
    max_size=8,
)  # fmt: skip


@given(LINES)
def test_what_is_in_force_is_what_a_session_finds_in_all(said):
    X = np.arange(8.0).reshape(4, 2)

    words = {line.pair: line.word for line in said if not line.purpose}  # no votes
    said = [line for line in said if line.purpose or line.word == words[line.pair]]

    def told(some):
        given = [line for line in some if not line.purpose]
        links = Links(
            [(a, b) for a, b, word, *_ in given if word == "same"] or None,
            [(a, b) for a, b, word, *_ in given if word == "different"] or None,
        )
        session = Session(X, links)
        for line in some:
            if line.purpose:
                session.answer(
                    line.word, line.confidence, pair=(line.a, line.b), purpose=line.purpose
                )
        found = session._told
        return {(min(t.a, t.b), max(t.a, t.b), t.same, t.times, t.against) for t in found}

    assert told(in_force(said)) == told(said)
    assert in_force(in_force(said)) == in_force(said)


@given(LINES, LINES)
@example([], [Line("a", "b", "same", 0.5, "confirm", who) for who in ("Anna", "", "Anna")])
def test_what_was_added_is_known(file, there):
    found = compared(file, there)
    assert len(found.lines) + found.n_known == len(file)
    after = [*there, *found.lines]
    assert compared(file, after).lines == []
    assert compared(in_force(after), after).lines == []
    assert found.n_contradicting <= len(found.lines)
    assert compared(file, []).n_known <= found.n_known
