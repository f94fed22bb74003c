"""Is this string a legal name, label or qualified key? The syntax rules shared by every kind.

Each `*_problems` function returns the sentences Kubernetes uses for what is wrong, none when the
string is fine. All patterns are linear in the length of their input.
"""

import re
from functools import lru_cache

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + r"(\." + _LABEL + r")*"
_LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME_PART = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"
_ENV = r"[-._a-zA-Z][-._a-zA-Z0-9]*"
_C_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"

is_label = re.compile(_LABEL).fullmatch
# As `_SUBDOMAIN`, which the messages quote, but possessive: a megabyte of "a.a.a" takes no stack.
_DNS_LABEL = _LABEL.replace("(", "(?:")
is_subdomain = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*+").fullmatch
is_label_1035 = re.compile(_LABEL_1035).fullmatch
is_name_part = re.compile(_NAME_PART).fullmatch
is_label_value = re.compile(_VALUE).fullmatch
is_config_key = re.compile(_CONFIG_KEY).fullmatch
is_env_name = re.compile(r"[ -<>-~]+").fullmatch  # printable ASCII but '='
is_c_identifier = re.compile(_C_IDENTIFIER).fullmatch
is_port_name = re.compile(r"[-a-z0-9]+").fullmatch

LABEL_MESSAGE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    f"for validation is '{_LABEL}')"
)
SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN}')"
)
LABEL_1035_MESSAGE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    f"regex used for validation is '{_LABEL_1035}')"
)
_NAME_PART_TAIL = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_NAME_PART}')"
)
_KEY_SHAPE = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_LABEL_VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    f"or '12345', regex used for validation is '{_VALUE}')"
)
CONFIG_KEY_MESSAGE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    f"'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_CONFIG_KEY}')"
)


def too_long_message(limit: int, unit: str = "characters") -> str:
    return f"must be no more than {limit} {unit}"


def label_problems(text: str) -> list[str]:
    """A DNS label: names of containers, namespaces, volumes."""
    problems = []
    if len(text) > 63:
        problems.append(too_long_message(63))
    if not is_label(text):
        problems.append(LABEL_MESSAGE)
    return problems


def subdomain_problems(text: str) -> list[str]:
    """A DNS subdomain: most object names."""
    if len(text) <= 253 and is_subdomain(text):
        return []
    problems = []
    if len(text) > 253:
        problems.append(too_long_message(253))
    if not is_subdomain(text):
        problems.append(SUBDOMAIN_MESSAGE)
    return problems


def label_1035_problems(text: str) -> list[str]:
    """A DNS label that starts with a letter: names of Services and StatefulSet pods."""
    problems = []
    if len(text) > 63:
        problems.append(too_long_message(63))
    if not is_label_1035(text):
        problems.append(LABEL_1035_MESSAGE)
    return problems


def path_segment_problems(text: str) -> list[str]:
    """A name that only has to survive in a URL: RBAC roles, Events' subjects."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{bad}'" for bad in ("/", "%") if bad in text]


@lru_cache(maxsize=8192)
def _key_problems(key: str, label: bool) -> tuple[str, ...]:
    prefix, slash, name = key.rpartition("/")
    tail = _NAME_PART_TAIL
    if slash and "/" in prefix:
        subject = "a valid label key " if label else "a qualified name "
        return (subject + tail + _KEY_SHAPE,)
    problems = []
    if slash:
        if not prefix:
            problems.append("prefix part must be non-empty")
        elif len(prefix) > 253 or not is_subdomain(prefix):
            problems += [
                f"prefix part {p.replace('characters', 'bytes', 1) if 'no more' in p else p}"
                for p in subdomain_problems(prefix)
            ]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not is_name_part(name):
        problems.append("name part " + tail)
    return tuple(problems)


# most keys at once; what it does not match may still be legal
is_clean_key = re.compile(
    r"(?:[a-z0-9]{1,30}(?:[.-][a-z0-9]{1,30}){0,6}/)?"
    r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
).fullmatch


def qualified_name_problems(key: str) -> list[str]:
    """`[prefix/]name`, as annotations, finalizers, resources and condition types use it."""
    return list(_key_problems(key, False)) if len(key) <= 512 else list(_long_key(key, False))


def label_key_problems(key: str) -> list[str]:
    return list(_key_problems(key, True)) if len(key) <= 512 else list(_long_key(key, True))


def _long_key(key: str, label: bool) -> tuple[str, ...]:
    """The same without remembering it: huge keys must not fill the cache."""
    return _key_problems.__wrapped__(key, label)


def label_value_problems(value: str) -> list[str]:
    problems = []
    if len(value) > 63:
        problems.append(too_long_message(63, "bytes"))
    if not is_label_value(value):
        problems.append(_LABEL_VALUE_MESSAGE)
    return problems


def config_key_problems(key: str) -> list[str]:
    """A key of a ConfigMap or Secret, which becomes a file name."""
    problems = []
    if len(key) > 253:
        problems.append(too_long_message(253))
    if not is_config_key(key):
        problems.append(CONFIG_KEY_MESSAGE)
    if key == ".":
        problems.append("must not be '.'")
    elif key == "..":
        problems.append("must not be '..'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def port_name_problems(name: str) -> list[str]:
    """A port's name, as IANA allows service names."""
    problems = []
    if len(name) > 15:
        problems.append(too_long_message(15))
    if not is_port_name(name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    elif not any(c.isalpha() for c in name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def as_prefix(name: str) -> str:
    """A generateName as the name it will begin: a trailing dash will be followed by letters."""
    return name[:-2] + "a" if name.endswith("-") and len(name) > 1 else name
