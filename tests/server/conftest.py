"""One server in memory per module."""

from collections.abc import Iterator

import pytest
from black_box import Server, make_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = make_server(tmp_path_factory.mktemp("tls"))
    yield running
    running.stop()
