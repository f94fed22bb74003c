"""Which jobs are queued, and what is watched about them?"""

from dataclasses import dataclass, field

from allaboard.api.selectors import Selector, parse_label_selector

BATCH_JOB, POD = "batch/job", "pod"
EVERYTHING = frozenset({BATCH_JOB, POD})
# A cluster's own pods must start without us.
DEFAULT_NAMESPACES = "kubernetes.io/metadata.name notin (kube-system,kueue-system,allaboard-system)"


@dataclass(frozen=True, slots=True)
class Settings:
    frameworks: frozenset[str] = EVERYTHING
    manage_jobs_without_queue_name: bool = False
    namespace_selector: Selector = field(
        default_factory=lambda: parse_label_selector(DEFAULT_NAMESPACES)
    )
    pods_ready: bool = False  # whether the PodsReady condition is kept
    workers: int = 5
