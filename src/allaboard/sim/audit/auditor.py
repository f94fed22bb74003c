"""Did everything that was committed obey the rules? Fed with the log, line by line.

It shares no code with what it audits: usage, limits and published numbers are recomputed from the
objects as committed. What it finds are values; it never interferes.
"""

from allaboard.api.meta import Json
from allaboard.sim.audit.log import Objects, Violation
from allaboard.sim.audit.rest import at_rest
from allaboard.sim.audit.rules import RULES, still_overtaken


class Auditor:
    """`see` every line in order (it can be a World's `trace`); `rest` when nothing moves."""

    def __init__(self) -> None:
        self.objects = Objects()
        self.violations: list[Violation] = []
        self.commits = 0
        self._last = ("", 0.0)

    def see(self, line: Json) -> None:
        commit = self.objects.take(line)
        if commit is None:
            return
        self.commits += 1
        self._last = (commit.time, commit.at_s)
        for rule in RULES:
            self.violations += rule(commit, self.objects)

    def rest(self) -> None:
        """Nothing is under way: what is published and what is there must agree."""
        self.violations += still_overtaken(self.objects, float("inf"))
        self.violations += at_rest(self.objects, *self._last)


def audit(lines: list[Json], ends_at_rest: bool = True) -> list[Violation]:
    auditor = Auditor()
    for line in lines:
        auditor.see(line)
    if ends_at_rest:
        auditor.rest()
    return auditor.violations
