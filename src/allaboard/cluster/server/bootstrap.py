"""What a kube-apiserver makes by itself when it starts on an empty store.

The namespaces everybody expects, the two system priority classes, and the `kubernetes` Service by
which pods would find the server. Made through the server like anybody else's objects; what is there
already stays as it is.
"""

from allaboard.api.errors import ApiError, from_status
from allaboard.api.meta import Json
from allaboard.cluster.server.api import ApiServer
from allaboard.cluster.server.exchange import ApiRequest, User

AGENT = {"user-agent": "kube-apiserver", "content-type": "application/json"}
SELF = User("system:apiserver", ("system:masters", "system:authenticated"))
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
CLASSES = (
    ("system-cluster-critical", 2_000_000_000, "can be moved to another node if necessary"),
    ("system-node-critical", 2_000_001_000, "must not be moved from their current node"),
)


async def bootstrap(server: ApiServer) -> None:
    for name in NAMESPACES:
        await _ensure(server, "/api/v1/namespaces", {"metadata": {"name": name}})
    for name, value, why in CLASSES:
        purpose = f"Used for system critical pods that {why}."
        if name == "system-cluster-critical":
            purpose = f"Used for system critical pods that must run in the cluster, but {why}."
        body = {"metadata": {"name": name}, "value": value, "description": purpose}
        await _ensure(server, "/apis/scheduling.k8s.io/v1/priorityclasses", body)
    await _ensure(server, "/api/v1/namespaces/default/services", _service())


def _service() -> Json:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    port = {"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}
    return {
        "metadata": {"name": "kubernetes", "labels": labels},
        "spec": {
            "clusterIP": "10.96.0.1",
            "ipFamilyPolicy": "SingleStack",
            "ports": [port],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    }


async def _ensure(server: ApiServer, path: str, body: Json) -> None:
    response = await server.handle(ApiRequest("POST", path, headers=AGENT, data=body, user=SELF))
    if response.status not in (201, 409):
        error: ApiError = from_status(response.to_data(), response.status)
        raise error
