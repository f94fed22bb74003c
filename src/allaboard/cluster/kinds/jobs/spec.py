"""Is a Job legal, and what does the server fill in?"""

from allaboard.api import names
from allaboard.api.fields import (
    FieldError,
    bad_value,
    not_supported,
    required,
    too_long,
)
from allaboard.api.meta import Json
from allaboard.cluster.kinds.jobs.policies import (
    validate_failure_policy,
    validate_success_policy,
)
from allaboard.cluster.kinds.pods.defaults import default_pod_spec
from allaboard.cluster.kinds.pods.spec import validate_template
from allaboard.cluster.kinds.selectors import (
    matches,
    shown,
    shown_labels,
    validate_label_selector,
)

NOT_NEGATIVE = "must be greater than or equal to 0"
_INDEXED_ONLY = "requires indexed completion mode"
_MAX_INT32 = 2147483647
_MAX_PARALLELISM = 100_000
_MAX_FAILED = 100_000
_MANY_COMPLETIONS = 100_000
_MAX_WITH_MANY = 10_000
_MANY = (
    f"must be less than or equal to {_MAX_WITH_MANY} when completions are above "
    f"{_MANY_COMPLETIONS} and used with backoff limit per index"
)
_COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
    "ttlSecondsAfterFinished", "backoffLimitPerIndex",
)  # fmt: skip
_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")


def default_job(obj: Json) -> None:
    spec = obj.get("spec")
    if spec is None:
        spec = obj["spec"] = {}
    default_job_template(spec)
    if spec.get("parallelism") is None:
        if spec.get("completions") is None:
            spec["completions"] = 1
        spec["parallelism"] = 1
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else _MAX_INT32
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    policy = spec.get("podFailurePolicy")
    if policy:
        for rule in policy.get("rules") or ():
            for pattern in rule.get("onPodConditions") or ():
                if not pattern.get("status"):
                    pattern["status"] = "True"
    if spec.get("podReplacementPolicy") is None:
        spec["podReplacementPolicy"] = "Failed" if policy else "TerminatingOrFailed"
    for condition in (obj.get("status") or {}).get("conditions") or ():
        for key in ("lastProbeTime", "lastTransitionTime"):
            if key not in condition:
                condition[key] = None
    copy_labels(obj)


def default_job_template(spec: Json) -> None:
    """The part of the defaults that a CronJob's job template gets too."""
    template = spec.get("template")
    if template is None:
        template = spec["template"] = {}
    if "metadata" not in template:
        template["metadata"] = {}
    if "spec" not in template:
        template["spec"] = {}
    default_pod_spec(template["spec"])


def copy_labels(obj: Json) -> None:
    """A Job without labels of its own carries its template's: the very same map, so that those
    generated for the template appear on the Job too."""
    meta = obj["metadata"]
    if not meta.get("labels"):
        labels = obj["spec"]["template"]["metadata"].get("labels")
        if labels:
            meta["labels"] = labels


def separate_labels(obj: Json) -> None:
    """Before it is stored: nobody who copies the object and changes one map changes two."""
    meta, template = obj["metadata"], obj["spec"]["template"].get("metadata") or {}
    if meta.get("labels") and meta["labels"] is template.get("labels"):
        meta["labels"] = dict(template["labels"])


def generate_selector(obj: Json) -> None:
    """Labels and a selector that no other Job shares, unless the author brings their own."""
    spec, meta = obj["spec"], obj["metadata"]
    if spec.get("manualSelector"):
        return
    template = spec["template"] = dict(spec["template"])
    template_meta = template["metadata"] = dict(template.get("metadata") or {})
    borrowed = meta.get("labels") is None or meta["labels"] is template_meta.get("labels")
    labels = template_meta["labels"] = dict(template_meta.get("labels") or {})
    for key in _NAME_LABELS:
        labels.setdefault(key, meta.get("name", ""))
    for key in _UID_LABELS:
        labels.setdefault(key, meta.get("uid", ""))
    selector = spec["selector"] = dict(spec.get("selector") or {})
    wanted = selector["matchLabels"] = dict(selector.get("matchLabels") or {})
    wanted.setdefault(_UID_LABELS[1], meta.get("uid", ""))
    if borrowed:
        meta["labels"] = labels


def validate_job(obj: Json) -> list[FieldError]:
    """A Job without its metadata."""
    out: list[FieldError] = []
    spec, meta = obj["spec"], obj["metadata"]
    _generated_selector(spec, meta, out)
    validate_job_spec(spec, "spec", out)
    completions = spec.get("completions")
    if spec.get("completionMode") == "Indexed" and completions and completions > 0:
        name = meta.get("name") or ""
        hostname = f"{name}-{completions - 1}"
        if names.label_problems(hostname):
            detail = f"will not able to create pod with invalid DNS label: {hostname}"
            out.append(bad_value("metadata.name", name, detail))
    return out


def _generated_selector(spec: Json, meta: Json, out: list[FieldError]) -> None:
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    labels = spec["template"]["metadata"].get("labels") or {}
    uid, name = meta.get("uid", ""), meta.get("name", "")
    expected = {
        _UID_LABELS[0]: uid,
        _NAME_LABELS[0]: name,
        _UID_LABELS[1]: uid,
        _NAME_LABELS[1]: name,
    }
    for key, value in expected.items():
        actual = labels.get(key)
        if actual == value:
            continue
        path = f"spec.template.metadata.labels[{key}]"
        if actual is None:
            out.append(required(path, f"must be '{value}'"))
        else:
            out.append(bad_value(path, shown_labels(labels), f"must be '{value}'"))
    if not matches(selector, expected):
        detail = "`selector` not auto-generated"
        out.append(bad_value("spec.selector", shown(selector), detail))


def validate_job_spec(spec: Json, path: str, out: list[FieldError]) -> None:
    validate_job_template(spec, path, out)
    selector = spec.get("selector")
    if selector is None:
        out.append(required(f"{path}.selector"))
    else:
        out += validate_label_selector(selector, f"{path}.selector")
    labels = spec["template"]["metadata"].get("labels")
    if not matches(selector, labels or {}):
        detail = "`selector` does not match template `labels`"
        at = f"{path}.template.metadata.labels"
        out.append(bad_value(at, shown_labels(labels), detail))


def validate_job_template(spec: Json, path: str, out: list[FieldError]) -> None:
    """Everything but the selector, which a CronJob's template has none of."""
    for key in _COUNTS:
        value = spec.get(key)
        if value is not None and value < 0:
            out.append(bad_value(f"{path}.{key}", value, NOT_NEGATIVE))
    failed = spec.get("maxFailedIndexes")
    if failed is not None:
        if failed < 0:
            out.append(bad_value(f"{path}.maxFailedIndexes", failed, NOT_NEGATIVE))
        if spec.get("backoffLimitPerIndex") is None:
            detail = "when maxFailedIndexes is specified"
            out.append(required(f"{path}.backoffLimitPerIndex", detail))
    if spec.get("managedBy") is not None:
        _managed_by(spec["managedBy"], f"{path}.managedBy", out)
    mode = spec.get("completionMode")
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        allowed = ("NonIndexed", "Indexed")
        out.append(not_supported(f"{path}.completionMode", mode, allowed))
    if mode == "Indexed":
        _indexed(spec, path, out)
    elif mode in (None, "NonIndexed"):
        for key in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(key) is not None:
                out.append(bad_value(f"{path}.{key}", spec[key], _INDEXED_ONLY))
    if spec.get("podFailurePolicy") is not None:
        validate_failure_policy(spec, f"{path}.podFailurePolicy", out)
    if spec.get("successPolicy") is not None:
        if mode == "Indexed":
            validate_success_policy(spec, f"{path}.successPolicy", out)
        else:
            value = go_success_policy(spec["successPolicy"])
            out.append(bad_value(f"{path}.successPolicy", value, _INDEXED_ONLY))
    _replacement(spec, path, out)
    validate_template(spec["template"], f"{path}.template", out)
    _restart_policy(spec, f"{path}.template.spec.restartPolicy", out)


def _restart_policy(spec: Json, path: str, out: list[FieldError]) -> None:
    policy = spec["template"]["spec"].get("restartPolicy") or ""
    if policy in ("", "Always"):
        out.append(required(path, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        out.append(not_supported(path, policy, ("OnFailure", "Never")))
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        out.append(bad_value(path, policy, detail))


def _replacement(spec: Json, path: str, out: list[FieldError]) -> None:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return
    allowed: tuple[str, ...] = ("Failed", "TerminatingOrFailed")
    if spec.get("podFailurePolicy") is not None:
        allowed = allowed[:1]
    if policy not in allowed:
        out.append(not_supported(f"{path}.podReplacementPolicy", policy, allowed))


def _managed_by(value: str, path: str, out: list[FieldError]) -> None:
    domain, slash, rest = value.partition("/")
    if not value:
        out.append(required(path))
    elif not slash or not domain or not rest:
        detail = 'must be a domain-prefixed path (such as "acme.io/foo")'
        out.append(bad_value(path, value, detail))
    else:
        out += [bad_value(path, domain, p) for p in names.subdomain_problems(domain)]
    if len(value.encode()) > 63:
        out.append(too_long(path, 63))


def _indexed(spec: Json, path: str, out: list[FieldError]) -> None:
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        out.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism > _MAX_PARALLELISM:
        detail = f"must be less than or equal to {_MAX_PARALLELISM} when completion mode is Indexed"
        out.append(bad_value(f"{path}.parallelism", parallelism, detail))
    if completions is not None and failed is not None and failed > completions:
        detail = "must be less than or equal to completions"
        out.append(bad_value(f"{path}.maxFailedIndexes", failed, detail))
    if failed is not None and failed > _MAX_FAILED:
        detail = f"must be less than or equal to {_MAX_FAILED}"
        out.append(bad_value(f"{path}.maxFailedIndexes", failed, detail))
    if (completions or 0) > _MANY_COMPLETIONS and spec.get("backoffLimitPerIndex") is not None:
        if failed is None:
            detail = f"must be specified when completions is above {_MANY_COMPLETIONS}"
            out.append(required(f"{path}.maxFailedIndexes", detail))
        if parallelism > _MAX_WITH_MANY:
            out.append(bad_value(f"{path}.parallelism", parallelism, _MANY))
        if failed is not None and failed > _MAX_WITH_MANY:
            out.append(bad_value(f"{path}.maxFailedIndexes", failed, _MANY))


def go_success_policy(policy: Json) -> Json:
    """The policy as Kubernetes prints it in messages."""
    return {
        "Rules": [
            {
                "SucceededIndexes": rule.get("succeededIndexes"),
                "SucceededCount": rule.get("succeededCount"),
            }
            for rule in policy.get("rules") or ()
        ]
    }


def go_failure_policy(policy: Json) -> Json:
    """The policy as Kubernetes prints it in messages."""
    rules = []
    for rule in policy.get("rules") or ():
        codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions")
        rules.append(
            {
                "Action": rule.get("action"),
                "OnExitCodes": codes
                and {
                    "ContainerName": codes.get("containerName"),
                    "Operator": codes.get("operator"),
                    "Values": codes.get("values"),
                },
                "OnPodConditions": patterns
                and [{"Type": p.get("type"), "Status": p.get("status")} for p in patterns],
            }
        )
    return {"Rules": rules}
