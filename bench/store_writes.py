"""How fast is the store, and how much memory does an object take?

    python -m bench.store_writes [--objects N] [--directory DIR]

Durable commits a second for 1, 32 and 256 writers, each of which waits for its write to be on disk
before the next; commits in memory; fan-out to 1,000 watches; then time to open a store again and
memory per object, in memory and on disk, with pods of about 2 kB.
"""

import argparse
import asyncio
import gc
import os
import platform
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from allaboard.api.meta import Json
from allaboard.clock import system_clock
from allaboard.cluster.store import Store, Watch


def pod(name: str, number: int) -> Json:
    """A fresh object of a pod's size: nothing in it is shared with another one."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"00000000-0000-4000-8000-{number:012d}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "generation": 1,
            "labels": {"app": f"app-{number % 100}", "batch.kubernetes.io/job-name": f"j{number}"},
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": f"j{number}", "uid": str(number),
                 "controller": True, "blockOwnerDeletion": True},
            ],
            "managedFields": [
                {"manager": m, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                 "fieldsV1": {f"f:{part}": {f"f:{n}": {} for n in range(8)} for part in ("a", "b")}}
                for m in ("kube-controller-manager", "kubelet")
            ],
        },
        "spec": {
            "containers": [
                {"name": "main", "image": "registry.example/train:1", "command": ["python", "a.py"],
                 "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1"}},
                 "env": [{"name": f"V{n}", "value": str(number + n)} for n in range(6)],
                 "terminationMessagePath": "/dev/termination-log", "imagePullPolicy": "Always"},
            ],
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 30, "dnsPolicy": "Default",
            "schedulerName": "default-scheduler", "nodeName": f"node-{number % 1000}",
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
        },
        "status": {
            "phase": "Running", "podIP": "10.0.0.1", "startTime": "2026-01-01T00:00:00Z",
            "conditions": [
                {"type": t, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                for t in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            ],
        },
    }  # fmt: skip


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def durable_commits(directory: Path, writers: int, seconds: float) -> tuple[float, float]:
    """Commits a second, and the mean wait of one in milliseconds."""
    async with Store.open(directory, system_clock()) as store:
        end = time.perf_counter() + seconds

        async def write(writer: int) -> int:
            done = 0
            while time.perf_counter() < end:
                record = store.commit("pods", "default", f"p{writer}", pod(f"p{writer}", done))
                await store.wait_durable(record.rev)
                done += 1
            return done

        began = time.perf_counter()
        total = sum(await asyncio.gather(*(write(writer) for writer in range(writers))))
        spent = time.perf_counter() - began
        return total / spent, spent * writers / total * 1_000


def memory_commits(count: int) -> float:
    """Microseconds a commit in memory, objects ready-made."""
    store = Store(system_clock(), max_changes=20_000)
    objects = [pod(f"p{n}", n) for n in range(1_000)]
    began = time.perf_counter()
    for number in range(count):
        store.commit("pods", "default", f"p{number % 1_000}", objects[number % 1_000])
    return (time.perf_counter() - began) / count * 1e6


async def fan_out(watches: int, changes: int) -> float:
    """Changes delivered a second, over all watches, written in bursts of ten."""
    store = Store(system_clock())
    obj = pod("p", 1)

    async def read(watch: Watch) -> None:
        left = changes
        while left:
            await watch.wait()
            left -= len(watch.take())

    readers = [asyncio.ensure_future(read(store.watch("pods", None, 0))) for _ in range(watches)]
    await asyncio.sleep(0)
    began = time.perf_counter()
    for number in range(changes):
        store.commit("pods", "default", "p", obj)
        if number % 10 == 9:
            await asyncio.sleep(0)
    await asyncio.gather(*readers)
    return watches * changes / (time.perf_counter() - began)


async def fill(store: Store, count: int) -> int:
    """Store so many pods, forget the history; returns their JSON's size."""
    size = 0
    for number in range(count):
        record = store.commit("pods", f"ns{number % 50}", f"p{number}", pod(f"p{number}", number))
        size += len(record.data) if number % 1_000 == 0 else 0
        if number % 1_000 == 999:
            await store.wait_durable(store.revision)
            store.forget_history()
    return size * 1_000 // count


async def bytes_each(make: Callable[[], Store], count: int) -> tuple[float, int]:
    gc.collect()
    before = resident_bytes()
    store = make()
    size = await fill(store, count)
    await store.wait_durable(store.revision)
    store.forget_history()
    gc.collect()
    each = (resident_bytes() - before) / count
    await store.close()
    return each, size


async def reopen(directory: Path, count: int) -> tuple[float, float]:
    """Seconds to open, and bytes an object takes that nobody has looked at since."""
    gc.collect()
    before = resident_bytes()
    began = time.perf_counter()
    store = Store.open(directory, system_clock())
    spent = time.perf_counter() - began
    assert store.count("pods") == count
    each = (resident_bytes() - before) / count
    await store.close()
    return spent, each


def apart(job: Callable[[], None]) -> None:
    """Run in a process of its own, so that memory is counted from nothing."""
    child = os.fork()
    if child == 0:
        job()
        os._exit(0)
    os.waitpid(child, 0)


def show(what: str, figure: str) -> None:
    print(f"{what:<58}{figure:>20}", flush=True)


def machine() -> str:
    model = "unknown CPU"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return (
        f"{os.cpu_count()} × {model}, {platform.system()} {platform.release()}, "
        f"CPython {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--directory", type=Path, default=None, help="where the disk is measured")
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(dir=options.directory))
    count = options.objects
    print(machine())

    def memory_in_memory() -> None:
        each, size = asyncio.run(bytes_each(lambda: Store(system_clock()), count))
        show(f"memory per object of {size} B JSON, in memory", f"{each:,.0f} B")

    def memory_on_disk() -> None:
        make = lambda: Store.open(work / "full", system_clock())  # noqa: E731
        each, _ = asyncio.run(bytes_each(make, count))
        show("memory per object, durable, just written", f"{each:,.0f} B")

    def replay() -> None:
        spent, each = asyncio.run(reopen(work / "full", count))
        size = (work / "full" / "store.db").stat().st_size / 1e6
        show(f"open again, {count:,} objects ({size:,.0f} MB)", f"{spent:.2f} s")
        show("memory per object, durable, after opening", f"{each:,.0f} B")

    try:
        # Memory first: a child inherits free space that its parent once used, and would fill that.
        for job in (memory_in_memory, memory_on_disk, replay):
            apart(job)
        for writers in (1, 32, 256):
            rate, wait = asyncio.run(
                durable_commits(work / f"w{writers}", writers, options.seconds)
            )
            show(f"durable commits, {writers} writers", f"{rate:,.0f}/s ({wait:.1f} ms)")
        show("commit in memory", f"{memory_commits(100_000):.1f} µs")
        show("changes delivered to 1,000 watches", f"{asyncio.run(fan_out(1_000, 500)):,.0f}/s")
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
