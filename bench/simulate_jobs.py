"""How much virtual time passes in a second of real time when many Jobs come and go?

    python -m bench.simulate_jobs [--jobs N] [--nodes N] [--day] [--profile]

Indexed Jobs of four pods arrive evenly, 10,000 a day, and each pod runs ten minutes. Everything is
in process and in virtual time: the server, all controllers, the scheduler and the simulated nodes.
`--day` is the whole day of 10,000 Jobs. Processor time is what counts: one core does all of it.
"""

import argparse
import cProfile
import pstats
import resource
import time

from allaboard.api.meta import Json
from allaboard.sim.loop import run_virtual
from allaboard.sim.script import Step, read_script
from allaboard.sim.world import World

STAGE = "sim.allaboard.dev/"
A_DAY = 10_000
EVERY_S = 86_400 / A_DAY


def node(number: int) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{number}"},
        "status": {"capacity": {"cpu": "64", "memory": "256Gi", "pods": "110"}},
    }


def job(number: int) -> Json:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"j{number}",
            "annotations": {f"{STAGE}at": f"{number * EVERY_S:.3f}s"},
        },
        "spec": {
            "parallelism": 4,
            "completions": 4,
            "completionMode": "Indexed",
            "template": {
                "metadata": {"annotations": {f"{STAGE}run-for": "10m"}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }


def script(jobs: int, nodes: int) -> list[Step]:
    documents = [(f"node {n}", node(n)) for n in range(nodes)]
    documents += [(f"job {n}", job(n)) for n in range(jobs)]
    return read_script(documents)


def is_complete(obj: Json) -> bool:
    conditions = obj.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Complete" and c["status"] == "True" for c in conditions)


async def simulate(steps: list[Step]) -> tuple[float, int, int]:
    """Virtual seconds passed, Jobs completed, writes."""
    async with World(seed=1) as world:
        await world.run(steps, None)
        jobs = [obj for obj in world.objects() if obj["kind"] == "Job"]
        assert not world.refused, world.refused[0]
        return world.elapsed_s, sum(map(is_complete, jobs)), world.cluster.store.revision


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--day", action="store_true", help="10,000 Jobs, the whole day")
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    options = parser.parse_args()
    steps = script(A_DAY if options.day else options.jobs, options.nodes)
    profile = cProfile.Profile()
    began, cpu = time.perf_counter(), time.process_time()
    if options.profile:
        profile.enable()
    virtual_s, complete, writes = run_virtual(simulate(steps))
    profile.disable()
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{complete:,} Jobs of 4 pods complete on {options.nodes} nodes, {writes:,} writes")
    print(f"CPU {cpu_s:.1f} s, wall {wall_s:.1f} s, at most {memory_mb:,.0f} MB")
    print(f"{cpu_s / writes * 1e6:.0f} µs CPU a write, controllers and all")
    print(f"{virtual_s:,.0f} virtual seconds, {virtual_s / cpu_s:,.0f} a CPU second")
    if options.profile:
        statistics = pstats.Stats(profile)
        statistics.sort_stats("tottime").print_stats(60)
        statistics.sort_stats("cumtime").print_stats(120)


if __name__ == "__main__":
    main()
