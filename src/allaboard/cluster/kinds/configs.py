"""Are ConfigMaps and Secrets legal, and what may change in an immutable one?"""

import base64
import binascii
from collections.abc import Iterable

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value, forbidden, required, too_long
from allaboard.api.meta import Json
from allaboard.cluster.kinds.strategy import KindStrategy

MAX_BYTES = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"
_MAX_REPORTED = 100
# the keys a Secret of a well-known type must have
_NEEDED = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


class ConfigMapStrategy(KindStrategy):
    spec_fields = ("data", "binaryData", "immutable")
    label_echo = 2

    def default_spec(self, obj: Json) -> None:
        for key in ("data", "binaryData"):
            if key in obj and not obj[key]:
                del obj[key]

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
        _check_keys(data, "data", out)
        size = 0
        for key in data:
            if key in binary:
                detail = "duplicate of key present in binaryData"
                out.append(bad_value(f"data[{key}]", key, detail))
        size += sum(len(value.encode()) for value in data.values())
        _check_keys(binary, "binaryData", out)
        size += sum(_decoded_size(value) for value in binary.values())
        if size > MAX_BYTES:
            out.append(too_long("[]", MAX_BYTES))
        return out

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        out: list[FieldError] = []
        if old.get("immutable"):
            if not obj.get("immutable"):
                out.append(forbidden("immutable", _FROZEN))
            for key in ("data", "binaryData"):
                if (obj.get(key) or {}) != (old.get(key) or {}):
                    out.append(forbidden(key, _FROZEN))
        return out + super().validate_change(obj, old, subresource)


class SecretStrategy(KindStrategy):
    spec_fields = ("data", "type", "immutable")

    def default_spec(self, obj: Json) -> None:
        if not obj.get("type"):
            obj["type"] = "Opaque"
        text = obj.pop("stringData", None)
        if text:
            encoded = {k: base64.b64encode(v.encode()).decode() for k, v in text.items()}
            obj["data"] = {**(obj.get("data") or {}), **encoded}
        if "data" in obj and not obj["data"]:
            del obj["data"]

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        data = obj.get("data") or {}
        _check_keys(data, "data", out)
        if sum(_decoded_size(value) for value in data.values()) > MAX_BYTES:
            out.append(too_long("data", MAX_BYTES))
        kind = obj.get("type")
        if kind == "kubernetes.io/service-account-token":
            annotations = obj["metadata"].get("annotations") or {}
            if not annotations.get("kubernetes.io/service-account.name"):
                key = "kubernetes.io/service-account.name"
                out.append(required(f"metadata.annotations[{key}]"))
        for key in _NEEDED.get(kind or "", ()):
            if key not in data:
                out.append(required(f"data[{key}]"))
        if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
            out.append(required("data[username]"))
            out.append(required("data[password]"))
        return out

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        out: list[FieldError] = []
        if obj.get("type") != old.get("type"):
            out.append(bad_value("type", obj.get("type"), "field is immutable"))
        if old.get("immutable"):
            if not obj.get("immutable"):
                out.append(forbidden("immutable", _FROZEN))
            if (obj.get("data") or {}) != (old.get("data") or {}):
                out.append(forbidden("data", _FROZEN))
        return out + super().validate_change(obj, old, subresource)


def _check_keys(keys: Iterable[str], path: str, out: list[FieldError]) -> None:
    for key in keys:
        if len(key) > 253 or not names.is_config_key(key) or key[0] == ".":
            if len(out) >= _MAX_REPORTED:
                break
            out += [bad_value(f"{path}[{key}]", key, p) for p in names.config_key_problems(key)]


def _decoded_size(value: str | None) -> int:
    try:
        return len(base64.b64decode(value or ""))
    except binascii.Error:
        return len(value or "")
