"""Where does a Service answer? For webhooks that are named by Service instead of by URL.

Ready endpoints first, lowest address of them all so that the choice is repeatable; then what the
Service itself says: an external name, or a cluster IP that somebody outside routes.
"""

from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.admission.caller import Endpoint, Resolver
from allaboard.cluster.store.store import Store

_SLICES = "endpointslices.discovery.k8s.io"


def service_resolver(store: Store) -> Resolver:
    def resolve(namespace: str, name: str, port: int) -> Endpoint | None:
        record = store.get("services", namespace, name)
        if record is None:
            return None
        spec = record.obj.get("spec") or {}
        server_name = f"{name}.{namespace}.svc"
        wanted = next((p for p in spec.get("ports") or () if p.get("port") == port), None)
        found = _addresses(store, namespace, name, (wanted or {}).get("name") or "")
        if found:
            return Endpoint(found[0][0], found[0][1] or _target(wanted, port), server_name)
        if spec.get("type") == "ExternalName" and spec.get("externalName"):
            return Endpoint(spec["externalName"], port, server_name)
        address = spec.get("clusterIP")
        return Endpoint(address, port, server_name) if address not in (None, "", "None") else None

    return resolve


def _target(wanted: Json | None, port: int) -> int:
    target: Any = (wanted or {}).get("targetPort")
    return target if isinstance(target, int) else port


def _addresses(store: Store, namespace: str, name: str, port: str) -> list[tuple[str, int]]:
    """Ready addresses with the port of that name (0 when the slice does not say), sorted."""
    found: list[tuple[str, int]] = []
    for record in store.list(_SLICES, namespace):
        labels = record.obj["metadata"].get("labels") or {}
        if labels.get("kubernetes.io/service-name") != name:
            continue
        ports = record.obj.get("ports") or ()
        number = next((p.get("port") or 0 for p in ports if (p.get("name") or "") == port), 0)
        for endpoint in record.obj.get("endpoints") or ():
            if (endpoint.get("conditions") or {}).get("ready") is not False:
                found += [(address, number) for address in endpoint.get("addresses") or ()]
    return sorted(found)
