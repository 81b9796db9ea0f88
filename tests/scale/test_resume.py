"""Runs that are interrupted at each stage: nothing half-written, and another goes on."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linkshift import scale
from linkshift._core.messages import Refusal
from linkshift.scale import running

SMALL = {"rows_per_chunk": 100, "landmarks": 20}  # seven chunks


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 1.0, size=(325, 4)) for c in (0.0, 9.0)]).astype(np.float32)
    table = pa.table({f"x{j}": X[:, j] for j in range(4)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=130)
    return tmp_path / "x.parquet"


@pytest.fixture
def output(tmp_path):
    return tmp_path / "l.parquet"


class Interrupted:
    """A stage that counts its calls, and is interrupted in one of them."""

    def __init__(self, stage, at=None):
        self.stage, self.at, self.calls = stage, at, 0

    def __call__(self, *args, **options):
        self.calls += 1
        if self.calls - 1 == self.at:
            raise KeyboardInterrupt
        return self.stage(*args, **options)


def interrupt(monkeypatch, name, at, path, output, **options):
    stage = Interrupted(getattr(running, name), at)
    with monkeypatch.context() as patch:
        patch.setattr(running, name, stage)
        with pytest.raises(KeyboardInterrupt):
            scale.cluster(path, output=output, **SMALL | options)


def counts(monkeypatch, path, output, **options):
    """Go on, and count what is done."""
    stages = {
        name: Interrupted(getattr(running, name))
        for name in ("survey_table", "summarise", "predict")
    }
    with monkeypatch.context() as patch:
        for name, stage in stages.items():
            patch.setattr(running, name, stage)
        found = scale.cluster(path, output=output, resume=True, **SMALL | options)
    return [stage.calls for stage in stages.values()], found


@pytest.mark.parametrize(
    ("name", "at", "left"),
    [
        ("survey_table", 0, [1, 7, 7]),
        ("summarise", 0, [0, 7, 7]),
        ("summarise", 3, [0, 4, 7]),
        ("add_leaf", 6, [0, 1, 7]),
        ("root", 0, [0, 0, 7]),
        ("fit", 0, [0, 0, 7]),
        ("predict", 0, [0, 0, 7]),
        ("predict", 4, [0, 0, 3]),
        ("replacing", 7, [0, 0, 0]),  # all labels, that of the last file is next
    ],
)
def test_it_goes_on_where_it_was(monkeypatch, path, output, name, at, left):
    whole = scale.cluster(path, output=output, **SMALL)
    wanted = pq.read_table(output)
    output.unlink()
    interrupt(monkeypatch, name, at, path, output)
    assert not output.exists()
    assert not list(path.parent.rglob("*.tmp*"))
    done, found = counts(monkeypatch, path, output)
    assert done == left
    assert pq.read_table(output).equals(wanted)
    assert np.array_equal(found.sizes, whole.sizes)
    assert sorted(file.name for file in path.parent.iterdir()) == ["l.parquet", "x.parquet"]


def test_what_was_there_stays(monkeypatch, path, output):
    scale.cluster(path, output=output, **SMALL)
    before = output.read_bytes()
    interrupt(monkeypatch, "predict", 3, path, output, bandwidth=1.0)
    assert output.read_bytes() == before


def test_without_resume_it_starts_over(monkeypatch, path, output):
    interrupt(monkeypatch, "predict", 3, path, output)
    found = scale.cluster(path, output=output, bandwidth=3.0, **SMALL)
    assert found.model.bandwidth == 3.0
    assert sorted(file.name for file in path.parent.iterdir()) == ["l.parquet", "x.parquet"]


def test_interrupted_twice(monkeypatch, path, output):
    scale.cluster(path, output=output, **SMALL)
    wanted = pq.read_table(output)
    interrupt(monkeypatch, "summarise", 2, path, output)
    interrupt(monkeypatch, "summarise", 2, path, output, resume=True)
    interrupt(monkeypatch, "predict", 2, path, output, resume=True)
    done, _ = counts(monkeypatch, path, output)
    assert done == [0, 0, 5]
    assert pq.read_table(output).equals(wanted)


def test_other_settings_and_other_data_are_refused(monkeypatch, path, output):
    interrupt(monkeypatch, "predict", 3, path, output)
    for other in ({"bandwidth": 2.0}, {"seed": 1}, {"scale": "none"}, {"landmarks": 21}):
        (name,) = other
        with pytest.raises(Refusal, match=f"with other {name}.*resume=False"):
            scale.cluster(path, output=output, resume=True, **SMALL | other)
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(Refusal, match="with other files"):
        scale.cluster(path, output=output, resume=True, **SMALL)
    assert (path.parent / ".l.parquet.unfinished").is_dir()


def test_data_in_memory_leave_nothing(monkeypatch, path, output):
    X = np.random.default_rng(0).normal(size=(650, 4))
    with pytest.raises(Refusal, match="in memory"):
        scale.cluster(X, output=output, resume=True, **SMALL)
    interrupt(monkeypatch, "predict", 3, X, output)
    assert [file.name for file in path.parent.iterdir()] == ["x.parquet"]


def test_a_folder_of_others_is_left_alone(path, output):
    folder = path.parent / ".l.parquet.unfinished"
    folder.mkdir()
    (folder / "thesis.txt").write_text("all of it")
    with pytest.raises(Refusal, match="is in the way"):
        scale.cluster(path, output=output, **SMALL)
    assert (folder / "thesis.txt").exists()


def test_progress_goes_on_to_the_end(monkeypatch, path, output):
    told = []
    interrupt(monkeypatch, "predict", 3, path, output)
    progress = {"progress": lambda *now: told.append(now)}
    scale.cluster(path, output=output, resume=True, **SMALL | progress)
    done = [now for now, _ in told]
    assert done == sorted(done)
    assert done[-1] == told[-1][1]
    assert json.dumps(told)  # plain numbers
