"""What may be served here without being stored here? An API group that somebody else computes.

What the aggregation layer is on a Kubernetes cluster: requests below the group's path go to the
extension with the user that authentication found; it decides what that user may see.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from allaboard.api.meta import Json


class Extension(Protocol):
    @property
    def group(self) -> str: ...

    @property
    def versions(self) -> Sequence[str]:
        """The preferred one first."""
        ...

    def resources(self, version: str) -> list[Json]:
        """Lines of legacy discovery."""
        ...

    async def answer(
        self, method: str, path: Sequence[str], query: Mapping[str, str], user: Json
    ) -> Json:
        """`path` begins with the version; refusals are raised as ApiError."""
        ...
