"""Which pods live on which node?"""

from allaboard.api.meta import Json, Key
from allaboard.api.types import Node, Pod
from allaboard.runtime.manager import Manager

_INDEX = "resident of"


class Residents:
    def __init__(self, manager: Manager) -> None:
        self.nodes = manager.informers.of(Node.KIND)
        self.pods = manager.informers.of(Pod.KIND)
        if not self.pods.has_index(_INDEX):
            self.pods.add_index(_INDEX, _node_of)

    def node(self, name: str) -> Json | None:
        return self.nodes.get(Key("", name))

    def pod(self, key: Key) -> Json | None:
        return self.pods.get(key)

    def on(self, node: str) -> list[Json]:
        return self.pods.by_index(_INDEX, node)


def node_name(pod: Json) -> str:
    return str(pod["spec"].get("nodeName") or "")


def has_ended(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _node_of(pod: Json) -> tuple[str, ...]:
    name = pod["spec"].get("nodeName")
    return (name,) if name and not has_ended(pod) else ()
