"""Every figure that the papers' tables print stands in the documentation, with ours beside it."""

import re
from pathlib import Path

import pytest
from benchmarks.papers import tables

DOCS = Path(__file__).parents[1] / "docs"


def lines(page):
    """Cells of every line of every table of a page."""
    text = (DOCS / f"{page}.md").read_text()
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]


@pytest.mark.parametrize("table", ["cms_1", "cms_2"])
def test_cms_six_methods(table):
    names = {"Mean shift": "mean shift", "CMS": "paper's algorithm"}
    found = {(cells[0], cells[1]): cells for cells in lines("constrained_mean_shift")[::-1]}
    printed = tables.load(table)
    for record in printed.records():
        for column in printed.columns:
            data, figure = column.split("/")
            cells = found[data, names.get(record["method"], record["method"])]
            at = {"ARI": 2, "NMI": 5}[figure]
            assert float(cells[at]) == record[column]
            assert re.match(r"-?[\d.]+", cells[at + 1])


def test_cms_unequal_classes():
    found = lines("constrained_mean_shift")
    printed = tables.load("cms_3")
    for record in printed.records():
        (at,) = (i for i, cells in enumerate(found) if cells[0] == f"{record['method']}, published")
        assert [float(cell) for cell in found[at][1:]] == [record[name] for name in printed.columns]
        assert all(re.match(r"-?[\d.]+", cell) for cell in found[at + 1][1:])


def test_cms_ablation():
    found = {
        (cells[0].partition(",")[0], cells[1]): cells for cells in lines("constrained_mean_shift")
    }
    for record in tables.load("cms_4").records():
        for rule in ("paper's algorithm", "the same, our labels"):
            cells = found[record["model"], rule]
            assert float(cells[2]) == record["GTSRB/ARI"]
            assert float(cells[5]) == record["GTSRB/NMI"]
            assert cells[3]
            assert cells[6]


def test_groups_photographs():
    columns = {"k-means": 1, "affinity propagation": 2, "spectral": 3, "group-dependent": 4}
    found = {cells[0]: cells for cells in lines("group_features")[::-1] if len(cells) == 5}
    for record in tables.load("groups_1").records():
        ensemble = record["method"].startswith("CE ")
        cells = found["all, ensemble (CE)" if ensemble else record["kernel"]]
        cell = cells[columns[record["method"].removeprefix("CE ")]]
        ours, published = cell.split(" (")
        assert re.fullmatch(r"[\d.]+ / [\d.]+", ours)
        wanted = f"{record['Caltech-101/ACC %']:.1f} / {record['Caltech-101/NMI']:.3f})"
        assert published == wanted


def test_groups_faces():
    found = {tuple(cells[:2]): cells for cells in lines("group_features") if len(cells) == 7}
    for record in tables.load("groups_2").records():
        cells = found["CE" if record["method"] == "CE" else "ours", record["kernel"]]
        groups = ("all", "lighting", "rotation", "occlusion", "profile")
        for group, cell in zip(groups, cells[2:], strict=True):
            ours, published = cell.split(" (")
            assert re.fullmatch(r"[\d.]+ / [\d.]+", ours)
            assert published == f"{record[f'{group}/ACC %']:.1f} / {record[f'{group}/NMI']:.3f})"


@pytest.mark.parametrize(
    ("figure", "numbers", "width", "at"),
    [("error %", (4, 7), 8, 4), ("ARI", (5, 8), 7, 3), ("clusters", (6, 9), 6, 3)],
)
def test_thesis(figure, numbers, width, at):
    every = [cells for cells in lines("metric_mean_shift") if len(cells) == width]
    found = {tuple(cells[:3]): cells for cells in every}
    for number, space in zip(numbers, ("input", "kernel"), strict=True):
        for record in tables.load(f"thesis_5_{number}").records():
            for kind in ("global", "local"):
                cells = found[record["data"], space, kind]
                mean, spread = map(float, cells[at].split(" ± "))
                assert mean == record[f"{kind}/{figure}"]
                assert spread == record[f"{kind}/± {figure}"]
                assert re.match(r"[\d.]+", cells[at + 1])


@pytest.mark.parametrize(
    ("experiment", "without", "linked"),
    [
        ("240 points", "5 clusters", "6, perfect"),
        ("200 points", "9 clusters", "5, perfect"),
        ("PIE", "5 modes", "21, 100 %"),
        ("Caltech-4, 400 images", "4 modes, 74.25 %", "99.75 %"),
        ("Caltech-4, above seven", "", "above 99 %"),
        ("400 points", "", "about 10 s"),
    ],
)
def test_kernel_text(experiment, without, linked):
    (cells,) = (
        cells
        for cells in lines("kernel_mean_shift")
        if cells[0].startswith(experiment) and len(cells) == 4
    )
    assert cells[1] == without
    assert cells[2].startswith(linked)
    assert cells[3]


def test_other_pages_quote_table_2():
    found = {(cells[0], cells[1]): cells for cells in lines("constrained_mean_shift")[::-1]}
    readme = (DOCS.parent / "README.md").read_text()
    for data in ("MNIST", "Fashion-MNIST", "GTSRB"):
        methods = ("PCKMeans", "paper's algorithm", "ours, refined")
        ours = [found[data, method][3].partition(" ")[0] for method in methods]
        paper = found[data, "paper's algorithm"][2]
        assert f"| {data} | {paper} | {ours[0]} | {ours[1]} | **{ours[2]}** |" in readme
    names = {"paper's, our labels": "the same, our labels"}
    quoted = [cells for cells in lines("embed") if len(cells) == 7 and "±" in cells[6]]
    assert len(quoted) == 5
    for cells in quoted:
        assert cells[6] == found["MNIST", names.get(cells[0], cells[0])][3]
