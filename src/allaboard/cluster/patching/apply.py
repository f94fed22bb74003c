"""What does server-side apply make of an object and its owners?

The configuration is merged into the live object; what its manager applied last time and left out
now is removed, unless another manager owns it. A field that somebody else owns may only be set to
the value it has; otherwise it is a conflict, unless forced.

Values are compared as written. What admission or defaulting adds later is nobody's. Source of the
rules: structured-merge-diff's merge package, apimachinery's managedfields package (facts only).
"""

import json
from itertools import islice
from typing import Any

from allaboard.api.errors import BadRequest, Conflict
from allaboard.api.meta import Json
from allaboard.clock import Instant
from allaboard.cluster.patching.compare import UNTRACKED_METADATA, everything, object_changes
from allaboard.cluster.patching.conformity import check_conformity, render_misfits
from allaboard.cluster.patching.fieldset import (
    FieldSet,
    difference,
    from_paths,
    intersection,
    iterate_paths,
    union,
    without_trees,
)
from allaboard.cluster.patching.managed import (
    BEFORE_FIRST_APPLY,
    UPDATE,
    Differences,
    Entries,
    Manager,
    Versions,
    cap,
    identity,
    make_entry,
    managed_fields,
    order,
    render_time,
    take,
    track_update,
)
from allaboard.cluster.patching.merge_patch import TOO_DEEP
from allaboard.cluster.patching.shape import Shape, object_shape
from allaboard.cluster.patching.structure import fitted, merge, owned, remove, with_named
from allaboard.cluster.schema.node import Schema

# Enough to see what is wrong; the answer must not outgrow the question.
MAX_CAUSES = 10_000
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NEVER_OWNED = from_paths(
    (("apiVersion",), ("kind",), *(("metadata", name) for name in sorted(UNTRACKED_METADATA)))
)
_METADATA_ITSELF = from_paths((("metadata",),))
# However little is applied, an object keeps its metadata.
_ALWAYS_CLAIMED = from_paths((("metadata", "name"),))


class ApplyConflict(Conflict):
    """Other managers own what would change; `fields` are all of the conflicting ones."""

    fields: FieldSet


def apply(
    live: Json | None,
    config: Json,
    schema: Schema | Versions,
    manager: Manager,
    now: Instant,
    force: bool = False,
) -> Json:
    """The merged object with its managedFields; `live` itself if nothing at all changed.

    ApplyConflict when others own what would change and `force` is off; BadRequest when the
    configuration does not fit the schema.
    """
    try:
        shape = object_shape(schema.schema if isinstance(schema, Versions) else schema)
        _check_config(shape, config)
        task = _Apply(live, config, shape, schema, manager)
        if manager.name == "kubectl":
            return _apply_as_kubectl(task, now, force)
        return task.run(now, force)
    except RecursionError:
        raise BadRequest(TOO_DEEP) from None


def _check_config(shape: Shape, config: Json) -> None:
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise BadRequest("metadata.managedFields must be nil")
    misfits = check_conformity(shape, config)
    if misfits:
        known = metadata if isinstance(metadata, dict) else {}
        group, _, version = str(config.get("apiVersion", "")).rpartition("/")
        what = (
            f"{known.get('namespace', '')}/{known.get('name', '')}; "
            f"{group}/{version}, Kind={config.get('kind', '')}"
        )
        raise BadRequest(f"failed to create typed patch object ({what}): {render_misfits(misfits)}")


class _Apply:
    """One configuration on its way into one object."""

    def __init__(
        self,
        live: Json | None,
        config: Json,
        shape: Shape,
        schema: Schema | Versions,
        manager: Manager,
    ) -> None:
        self.live, self.config, self.shape = live, config, shape
        self.schema, self.manager = schema, manager

    def run(self, now: Instant, force: bool) -> Json:
        live = self.live if self.live is not None else {}
        entries = self._entries(now)
        mine = next((e for e in entries if self.manager.is_entry(e)), None)
        others = [e for e in entries if e is not mine]
        last: FieldSet = mine["fieldsV1"] if mine is not None else {}
        fields = self._owned()
        merged = merge(self.shape, live, self.config) if live else self.config
        merged = self._prune(merged, last, [e["fieldsV1"] for e in others])
        differences = Differences(live, merged, self.schema, self.manager)
        if not force:
            _check_conflicts(others, differences)
        left = [rest for e in others if (rest := take(e, differences)) is not None]
        # The stamp moves with the object, not with the ownership of it.
        changed = self.live is None or any(object_changes(self.shape, live, merged, {}))
        time = render_time(now) if changed else (mine or {}).get("time")
        own = self._own_entry(mine, time, fields)
        result = order(cap([*left, own] if own is not None else left))
        if not changed and self.live is not None:
            if len(result) == len(entries) and all(map(_is, result, managed_fields(live))):
                return self.live
            merged = self.live
        return with_managed_fields(merged, result)

    def _entries(self, now: Instant) -> Entries:
        """The live entries; all that an untracked object holds belongs to one invented manager."""
        entries = managed_fields(self.live)
        if entries or self.live is None:
            return [self._fitted(entry) for entry in entries]
        before = Manager(
            BEFORE_FIRST_APPLY, UPDATE, self.manager.api_version, self.manager.subresource,
            self.manager.reset,
        )  # fmt: skip
        return track_update(None, self.live, self.schema, before, now)

    def _fitted(self, entry: Json) -> Json:
        schema = self.shape.schema
        if schema is None or schema.go or entry.get("apiVersion") != self.manager.api_version:
            return entry  # built-in kinds do not change, other versions have schemas of their own
        fields = fitted(self.shape, entry["fieldsV1"])
        return entry if fields is entry["fieldsV1"] else {**entry, "fieldsV1": fields}

    def _owned(self) -> FieldSet:
        fields = owned(self.shape, self.config) or {}
        fields = difference(difference(fields, _NEVER_OWNED), _METADATA_ITSELF)
        return without_trees(fields, self.manager.reset)

    def _prune(self, merged: Json, last: FieldSet, claims: list[FieldSet]) -> Json:
        """Without what was applied last time, is left out now, and nobody claims."""
        # What stands in the configuration stays, even an empty list that nobody can own.
        claimed = union(_ALWAYS_CLAIMED, everything(self.shape, self.config))
        for claim in claims:
            claimed = union(claimed, claim)
        if not difference(last, claimed):
            return merged
        shape = self.shape
        dropped = difference(with_named(shape, last), with_named(shape, claimed))
        pruned: Json = remove(shape, merged, dropped)
        return pruned

    def _own_entry(self, mine: Json | None, time: str | None, fields: FieldSet) -> Json | None:
        if not fields:
            return None
        entry = make_entry(self.manager, time, fields)
        return mine if entry == mine else entry


def _is(a: Any, b: Any) -> bool:
    return a is b


def with_managed_fields(obj: Json, entries: Entries) -> Json:
    """`obj` with these entries; without the field if there are none."""
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k != "managedFields"}
    if entries:
        metadata["managedFields"] = entries
    return {**obj, "metadata": metadata}


def _check_conflicts(others: Entries, differences: Differences) -> None:
    causes: list[Json] = []
    listing: list[str] = []
    everything: FieldSet = {}
    for entry in sorted(others, key=identity):
        changed, _ = differences.in_version(entry.get("apiVersion", ""))
        conflicting = intersection(entry["fieldsV1"], changed)
        if not conflicting:
            continue
        everything = union(everything, conflicting)
        who = _render_manager(entry)
        listing.append(f"conflicts with {who}:")
        for path in islice(iterate_paths(conflicting), MAX_CAUSES - len(causes)):
            listing.append(f"- {path}")
            causes.append(
                {
                    "reason": "FieldManagerConflict",
                    "message": f"conflict with {who}",
                    "field": path,
                }
            )
    if not causes:
        return
    if len(causes) == 1:
        text = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        text = f"{len(causes)} conflicts: " + "\n".join(listing)
    error = ApplyConflict(f"Apply failed with {text}", details={"causes": causes})
    error.fields = everything
    raise error


def _render_manager(entry: Json) -> str:
    text = json.dumps(entry.get("manager", ""), ensure_ascii=False)
    if entry.get("subresource"):
        text += f' with subresource "{entry["subresource"]}"'
    return f"{text} using {entry.get('apiVersion', '')}" if entry["operation"] == UPDATE else text


def _apply_as_kubectl(task: _Apply, now: Instant, force: bool) -> Json:
    """kubectl may take over what it applied client-side before, and keeps that record current."""
    try:
        merged = task.run(now, force)
    except ApplyConflict as conflict:
        if difference(conflict.fields, _last_applied_fields(task)):
            raise
        merged = task.run(now, True)
    annotations = (merged.get("metadata") or {}).get("annotations") or {}
    if LAST_APPLIED not in annotations:
        return merged
    record = _render_last_applied(task.config)
    if record == annotations[LAST_APPLIED]:
        return merged
    metadata = {**merged["metadata"], "annotations": {**annotations, LAST_APPLIED: record}}
    return {**merged, "metadata": metadata}


def _last_applied_fields(task: _Apply) -> FieldSet:
    annotations = ((task.live or {}).get("metadata") or {}).get("annotations") or {}
    try:
        config = json.loads(annotations.get(LAST_APPLIED, "{}"))
    except ValueError:
        return {}
    if not isinstance(config, dict) or check_conformity(task.shape, config):
        return {}
    return owned(task.shape, config) or {}


def _render_last_applied(config: Json) -> str:
    metadata = dict(config.get("metadata") or {})
    annotations = {
        k: v for k, v in (metadata.get("annotations") or {}).items() if k != LAST_APPLIED
    }
    metadata["annotations"] = annotations
    return (
        json.dumps({**config, "metadata": metadata}, sort_keys=True, separators=(",", ":")) + "\n"
    )
