"""What is remembered of a workload, of a ClusterQueue, and of a cycle that is under way?"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from allaboard.core.flavors import Proposal
from allaboard.core.pending import Bucket, Parked, Pending
from allaboard.core.preemption import Running
from allaboard.core.quota import Node
from allaboard.core.sharing import Tournament
from allaboard.core.values import Assignment, ClusterQueue, FlavorResource, Instant, Workload


@dataclass(slots=True, eq=False)
class Entry:
    """All that is known of one workload."""

    workload: Workload
    queue: str = ""  # the ClusterQueue it waits in or is charged to
    assumed: Assignment | None = None  # decided, but not yet seen in its status
    assumed_at: Instant = 0.0
    charged: dict[FlavorResource, int] = field(default_factory=dict)
    hold: Assignment | None = None  # it preempted others and holds what they free
    held_shape: object = None
    evicting: bool = False  # an eviction was decided
    resume: Mapping[tuple[str, int], int] = field(default_factory=dict)
    told: Parked | None = None  # the last refusal its owner was told
    running: Running | None = None

    @property
    def assignment(self) -> Assignment | None:
        return self.workload.assignment or self.assumed


@dataclass(slots=True, eq=False)
class QueueState:
    config: ClusterQueue
    node: Node
    pending: Pending = field(default_factory=Pending)
    reserved: dict[str, Entry] = field(default_factory=dict)  # by UID
    residents: dict[str, Running] = field(default_factory=dict)  # by UID; holders too
    priorities: dict[int, int] = field(default_factory=dict)  # of residents: how many have it
    holders: dict[str, Entry] = field(default_factory=dict)  # by UID
    blocked: bool = False  # StrictFIFO: its head waits, so everybody does

    @property
    def is_strict(self) -> bool:
        return self.config.strategy == "StrictFIFO"


@dataclass(slots=True, eq=False)
class Nominee:
    entry: Entry
    state: QueueState
    proposal: Proposal
    bucket: Bucket | None  # where it waited when it was nominated


@dataclass(slots=True, eq=False)
class Agenda:
    """A cycle under way: heads still to be looked at, then nominees still to be carried out."""

    generation: int  # of the configuration it began with
    heads: deque[QueueState]
    nominees: list[Nominee] = field(default_factory=list)
    ordered: "deque[Nominee] | Tournament[Nominee] | None" = None
    taken: dict[str, None] = field(default_factory=dict)  # victims of this cycle
