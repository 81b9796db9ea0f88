import copy
import json
from math import isclose

import pytest
from benchmarks import bench_check, columns, compare_runs, run
from benchmarks.speed import yardsticks
from hypothesis import assume, given
from hypothesis import strategies as st

ROWS = {
    "yardsticks": [
        {"what": "flat", "n": 10, "yardstick": "loop", "ours/yardstick": 2.0, "ARI": 0.9},
        {"what": "gaussian", "n": 10, "yardstick": "loop", "ours/yardstick": 4.0, "ARI": 0.8},
    ],
    "flat": [{"n": 10, "d": 2, "ours": 0.1, "ratio of CPU": 100.0, "same labels": True}],
}


def record(rows=None, **changes):
    return {
        "schema": 1,
        "started": "2026-01-01T00:00:00+00:00",
        "options": {"size": "quick", "repeats": 3, "seed": 0, "asked": False},
        "environment": {
            "python": "3.11.7",
            "versions": {"linkshift": "0.1", "numpy": "2.0"},
            "cpu": "a",
            "cores": 2,
        },
        "variables": {},
        "suites": [
            {"name": name, "error": None, "rows": [{"cells": dict(row), "raw": {}} for row in some]}
            for name, some in (ROWS if rows is None else rows).items()
        ],
        **changes,
    }


def changed(suite, row, **cells):
    """The usual record but for some cells; None takes a cell away."""
    rows = copy.deepcopy(ROWS)
    rows[suite][row].update(cells)
    return record(rows)


@pytest.fixture
def tell(tmp_path, capsys):
    """What the command says of two records, and how it ends."""

    def said(old, new, *more):
        paths = []
        for name, one in (("old", old), ("new", new)):
            paths.append(tmp_path / f"{name}.json")
            paths[-1].write_text(one if isinstance(one, str) else json.dumps(one))
        code = compare_runs.main([*map(str, paths), *more])
        out, err = capsys.readouterr()
        return code, (out + err).strip().splitlines()

    return said


def test_equal_files_have_no_finding(tell):
    code, lines = tell(record(), record())
    assert code == 0
    assert lines == [
        "Not compared in flat: ours.",
        "6 figures compared, ratios within 1.25 times, scores within 0.02: nothing to tell.",
    ]


@pytest.mark.parametrize(
    ("suite", "row", "cells", "code", "first"),
    [
        (
            *("yardsticks", 0, {"ours/yardstick": 3.0}, 1),
            "slower: yardsticks: n 10, flat, loop: ours/yardstick 2 -> 3: 1.50 times as slow, "
            "1.25 may be",
        ),
        (
            *("flat", 0, {"ratio of CPU": 50.0}, 1),
            "slower: flat: d 2, n 10: ratio of CPU 100 -> 50: 2.00 times as slow, 1.25 may be",
        ),
        (
            *("yardsticks", 1, {"ARI": 0.75}, 1),
            "worse: yardsticks: n 10, gaussian, loop: ARI 0.8 -> 0.75: 0.050 worse, 0.02 may be",
        ),
        (
            *("flat", 0, {"same labels": False}, 1),
            "worse: flat: d 2, n 10: same labels: True -> False",
        ),
        (
            *("yardsticks", 0, {"ARI": None}, 1),
            "gone: yardsticks: n 10, flat, loop: ARI was 0.9, now there is none",
        ),
        (
            *("yardsticks", 0, {"ours/yardstick": float("nan")}, 1),
            "gone: yardsticks: n 10, flat, loop: ours/yardstick was 2, now there is none",
        ),
        (
            *("yardsticks", 0, {"ours/yardstick": 1.0}, 0),
            "faster: yardsticks: n 10, flat, loop: ours/yardstick 2 -> 1: 2.00 times as fast",
        ),
        (
            *("yardsticks", 0, {"ARI": 1.0}, 0),
            "better: yardsticks: n 10, flat, loop: ARI 0.9 -> 1: 0.100 better",
        ),
        (
            *("yardsticks", 0, {"NMI": 0.5}, 0),
            "new: yardsticks: n 10, flat, loop: NMI 0.5, there was none",
        ),
    ],
)
def test_each_kind_of_finding_is_said_in_words(tell, suite, row, cells, code, first):
    ended, lines = tell(record(), changed(suite, row, **cells))
    assert (ended, lines[0]) == (code, first)
    assert lines[-1].endswith(f": 1 {first.partition(':')[0]}.")


def test_a_row_of_another_size_is_gone_and_new(tell):
    code, lines = tell(record(), changed("yardsticks", 0, n=20))
    assert code == 1
    assert lines[:2] == [
        "gone: yardsticks: n 10, flat, loop: no such row any more",
        "new: yardsticks: n 20, flat, loop: no such row before",
    ]


def test_rows_without_anything_to_compare_are_neither_new_nor_gone(tell):
    more = ROWS | {"flat": [*ROWS["flat"], {"n": 99, "ours": 0.1}]}
    assert tell(record(), record(more)) == tell(record(more), record(more))
    assert tell(record(more), record())[0] == 0


def test_seconds_are_never_compared(tell):
    code, lines = tell(record(), changed("flat", 0, ours=1e6, **{"CPU s": 1e6, "95 % ms": 1e6}))
    assert code == 0
    assert lines[0] == "Not compared in flat: ours; CPU s; 95 % ms."


def test_a_suite_that_ended_early_is_a_finding(tell):
    new = record()
    new["suites"][0] |= {"error": "Traceback\nValueError: no luck\n", "rows": []}
    code, lines = tell(record(), new)
    assert code == 1
    assert lines[0] == "ended early: yardsticks: ValueError: no luck"
    assert [line.partition(":")[0] for line in lines[1:3]] == ["gone", "gone"]


def test_suites_of_one_file_only_are_named(tell):
    more = ROWS | {"step": [{"n": 10, "ours/C": 1.0}]}
    code, lines = tell(record(ROWS), record(more))
    assert (code, lines[0]) == (0, "new: step: is in the new file only")
    code, lines = tell(record(more), record(ROWS))
    assert (code, lines[0]) == (0, "not run: step: is in the old file only")


def test_files_of_seconds_alone_are_refused(tell):
    seconds = record({"first_call": [{"what": "pass", "seconds": 0.1}]})
    code, (said,) = tell(seconds, seconds)
    assert code == 2
    assert said.startswith("Of first_call nothing is compared: seconds never are. Say in")


def test_what_was_left_out_is_said_with_its_reason(tell):
    why = {"table": "left out", "what": "leiden", "why": "no module igraph"}
    code, lines = tell(record(), record(ROWS | {"auto": [why]}))
    assert code == 0
    assert "Left out of the new file: leiden: no module igraph." in lines


@pytest.mark.parametrize(
    ("tolerances", "code"),
    [
        ((), 1),
        (("--tolerance", "1.5"), 0),
        (("--tolerance", "1.49"), 1),
        (("--tolerance", "1"), 1),
    ],
)
def test_tolerance_of_ratios(tell, tolerances, code):
    assert tell(record(), changed("flat", 0, **{"ratio of CPU": 67.0}), *tolerances)[0] == code


@pytest.mark.parametrize(("tolerance", "code"), [("0.1", 0), ("0.09", 1), ("0", 1)])
def test_tolerance_of_scores(tell, tolerance, code):
    new = changed("yardsticks", 1, ARI=0.7)
    assert tell(record(), new, "--score-tolerance", tolerance)[0] == code


@pytest.mark.parametrize(
    "given", [("--tolerance", "0.9"), ("--tolerance", "inf"), ("--score-tolerance", "2")]
)
def test_tolerances_that_mean_nothing_are_refused(given, capsys):
    with pytest.raises(SystemExit):
        compare_runs.main(["a", "b", *given])
    assert "give" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("cpu", "b", "cpu a -> b"), ("python", "3.14.0", "python 3.11.7 -> 3.14.0")],
)
def test_another_machine_is_said_and_allowed_more(tell, name, value, said):
    new = changed("flat", 0, **{"ratio of CPU": 70.0})
    assert tell(record(), new)[0] == 1
    new["environment"][name] = value
    code, lines = tell(record(), new)
    assert code == 0
    assert f"Another machine: {said}." in lines
    assert "ratios within 1.6 times" in lines[-1]
    new["environment"]["versions"]["linkshift"] = "0.2"  # what is looked at is no other machine
    assert tell(record(), new)[1] == lines


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema": 2}, "has format 2, this program reads 1. Run it anew"),
        (
            {"options": {"size": "full", "repeats": 3, "seed": 0}},
            "has size quick, the new one full",
        ),
        ({"options": {"size": "quick", "repeats": 3, "seed": 1}}, "has seed 0, the new one 1"),
        ({"variables": {"LINKSHIFT_AUTO_SETS": "moons"}}, "has no variables, the new one {"),
        ({"suites": []}, "has flat, yardsticks, the new one none: no suite is in both."),
    ],
)
def test_files_that_were_not_made_alike_are_refused_with_a_remedy(tell, change, reason):
    old, new = record(), record(**change)
    old["options"] = {**old["options"]}
    new["options"].setdefault("asked", False)
    code, (said,) = tell(old, new)
    assert code == 2
    assert reason in said
    if "schema" not in change:
        assert (
            "Run it as the old one was: `python -m benchmarks.run yardsticks flat --quick" in said
        )


def test_files_of_before_variables_were_kept_can_be_compared(tell):
    old = record()
    del old["variables"]
    assert tell(old, record(variables={"LINKSHIFT_AUTO_SETS": "moons"}))[0] == 0


@pytest.mark.parametrize("text", ["no json", "[]", "{}", '{"schema": 1}'])
def test_other_files_are_refused(tell, text):
    code, (said,) = tell(record(), text)
    assert code == 2
    assert "Give a file that `python -m benchmarks.run` wrote" in said
    assert compare_runs.main(["missing.json", "missing.json"]) == 2


names = st.sampled_from(
    ["n", "d", "method", "table", "ARI", "ratio of CPU", "ours/C", "CPU s", "same labels", "h"]
)
cells = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["a", "ARI"])
tables = st.dictionaries(
    st.sampled_from(["flat", "auto"]), st.lists(st.dictionaries(names, cells)), min_size=1
)


@given(tables)
def test_a_file_compared_with_itself_has_no_finding(rows):
    one = record(rows)
    again = json.loads(json.dumps(one))
    assert compare_runs.compare(one, again, compare_runs.Tolerance(1.0, 0.0)) == []


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(1.0, 10.0))
def test_what_is_slower_one_way_is_faster_the_other(old, new, tolerance):
    assume(not isclose(max(old / new, new / old), tolerance))  # where rounding decides
    allowed = compare_runs.Tolerance(tolerance, 0.0)
    kinds = [
        said and said[0]
        for measure, pair in (
            (columns.COST, (old, new)),
            (columns.RATIO, (new, old)),
            (columns.COST, (new, old)),
        )
        if [said := compare_runs.difference("x", measure, *pair, allowed)]
    ]
    assert kinds[0] == kinds[1]
    assert kinds[2] == {"slower": "faster", "faster": "slower", None: None}[kinds[0]]


def test_scores_in_percent_have_the_same_tolerance():
    def kind(measure, old, new):
        said = compare_runs.difference("x", measure, old, new, compare_runs.SAME_MACHINE)
        return said and said[0]

    assert kind(columns.PERCENT, 90.0, 89.0) is None
    assert kind(columns.PERCENT, 90.0, 85.0) == "worse"
    assert kind(columns.PERCENT_WRONG, 5.0, 10.0) == "worse"
    assert kind(columns.LOSS, 0.1, 0.0) == "better"


def test_columns_of_tables_with_a_column_for_each_method():
    row = {"table": "ARI", "half": "seen", "links": 10, "sets": 3, "auto": 0.5, "± auto": 0.1}
    assert columns.measures(row) == {"auto": columns.SCORE}
    assert columns.key(row) == (("half", "seen"), ("links", 10), ("sets", 3), ("table", "ARI"))
    assert columns.left_alone(row) == ["± auto"]
    assert columns.measures(row | {"table": "auto above"}) == {}


# --- the check --------------------------------------------------------------------------------


def test_yardsticks_give_rows_that_can_be_compared():
    suite = run.run_suite("yardsticks", run.Options(size="tiny", repeats=1))
    assert suite["error"] is None
    rows = compare_runs.named(suite["rows"])
    assert len(rows) == len(yardsticks.JOBS)
    for row in rows.values():
        assert columns.measures(row) == {"ours/yardstick": columns.COST, "ARI": columns.SCORE}
        assert row["ours/yardstick"] == row["ours, CPU s"] / row["yardstick, CPU s"] > 0


def test_yardsticks_do_what_they_say():
    points = yardsticks._POINTS[:200]
    u = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    near = (1 - u).clip(0.5)
    near[near == 0.5] = 0
    assert yardsticks.loop(200) == pytest.approx(near.sum(axis=1))


def test_the_baseline_is_of_the_suites_that_are_run():
    stored = compare_runs.read(bench_check.BASELINE)
    assert [suite["name"] for suite in stored["suites"]] == list(bench_check.SUITES)
    assert stored["variables"] == bench_check.VARIABLES
    assert stored["made by"].startswith("python -m benchmarks.bench_check --write")
    for suite in stored["suites"]:
        for row in suite["rows"]:
            assert columns.measures(row["cells"])
            assert not columns.left_alone(row["cells"])


def test_baseline_has_the_median_and_the_spread():
    runs = [changed("yardsticks", 0, **{"ours/yardstick": value}) for value in (3.0, 2.0, 9.0)]
    made = bench_check.baseline(runs)
    (row, _), (flat,) = (suite["rows"] for suite in made["suites"])
    assert row["cells"]["ours/yardstick"] == 3.0
    assert row["spread"] == {"ours/yardstick": [2.0, 9.0]}
    assert flat["cells"] == {"n": 10, "d": 2, "ratio of CPU": 100.0, "same labels": True}
    assert compare_runs.compare(made, runs[0], compare_runs.SAME_MACHINE) == []
    assert "4.50 for" in next(bench_check.spreads(made))
    assert json.loads(bench_check.text(made)) == made


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """The check with made measurements: what it says, how it ends, and what was measured."""

    def run_check(*runs):
        baseline, left, asked = tmp_path / "baseline.json", list(runs), []
        baseline.write_text(json.dumps(record()))

        def measured(suites, folder):
            asked.append(list(suites))
            return left.pop(0)

        monkeypatch.setattr(bench_check, "SUITES", tuple(ROWS))
        monkeypatch.setattr(bench_check, "measured", measured)
        code = bench_check.main(["--baseline", str(baseline)])
        return code, capsys.readouterr().out, asked

    return run_check


def test_what_looks_slower_is_measured_again(check):
    slow = changed("yardsticks", 0, **{"ours/yardstick": 9.0})
    code, out, asked = check(slow, record())
    assert (code, asked) == (0, [["yardsticks", "flat"], ["yardsticks"]])
    assert "nothing to tell" in out
    code, out, asked = check(slow, copy.deepcopy(slow), copy.deepcopy(slow))
    assert (code, len(asked)) == (1, 3)
    assert "slower: yardsticks: n 10, flat, loop" in out
    assert "--write" in out


def test_what_is_worse_is_not_measured_again(check):
    code, out, asked = check(changed("yardsticks", 0, ARI=0.1))
    assert (code, len(asked)) == (1, 1)
    assert "worse: yardsticks" in out


def test_a_check_without_a_baseline_says_so(tmp_path, capsys):
    assert bench_check.main(["--baseline", str(tmp_path / "none.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_baseline_is_made_of_several_runs_of_what_has_ratios(tmp_path, monkeypatch, capsys):
    rows = {"yardsticks": ROWS["yardsticks"], "auto": [{"table": "ARI", "sets": 2, "auto": 0.5}]}
    costs, asked = [2.0, 4.0, 3.0], []

    def measured(suites, folder):
        found = record({name: copy.deepcopy(rows[name]) for name in suites})
        found["suites"][0]["rows"][0]["cells"]["ours/yardstick"] = costs[len(asked)]
        asked.append(list(suites))
        return found

    monkeypatch.setattr(bench_check, "SUITES", tuple(rows))
    monkeypatch.setattr(bench_check, "measured", measured)
    path = tmp_path / "baseline.json"
    assert bench_check.main(["--write", "--runs", "3", "--baseline", str(path)]) == 0
    assert asked == [["yardsticks", "auto"], ["yardsticks"], ["yardsticks"]]
    stored = compare_runs.read(path)
    assert stored["suites"][0]["rows"][0]["cells"]["ours/yardstick"] == 3.0
    assert stored["suites"][1]["rows"] == [{"cells": rows["auto"][0]}]
    assert "greatest / least of a ratio: 1.50 on average, 2.00 for" in capsys.readouterr().out


def test_a_baseline_is_not_made_of_suites_that_ended_early(tmp_path, monkeypatch, capsys):
    failed = record()
    failed["suites"][0]["error"] = "ValueError"
    monkeypatch.setattr(bench_check, "measured", lambda suites, folder: failed)
    path = tmp_path / "baseline.json"
    assert bench_check.main(["--write", "--runs", "1", "--baseline", str(path)]) == 2
    assert not path.exists()
    assert "yardsticks ended early" in capsys.readouterr().err


@pytest.mark.parametrize("given", [("--runs", "3"), ("--write", "--tolerance", "2")])
def test_options_that_would_be_ignored_are_refused(given):
    with pytest.raises(SystemExit):
        bench_check.main(list(given))
