"""Who depends on whom? Owner references of all objects, kept as changes come in.

Only objects that have owners, or wait for dependents, take up room here; whether an owner exists
is asked of the store, by its address and UID.
"""

from typing import NamedTuple, Protocol

from allaboard.api.meta import Json, Kind

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class StoredState(Protocol):
    """What the collector reads of a stored record."""

    @property
    def obj(self) -> Json: ...


class Reference(NamedTuple):
    """An owner, as its dependent names it."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool


class Item:
    """An object that has owners or is being deleted with its dependents."""

    __slots__ = ("deleting", "finalizers", "kind", "name", "namespace", "owners", "uid")

    def __init__(self, kind: Kind, obj: Json) -> None:
        meta = obj["metadata"]
        self.kind = kind
        self.uid: str = meta.get("uid", "")
        self.namespace: str = meta.get("namespace") or ""
        self.name: str = meta["name"]
        self.deleting = bool(meta.get("deletionTimestamp"))
        self.finalizers: tuple[str, ...] = tuple(meta.get("finalizers") or ())
        self.owners = tuple(
            Reference(
                owner.get("apiVersion", ""),
                owner.get("kind", ""),
                owner.get("name", ""),
                owner.get("uid", ""),
                bool(owner.get("blockOwnerDeletion")),
            )
            for owner in meta.get("ownerReferences") or ()
        )

    @property
    def waits_for_dependents(self) -> bool:
        return self.deleting and FOREGROUND in self.finalizers

    @property
    def orphans_dependents(self) -> bool:
        return self.deleting and ORPHAN in self.finalizers

    @property
    def matters(self) -> bool:
        return bool(self.owners) or self.waits_for_dependents or self.orphans_dependents

    def blocks(self, owner_uid: str) -> bool:
        return any(owner.blocks for owner in self.owners if owner.uid == owner_uid)


class Graph:
    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        self._dependents: dict[str, dict[str, None]] = {}  # owner's UID -> dependents' UIDs

    def put(self, item: Item) -> Item | None:
        """Remember this state; returns the one it replaces."""
        old = self.items.get(item.uid)
        if old is not None and old.owners != item.owners:
            self._unlink(old)
        if item.matters:
            self.items[item.uid] = item
            if old is None or old.owners != item.owners:
                for owner in item.owners:
                    self._dependents.setdefault(owner.uid, {})[item.uid] = None
        elif old is not None:
            del self.items[item.uid]
        return old

    def remove(self, uid: str) -> Item | None:
        old = self.items.pop(uid, None)
        if old is not None:
            self._unlink(old)
        return old

    def dependents(self, owner_uid: str) -> list[Item]:
        return [self.items[uid] for uid in self._dependents.get(owner_uid, ())]

    def has_dependents(self, owner_uid: str) -> bool:
        return owner_uid in self._dependents

    def _unlink(self, item: Item) -> None:
        for owner in item.owners:
            known = self._dependents.get(owner.uid)
            if known is not None:
                known.pop(item.uid, None)
                if not known:
                    del self._dependents[owner.uid]
