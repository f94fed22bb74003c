"""Which objects does a request mean: label selector, field selector, one name?"""

from collections.abc import Callable
from dataclasses import dataclass

from allaboard.api.errors import BadRequest
from allaboard.api.meta import Json
from allaboard.api.selectors import (
    FieldTerm,
    SelectorError,
    parse_field_selector,
    parse_label_selector,
)
from allaboard.cluster.resource import Resource
from allaboard.cluster.server.verbs.options import ListOptions

Getter = Callable[[Json], str]


@dataclass(slots=True, eq=False)
class Selection:
    """A conjunction of tests on an object; without tests everything is selected."""

    tests: tuple[Callable[[Json], bool], ...] = ()

    @property
    def is_everything(self) -> bool:
        return not self.tests

    def matches(self, obj: Json) -> bool:
        return all(test(obj) for test in self.tests)


EVERYTHING = Selection()


def _name(obj: Json) -> str:
    return str(obj["metadata"].get("name", ""))


def _namespace(obj: Json) -> str:
    return str(obj["metadata"].get("namespace", ""))


_ALWAYS: dict[str, Getter] = {"metadata.name": _name, "metadata.namespace": _namespace}


def select(resource: Resource, options: ListOptions, name: str = "") -> Selection:
    """The selection a list, watch or deletecollection asks for; 400 for what cannot be read."""
    tests: list[Callable[[Json], bool]] = []
    if name:
        tests.append(lambda obj: obj["metadata"].get("name") == name)
    try:
        if options.label_selector:
            labels = parse_label_selector(options.label_selector)
            if not labels.is_everything:
                tests.append(lambda obj: labels.matches(obj["metadata"].get("labels") or {}))
        if options.field_selector:
            for term in parse_field_selector(options.field_selector).terms:
                tests.append(_field_test(resource, term))
    except SelectorError as error:
        raise BadRequest(str(error)) from None
    return Selection(tuple(tests)) if tests else EVERYTHING


def _field_test(resource: Resource, term: FieldTerm) -> Callable[[Json], bool]:
    field, value = term.field, term.value
    getter = _ALWAYS.get(field) if field != "metadata.namespace" or resource.namespaced else None
    getter = getter or resource.selectable.get(field)
    if getter is None:
        raise BadRequest(unknown_field(resource, field))
    found: Getter = getter
    if resource.from_stored is not None:
        show = resource.from_stored
        found = lambda obj: getter(show(obj))  # noqa: E731
    if term.operator == "=":
        return lambda obj: found(obj) == value
    return lambda obj: found(obj) != value


def unknown_field(resource: Resource, field: str) -> str:
    """Kubernetes has three sentences for it, by how a kind registers its fields."""
    if resource.custom or (resource.selectable and resource.kind != "Job"):
        return f"field label not supported: {field}"
    if resource.kind == "Job":
        return f'field label "{field}" not supported for Job'
    known = ", ".join(f'"{name}"' for name in _ALWAYS)
    return f'"{field}" is not a known field selector: only {known}'
