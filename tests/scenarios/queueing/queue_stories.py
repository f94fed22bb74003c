"""How a queued world is told: what became of each Workload, when, and what was refused."""

from pathlib import Path
from typing import Any

from allaboard.api.times import format_duration, parse_time
from allaboard.cli.documents import read_documents
from allaboard.queueing.config import Settings
from allaboard.sim.audit.auditor import Auditor
from allaboard.sim.audit.log import Violation
from allaboard.sim.loop import START, run_virtual
from allaboard.sim.script import read_script
from allaboard.sim.world import World

HERE = Path(__file__).parent
A_DAY_S = 86400.0
Json = dict[str, Any]


def state(workload: Json) -> str:
    status = workload.get("status") or {}
    held = {c["type"]: c for c in status.get("conditions") or ()}
    is_true = {name for name, c in held.items() if c["status"] == "True"}
    if "Finished" in is_true:
        return f"finished {held['Finished']['reason']}"
    if "QuotaReserved" in is_true and "Evicted" in is_true:
        causes = [held[n]["reason"] for n in ("Evicted", "Preempted") if n in is_true]
        return f"stopping {' '.join(causes)}"
    if "QuotaReserved" in is_true:
        admission = status["admission"]
        places = [_place(p) for p in admission["podSetAssignments"]]
        word = "admitted" if "Admitted" in is_true else "reserved"
        return f"{word} in {admission['clusterQueue']}: {', '.join(places)}"
    if not workload["spec"].get("active", True):
        return f"deactivated {held['Evicted']['reason'] if 'Evicted' in is_true else ''}".strip()
    return f"waiting {held.get('QuotaReserved', {}).get('reason', '')}".strip()


def _place(assignment: Json) -> str:
    used = assignment.get("resourceUsage") or {}
    flavors = assignment.get("flavors") or {}
    parts = [f"{flavor} {used.get(resource)} {resource}" for resource, flavor in flavors.items()]
    return f"{assignment.get('count')} × {' + '.join(parts) or 'nothing'}"


def name_of(workload: Json) -> str:
    owners = workload["metadata"].get("ownerReferences") or []
    is_group = len(owners) > 1 or not owners
    return str(workload["metadata"]["name"] if is_group else owners[0]["name"])


def tell(lines: list[Json], elapsed_s: float) -> list[str]:
    """A line whenever a Workload looks different at the end of a moment than before it."""
    last: dict[str, str] = {}
    moments: dict[float, dict[str, str]] = {}
    names: dict[str, str] = {}
    others: dict[float, list[str]] = {}
    for line in lines:
        at_s = round(parse_time(line["time"]) - START, 3)
        moments.setdefault(at_s, {})
        if line["type"] == "REFUSED":
            words = f"{line['kind']} {line['name']} refused: {line['object']['message']}"
            others.setdefault(at_s, []).append(words)
        elif line["type"] == "DELETED" and line["kind"] in ("ClusterQueue", "ResourceFlavor"):
            others.setdefault(at_s, []).append(f"{line['kind']} {line['name']} gone")
        elif line["kind"] == "Workload":
            uid = line["object"]["metadata"]["uid"]
            names.setdefault(uid, name_of(line["object"]))
            gone = line["type"] == "DELETED"
            moments[at_s][uid] = "gone" if gone else state(line["object"])
    told = []
    for at_s, states in moments.items():
        told += [f"{format_duration(at_s)} {words}" for words in others.get(at_s, ())]
        news = {uid: words for uid, words in states.items() if last.get(uid) != words}
        last.update(news)
        told += sorted(f"{format_duration(at_s)} {names[u]} {words}" for u, words in news.items())
    return [*told, f"{format_duration(round(elapsed_s, 3))} end"]


def play(script: Path, settings: Settings | None = None) -> tuple[list[str], list[Violation]]:
    """The story of a script, and what the auditor has against it."""
    lines: list[Json] = []
    auditor = Auditor()

    def trace(line: Json) -> None:
        lines.append(line)
        auditor.see(line)

    async def main() -> float:
        async with World(seed=0, trace=trace, queueing=settings or Settings()) as world:
            documents = read_documents([str(HERE / "base" / "cluster.yaml"), str(script)])
            await world.run(read_script(documents), until_s=A_DAY_S)
            return world.elapsed_s

    elapsed_s = run_virtual(main())
    auditor.rest()
    return tell(lines, elapsed_s), auditor.violations
