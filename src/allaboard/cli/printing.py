"""How are objects shown at a terminal? Tables, YAML, JSON, names, and a description. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from allaboard.api.codec import write_pretty_json
from allaboard.api.meta import Json
from allaboard.api.times import parse_time
from allaboard.api.yaml_text import write_yaml
from allaboard.cli.failures import Failure

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
# kubectl's own memory of what was applied: the whole object once more.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
HIDDEN = ("managedFields",)  # of metadata: nobody reads them at a terminal


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[tuple[str, int], ...]  # name and priority; above 0 is for `-o wide`
    rows: tuple[tuple[str, tuple[str, ...]], ...]  # namespace and cells
    resource_version: str = ""

    @classmethod
    def read(cls, body: Json, before: "Table | None" = None) -> "Table":
        """A server's Table; one without columns continues `before`, as in a watch."""
        if body.get("kind") != "Table":
            raise Failure("the server cannot show this as a table; try -o yaml")
        columns = tuple(
            (str(c["name"]), int(c.get("priority") or 0))
            for c in body.get("columnDefinitions") or ()
        )
        if not columns and before is not None:
            columns = before.columns
        rows = tuple(
            (
                str(((row.get("object") or {}).get("metadata") or {}).get("namespace") or ""),
                tuple("<none>" if cell in (None, "") else str(cell) for cell in row["cells"]),
            )
            for row in body.get("rows") or ()
        )
        return cls(columns, rows, str((body.get("metadata") or {}).get("resourceVersion") or ""))


def render_table(table: Table, wide: bool = False, namespaced: bool = False) -> list[str]:
    """Header and rows, each column as wide as its widest cell."""
    shown = [i for i, (_, priority) in enumerate(table.columns) if wide or priority == 0]
    lines = [[table.columns[i][0].upper() for i in shown]]
    lines += [[cells[i] for i in shown if i < len(cells)] for _, cells in table.rows]
    if namespaced:
        spaces = ["NAMESPACE", *(namespace for namespace, _ in table.rows)]
        lines = [[space, *line] for space, line in zip(spaces, lines, strict=True)]
    return align(lines)


def align(lines: Sequence[Sequence[str]]) -> list[str]:
    width = max((len(line) for line in lines), default=0)
    widths = [
        max((len(line[i]) for line in lines if i < len(line)), default=0) for i in range(width)
    ]
    return [
        "   ".join(c.ljust(w) for c, w in zip(line, widths, strict=False)).rstrip()
        for line in lines
    ]


def render_objects(objects: list[Json], output: str, several: bool) -> str:
    """One object as it is, several as a List; who manages which field is left out."""
    shown = [_presentable(o) for o in objects]
    data: Any = {"apiVersion": "v1", "kind": "List", "items": shown} if several else shown[0]
    text = write_yaml(data) if output == "yaml" else write_pretty_json(data).decode()
    return text.rstrip("\n")


def _presentable(obj: Json) -> Json:
    meta = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in HIDDEN}
    return {**obj, "metadata": meta}


def render_description(obj: Json, events: list[Json], now: float) -> str:
    """Name and labels first, then what it should be, what it is, and what happened to it."""
    lines = [f"{title:<15}{value}".rstrip() for title, value in _identity(obj, now)]
    for key, value in obj.items():
        if key not in ("apiVersion", "kind", "metadata") and value not in ({}, [], None):
            lines += [f"{key[0].upper()}{key[1:]}:", *_indented(write_yaml(value))]
    return "\n".join([*lines, *_event_lines(events, now)])


def _identity(obj: Json, now: float) -> list[tuple[str, str]]:
    meta = obj.get("metadata") or {}
    pairs = [("Name:", str(meta.get("name")))]
    if meta.get("namespace"):
        pairs.append(("Namespace:", meta["namespace"]))
    pairs.append(("Kind:", f"{obj.get('kind')} ({obj.get('apiVersion')})"))
    created = meta.get("creationTimestamp")
    if created:
        pairs.append(("Created:", f"{created} ({render_age(now - parse_time(created))} ago)"))
    if meta.get("deletionTimestamp"):
        pairs.append(("Deleted:", meta["deletionTimestamp"]))
    for owner in meta.get("ownerReferences") or ():
        how = "Controlled by:" if owner.get("controller") else "Owned by:"
        pairs.append((how, f"{owner.get('kind')}/{owner.get('name')}"))
    for title in ("labels", "annotations"):
        shown = sorted((k, v) for k, v in (meta.get(title) or {}).items() if k != LAST_APPLIED)
        for index, (key, value) in enumerate(shown):
            pairs.append(("" if index else f"{title.capitalize()}:", f"{key}={value}"))
    return pairs


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.rstrip("\n").splitlines()]


def _event_lines(events: list[Json], now: float) -> list[str]:
    if not events:
        return ["Events:  <none>"]
    rows = [["Type", "Reason", "Age", "From", "Message"]]
    for event in sorted(events, key=lambda e: _last_seen(e) or ""):
        seen = _last_seen(event)
        age = render_age(now - parse_time(seen)) if seen else "<unknown>"
        count = int(event.get("count") or 1)
        source = (event.get("source") or {}).get("component") or event.get("reportingComponent")
        rows.append(
            [
                str(event.get("type", "")),
                str(event.get("reason", "")),
                f"{age} (x{count})" if count > 1 else age,
                str(source or ""),
                str(event.get("message", "")),
            ]
        )
    return ["Events:", *(f"  {line}" for line in align(rows))]


def _last_seen(event: Json) -> str | None:
    seen = event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp")
    return str(seen) if seen else None


def render_age(seconds: float) -> str:
    """Two figures at most: 45s, 3m20s, 26h, 12d."""
    s = max(0, int(seconds))
    if s < 120:
        return f"{s}s"
    if s < 600:
        return f"{s // 60}m{s % 60}s" if s % 60 else f"{s // 60}m"
    if s < 3 * 3600:
        return f"{s // 60}m"
    return f"{s // 3600}h" if s < 48 * 3600 else f"{s // 86400}d"
