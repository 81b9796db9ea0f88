"""What new users get wrong: a message that says what to do, exit code 2, no traceback."""

import builtins
import json
import sys

import numpy as np
import pandas as pd
import pytest


def test_wrong_path_suggests_the_right_one(refused, data):
    assert "dta.csv does not exist. Did you mean 'data.csv'?" in refused("cluster", "dta.csv")


def test_wrong_folder(refused, here):
    assert "neither does the folder no" in refused("cluster", "no/data.csv")


def test_a_folder_as_data(refused, here):
    (here / "d.csv").mkdir()
    assert "is a folder: it is worked on in parts" in refused("cluster", "d.csv")
    assert "is a folder; give a file" in refused("cluster", "d.csv", "--in-memory")


@pytest.mark.parametrize(
    ("option", "value", "meant"),
    [
        ("--kernel", "gausian", "gaussian"),
        ("--scale", "Standard", "standard"),
        ("--method", "meanshift", "mean-shift"),
    ],
)
def test_misspelled_value(refused, data, option, value, meant):
    message = refused("cluster", data, option, value)
    assert option in message
    assert f"Did you mean '{meant}'?" in message


def test_misspelled_option(refused, data):
    assert "--columns" in refused("cluster", data, "--colums", "x")


def test_no_data(refused):
    assert "DATA" in refused("cluster")


def test_only_text_columns(refused, here, frame):
    frame[["name"]].assign(day="monday").drop(columns="name").to_csv("t.csv", index=False)
    message = refused("cluster", "t.csv")
    assert "no numeric columns to cluster. Its columns: day (text)." in message


def test_only_reserved_columns(refused, here, frame):
    frame[["x"]].to_csv("t.csv", index=False)
    assert "Not counted: x" in refused("cluster", "t.csv", "--id-column", "x")


def test_text_column_by_name(refused, here, frame):
    frame.loc[3, "x"] = np.nan
    frame["x"] = frame["x"].astype(object).where(frame.index != 7, "oops")
    frame.to_csv("t.csv", index=False)
    message = refused("cluster", "t.csv", "--columns", "x,y")
    assert "column 'x' is not numeric: row 7 has 'oops'" in message


def test_a_typo_in_a_column_of_numbers_is_pointed_out(run, here, frame):
    frame["x"] = frame["x"].astype(object).where(frame.index != 7, "oops")
    frame.to_csv("t.csv", index=False)
    err = run("cluster", "t.csv").stderr
    assert "column 'x' is left out because not all of it is numbers: row 7 has 'oops'" in err
    assert "'name'" not in err


def test_missing_cells(refused, here, frame):
    frame.loc[[2, 3, 5, 7, 11, 13, 17], "x"] = np.nan
    frame["z"] = 1.0
    frame.loc[4, "z"] = np.inf
    frame.to_csv("t.csv", index=False)
    message = refused("cluster", "t.csv")
    assert "x: missing in rows 2, 3, 5, 7, 11 and 2 more" in message
    assert "--prepare" in message
    assert "z: infinite in row 4" in message
    assert "--columns y." in message


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_missing_cells_in_other_formats(refused, here, frame, kind):
    frame.loc[2, "x"] = np.nan
    if kind == "npy":
        np.save("t.npy", frame[["x", "y"]].to_numpy())
    else:
        frame.to_parquet("t.parquet")
    assert "missing in row 2" in refused("cluster", f"t.{kind}")


def test_unknown_column(refused, data):
    message = refused("cluster", data, "--columns", "x,Y")
    assert "has no column 'Y'. Did you mean 'y'? Its columns: name, x, y." in message
    assert "--id-column: data.csv has no column" in refused("cluster", data, "--id-column", "nam")
    assert "--labels-column: data.csv has no" in refused("cluster", data, "--labels-column", "q")


def test_columns_twice_empty_or_taken(refused, data):
    assert "twice" in refused("cluster", data, "--columns", "x,x")
    assert "--columns is empty" in refused("cluster", data, "--columns", ",")
    message = refused("cluster", data, "--columns", "x,name", "--id-column", "name")
    assert "holds ids, labels or weights" in message
    message = refused("cluster", data, "--id-column", "name", "--labels-column", "name")
    assert "both name 'name'" in message


def test_no_header(refused, run, here, groups):
    pd.DataFrame(groups).to_csv("t.csv", index=False, header=False)
    message = refused("cluster", "t.csv")
    assert "all numbers" in message
    assert "--no-header" in message
    assert len(run("cluster", "t.csv", "--no-header").stdout.splitlines()) == 61
    # 60 rows with the first as names: 59 rows and the header of the output.
    assert len(run("cluster", "t.csv", "--header").stdout.splitlines()) == 60


def test_header_is_for_text(refused, here, groups):
    np.save("t.npy", groups)
    assert "--no-header are for .csv" in refused("cluster", "t.npy", "--no-header")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("t.csv", "", "is empty"),
        ("t.csv", "a,b\n", "has no rows"),
        ("t.csv", "a,b\n1,2,3\n4,5,6\n", "more cells than its first line, which has 2"),
        ("t.csv", "a,b\n1,2\n4,5,6\n", "line 3"),
        ("t.parquet", "no", "cannot be read as Parquet"),
        ("t.npy", "no", "cannot be read"),
        ("t.npz", "no", "cannot be read"),
        ("t.xlsx", "no", "Convert it to one of .csv, .tsv, .json, .jsonl, .parq"),
    ],
)
def test_files_that_are_not_what_they_seem(refused, here, name, text, told):
    (here / name).write_text(text)
    assert told in refused("cluster", name)


def test_a_counter_among_the_columns_gets_a_warning(run, here, frame):
    frame.to_csv("t.csv")
    err = run("cluster", "t.csv").stderr
    assert "column 'Unnamed: 0' only counts the rows" in err
    assert "--id-column 'Unnamed: 0'" in err


def test_ids_missing_or_twice(refused, here, frame):
    frame.assign(name=["", *frame["name"][1:]]).to_csv("t.csv", index=False)
    assert "no id in row 0" in refused("cluster", "t.csv", "--id-column", "name")
    frame.assign(name=["s01", *frame["name"][1:]]).to_csv("t.csv", index=False)
    message = refused("cluster", "t.csv", "--id-column", "name")
    assert "rows 0 and 1 have the same id, 's01'" in message


def test_measurements_as_labels(refused, data):
    message = refused("cluster", data, "--labels-column", "x")
    assert "Labels are names or whole numbers" in message


# --- links --------------------------------------------------------------------------------------


def test_link_to_a_missing_row(refused, data, links):
    message = refused("cluster", data, "--links", links("0,1,must", "0,400,cannot"))
    assert "links.csv, line 3" in message
    assert "(0, 400): row 400 is out of range for 60 samples" in message
    assert "take(" not in message


def test_link_to_a_missing_id(refused, data, links):
    message = refused("cluster", data, "--links", links("s00,zoe,must"), "--id-column", "name")
    assert "links.csv, line 2" in message
    assert "'zoe' is not among the 60 sample ids" in message
    assert "resolve(" not in message


def test_ids_without_id_column(refused, data, links):
    message = refused("cluster", data, "--links", links("ann,bob,must"))
    assert "such as 'ann'" in message
    assert "--id-column NAME" in message


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["0,1,maybe"], "kind must be 'must' (same, s, 1, true), 'cannot'"),
        (["0,0,must"], "cannot be linked with itself"),
        (["0,1"], "expected 3 columns"),
        (["-1,1,must"], "must not be negative"),
    ],
)
def test_bad_links(refused, data, links, lines, told):
    assert told in refused("cluster", data, "--links", links(*lines))


def test_links_in_another_format(refused, data, here):
    (here / "links.txt").write_text("0 1 must")
    assert "read from .csv, .tsv or .json" in refused("cluster", data, "--links", "links.txt")
    (here / "links.json").write_text("[]")
    assert "does not hold links" in refused("cluster", data, "--links", "links.json")
    assert "lnks.csv does not exist" in refused("cluster", data, "--links", "lnks.csv")


def test_links_for_more_rows(refused, data, here):
    from linkshift import Links

    Links(must=[(0, 1)], n_samples=100).to_json("links.json")
    message = refused("cluster", data, "--links", "links.json")
    assert "the links are for 100 samples, but the data have 60." in message


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", ["0", "-1", "nan", "inf"])
def test_bandwidth_must_be_positive(refused, data, bandwidth):
    message = refused("cluster", data, "--bandwidth", bandwidth)
    assert "--bandwidth must be more than 0" in message
    assert "Leave it out to take it from the data" in message


def test_bandwidth_must_be_a_number(refused, data):
    assert "--bandwidth takes a number" in refused("cluster", data, "--bandwidth", "wide")


def test_neighbours(refused, data):
    assert "Invalid value for '--n-neighbors'" in refused("cluster", data, "--n-neighbors", "0")
    assert "only 59 others" in refused("cluster", data, "--n-neighbors", "60")
    message = refused("cluster", data, "--n-neighbors", "3", "--bandwidth", "1")
    assert "Give --bandwidth or --n-neighbors." in message


def test_threads(refused, data):
    assert "--threads" in refused("cluster", data, "--threads", "0")


# --- output -------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--output", "--plot"])
def test_output(refused, data, here, option):
    suffix = ".csv" if option == "--output" else ".png"
    message = refused("cluster", data, option, f"no/out{suffix}")
    assert "the folder no does not exist. Create it first: mkdir -p no" in message
    assert not (here / "no").exists()
    assert "unknown suffix '.xls'. Use one of" in refused("cluster", data, option, "out.xls")
    assert "unknown suffix ''" in refused("cluster", data, option, "out")
    (here / f"folder{suffix}").mkdir()
    assert "is a folder" in refused("cluster", data, option, f"folder{suffix}")


def test_output_over_input(refused, data, here, links):
    before = (here / data).read_bytes()
    assert "would overwrite data.csv" in refused("cluster", data, "-o", here / data)
    file = links("0,1,must")
    assert "overwrite links.csv" in refused("cluster", data, "--links", file, "-o", file)
    assert (here / data).read_bytes() == before


# --- extras -------------------------------------------------------------------------------------


def test_without_pandas(refused, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert 'pip install "linkshift[cli]"' in refused("cluster", data)


def test_without_pandas_arrays_still_work(run, here, groups):
    """The command itself must not ask for pandas here; scikit-learn may, where it is installed."""
    np.save("t.npy", groups)
    true_import = builtins.__import__
    asked = []

    def spy(name, globals=None, *args, **kwargs):
        if name == "pandas" and (globals or {}).get("__name__", "").startswith("linkshift.cli"):
            asked.append(globals["__name__"])
        return true_import(name, globals, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "__import__", spy)
        run("cluster", "t.npy", "-o", "out.npz")
    assert asked == []


def test_without_pyarrow(refused, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = refused("cluster", data, "-o", "out.parquet")
    assert 'pip install "linkshift[cli]"' in message


def test_without_matplotlib(refused, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert 'pip install "linkshift[plot]"' in refused("cluster", data, "--plot", "p.png")


def test_a_model_is_no_table_and_the_reverse(run, refused, data):
    run("cluster", data, "--save", "m n.npz", "-q")
    assert "linkshift predict 'm n.npz' DATA" in refused("cluster", "m n.npz")
    assert "MODEL comes first" in refused("predict", data, "m n.npz")


def test_empty_and_constant_columns_are_left_out(run, here, frame):
    frame["notes"] = np.nan
    frame["one"] = 1.0
    frame.to_csv("t.csv", index=False)
    plain = run("cluster", "t.csv", "--columns", "x,y").stdout
    result = run("cluster", "t.csv")
    assert "Left out: name (text), notes (empty), one (constant)." in result.stderr
    assert result.stdout == plain


def test_a_pair_given_twice_counts_once(run, data, links):
    result = run("cluster", data, "--links", links("0,1,must", "1,0,must"))
    assert "1 link given again, and counted once; first: line 3 repeats line 2" in result.stderr
    assert "Links: 1 must, from" in result.stderr


def test_answers_that_differ_are_counted(run, data, links):
    told = ["0,1,must", "1,0,same", "0,1,cannot", "0,1,1", "4,5,0"]
    result = run("cluster", data, "--links", links(*told))
    assert "1 pair was answered several times, not always alike" in result.stderr
    assert "must-link (0, 1), confidence 0.75" in result.stderr
    assert "Links: 1 must, 1 cannot" in result.stderr


def test_ids_that_json_cannot_hold(run, here, groups):
    np.savez("t.npz", X=groups, id=[np.inf, *range(1, 60)])
    result = run("cluster", "t.npz", "--id-column", "id", "--json", "--save", "m.npz", "-q")
    assert json.loads(result.stdout)["ids"][:2] == ["inf", 1.0]


def test_contradictions_are_told_by_id(refused, data, links):
    file = links("s00,s01,must", "s01,s02,must", "s00,s02,cannot", name="my pairs.csv")
    args = ("cluster", data, "--links", file, "--id-column", "name", "--conflicts", "refuse")
    told = refused(*args, "--method", "cms")
    assert "'s00' - 's01' - 's02'" in told
    assert "linkshift links check 'my pairs.csv'" in told
    assert "conflicts()" not in told


def test_one_rule_of_scale_for_all_methods(run, here, groups, links):
    np.save("data.npy", groups * (1, 1000))
    file = links("0,20,cannot")
    for method in ("consensus", "mean-shift", "cms", "skms"):
        args = ("cluster", "data.npy", "--links", file, "--method", method)
        assert "Scale: standard" in run(*args).stderr
        assert "Scale: none" in run(*args, "--scale", "none").stderr


def test_a_letter_too_many_in_a_short_name(refused, here):
    (here / "d.csv").write_text("x,y\n1,2\n")
    (here / "e.csv").write_text("x,y\n1,2\n")
    assert "dd.csv does not exist. Did you mean 'd.csv'?" in refused("cluster", "dd.csv")
    assert "f.csv does not exist." in refused("cluster", "f.csv")


def test_sparse_rows_have_no_ids(refused, here):
    from scipy import sparse

    sparse.save_npz("m.npz", sparse.random(30, 40, 0.3, format="csr", random_state=0))
    (here / "links.csv").write_text("a,b,kind\nr0,r1,must\n")
    message = refused("cluster", "m.npz", "--links", "links.csv")
    assert "Links.read_csv('links.csv').resolve(ids)" in message
    assert "--id-column" not in message


def test_empty_sparse_rows_have_no_direction(refused, here):
    from scipy import sparse

    matrix = sparse.random(30, 40, 0.3, format="lil", random_state=0)
    matrix[3] = 0
    sparse.save_npz("m.npz", matrix.tocsr())
    message = refused("cluster", "m.npz", "--metric", "cosine")
    assert "scipy.sparse.save_npz('filled.npz', X[X.getnnz(axis=1) > 0])" in message
    assert "Leave such rows out (in Python" in message


@pytest.mark.parametrize("method", ["auto", "mean-shift"])
def test_rows_that_are_all_equal(run, here, method):
    pd.DataFrame({"a": [1.0] * 20, "b": [2.0] * 20}).to_csv("same.csv", index=False)
    said = run("cluster", "same.csv", "--method", method).stderr
    assert "taken as they are: all rows are equal" in said
    assert "size 20. All rows are equal." in said
    assert "smaller" not in said


def test_gaps_among_many_numbers_are_no_classes(refused, here):
    rng = np.random.default_rng(0)
    lists = rng.normal(size=(20, 3))
    lists[3, 0] = np.nan
    pd.DataFrame({"emb": lists.tolist()}).to_parquet("emb.parquet")
    assert "--labels-column" not in refused("cluster", "emb.parquet")
    classes = np.where(np.arange(20) % 4 == 0, np.nan, np.arange(20) % 3)
    pd.DataFrame({"x": lists[:, 1], "kind": classes}).to_csv("d.csv", index=False)
    assert "say --labels-column kind" in refused("cluster", "d.csv")


def test_texts_that_all_differ(refused, here):
    texts = [f"a text, number {i}" for i in range(30)]
    pd.DataFrame({"text": texts}).to_csv("texts.csv", index=False)
    message = refused("cluster", "texts.csv", "--columns", "text", "--prepare")
    assert "TfidfVectorizer" in message
    assert "docs/texts_and_cells.md" in message


@pytest.mark.parametrize("name", ["zip", "ZIP code", "home_plz", "postcode", "postal_code"])
def test_postal_codes_are_no_amounts(run, here, frame, name):
    codes = np.random.default_rng(0).integers(1000, 99999, len(frame))
    frame.assign(**{name: [f"{code:05d}" for code in codes]}).to_csv("d.csv", index=False)
    said = run("cluster", "d.csv").stderr
    assert f"column {name!r} seems to hold postal codes" in said
    assert "--columns x,y" in said
    assert "postal" not in run("cluster", "d.csv", "--columns", f"x,{name}").stderr.replace(
        name, ""
    )
