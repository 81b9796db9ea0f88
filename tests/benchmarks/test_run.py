import json
import stat

import pytest
from benchmarks import harness, report, run
from benchmarks.papers import tables

SHAPES = {  # rows, columns of numbers
    "cms_1": (6, 8),
    "cms_2": (6, 6),
    "cms_3": (6, 10),
    "cms_4": (6, 2),
    "groups_1": (24, 2),
    "groups_2": (6, 10),
    "kernel_text": (8, 6),
    "thesis_5_1": (6, 4),
    "thesis_5_2": (6, 2),
    "thesis_5_3": (6, 5),
    "thesis_5_4": (6, 4),
    "thesis_5_5": (6, 4),
    "thesis_5_6": (6, 5),
    "thesis_5_7": (4, 4),
    "thesis_5_8": (4, 4),
    "thesis_5_9": (4, 5),
}


def test_every_table_is_listed_here():
    assert tables.available() == sorted(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_table_has_its_shape_and_sane_numbers(name):
    table = tables.load(name)
    assert (len(table.rows), len(table.columns)) == SHAPES[name]
    assert table.paper.partition(": ")[2], "authors, then the title"
    for record in table.records():
        for column in table.columns:
            assert tables.in_range(column, record[column]), (record, column)
    keys = [tuple(record[key] for key in table.keys) for record in table.records()]
    assert len(set(keys)) == len(keys)


def test_value_looks_up_one_number():
    assert tables.load("cms_1").value("moons/ARI", method="CMS") == 0.996
    assert (
        tables.load("groups_1").value("Caltech-101/NMI", kernel="all", method="group-dependent")
        == 0.833
    )
    with pytest.raises(KeyError, match="6 rows"):
        tables.load("cms_1").value("moons/ARI")
    with pytest.raises(KeyError, match="cms_1"):
        tables.load("cms_9")


def test_figures_that_the_texts_derive_from_the_tables():
    # Differences that the papers state in words guard against a slip in copying.
    cms, groups = tables.load("cms_2"), tables.load("groups_1")
    assert cms.value("MNIST/ARI", method="CMS") - cms.value(
        "MNIST/ARI", method="Mean shift"
    ) == pytest.approx(0.418)
    assert cms.value("GTSRB/ARI", method="CMS") - cms.value(
        "GTSRB/ARI", method="PCKMeans"
    ) == pytest.approx(0.081)
    assert groups.value("Caltech-101/ACC %", kernel="all", method="group-dependent") - groups.value(
        "Caltech-101/ACC %", kernel="GB", method="group-dependent"
    ) == pytest.approx(10.7)


@pytest.mark.parametrize(("suite", "rows"), [("flat", 2), ("gaussian", 6)])
def test_run_writes_one_result_that_report_prints(suite, rows, tmp_path, capsys):
    assert run.main([suite, "--tiny", "--repeats", "2", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    (path,) = tmp_path.iterdir()
    assert not path.stat().st_mode & stat.S_IWUSR
    record = json.loads(path.read_text())
    assert record["options"] == {"size": "tiny", "repeats": 2, "seed": 0, "asked": True}
    assert {"python", "versions", "cpu", "cores"} <= record["environment"].keys()
    assert record["environment"]["versions"]["linkshift"]
    (result,) = record["suites"]
    assert result["name"] == suite
    assert result["error"] is None
    assert len(result["load_before"]) in (0, 3)
    assert len(result["rows"]) == rows
    for row in result["rows"]:
        for times in row["raw"].values():
            assert len(times["wall"]) == len(times["cpu"]) == 2

    assert report.main([str(path)]) == 0
    assert capsys.readouterr().out.strip() in printed
    assert report.main([str(path), "--markdown"]) == 0
    assert "| ---" in capsys.readouterr().out


@pytest.mark.parametrize("asked", [False, True])
def test_repeats_that_are_asked_for_are_not_cut(asked):
    options = run.Options(size="quick", repeats=4, asked=asked)
    assert options.rounds(1, 1) == (4 if asked else 1)
    assert options.rounds(1, None, 2) == 4
    # The first round uses up what there is of seconds.
    times, _ = harness.interleave({"a": int}, options.repeats, budget=options.budget(0.0))
    assert len(times["a"].wall) == (4 if asked else 1)


def test_no_repeats_at_all_are_refused(capsys):
    with pytest.raises(SystemExit):
        run.main(["flat", "--repeats", "0"])
    assert "0 is too few: give 1 or more" in capsys.readouterr().err


def test_flat_agrees_with_the_peer():
    suite = run.run_suite("flat", run.Options(size="tiny", repeats=1))
    assert all(row["cells"]["same labels"] for row in suite["rows"])
    assert all(row["cells"]["centre gap"] < 1e-9 for row in suite["rows"])


def test_a_failing_suite_is_recorded(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(run.SUITES, "flat", "benchmarks.no_such_module")
    assert run.main(["flat", "--tiny", "--out", str(tmp_path)]) == 1
    (path,) = tmp_path.iterdir()
    assert "no_such_module" in json.loads(path.read_text())["suites"][0]["error"]
    assert "ended early" in capsys.readouterr().out


def test_rows_that_name_a_table_are_gathered_under_it():
    rows = [{"table": "a", "n": 1}, {"table": "b", "m": 2}, {"table": "a", "n": 3}]
    assert report.tables_text(rows).splitlines() == [
        *("### a", "", "n", "-", "1", "3", ""),
        *("### b", "", "m", "-", "2"),
    ]
    assert report.tables_text([{"n": 1}]) == report.table_text([{"n": 1}])


def test_table_text_is_aligned():
    text = report.table_text([{"name": "a", "n": 10_000}, {"name": "bcd", "ratio": 0.12345}])
    assert text.splitlines() == [
        "name       n  ratio",
        "----  ------  -----",
        "a     10,000",
        "bcd           0.123",
    ]
