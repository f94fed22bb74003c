"""What is a job's Workload called?"""

import hashlib

from allaboard.api.meta import Kind

_LONGEST = 253
_HASH_CHARACTERS = 5


def workload_name(kind: Kind, name: str, uid: str) -> str:
    """`<kind>-<name>-<hash>`; the UID is in the hash, so a namesake gets another Workload."""
    text = f"{kind.kind}\n{kind.group}\n{name}\n{uid}"
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:_HASH_CHARACTERS]
    head = f"{kind.kind.lower()}-{name}"[: _LONGEST - _HASH_CHARACTERS - 1]
    return f"{head}-{digest}"
