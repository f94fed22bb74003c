"""What happens when in a simulation: Kubernetes documents read as timed steps. Pure.

A document is applied at 0 s unless its annotation `sim.allaboard.dev/at` says otherwise, and
`…/action` makes it a merge patch or a deletion. `…/of: Kind/name` addresses the one object of the
document's kind that this owner controls. Steps of the same instant keep the order of files and
documents. Everything that can be wrong before the clock starts is a `ScriptError` naming file,
document and field.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from allaboard.api.meta import Json
from allaboard.api.times import parse_duration
from allaboard.cluster.kubelet.stages import OTHERS, PREFIX, read_stages

ACTIONS = ("apply", "patch", "delete")


class ScriptError(ValueError):
    """A document that cannot be a step. The text says file, document, field and what is allowed."""


@dataclass(frozen=True, slots=True)
class Owner:
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Step:
    """One thing the script does. `where` names file and document for people."""

    at_s: float
    order: int
    action: str
    document: Json  # without the annotations that steer the script
    owner: Owner | None
    where: str

    @property
    def kind(self) -> str:
        return str(self.document["kind"])

    @property
    def name(self) -> str:
        return str(self.document["metadata"].get("name") or "")

    @property
    def namespace(self) -> str:
        return str(self.document["metadata"].get("namespace") or "")


def read_script(documents: Iterable[tuple[str, Any]]) -> list[Step]:
    """Steps in the order they happen. `documents` are (where, data) pairs; Lists are unfolded."""
    steps: list[Step] = []
    for where, document in _unfold(documents):
        steps.append(read_step(where, document, order=len(steps)))
    return sorted(steps, key=lambda step: (step.at_s, step.order))


def _unfold(documents: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, Any]]:
    for where, document in documents:
        if document is None:
            continue  # an empty document between separators
        is_list = isinstance(document, dict) and str(document.get("kind", "")).endswith("List")
        if is_list and isinstance(document.get("items"), list):
            for index, item in enumerate(document["items"]):
                yield f"{where}, items[{index}]", item
        else:
            yield where, document


def read_step(where: str, document: Any, order: int) -> Step:
    if not isinstance(document, dict):
        raise ScriptError(
            f"{where}: expected an object with apiVersion and kind, found {document!r}"
        )
    for member in ("apiVersion", "kind"):
        if not isinstance(document.get(member), str) or not document[member]:
            raise ScriptError(f"{where}: {member}: required, as in {_EXAMPLE[member]}")
    meta = document.get("metadata")
    if not isinstance(meta, dict):
        raise ScriptError(f"{where}: metadata: required, an object with at least a name")
    annotations = _annotations(where, meta)
    action = annotations.get(PREFIX + "action", "apply")
    if action not in ACTIONS:
        raise _wrong(where, "action", action, f"must be one of {', '.join(ACTIONS)}")
    owner = _owner(where, annotations.get(PREFIX + "of"))
    _check_name(where, meta, action, owner)
    _check_stages(where, document)
    return Step(_at(where, annotations), order, action, _unsteered(document), owner, where)


_EXAMPLE = {"apiVersion": "apiVersion: batch/v1", "kind": "kind: Job"}


def _annotations(where: str, meta: Json) -> Mapping[str, str]:
    annotations = meta.get("annotations")
    if annotations is None:
        return {}
    if not isinstance(annotations, dict):
        raise ScriptError(f"{where}: metadata.annotations: must be a map of strings")
    for key, value in annotations.items():
        if str(key).startswith(PREFIX) and not isinstance(value, str):
            raise ScriptError(
                f"{where}: metadata.annotations[{key}]: found {value!r}; write it in quotes"
            )
    return annotations


def _at(where: str, annotations: Mapping[str, str]) -> float:
    text = annotations.get(PREFIX + "at", "0s")
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise _wrong(
            where, "at", text, f"must be a duration such as 90s or 1h30m: {error}"
        ) from None
    if seconds < 0:
        raise _wrong(where, "at", text, "must not be negative")
    return seconds


def _owner(where: str, text: str | None) -> Owner | None:
    if text is None:
        return None
    kind, slash, name = text.partition("/")
    if not (kind and slash and name) or "/" in name:
        raise _wrong(where, "of", text, "must be Kind/name, as in Job/train")
    return Owner(kind, name)


def _check_name(where: str, meta: Json, action: str, owner: Owner | None) -> None:
    if owner is not None:
        if action == "apply":
            raise _wrong(
                where, "of", f"{owner.kind}/{owner.name}", "goes with patch or delete only"
            )
        return
    if meta.get("name") or (action == "apply" and meta.get("generateName")):
        return
    raise ScriptError(f"{where}: metadata.name: required")


def _check_stages(where: str, document: Json) -> None:
    """Steering that the kubelet would not understand is refused before anything runs."""
    for path, template in _templates(document, ""):
        annotations = (template.get("metadata") or {}).get("annotations") or {}
        texts = {k: v if isinstance(v, str) else repr(v) for k, v in annotations.items()}
        _, problems = read_stages(texts, index=None)
        if problems:
            raise ScriptError(f"{where}: {path}metadata.annotations: {problems[0]}")


def _templates(data: Any, path: str) -> Iterable[tuple[str, Json]]:
    """Everything that describes pods: a Pod, and each `template` with a pod spec, however deep."""
    if isinstance(data, dict):
        if data.get("kind") == "Pod":
            yield path, data
        for key, value in data.items():
            if (
                key == "template"
                and isinstance(value, dict)
                and isinstance(value.get("spec"), dict)
            ):
                yield f"{path}{key}.", value
            yield from _templates(value, f"{path}{key}.")
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from _templates(item, f"{path.rstrip('.')}[{index}].")


def _unsteered(document: Json) -> Json:
    meta = dict(document["metadata"])
    annotations = {
        key: value
        for key, value in (meta.get("annotations") or {}).items()
        if not (key.startswith(PREFIX) and key[len(PREFIX) :] in OTHERS)
    }
    meta["annotations"] = annotations
    if not annotations:
        del meta["annotations"]
    return {**document, "metadata": meta}


def _wrong(where: str, name: str, found: str, allowed: str) -> ScriptError:
    return ScriptError(f"{where}: metadata.annotations[{PREFIX}{name}]: found {found!r}; {allowed}")
