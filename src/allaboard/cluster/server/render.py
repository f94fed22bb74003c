"""How is a stored object, a list or an event put into the form that was asked for?

Lists of stored objects are joined from the JSON the store already has; nothing is decoded. Items
of built-in lists carry no kind of their own, as in Kubernetes; custom ones do.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from allaboard.api.errors import NotAcceptable
from allaboard.api.meta import Json, Kind
from allaboard.cluster.resource import Resource
from allaboard.cluster.server.exchange import ApiResponse, encode_json
from allaboard.cluster.server.negotiate import PLAIN, Form
from allaboard.cluster.server.tables import table_of
from allaboard.cluster.store.records import Record

_raw = msgspec.Raw


@dataclass(slots=True, eq=False)
class RecordBody:
    """One stored object, as it is."""

    record: Record

    def to_data(self) -> Any:
        return self.record.obj

    def to_json(self) -> bytes:
        return self.record.data + b"\n"


@dataclass(slots=True, eq=False)
class RecordList:
    """A list of stored objects, as they are."""

    kind: Kind
    list_kind: str
    meta: Json
    records: list[Record]
    keep_kind: bool  # whether items say their kind
    _prefix: bytes = field(default=b"", init=False)

    def to_data(self) -> Any:
        return {
            "kind": self.list_kind,
            "apiVersion": self.kind.api_version,
            "metadata": self.meta,
            "items": [record.obj for record in self.records],
        }

    def to_json(self) -> bytes:
        head = encode_json({"kind": self.list_kind, "apiVersion": self.kind.api_version})[:-1]
        parts = b",".join(self._item(record) for record in self.records)
        return b"".join(
            (head, b',"metadata":', encode_json(self.meta), b',"items":[', parts, b"]}\n")
        )

    def _item(self, record: Record) -> bytes:
        data = record.data
        if self.keep_kind:
            return data
        prefix = self._prefix
        if not prefix:
            prefix = self._prefix = type_prefix(self.kind)
        if data.startswith(prefix):
            return b"{" + data[len(prefix) :]
        return encode_json(without_type(record.obj))


def type_prefix(kind: Kind) -> bytes:
    """How the JSON of every object of this kind begins when the server wrote it."""
    return encode_json({"kind": kind.kind, "apiVersion": kind.api_version})[:-1] + b","


def without_type(obj: Json) -> Json:
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def metadata_only(obj: Json, version: str) -> Json:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj.get("metadata") or {},
    }


def go_type(resource: Resource, kind: str) -> str:
    """The Go type Kubernetes names in this one message."""
    if resource.custom:
        return "*unstructured.Unstructured" + ("List" if kind.endswith("List") else "")
    return f"*{resource.group.partition('.')[0] or 'core'}.{kind}"


@dataclass(slots=True, eq=False)
class Renderer:
    """Renders answers about one resource and version in one form."""

    resource: Resource
    kind: Kind
    form: Form
    now: float
    include: str = "Metadata"  # what rows of a Table carry: None, Metadata, Object

    def one(self, status: int, obj: Json, record: Record | None = None) -> ApiResponse:
        """An object; `record` when the stored state may be sent as it is."""
        form = self.form
        if form.shape == "PartialObjectMetadataList":
            raise NotAcceptable(
                "you requested PartialObjectMetadataList, but the requested object is not a list"
                f" ({go_type(self.resource, self.kind.kind)})"
            )
        if form.shape == "PartialObjectMetadata":
            return self._answer(status, metadata_only(obj, form.version))
        if form.shape == "Table":
            meta = {"resourceVersion": (obj.get("metadata") or {}).get("resourceVersion", "")}
            return self._answer(status, self.table([obj], meta))
        if record is not None:
            return ApiResponse(status, lazy=RecordBody(record), content_type=form.media)
        return self._answer(status, obj)

    def many(self, meta: Json, records: list[Record], objects: list[Json] | None) -> ApiResponse:
        """A list; `objects` when the stored states must not be shown as they are."""
        form, list_kind = self.form, self.resource.list_kind
        if form.shape == "PartialObjectMetadata":
            raise NotAcceptable(
                "you requested PartialObjectMetadata, but the requested object is a list"
                f" ({go_type(self.resource, list_kind)})"
            )
        if self.resource.custom and form.shape not in ("Table", "PartialObjectMetadataList"):
            meta.setdefault("continue", "")  # lists of unstructured objects always say it
        if form is PLAIN and objects is None:
            body = RecordList(self.kind, list_kind, meta, records, self.resource.custom)
            return ApiResponse(200, lazy=body)
        items = [record.obj for record in records] if objects is None else objects
        if form.shape == "Table":
            return self._answer(200, self.table(items, meta))
        if form.shape == "PartialObjectMetadataList":
            partial = [metadata_only(item, form.version) for item in items]
            return self._answer(
                200,
                {
                    "kind": form.shape,
                    "apiVersion": f"meta.k8s.io/{form.version}",
                    "metadata": meta,
                    "items": partial or None,
                },
            )
        if not self.resource.custom:
            items = [without_type(item) for item in items]
        return self._answer(
            200,
            {
                "kind": list_kind,
                "apiVersion": self.kind.api_version,
                "metadata": meta,
                "items": items,
            },
        )

    def table(self, items: list[Json], meta: Json, with_columns: bool = True) -> Json:
        version = self.resource.versions[self.kind.version]
        table = table_of(self.resource, version, items, self.include, self.now)
        table["apiVersion"] = f"meta.k8s.io/{self.form.version}"
        table["metadata"] = meta
        if self.include == "Metadata":
            for row in table["rows"]:
                row["object"] = metadata_only(row["object"], self.form.version)
        if not with_columns:
            table["columnDefinitions"] = None
        return table

    def event(self, obj: Json, with_columns: bool) -> Json:
        """The object of a watch event in the form asked for."""
        if self.form.shape == "Table":
            revision = (obj.get("metadata") or {}).get("resourceVersion", "")
            return self.table([obj], {"resourceVersion": revision}, with_columns)
        return metadata_only(obj, self.form.version) if self.form.shape else obj

    def _answer(self, status: int, data: Any) -> ApiResponse:
        return ApiResponse(status, body=data, content_type=self.form.media)
