"""How do objects look as rows for people?

Columns and their cells come from the kind; rows carry the object, its metadata or nothing, and the
conditions kubectl uses to hide finished things.
"""

from allaboard.api.errors import BadRequest
from allaboard.api.meta import Json
from allaboard.cluster.resource import Column, Resource, Version

INCLUDES = ("", "Metadata", "Object", "None")


def included(query_value: str) -> str:
    """What rows shall carry, from the `includeObject` parameter."""
    if query_value not in INCLUDES:
        raise BadRequest(
            "Unable to convert to Table as requested: includeObject: Invalid value:"
            f" \"{query_value[:100]}\": must be 'Metadata', 'Object', 'None', or empty"
        )
    return query_value or "Metadata"


def definition(column: Column) -> Json:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def table_of(
    resource: Resource, version: Version, items: list[Json], include: str, now: float
) -> Json:
    """A Table without its metadata, with whole objects in its rows; the caller knows the rest."""
    columns = version.columns
    rows = []
    for item in items:
        row: Json = {"cells": [column.cell(item, now) for column in columns]}
        if resource.row_conditions is not None and (found := resource.row_conditions(item)):
            row["conditions"] = found
        row["object"] = item if include != "None" else None
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": [definition(column) for column in columns],
        "rows": rows,
    }
