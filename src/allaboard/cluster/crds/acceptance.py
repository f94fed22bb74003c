"""May this CustomResourceDefinition be stored?

Names, versions, subresources, columns, selectable fields, conversion and stored versions, in the
order Kubernetes reports them. What all versions say alike is reported once, under the path it had
before versions existed (`spec.validation`, `spec.subresources`, …): Kubernetes still thinks so.
"""

from typing import Any
from urllib.parse import urlsplit

from allaboard.api import names as syntax
from allaboard.api.fields import (
    FieldError,
    bad_value,
    duplicate,
    forbidden,
    not_supported,
    required,
    too_many,
)
from allaboard.api.meta import Json
from allaboard.cluster.crds.jsonpath import Name, is_field_path, parse
from allaboard.cluster.crds.structural import check_schema

APPROVAL = "api-approved.kubernetes.io"
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (
    "int32", "int64", "float", "double", "byte", "date", "date-time", "password",
)  # fmt: skip
_REVIEW_VERSIONS = ("v1", "v1beta1")
_MAX_SELECTABLE = 8
_SELECTABLE_TYPES = ("string", "boolean", "integer")
_IMMUTABLE = "field is immutable"


def name_problems(crd: Json, name: str) -> list[str]:
    """What is wrong with `metadata.name`."""
    spec = crd.get("spec") or {}
    found = syntax.subdomain_problems(name)
    wanted = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"
    if name != wanted:
        found.append('must be spec.names.plural+"."+spec.group')
    return found


def check_definition(crd: Json) -> list[FieldError]:
    """Everything against a definition but its metadata."""
    spec = crd.get("spec") or {}
    found = _spec(spec)
    found += _stored_versions(crd.get("status") or {}, spec)
    found += _approval(crd)
    if spec.get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in"
            " spec.versions[*].schema instead"
        )
        found.append(bad_value("spec.preserveUnknownFields", True, detail))
    return found


def check_change(crd: Json, old: Json) -> list[FieldError]:
    """What may not change: the group and plural ever, scope and kind once it is served."""
    spec, before = crd.get("spec") or {}, old.get("spec") or {}
    names, old_names = spec.get("names") or {}, before.get("names") or {}
    found: list[FieldError] = []
    if is_true(old, "Established"):
        if spec.get("scope") != before.get("scope"):
            found.append(bad_value("spec.scope", spec.get("scope"), _IMMUTABLE))
        if names.get("kind") != old_names.get("kind"):
            found.append(bad_value("spec.names.kind", names.get("kind"), _IMMUTABLE))
    if spec.get("group") != before.get("group"):
        found.append(bad_value("spec.group", spec.get("group"), _IMMUTABLE))
    if names.get("plural") != old_names.get("plural"):
        found.append(bad_value("spec.names.plural", names.get("plural"), _IMMUTABLE))
    return found


def is_true(crd: Json, condition: str) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == condition and c.get("status") == "True" for c in conditions)


def is_protected(group: str) -> bool:
    """Groups of the community, where a definition says who approved it."""
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def _spec(spec: Json) -> list[FieldError]:
    found: list[FieldError] = []
    group = spec.get("group") or ""
    if not group:
        found.append(required("spec.group"))
    elif problems := syntax.subdomain_problems(group):
        found.append(bad_value("spec.group", group, ",".join(problems)))
    elif "." not in group:
        found.append(bad_value("spec.group", group, "should be a domain with at least one dot"))
    scope = spec.get("scope") or ""
    if not scope:
        found.append(required("spec.scope"))
    elif scope not in ("Cluster", "Namespaced"):
        found.append(not_supported("spec.scope", scope, ("Cluster", "Namespaced")))
    found += _versions(spec.get("versions") or [])
    found += _names(spec.get("names") or {})
    found += _shared(spec.get("versions") or [])
    found += _conversion(spec.get("conversion") or {})
    return found


def _shared_words(versions: list[Json]) -> dict[str, bool]:
    """Which parts all versions say alike."""
    words = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
    return {w: all(v.get(w) == versions[0].get(w) for v in versions) for w in words}


def _versions(versions: list[Json]) -> list[FieldError]:
    found: list[FieldError] = []
    if not versions:
        detail = "must have exactly one version marked as storage version"
        return [bad_value("spec.versions", [], detail)]
    shared = _shared_words(versions)
    for index, version in enumerate(versions):
        if _schema(version) is None:
            found.append(required(f"spec.versions[{index}].schema.openAPIV3Schema"))
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        if problems := syntax.label_1035_problems(version.get("name") or ""):
            found.append(bad_value(f"{path}.name", version.get("name") or "", ",".join(problems)))
        if not shared["schema"] and _schema(version) is not None:
            has_status = _has_status(version)
            found += _validation(version, f"{path}.schema.openAPIV3Schema", has_status)
        if not shared["subresources"]:
            found += _subresources(version, f"{path}.subresources")
        if not shared["additionalPrinterColumns"]:
            found += _columns(version, f"{path}.additionalPrinterColumns")
        if not shared["selectableFields"]:
            found += _selectable(version, f"{path}.selectableFields")
        if version.get("deprecationWarning") is not None:
            found += _warning(version, f"{path}.deprecationWarning")
    names = [v.get("name") for v in versions]
    if len(set(names)) < len(names):
        shown = _as_go(versions, shared)
        found.append(bad_value("spec.versions", shown, "must contain unique version names"))
    if sum(bool(v.get("storage")) for v in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        found.append(bad_value("spec.versions", _as_go(versions, shared), detail))
    if problems := syntax.label_1035_problems(names[0] or ""):
        found.append(bad_value("spec.version", names[0] or "", ",".join(problems)))
    return found


def _shared(versions: list[Json]) -> list[FieldError]:
    if not versions:
        return []
    shared, first = _shared_words(versions), versions[0]
    found: list[FieldError] = []
    if shared["schema"] and _schema(first) is not None:
        has_status = any(_has_status(v) for v in versions)
        found += _validation(first, "spec.validation.openAPIV3Schema", has_status)
    if shared["subresources"]:
        found += _subresources(first, "spec.subresources")
    if shared["additionalPrinterColumns"]:
        found += _columns(first, "spec.additionalPrinterColumns")
    if shared["selectableFields"]:
        found += _selectable(first, "spec.selectableFields")
    return found


def _schema(version: Json) -> Json | None:
    return (version.get("schema") or {}).get("openAPIV3Schema")


def _has_status(version: Json) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _as_go(versions: list[Json], shared: dict[str, bool]) -> list[Json]:
    """Versions as Kubernetes prints them in an error: its internal struct as JSON."""
    return [
        {
            "Name": v.get("name", ""),
            "Served": bool(v.get("served")),
            "Storage": bool(v.get("storage")),
            "Deprecated": bool(v.get("deprecated")),
            "DeprecationWarning": v.get("deprecationWarning"),
            "Schema": None if shared["schema"] else v.get("schema"),
            "Subresources": None if shared["subresources"] else v.get("subresources"),
            "AdditionalPrinterColumns": None,
            "SelectableFields": None,
        }
        for v in versions
    ]


def _warning(version: Json, path: str) -> list[FieldError]:
    text = version["deprecationWarning"]
    if not version.get("deprecated"):
        return [bad_value(path, text, "can only be set for deprecated versions")]
    if not text:
        return [bad_value(path, text, "must not be an empty string")]
    if len(text.encode()) > 256:
        return [bad_value(path, text, "must be <= 256 bytes in length")]
    return []


def _names(names: Json) -> list[FieldError]:
    found = [required(f"spec.names.{k}") for k in ("plural", "singular", "kind", "listKind")
             if not names.get(k)]  # fmt: skip
    for key in ("plural", "singular"):
        word = names.get(key)
        if word and (problems := syntax.label_1035_problems(word)):
            found.append(bad_value(f"spec.names.{key}", word, ",".join(problems)))
    for key in ("kind", "listKind"):
        word = names.get(key)
        if word and (problems := syntax.label_1035_problems(word.lower())):
            detail = f"may have mixed case, but should otherwise match: {','.join(problems)}"
            found.append(bad_value(f"spec.names.{key}", word, detail))
    for key in ("shortNames", "categories"):
        for index, word in enumerate(names.get(key) or ()):
            if problems := syntax.label_1035_problems(word):
                found.append(bad_value(f"spec.names.{key}[{index}]", word, ",".join(problems)))
        if key == "shortNames" and names.get("kind") and names["kind"] == names.get("listKind"):
            detail = "kind and listKind may not be the same"
            found.append(bad_value("spec.names.listKind", names["listKind"], detail))
    return found


def _validation(version: Json, path: str, has_status: bool) -> list[FieldError]:
    schema = _schema(version) or {}
    found: list[FieldError] = []
    kind = schema.get("type")
    if has_status and kind and kind != "object":
        detail = (
            'only "object" is allowed as the type at the root of the schema if the status'
            " subresource is enabled"
        )
        found.append(bad_value(f"{path}.type", kind, detail))
    return found + check_schema(schema, path)


def _subresources(version: Json, path: str) -> list[FieldError]:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return []
    found: list[FieldError] = []
    for word, under in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        text = scale.get(word) or ""
        place = f"{path}.scale.{word}"
        if not text:
            found.append(required(place))
        elif not is_field_path(text):
            found.append(bad_value(place, text, "must be a simple json path starting with ."))
        elif not text.startswith(under):
            detail = f"should be a json path under {under[:-1]}"
            found.append(bad_value(place, text, detail))
    text = scale.get("labelSelectorPath") or ""
    place = f"{path}.scale.labelSelectorPath"
    if text and not is_field_path(text):
        found.append(bad_value(place, text, "must be a simple json path starting with ."))
    elif text and not text.startswith((".spec.", ".status.")):
        detail = "should be a json path under either .status or .spec"
        found.append(bad_value(place, text, detail))
    return found


def _columns(version: Json, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        place = f"{path}[{index}]"
        allowed = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not column.get("name"):
            found.append(required(f"{place}.name"))
        if not column.get("type"):
            found.append(required(f"{place}.type", allowed))
        elif column["type"] not in _COLUMN_TYPES:
            found.append(bad_value(f"{place}.type", column["type"], allowed))
        if column.get("format") and column["format"] not in _COLUMN_FORMATS:
            detail = f"must be one of {','.join(sorted(_COLUMN_FORMATS))}"
            found.append(bad_value(f"{place}.format", column["format"], detail))
        text = column.get("jsonPath") or ""
        if not text:
            found.append(required(f"{place}.JSONPath"))
        elif not text.startswith("."):
            detail = "must be a simple json path starting with ."
            found.append(bad_value(f"{place}.JSONPath", text, detail))
        elif parse(text) is None:
            found.append(bad_value(f"{place}.JSONPath", text, "is an invalid path"))
    return found


def _selectable(version: Json, path: str) -> list[FieldError]:
    entries = version.get("selectableFields") or ()
    found: list[FieldError] = []
    if len(entries) > _MAX_SELECTABLE:
        found.append(too_many(path, len(entries), _MAX_SELECTABLE))
    seen: dict[str, None] = {}
    for index, entry in enumerate(entries):
        text = entry.get("jsonPath") or ""
        place = f"{path}[{index}].jsonPath"
        if not text:
            found.append(required(place))
            continue
        if text in seen:
            found.append(duplicate(place, text))
        seen[text] = None
        target = _schema_at(_schema(version) or {}, text)
        if target is None:
            detail = "is an invalid path: does not refer to a valid field"
            found.append(bad_value(place, text, detail))
        elif target.get("type") not in _SELECTABLE_TYPES:
            detail = (
                "must point to a field of type string, boolean or integer. Enum string fields and"
                " strings with formats are allowed."
            )
            found.append(bad_value(place, text, detail))
    return found


def _schema_at(schema: Json, path: str) -> Json | None:
    steps = parse(path)
    if not steps or not path.startswith(".") or path.startswith(".metadata"):
        return None
    for step in steps:
        if not isinstance(step, Name):
            return None
        found = (schema.get("properties") or {}).get(step.name)
        if found is None:
            return None
        schema = found
    return schema


def _conversion(conversion: Json) -> list[FieldError]:
    strategy, hook = conversion.get("strategy"), conversion.get("webhook")
    path = "spec.conversion"
    if not strategy:
        return [required(f"{path}.strategy")]
    if strategy not in ("None", "Webhook"):
        return [not_supported(f"{path}.strategy", strategy, ("None", "Webhook"))]
    if strategy == "None":
        if hook and hook.get("clientConfig"):
            detail = "should not be set when strategy is not set to Webhook"
            return [forbidden(f"{path}.webhookClientConfig", detail)]
        return []
    found: list[FieldError] = []
    hook = hook or {}
    if not hook.get("clientConfig"):
        detail = "required when strategy is set to Webhook"
        found.append(required(f"{path}.webhookClientConfig", detail))
    else:
        found += check_client_config(hook["clientConfig"], f"{path}.webhookClientConfig")
    found += check_review_versions(
        hook.get("conversionReviewVersions") or [], f"{path}.conversionReviewVersions"
    )
    return found


def check_review_versions(versions: list[str], path: str) -> list[FieldError]:
    if not versions:
        return [required(path)]
    found: list[FieldError] = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            found.append(bad_value(f"{path}[{index}]", version, "duplicate version"))
        elif problems := syntax.label_1035_problems(version):
            found.append(bad_value(f"{path}[{index}]", version, ",".join(problems)))
    if not any(v in _REVIEW_VERSIONS for v in versions):
        detail = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        found.append(bad_value(path, versions, detail))
    return found


def check_client_config(config: Json, path: str) -> list[FieldError]:
    """Where a webhook is: exactly one of url and service, and a usable one."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None:
        return _url(url, f"{path}.url")
    return _service(service or {}, f"{path}.service")


def _url(url: str, path: str) -> list[FieldError]:
    form = "desired format: https://host[/path]"
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        return [bad_value(path, url, f"url must be a valid URL: {error}; {form}")]
    found: list[FieldError] = []
    if parts.scheme != "https":
        detail = f"'https' is the only allowed URL scheme; {form}"
        found.append(bad_value(path, parts.scheme, detail))
    if not host:
        found.append(bad_value(path, "", f"host must be specified; {form}"))
    if parts.username is not None:
        detail = "user information is not permitted in the URL"
        found.append(bad_value(path, parts.username, detail))
    if parts.fragment:
        found.append(bad_value(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        detail = "query parameters are not permitted in the URL"
        found.append(bad_value(path, parts.query, detail))
    return found


def _service(service: Json, path: str) -> list[FieldError]:
    found = [
        required(f"{path}.{word}", f"service {word} is required")
        for word in ("name", "namespace")
        if not service.get(word)
    ]
    text = service.get("path")
    if text is not None and not text.startswith("/"):
        found.append(bad_value(f"{path}.path", text, "must start with a '/'"))
    port: Any = service.get("port", 443)
    if not 1 <= port <= 65535:
        detail = "port is not valid: must be between 1 and 65535, inclusive"
        found.append(bad_value(f"{path}.port", port, detail))
    return found


def _stored_versions(status: Json, spec: Json) -> list[FieldError]:
    stored = status.get("storedVersions")
    path = "status.storedVersions"
    if not stored:
        return [bad_value(path, stored, "must have at least one stored version")]
    names = [v.get("name") for v in spec.get("versions") or ()]
    found: list[FieldError] = []
    for index, name in enumerate(stored):
        if name not in names:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must"
                " remain in spec.versions until a storage migration ensures no data remains"
                f" persisted in {name} and removes {name} from status.storedVersions"
            )
            found.append(bad_value(f"{path}[{index}]", name, detail))
    return found


def _approval(crd: Json) -> list[FieldError]:
    if not is_protected((crd.get("spec") or {}).get("group") or ""):
        return []
    text = ((crd.get("metadata") or {}).get("annotations") or {}).get(APPROVAL) or ""
    path = f"metadata.annotations[{APPROVAL}]"
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    if not text:
        detail = f'protected groups must have approval annotation "{APPROVAL}", {see}'
        return [required(path, detail)]
    is_url = urlsplit(text).scheme in ("http", "https") and bool(urlsplit(text).netloc)
    if not is_url and not text.startswith("unapproved"):
        detail = (
            f'protected groups must have approval annotation "{APPROVAL}" with either a URL or a'
            f' reason starting with "unapproved", {see}'
        )
        return [bad_value(path, text, detail)]
    return []
