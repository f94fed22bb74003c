"""Which schema does a built-in kind have?

The notation files are read on first use, about ten milliseconds, and kept: they are constants of
the program, so one copy serves every server in the process.
"""

from collections.abc import Mapping
from functools import cache

from allaboard.cluster.schema.node import Schema
from allaboard.cluster.schema.notation import Library, Package


@cache
def library() -> Library:
    return Library.shipped()


@cache
def _by_api_version() -> dict[str, Package]:
    return {p.api_version: p for p in library().packages.values()}


@cache
def schema_of(group: str, version: str, kind: str) -> Schema:
    """The schema of a kind we serve. KeyError names what is not known.

    What all groups share (Status, DeleteOptions, …) is found in each of them.
    """
    api_version = f"{group}/{version}" if group else version
    package = _by_api_version().get(api_version)
    if package is not None and kind not in package.structs:
        package = library().packages["meta"]
    if package is None or kind not in package.structs:
        raise KeyError(f"no schema of {kind} in {api_version}")
    return library().struct(package.short, kind)


@cache
def meta_schema(name: str) -> Schema:
    """The schema of a type all groups share: ObjectMeta, DeleteOptions, Status, ListMeta, …"""
    return library().struct("meta", name)


def kinds() -> Mapping[str, tuple[str, ...]]:
    """Every apiVersion with the kinds declared in it, in alphabetical order."""
    return {
        api_version: tuple(sorted(s.name for s in package.structs.values() if s.is_kind))
        for api_version, package in sorted(_by_api_version().items())
        if api_version != "-"
    }
