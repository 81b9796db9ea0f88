"""No estimator takes memory for all pairs of 100,000 rows: 2 GB are enough, or it refuses."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sklearn.base import ClusterMixin
from tests.estimators import memory_walk

import linkshift
from linkshift import baselines

MOST_GB = 2.0
SECONDS = 60  # of CPU: tables of all pairs are made before, and exact mean shift takes longer

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="peaks of memory are read from /proc"
)


def _cpu_seconds(process):
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")")[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def walked(name, columns, seconds=SECONDS):
    """Outcome, or "stopped" after so many seconds of CPU, and the peak in GB above the data's."""
    command = [sys.executable, memory_walk.__file__, name, str(columns)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        before = float(run.stdout.readline())
        most, start = before, _cpu_seconds(run.pid)
        while run.poll() is None:
            try:
                most = max(most, memory_walk.peak(run.pid))
                over = _cpu_seconds(run.pid) - start > seconds or most - before > 2 * MOST_GB
            except (OSError, IndexError):  # it has just ended
                break
            if over:
                run.kill()
                return "stopped", most - before
            time.sleep(0.1)
        outcome, after = run.stdout.read().split()
        return outcome, float(after) - before


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("columns", [10, 64])
@pytest.mark.parametrize("name", memory_walk.MAKE)
def test_100_000_rows_fit_into_two_gigabytes_or_are_refused(name, columns, monkeypatch):
    monkeypatch.delenv("LINKSHIFT_MEMORY_GB", raising=False)
    outcome, peak = walked(name, columns)
    assert peak < MOST_GB
    assert (outcome == "refused") == (name in memory_walk.REFUSED)


def test_the_walk_has_every_estimator():
    made = {type(make()).__name__ for make, _ in memory_walk.MAKE.values()}
    public = {
        name
        for room in (linkshift, baselines)
        for name in room.__all__
        if isinstance(getattr(room, name), type) and issubclass(getattr(room, name), ClusterMixin)
    }
    assert public <= made
