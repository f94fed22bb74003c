"""What does a JSON patch make of a document? (RFC 6902, as kube-apiserver reads it)

It differs from the RFC where Kubernetes does: `replace` of a missing member adds it, a missing
`value` is null, copying a missing member copies null, a negative index counts from the end, and a
path without a leading slash loses its first segment. Every failure of an operation is the same
422. All operations succeed or none does.
"""

import re
from typing import Any

import msgspec

from allaboard.api.errors import BadRequest, Invalid, TooLarge
from allaboard.api.meta import Json
from allaboard.cluster.patching.merge_patch import TOO_DEEP, json_type

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
# Members moved by inserting, removing and copying on write, in total: keeps 10,000 inserts at the
# head of a large list to a fraction of a second.
MAX_SHIFTED = 100_000_000
REJECTED = "the server rejected our request due to an error in our request"
_INDEX = re.compile(r"[+-]?[0-9]{1,9}")


class _Fails(Exception):
    """An operation cannot be carried out."""


def apply_json_patch(doc: Json, ops: Any) -> Any:
    """The patched document. Untouched parts are shared with `doc`; neither input is changed."""
    _check_operations(ops)
    patcher = _Patcher(doc)
    try:
        for op in ops or ():  # null is a patch without operations
            patcher.run(op)
    except _Fails:
        raise Invalid(REJECTED, details={}) from None
    except RecursionError:
        raise BadRequest(TOO_DEEP) from None
    return patcher.doc


def _check_operations(ops: Any) -> None:
    if ops is None:
        return
    if not isinstance(ops, list):
        raise _undecodable(ops, "value of type []handlers.jsonPatchOp")
    for op in ops:
        if op is None:
            continue
        if not isinstance(op, dict):
            raise _undecodable(op, "value of type handlers.jsonPatchOp")
        for member in ("op", "from", "path"):
            value = op.get(member)
            if value is not None and not isinstance(value, str):
                raise _undecodable(value, f"struct field jsonPatchOp.{member} of type string")
    if len(ops) > MAX_OPERATIONS:
        raise TooLarge(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(ops)}"
        )


def _undecodable(value: Any, target: str) -> BadRequest:
    return BadRequest(
        f"error decoding patch: json: cannot unmarshal {json_type(value)} into Go {target}"
    )


class _Patcher:
    """The document while it is patched; containers are copied when first written to."""

    def __init__(self, doc: Any) -> None:
        self.doc = doc
        self._own: dict[int, Any] = {}  # by id; the value keeps the id from being reused
        self._copied_bytes = 0
        self._shifted = 0

    def run(self, op: Any) -> None:
        kind, path = (op or {}).get("op"), (op or {}).get("path")
        if path is None:
            raise _Fails
        match kind:
            case "add":
                self._put(path, op.get("value"), insert=True)
            case "replace" if path == "":
                self.doc = op.get("value")
            case "replace":
                self._put(path, op.get("value"), insert=False)
            case "remove":
                self._remove(path)
            case "test":
                self._test(path, op.get("value"))
            case "move":
                self._put(path, self._remove(_source(op)), insert=True)
            case "copy":
                self._put(path, self._copied(_source(op)), insert=True)
            case _:
                raise _Fails

    def _test(self, path: str, expected: Any) -> None:
        found = self.doc if path == "" else self._get(path)
        if not same(found, expected):
            raise _Fails

    def _copied(self, path: str) -> Any:
        value = self._get(path)
        self._copied_bytes += len(msgspec.json.encode(value))
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise _Fails
        # The copy shares its parts with the original: neither may be written to in place any more.
        self._own.clear()
        return value

    def _get(self, path: str) -> Any:
        parts, key = _split(path)
        parent = self.doc
        for part in parts:
            parent = _member(parent, part)
        return _member(parent, key)

    def _parent(self, path: str) -> tuple[Any, str]:
        """The container that holds the last segment, made our own together with all above it."""
        parts, key = _split(path)
        self.doc = node = self._writable(self.doc)
        for part in parts:
            child = self._writable(_member(node, part))
            node[part if isinstance(node, dict) else _index(part, len(node))] = child
            node = child
        return node, key

    def _writable(self, node: Any) -> Any:
        if id(node) in self._own:
            return node
        if not isinstance(node, dict | list):
            raise _Fails
        self._shift(node)
        own = node.copy()
        self._own[id(own)] = own
        return own

    def _put(self, path: str, value: Any, insert: bool) -> None:
        node, key = self._parent(path)
        if isinstance(node, dict):
            node[key] = value
        elif not insert:
            node[_index(key, len(node))] = value
        elif key == "-":
            node.append(value)
        else:
            # A new member may stand behind the last one, so there is one more place to name.
            self._shift(node)
            node.insert(_index(key, len(node) + 1), value)

    def _remove(self, path: str) -> Any:
        node, key = self._parent(path)
        if isinstance(node, dict):
            if key not in node:
                raise _Fails
            return node.pop(key)
        self._shift(node)
        return node.pop(_index(key, len(node)))

    def _shift(self, node: Any) -> None:
        self._shifted += len(node)
        if self._shifted > MAX_SHIFTED:
            raise _Fails


def _source(op: Json) -> str:
    path = op.get("from")
    if path is None:
        raise _Fails
    return str(path)


def _split(path: str) -> tuple[list[str], str]:
    """The segments above the last one, and the last; what is before the first slash is ignored."""
    if "/" not in path:
        raise _Fails
    parts = path.split("/")[1:]
    if "~" in path:
        parts = [part.replace("~1", "/").replace("~0", "~") for part in parts]
    return parts[:-1], parts[-1]


def _member(node: Any, key: str) -> Any:
    if isinstance(node, dict):
        return node.get(key)
    if isinstance(node, list):
        return node[_index(key, len(node))]
    raise _Fails


def _index(text: str, size: int) -> int:
    if not _INDEX.fullmatch(text):
        raise _Fails
    index = int(text)
    if not -size <= index < size:
        raise _Fails
    return index % size


def same(a: Any, b: Any) -> bool:
    """Equality of JSON values; unlike Python's it tells true from 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)
