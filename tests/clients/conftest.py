"""One cluster per test module; every client meets the same process people start."""

from collections.abc import Iterator

import pytest

from running_cluster import RunningCluster, running_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running
