"""What a query string asks for besides the resource: list, write and delete options.

Booleans follow Kubernetes' lenient reading (anything but '0' and 'false' is true), integers are
strict. Combinations that make no sense are refused as 422 on ListOptions, all of them at once.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from allaboard.api.errors import BadRequest
from allaboard.api.fields import FieldError, forbidden, invalid, not_supported, required
from allaboard.cluster.server.refusals import bad_version

Query = Mapping[str, str]
EXACT, NOT_OLDER = "Exact", "NotOlderThan"
POLICIES = ("Foreground", "Background", "Orphan")
VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_INTEGER = re.compile(r"[+-]?\d+")
_PIECE = r"(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h)"
_DURATION = re.compile(rf"[+-]?{_PIECE}(?:{_PIECE})*|0")
INT64 = 2**63


def boolean(query: Query, name: str) -> bool:
    text = query.get(name)
    return text is not None and text.lower() not in ("", "0", "false", "f")


def integer(query: Query, name: str) -> int | None:
    text = query.get(name)
    if text is None or text == "":
        return None
    if not _INTEGER.fullmatch(text):
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    value = int(text)
    if not -INT64 <= value < INT64:
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": value out of range')
    return value


def revision(text: str) -> int:
    """A resourceVersion as a number; '' is 0."""
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        raise bad_version(text[:100])
    return int(text)


def check_timeout(query: Query) -> None:
    text = query.get("timeout")
    if text and not _DURATION.fullmatch(text):
        raise BadRequest(
            f'invalid timeout specified in the request URL - time: invalid duration "{text[:100]}"'
        )


@dataclass(slots=True)
class ListOptions:
    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    token: str = ""
    version: str = ""
    match: str = ""
    timeout_s: int | None = None
    bookmarks: bool = False
    initial_events: bool | None = None

    @staticmethod
    def parse(query: Query, watching: bool) -> "ListOptions":
        if not query:
            return ListOptions()
        initial = boolean(query, "sendInitialEvents") if "sendInitialEvents" in query else None
        options = ListOptions(
            query.get("labelSelector", ""),
            query.get("fieldSelector", ""),
            max(0, integer(query, "limit") or 0),
            query.get("continue", ""),
            query.get("resourceVersion", ""),
            query.get("resourceVersionMatch", ""),
            integer(query, "timeoutSeconds"),
            boolean(query, "allowWatchBookmarks"),
            initial,
        )
        problems = options._watch_problems() if watching else options._list_problems()
        if problems:
            raise invalid("ListOptions", "meta.k8s.io", "", problems)
        return options

    def _list_problems(self) -> list[FieldError]:
        found, name = [], "resourceVersionMatch"
        if self.match:
            if self.token:
                found.append(forbidden(name, f"{name} is forbidden when continue is provided"))
            if not self.version:
                found.append(
                    forbidden(name, f"{name} is forbidden unless resourceVersion is provided")
                )
            if self.match not in (EXACT, NOT_OLDER):
                found.append(not_supported(name, self.match, (EXACT, NOT_OLDER, "")))
            if self.match == EXACT and self.version == "0":
                found.append(
                    forbidden(name, f'{name} "exact" is forbidden for resourceVersion "0"')
                )
        if self.initial_events is not None:
            found.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
        return found

    def _watch_problems(self) -> list[FieldError]:
        name = "resourceVersionMatch"
        if self.token:
            return [forbidden(name, f"{name} is forbidden when continue is provided")]
        found = []
        if self.initial_events is not None:
            if self.match != NOT_OLDER:
                found.append(
                    forbidden(name, f"sendInitialEvents requires setting {name} to {NOT_OLDER}")
                )
            if self.match and self.match != NOT_OLDER:
                found.append(not_supported(name, self.match, (NOT_OLDER,)))
        elif self.match:
            found.append(
                forbidden(
                    name, f"{name} is forbidden for watch unless sendInitialEvents is provided"
                )
            )
        return found


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """CreateOptions, UpdateOptions and PatchOptions in one; shared by equal requests."""

    kind: str
    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = ""
    force: bool | None = None

    @staticmethod
    def parse(query: Query, kind: str, is_apply: bool = False) -> "WriteOptions":
        return _write_options(tuple(query.items()), kind, is_apply)

    @staticmethod
    def read(query: Query, kind: str, is_apply: bool) -> "WriteOptions":
        dry = query.get("dryRun", "")
        options = WriteOptions(
            kind,
            bool(dry),
            query.get("fieldManager", ""),
            query.get("fieldValidation", ""),
            boolean(query, "force") if "force" in query else None,
        )
        problems: list[FieldError] = []
        if kind == "PatchOptions":
            problems += options._apply_problems(is_apply)
        if options.field_validation and options.field_validation not in VALIDATIONS:
            problems.append(not_supported("fieldValidation", options.field_validation, VALIDATIONS))
        problems += manager_problems(options.field_manager)
        problems += dry_run_problems(dry)
        if problems:
            raise invalid(kind, "meta.k8s.io", "", problems)
        return options

    def _apply_problems(self, is_apply: bool) -> list[FieldError]:
        if is_apply and not self.field_manager:
            return [required("fieldManager", "is required for apply patch")]
        if not is_apply and self.force is not None:
            return [forbidden("force", "may not be specified for non-apply patch")]
        return []

    def to_json(self) -> dict[str, object]:
        """As admission webhooks are shown it."""
        shown: dict[str, object] = {"kind": self.kind, "apiVersion": "meta.k8s.io/v1"}
        if self.dry_run:
            shown["dryRun"] = ["All"]
        if self.force is not None:
            shown["force"] = self.force
        if self.field_manager:
            shown["fieldManager"] = self.field_manager
        if self.field_validation:
            shown["fieldValidation"] = self.field_validation
        return shown


@lru_cache(maxsize=1024)
def _write_options(query: tuple[tuple[str, str], ...], kind: str, is_apply: bool) -> WriteOptions:
    return WriteOptions.read(dict(query), kind, is_apply)


@lru_cache(maxsize=1024)
def shown_options(options: WriteOptions) -> dict[str, object]:
    """As admission is shown them; admission does not change them."""
    return options.to_json()


def manager_problems(manager: str) -> list[FieldError]:
    found = []
    if len(manager) > 128:
        found.append(
            FieldError(
                "FieldValueTooLong", "fieldManager", "Too long: may not be more than 128 bytes"
            )
        )
    for position, character in enumerate(manager):
        if not character.isprintable():
            code = ord(character)
            quoted = manager.replace(character, f"\\x{code:02x}" if code < 256 else "?")
            text = f'Invalid value: "{quoted}": invalid character U+{code:04X}'
            found.append(
                FieldError("FieldValueInvalid", "fieldManager", f"{text} (at position {position})")
            )
            break
    return found


def dry_run_problems(value: str) -> list[FieldError]:
    return [] if value in ("", "All") else [not_supported("dryRun", [value], ("All",))]


@lru_cache(maxsize=512)
def _manager_from_agent(user_agent: str) -> str:
    prefix = user_agent.partition("/")[0] or "unknown"
    return "".join(c for c in prefix if c.isprintable())[:128]


def manager_of(options: WriteOptions, user_agent: str) -> str:
    """The field manager: the given one, else the start of the User-Agent, at most 128 bytes."""
    if options.field_manager:
        return options.field_manager
    return _manager_from_agent(user_agent)
