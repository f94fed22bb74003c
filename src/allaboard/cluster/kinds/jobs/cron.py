"""Is this a schedule cron would understand?"""

import re

_FIELDS = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("dom", 1, 31, ()),
    (
        "month", 1, 12,
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ),
    ("dow", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)  # fmt: skip
_NAMED = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_EVERY = re.compile(r"@every ([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+")


def schedule_problem(schedule: str) -> str:
    """What is wrong with a schedule, '' if nothing."""
    if schedule in _NAMED or (len(schedule) < 100 and _EVERY.fullmatch(schedule)):
        return ""
    if schedule.startswith("@"):
        return f"unrecognized descriptor: {schedule}"
    if "TZ" in schedule:
        return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    fields = schedule.split()
    if len(fields) != 5:
        return f"expected exactly 5 fields, found {len(fields)}: {fields}"
    for text, (_, low, high, words) in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            if problem := _part_problem(part, low, high, words):
                return problem
    return ""


def _part_problem(part: str, low: int, high: int, words: tuple[str, ...]) -> str:
    span, slash, step = part.partition("/")
    if slash and (not step.isdigit() or int(step[:9]) == 0):
        return f"failed to parse int from {step}"
    if span in ("*", "?"):
        return ""
    for limit in span.split("-", 1):
        if limit.lower() in words:
            continue
        if not limit.isascii() or not limit.isdigit():
            return f"failed to parse int from {limit}"
        value = int(limit[:9])
        if value < low:
            return f"beginning of range ({value}) below minimum ({low}): {part}"
        if value > high:
            return f"end of range ({value}) above maximum ({high}): {part}"
    return ""
