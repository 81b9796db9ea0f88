"""Columns that group rows: --apart-within and --together-within."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def faces(here):
    """Four people, two or three of them in each of 40 photos."""
    rng = np.random.default_rng(0)
    rows = []
    for photo in range(40):
        for person in rng.choice(4, size=rng.integers(2, 4), replace=False):
            x, y = rng.normal(scale=0.6, size=2) + 2.0 * np.array(divmod(person, 2))
            rows.append((f"photo{photo}", int(person), x, y, int(photo) // 10))
    frame = pd.DataFrame(rows, columns=["photo", "person", "x", "y", "roll"])
    frame.to_csv("faces.csv", index=False)
    return frame


@pytest.mark.parametrize("method", ["auto", "cms"])
def test_faces_of_a_photo_are_apart(run, faces, method):
    args = ("cluster", "faces.csv", "--columns", "x,y", "--method", method)
    result = run(*args, "--apart-within", "photo", "--json", "--report", "r.html")
    groups = faces.photo.nunique()
    found = json.loads(result.stdout)
    assert found["links"]["n_apart"] == found["links"]["apart_kept"] == groups
    assert found["links"]["n_must"] == found["links"]["n_cannot"] == 0
    assert f"{groups} groups of {len(faces)} rows apart, from the column 'photo'" in result.stderr
    assert f"Links kept: {groups} of {groups} groups apart." in result.stderr
    if method == "auto":
        assert f"{groups} groups of rows apart help to choose" in result.stderr
    assert "0 of 0" not in result.stderr
    labels = pd.Series(found["labels"])
    assert not labels.groupby(faces.photo).apply(lambda part: part.duplicated().any()).any()


def test_rows_of_a_column_together(run, faces):
    args = ("cluster", "faces.csv", "--columns", "x,y", "--method", "cms", "--json")
    result = run(*args, "--together-within", "person", "--apart-within", "photo")
    found = json.loads(result.stdout)
    assert found["links"]["must_kept"] == found["links"]["n_must"] == len(faces) - 4
    assert found["n_clusters"] == 4


def test_grouping_columns_are_not_clustered(run, faces):
    names = ("--apart-within", "roll", "--together-within", "person")
    result = run("cluster", "faces.csv", *names, "--json", "-q")
    assert json.loads(result.stdout)["columns"] == ["x", "y"]


def test_contradictions_lose_against_groups(run, faces, refused):
    args = ("cluster", "faces.csv", "--columns", "x,y", "--method", "cms")
    args += ("--apart-within", "photo", "--together-within", "roll")
    result = run(*args)
    assert "set aside so that the rest has no contradiction" in result.stderr
    assert "the columns contradict each other" in refused(*args, "--conflicts", "refuse")


def test_columns_that_say_nothing_or_are_not_there(run, faces, refused):
    faces.assign(row=range(len(faces))).to_csv("faces.csv", index=False)
    result = run("cluster", "faces.csv", "--columns", "x,y", "--apart-within", "row")
    assert "--apart-within row says nothing: no two rows have the same entry" in result.stderr
    message = refused("cluster", "faces.csv", "--apart-within", "fotos")
    assert "--apart-within" in message
    assert "fotos" in message
