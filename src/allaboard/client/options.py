"""How are the options of a verb written down: selections of a watch, preconditions of a delete?"""

from dataclasses import dataclass
from typing import Literal

from allaboard.api.meta import Json

Propagation = Literal["Background", "Foreground", "Orphan"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which changes a watch shows, and for how long."""

    labels: str = ""
    fields: str = ""
    bookmarks: bool = False
    timeout_s: int = 0

    def query(self, resource_version: str) -> dict[str, str]:
        wanted = query(
            labelSelector=self.labels,
            fieldSelector=self.fields,
            resourceVersion=resource_version,
            timeoutSeconds=self.timeout_s,
        )
        wanted["watch"] = "true"
        if self.bookmarks:
            wanted["allowWatchBookmarks"] = "true"
        return wanted


def delete_options(
    uid: str = "",
    resource_version: str = "",
    propagation: Propagation | None = None,
    grace_s: int | None = None,
) -> Json:
    preconditions = query(uid=uid, resourceVersion=resource_version)
    options: Json = {}
    if preconditions:
        options["preconditions"] = preconditions
    if propagation is not None:
        options["propagationPolicy"] = propagation
    if grace_s is not None:
        options["gracePeriodSeconds"] = grace_s
    if options:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
    return options


def query(**values: str | int) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value}
