"""A process to be killed: writes without end and says which writes were acknowledged.

    python writer.py DIRECTORY [NAME:COUNT | limit:BYTES]

Lines on standard output are `try NAME VALUE` before a write and `ack NAME VALUE REVISION` after
`wait_durable`; the value `-` is a deletion. Each is one system call, so a reader of the pipe sees
all that were given. One writer per name, so at most one write of a name is in doubt. With
NAME:COUNT the process kills itself when it comes to that failpoint for the COUNTth time; with
`limit` its files may not grow beyond so many bytes.
"""

import asyncio
import os
import random
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from allaboard.clock import system_clock
from allaboard.cluster.store import Store, StoreFailed

WRITERS = 24


def killer(name: str, count: int) -> Callable[[str], None]:
    left = count

    def failpoint(here: str) -> None:
        nonlocal left
        if here == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return failpoint


async def write(store: Store, name: str, dice: random.Random) -> None:
    """Values of one name only grow, over restarts too."""
    record = store.get("things", "x", name)
    value = record.obj["value"] if record is not None else store.revision
    while True:
        value += 1
        gone = store.get("things", "x", name) is not None and dice.random() < 0.2
        padding = "·" * dice.randrange(600)
        obj = {"metadata": {"name": name}, "value": value, "padding": padding}
        shown = "-" if gone else str(value)
        os.write(1, f"try {name} {shown}\n".encode())
        record = store.commit("things", "x", name, None if gone else obj)
        if dice.random() < 0.1:
            store.compact(store.durable_revision - dice.randrange(200))
        await store.wait_durable(record.rev)
        os.write(1, f"ack {name} {shown} {record.rev}\n".encode())


async def main(directory: Path, plan: str) -> None:
    what, _, number = plan.partition(":")
    if what == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(number), int(number)))
    failpoint = killer(what, int(number or 0))
    store = Store.open(directory, system_clock(), failpoint=failpoint)
    dice = random.Random(store.revision)
    try:
        await asyncio.gather(*(write(store, f"n{i}", dice) for i in range(WRITERS)))
    except StoreFailed as failure:
        assert len(store.list("things")) == store.count("things")  # reads go on
        os.write(1, f"failed {store.revision} {failure}\n".encode())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))
