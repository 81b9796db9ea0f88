"""Clusters of processes for Dask, one of which may be killed."""

import os
import signal
import time

import pytest


@pytest.fixture
def cluster_of(tmp_path):
    """Start a cluster of some processes on this machine, which the context then has for its own."""
    import dask
    from distributed import Client, LocalCluster

    open_ones = []
    # A LocalCluster gives up a worker that is not back 15 s after it was lost, and closes what was
    # starting it again: on a busy machine, where that takes longer, no worker may be left, and
    # whoever waits for labels waits for ever.
    patience = {"distributed.deploy.lost-worker-timeout": "10 minutes"}

    def start(n_workers):
        cluster = LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=str(tmp_path),
        )
        open_ones.append(cluster)
        client = Client(cluster)
        open_ones.append(client)
        return client

    with dask.config.set(patience):
        yield start
        for one in reversed(open_ones):
            one.close()


def killing_its_worker_once(block, marker):
    """Give the block; whoever comes first, and makes the marker, is killed on the spot."""
    try:
        with open(marker, "x") as file:  # noqa: PTH123 (one call that only one can make)
            file.write(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    except FileExistsError:
        time.sleep(0.05)  # so that others have work left when it happens
    return block


@pytest.fixture
def deadly():
    """Give an array whose blocks kill the worker that is the first to have one."""

    def made(X, marker):
        return X.map_blocks(killing_its_worker_once, str(marker), dtype=X.dtype, meta=X._meta)

    return made
