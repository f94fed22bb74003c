"""Which objects of one resource exist, by namespace, in order?

Names are sorted when somebody lists and kept sorted while that is cheap; a listing of one
namespace never touches the others.
"""

from bisect import bisect_left, insort

from allaboard.cluster.store.records import Record

# Beyond this, moving the tail of the list for each insertion costs more than sorting on demand.
_KEEP_SORTED = 4_096


class Names:
    """The objects of one namespace."""

    __slots__ = ("_sorted", "records")

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self._sorted: list[str] | None = None

    def put(self, record: Record) -> None:
        if self._sorted is not None and record.name not in self.records:
            if len(self._sorted) < _KEEP_SORTED:
                insort(self._sorted, record.name)
            else:
                self._sorted = None
        self.records[record.name] = record

    def remove(self, name: str) -> None:
        del self.records[name]
        if self._sorted is not None:
            if len(self._sorted) < _KEEP_SORTED:
                del self._sorted[bisect_left(self._sorted, name)]
            else:
                self._sorted = None

    def listed(self) -> list[Record]:
        if self._sorted is None:
            self._sorted = sorted(self.records)
        records = self.records
        return [records[name] for name in self._sorted]


class Table:
    """The objects of one resource; cluster-scoped ones are in the namespace ''."""

    __slots__ = ("count", "namespaces")

    def __init__(self) -> None:
        self.namespaces: dict[str, Names] = {}
        self.count = 0

    def get(self, namespace: str, name: str) -> Record | None:
        names = self.namespaces.get(namespace)
        return names.records.get(name) if names is not None else None

    def put(self, record: Record) -> None:
        names = self.namespaces.get(record.namespace)
        if names is None:
            names = self.namespaces[record.namespace] = Names()
        self.count += record.name not in names.records
        names.put(record)

    def remove(self, namespace: str, name: str) -> None:
        names = self.namespaces[namespace]
        names.remove(name)
        self.count -= 1
        if not names.records:
            del self.namespaces[namespace]

    def listed(self, namespace: str | None) -> list[Record]:
        if namespace is not None:
            names = self.namespaces.get(namespace)
            return names.listed() if names is not None else []
        listed: list[Record] = []
        for key in sorted(self.namespaces):
            listed += self.namespaces[key].listed()
        return listed
