"""What all built-in kinds have in common: metadata rules, generation, status kept apart.

A kind overrides the four hooks at the end; the rest is the same for all of them.
"""

from collections.abc import Callable

from allaboard.api import names
from allaboard.api.fields import FieldError
from allaboard.api.meta import Json
from allaboard.cluster.kinds.metadata import (
    validate_finalizers,
    validate_labels,
    validate_metadata,
    validate_metadata_update,
)
from allaboard.cluster.kinds.plain_rules import plain_problems
from allaboard.cluster.schema.node import Schema


class KindStrategy:
    """The generic rules. Attributes say how a kind deviates; hooks say what it adds."""

    allow_create_on_update = False
    allow_unconditional_update = True
    namespaced = True
    has_status = False
    has_generation = False
    # top-level fields that count as the specification when generations are counted
    spec_fields: tuple[str, ...] = ("spec",)
    # how often Kubernetes repeats the check of changed labels for this kind
    label_echo = 1
    plain_schema: Schema | None = None  # where what the schema alone says is checked too
    name_problems: Callable[[str], list[str]] = staticmethod(names.subdomain_problems)

    def __init__(self, *, namespaced: bool = True, has_status: bool = False) -> None:
        self.namespaced = namespaced
        self.has_status = has_status

    def default(self, obj: Json) -> None:
        self.default_spec(obj)

    def prepare_create(self, obj: Json) -> None:
        if self.has_status:
            self.reset_status(obj)
        if self.has_generation:
            obj["metadata"]["generation"] = 1

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        if subresource == "status":
            self._keep_all_but_status(obj, old)
        elif self.has_status:
            _keep(obj, old, "status")
        self._count_generation(obj, old)
        if "creationTimestamp" in old["metadata"]:
            obj["metadata"]["creationTimestamp"] = old["metadata"]["creationTimestamp"]

    def validate_create(self, obj: Json) -> list[FieldError]:
        errors = validate_metadata(obj["metadata"], self.namespaced, self.name_problems)
        errors += self.validate(obj)
        if self.plain_schema is not None:
            errors += plain_problems(self.plain_schema, obj, errors)
        return errors

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        meta, old_meta = obj["metadata"], old["metadata"]
        errors = validate_metadata_update(meta, old_meta)
        if errors:
            # Kubernetes checks the metadata of a change once for all kinds and again for each.
            errors += errors
        if subresource == "status":
            if obj.get("status") != old.get("status"):
                errors += self.validate_status(obj, old)
            return errors
        if meta.get("labels") != old_meta.get("labels"):
            errors += self.label_echo * validate_labels(meta.get("labels"), "metadata.labels")
        if meta.get("finalizers") != old_meta.get("finalizers"):
            errors += validate_finalizers(meta.get("finalizers"), "metadata.finalizers")
        errors += self.validate_change(obj, old, subresource)
        schema = self.plain_schema
        if schema is not None and self._changes_spec(obj, old):
            errors += plain_problems(schema, obj, errors)
        return errors

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        del obj, old
        return []

    def _keep_all_but_status(self, obj: Json, old: Json) -> None:
        """A status write changes status and, for most kinds, metadata; the rest is the old one."""
        for key in [k for k in obj if k not in old and k != "status"]:
            del obj[key]
        for key, value in old.items():
            if key != "status" and key != "metadata":
                obj[key] = value
        obj["metadata"] = self.status_metadata(obj["metadata"], old["metadata"])

    def _changes_spec(self, obj: Json, old: Json) -> bool:
        """Python compares a dict with itself member by member, so identity is asked first."""
        for name in self.spec_fields:
            new, before = obj.get(name), old.get(name)
            if new is not before and new != before:
                return True
        return False

    def _count_generation(self, obj: Json, old: Json) -> None:
        generation = old["metadata"].get("generation")
        meta = obj["metadata"]
        if self.has_generation and self._changes_spec(obj, old):
            generation = (generation or 0) + 1
        if generation is None:
            meta.pop("generation", None)
        else:
            meta["generation"] = generation

    # --- hooks -------------------------------------------------------------------------------

    def default_spec(self, obj: Json) -> None:
        """Fill what the author left out."""

    def reset_status(self, obj: Json) -> None:
        """The status of a new object; without a rule of its own it has none."""
        obj["status"] = {}

    def status_metadata(self, new: Json, old: Json) -> Json:
        """The metadata a status write may store: the new, for most built-in kinds."""
        del old
        return new

    def validate(self, obj: Json) -> list[FieldError]:
        """What is wrong with a new object besides its metadata."""
        del obj
        return []

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        """What is wrong with a change of anything but status."""
        del subresource
        if not self._changes_spec(obj, old):
            return []
        return self.validate(obj)

    def validate_status(self, obj: Json, old: Json) -> list[FieldError]:
        del obj, old
        return []


def _keep(obj: Json, old: Json, key: str) -> None:
    if key in old:
        obj[key] = old[key]
    else:
        obj.pop(key, None)
