"""The recipes of docs/many_machines.md for engines that are in no extra, where these install."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from linkshift.scale import fit, merge, predict, summarise

PAGE = Path(__file__).parents[2] / "docs" / "many_machines.md"
M = 50
# Engines are others' code, and their warnings are not ours to mend.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def recipe(name):
    """Give the function that a block of the page defines, as a reader would have it."""
    (code,) = re.findall(rf"^```python\n(def {name}\(.*?)^```", PAGE.read_text(), re.M | re.S)
    names = {"np": np, "__name__": "page"}
    exec(compile(code, PAGE.name, "exec"), names)
    return names[name]


def chunks(n=3):
    rng = np.random.default_rng(0)
    rows = rng.integers(3, size=(n * 400, 1)) * 9 + rng.normal(size=(n * 400, 4))
    return np.split(rows, n)


def by_hand(parts):
    model = fit(merge([summarise(part, M) for part in parts], M))
    return np.concatenate([predict(model, part) for part in parts])


def test_ray():
    ray = pytest.importorskip("ray", reason="Ray is in no extra")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        labels = np.concatenate(recipe("cluster_by_ray")(chunks(), M))
    finally:
        ray.shutdown()
    np.testing.assert_array_equal(labels, by_hand(chunks()))


def test_spark(monkeypatch):
    pytest.importorskip("pyspark", reason="Spark is in no extra")
    pd = pytest.importorskip("pandas")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # else the first python3 of the PATH
    parts = chunks()
    columns = list("abcd")
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    try:
        table = pd.DataFrame(np.concatenate(parts), columns=columns)
        given = spark.createDataFrame(table.assign(row=range(len(table)))).repartitionByRange(
            3, "row"
        ).sortWithinPartitions("row").cache()  # fmt: skip
        held = given.rdd.glom().map(lambda rows: [row.row for row in rows]).collect()
        found = recipe("cluster_by_spark")(given, columns, M).toPandas().sort_values("row")
    finally:
        spark.stop()
    rows = table.to_numpy()
    np.testing.assert_array_equal(found.cluster, by_hand([rows[part] for part in held if part]))
