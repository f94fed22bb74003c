"""Which pods belong to which Job? The informer's pods, digested and filed by their owner's UID."""

from collections.abc import Iterable

from allaboard.api.meta import Json, Key
from allaboard.cluster.controllers.job.facts import PodFacts


class PodMirror:
    def __init__(self) -> None:
        self._pods: dict[str, PodFacts] = {}
        self._by_owner: dict[str, dict[str, PodFacts]] = {}
        self._unowned: dict[str, dict[str, PodFacts]] = {}  # by namespace

    def put(self, pod: Json) -> PodFacts:
        meta = pod["metadata"]
        uid = meta["uid"]
        old = self._pods.get(uid)
        if old is not None:
            self._unlink(old)
        facts = self._pods[uid] = PodFacts(pod)
        owner = controller_of(meta)
        if owner is None:
            self._unowned.setdefault(meta.get("namespace", ""), {})[uid] = facts
        elif is_job(owner):
            self._by_owner.setdefault(owner["uid"], {})[uid] = facts
        return facts

    def drop(self, uid: str) -> None:
        old = self._pods.pop(uid, None)
        if old is not None:
            self._unlink(old)

    def get(self, uid: str) -> PodFacts | None:
        return self._pods.get(uid)

    def owned_by(self, job_uid: str) -> list[PodFacts]:
        return list(self._by_owner.get(job_uid, {}).values())

    def unowned_in(self, namespace: str) -> Iterable[PodFacts]:
        return list(self._unowned.get(namespace, {}).values())

    def _unlink(self, facts: PodFacts) -> None:
        meta = facts.obj["metadata"]
        owner = controller_of(meta)
        group, name = (
            (self._unowned, meta.get("namespace", ""))
            if owner is None
            else (self._by_owner, owner.get("uid", ""))
        )
        members = group.get(name)
        if members is not None:
            members.pop(facts.uid, None)
            if not members:
                del group[name]


def controller_of(meta: Json) -> Json | None:
    for owner in meta.get("ownerReferences") or ():
        if owner.get("controller"):
            found: Json = owner
            return found
    return None


def is_job(owner: Json) -> bool:
    return bool(owner.get("kind") == "Job" and owner.get("apiVersion") == "batch/v1")


def job_key(pod: Json) -> Key | None:
    """The address of the Job that the pod names as its controller."""
    owner = controller_of(pod["metadata"])
    if owner is None or not is_job(owner):
        return None
    return Key(pod["metadata"].get("namespace", ""), owner["name"])
