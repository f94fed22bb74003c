"""`python -m tests.vectors.declare`: write declared.toml anew, keeping the reasons it has.

A new deviation gets the reason that its difference suggests; whoever commits the file reads it.
"""

import json
from collections.abc import Iterable

from tests.vectors.harness import Entry, files, replay_file
from tests.vectors.test_replay import DECLARED, tomllib

HEADER = """\
# Recorded answers of kube-apiserver 1.36 that ours differ from, by file and entry, with the reason.
# The test fails when an entry differs and is not here, and when one is here and agrees.
"""


def reason(entry: Entry) -> str:
    """Why an entry differs, as far as the difference tells."""
    seen = [(path, want, got) for path, want, got in entry.differences]
    if ("/status", 500) in [(path, want) for path, want, _ in seen]:
        return "a bare 500 there; a 4xx with the same message here"
    if ("/status", 403) in [(path, want) for path, want, _ in seen]:
        return "permissions (RBAC) are not evaluated yet"
    if all(path.endswith("/description") for path, _, _ in seen):
        return "descriptions of columns are in our own words"
    return "?"


def render(pairs: Iterable[tuple[str, dict[str, str]]]) -> str:
    lines = [HEADER]
    for file, names in pairs:
        lines.append(f"[{json.dumps(file)}]")
        lines += [f"{json.dumps(name)} = {json.dumps(why)}" for name, why in names.items()]
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    known = tomllib.loads(DECLARED.read_text()) if DECLARED.exists() else {}
    found: dict[str, dict[str, str]] = {}
    for path in sorted(files()):
        result = replay_file(path)
        names = {}
        for entry in result.entries:
            if not entry.body_agrees:
                kept = known.get(result.file, {}).get(entry.name, "?")
                names[entry.name] = kept if kept != "?" else reason(entry)
        if names:
            found[result.file] = names
    DECLARED.write_text(render(sorted(found.items())))
    print(f"{sum(map(len, found.values()))} deviations declared in {DECLARED.name}")


if __name__ == "__main__":
    main()
