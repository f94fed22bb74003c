"""Which CustomResourceDefinitions are there, and what does each serve?

Names, columns and selectable fields are Kueue's. Both versions are served, v1beta2 is stored. The
conversion strategy is None unless a webhook is asked for: inside one process a function converts
(`conversion.py`), on a real API server the webhook must.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from allaboard.api.kueue.crd import v1beta1
from allaboard.api.kueue.crd.schema import schema_of
from allaboard.api.kueue.crd.v1beta1 import Edit
from allaboard.api.kueue.types import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ProvisioningRequestConfig,
    ResourceFlavor,
    Topology,
    Workload,
    WorkloadPriorityClass,
)
from allaboard.api.kueue.types.shared import GROUP, OLD, STORED
from allaboard.api.meta import Json
from allaboard.api.types.model import Object

DEPRECATION = f"{GROUP}/{OLD} is deprecated; use {GROUP}/{STORED}"


def _column(name: str, path: str, kind: str = "string", *, wide: bool = False) -> Json:
    column: Json = {"name": name, "type": kind, "jsonPath": path}
    return {**column, "priority": 1} if wide else column


def _condition(name: str) -> Json:
    return _column(name, f".status.conditions[?(@.type=='{name}')].status")


@dataclass(frozen=True, slots=True)
class Definition:
    """What a kind serves beside its schema."""

    view: type[Object]
    short_names: tuple[str, ...]
    columns: tuple[Json, ...] = ()
    has_status: bool = False
    selectable: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()  # what makes v1beta1 of it
    renamed_paths: tuple[tuple[str, str], ...] = ()  # of columns, in v1beta1
    converts: bool = False  # values move between versions; where not, pruning is enough


_PENDING = _column("Pending Workloads", ".status.pendingWorkloads", "integer")
_ADMITTED = _column("Admitted Workloads", ".status.admittedWorkloads", "integer")

DEFINITIONS: tuple[Definition, ...] = (
    Definition(AdmissionCheck, ("ac",), has_status=True, edits=v1beta1.ADMISSION_CHECK),
    Definition(
        ClusterQueue,
        ("cq",),
        (
            _column("Cohort", ".spec.cohortName"),
            _column("Strategy", ".spec.queueingStrategy", wide=True),
            _PENDING,
            {**_ADMITTED, "priority": 1},
        ),
        has_status=True,
        edits=v1beta1.CLUSTER_QUEUE,
        converts=True,
        renamed_paths=((".spec.cohortName", ".spec.cohort"),),
    ),
    Definition(Cohort, ("co",), has_status=True),
    Definition(
        LocalQueue,
        ("queue", "queues", "lq"),
        (_column("ClusterQueue", ".spec.clusterQueue"), _PENDING, _ADMITTED),
        has_status=True,
        edits=v1beta1.LOCAL_QUEUE,
        converts=True,
    ),
    Definition(ProvisioningRequestConfig, ("prc",)),
    Definition(ResourceFlavor, ("flavor", "flavors", "rf")),
    Definition(Topology, ("topo",)),
    Definition(WorkloadPriorityClass, ("wpc",), (_column("Value", ".value", "integer"),)),
    Definition(
        Workload,
        ("kwl", "kueueworkload", "kueueworkloads"),
        (
            _column("Queue", ".spec.queueName"),
            _column("Reserved in", ".status.admission.clusterQueue"),
            _condition("Admitted"),
            _condition("Finished"),
            _column("Age", ".metadata.creationTimestamp", "date"),
        ),
        has_status=True,
        selectable=(".status.admission.clusterQueue",),
        edits=v1beta1.WORKLOAD,
        converts=True,
    ),
)


@dataclass(frozen=True, slots=True)
class ConversionWebhook:
    """Where a real API server asks for conversion."""

    namespace: str = "allaboard-system"
    service: str = "allaboard-webhook"
    ca_bundle: str = ""  # base64 of PEM; empty: somebody injects it

    def spec(self) -> Json:
        service = {"namespace": self.namespace, "name": self.service, "path": "/convert"}
        client: Json = {"service": {**service, "port": 443}}
        if self.ca_bundle:
            client["caBundle"] = self.ca_bundle
        hook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
        return {"strategy": "Webhook", "webhook": hook}


def definition_of(entry: Definition, webhook: ConversionWebhook | None = None) -> Json:
    """The CustomResourceDefinition as an object to apply."""
    kind = entry.view.KIND
    schema = schema_of(entry.view)
    # A webhook that is away makes a kind unreadable: only those that need one have it.
    hook = webhook if entry.converts else None
    new = _version(entry, STORED, schema, entry.columns)
    columns = [_renamed(column, entry) for column in entry.columns]
    old = _version(entry, OLD, v1beta1.older(schema, entry.edits), columns)
    old |= {"deprecated": True, "deprecationWarning": DEPRECATION}
    names = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "shortNames": list(entry.short_names),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "conversion": hook.spec() if hook else {"strategy": "None"},
            "versions": [old, new],
        },
    }


def definitions(webhook: ConversionWebhook | None = None) -> list[Json]:
    """All of them, ordered by name."""
    found = [definition_of(entry, webhook) for entry in DEFINITIONS]
    return sorted(found, key=lambda crd: str(crd["metadata"]["name"]))


def _version(entry: Definition, name: str, schema: Json, columns: Sequence[Json]) -> Json:
    version: Json = {"name": name, "served": True, "storage": name == STORED}
    version["schema"] = {"openAPIV3Schema": schema}
    if entry.has_status:
        version["subresources"] = {"status": {}}
    if columns:
        version["additionalPrinterColumns"] = [dict(column) for column in columns]
    if entry.selectable and name == STORED:
        # An API server refuses selectable fields that all versions share beside schemas that
        # they do not share.
        version["selectableFields"] = [{"jsonPath": path} for path in entry.selectable]
    return version


def _renamed(column: Json, entry: Definition) -> Json:
    paths = dict(entry.renamed_paths)
    return {**column, "jsonPath": paths.get(column["jsonPath"], column["jsonPath"])}
