"""Which webhooks want to hear of a write? Rules, selectors and versions, without any calling.

A configuration is compiled once into `Hook`s. A rule that names another version of the same
resource matches too (`matchPolicy: Equivalent`); the review is then in the version the rule names.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from allaboard.api.meta import Json
from allaboard.cluster.admission.chain import AdmissionAttributes
from allaboard.cluster.kinds.selectors import matches
from allaboard.cluster.resource import Resource

EXEMPT_GROUP = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """One webhook of one configuration."""

    configuration: str
    name: str
    client: Json
    rules: tuple[Json, ...]
    fails_closed: bool
    is_exact: bool
    namespaces: Json | None
    objects: Json | None
    side_effects: str
    timeout_s: float
    review_version: str  # the newest both sides speak; '' when there is none
    reinvokes: bool
    conditions: tuple[Json, ...] = field(default=())

    @property
    def key(self) -> tuple[str, str]:
        return self.configuration, self.name


def hooks_of(configurations: Iterable[Json]) -> list[Hook]:
    """The webhooks of all configurations, ordered by configuration name and then as written."""
    ordered = sorted(configurations, key=lambda c: c["metadata"]["name"])
    return [
        _hook(configuration["metadata"]["name"], entry)
        for configuration in ordered
        for entry in configuration.get("webhooks") or ()
    ]


def _hook(configuration: str, entry: Json) -> Hook:
    spoken = [v for v in entry.get("admissionReviewVersions") or () if v in ("v1", "v1beta1")]
    return Hook(
        configuration=configuration,
        name=entry["name"],
        client=entry.get("clientConfig") or {},
        rules=tuple(entry.get("rules") or ()),
        fails_closed=entry.get("failurePolicy", "Fail") != "Ignore",
        is_exact=entry.get("matchPolicy", "Equivalent") == "Exact",
        namespaces=entry.get("namespaceSelector") or None,
        objects=entry.get("objectSelector") or None,
        side_effects=entry.get("sideEffects") or "Unknown",
        timeout_s=float(entry.get("timeoutSeconds") or 10),
        review_version=spoken[0] if spoken else "",
        reinvokes=entry.get("reinvocationPolicy") == "IfNeeded",
        conditions=tuple(entry.get("matchConditions") or ()),
    )


def could_match(hook: Hook, resource: Resource, subresource: str, operation: str) -> bool:
    """Whether a rule names such writes, whatever object and namespace they are about."""
    return any(
        _rule_version(rule, hook.is_exact, resource, subresource, operation, version) is not None
        for rule in hook.rules
        for version in resource.versions
    )


def matched_version(hook: Hook, attributes: AdmissionAttributes) -> str | None:
    """The version the review is in, None when no rule names this write."""
    a = attributes
    for rule in hook.rules:
        scope = rule.get("scope") or "*"
        namespaced = a.resource.namespaced
        if (scope == "Namespaced" and not namespaced) or (scope == "Cluster" and namespaced):
            continue
        found = _rule_version(
            rule, hook.is_exact, a.resource, a.subresource, a.operation, a.version
        )
        if found is not None:
            return found
    return None


def _rule_version(
    rule: Json,
    is_exact: bool,
    resource: Resource,
    subresource: str,
    operation: str,
    version: str,
) -> str | None:
    if not _names(rule.get("operations"), operation) or not _names(
        rule.get("apiGroups"), resource.group
    ):
        return None
    if not _names_resource(rule.get("resources") or (), resource.plural, subresource):
        return None
    versions = rule.get("apiVersions")
    if _names(versions, version):
        return version
    if is_exact:
        return None
    return next((v for v in resource.versions if _names(versions, v)), None)


def _names(listed: list[str] | None, value: str) -> bool:
    return listed is not None and ("*" in listed or value in listed)


def _names_resource(listed: Iterable[str], plural: str, subresource: str) -> bool:
    for entry in listed:
        name, slash, sub = entry.partition("/")
        if name not in ("*", plural):
            continue
        if entry == "*/*" or (sub == "*" if slash else False):
            return True
        if sub == subresource and bool(slash) == bool(subresource):
            return True
    return False


def selects(hook: Hook, attributes: AdmissionAttributes, namespace_labels: Json | None) -> bool:
    """Whether the selectors want this write; `namespace_labels` is None for cluster scope."""
    a = attributes
    if hook.namespaces is not None:
        labels = namespace_labels
        if a.resource.key == "namespaces":
            labels = _labels(a.object if a.object is not None else a.old_object)
        if labels is not None and not matches(hook.namespaces, labels):
            return False
    if hook.objects is None:
        return True
    candidates = [o for o in (a.object, a.old_object) if o is not None]
    return any(matches(hook.objects, _labels(o)) for o in candidates)


def _labels(obj: Json | None) -> Json:
    found = ((obj or {}).get("metadata") or {}).get("labels")
    return found if isinstance(found, dict) else {}


def is_exempt(resource: Resource) -> bool:
    """Configurations of webhooks can always be changed, whatever a webhook thinks of it."""
    return resource.group == EXEMPT_GROUP
