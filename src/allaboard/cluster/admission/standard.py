"""Which plugins does a server have, in which order, and whose rules do extensions bring along?

The order is kube-apiserver's. A plugin of ours joins with `chain.insert(plugin,
before="MutatingAdmissionWebhook")`, so that webhooks see what it did.
"""

import dataclasses
from collections.abc import Iterable
from random import Random

from allaboard.cluster.admission.caller import WebhookCaller
from allaboard.cluster.admission.chain import AdmissionChain
from allaboard.cluster.admission.configurations import WebhookConfigurationStrategy
from allaboard.cluster.admission.limits import LimitRanger
from allaboard.cluster.admission.namespaces import NamespaceLifecycle
from allaboard.cluster.admission.pods import (
    DefaultTolerations,
    Priorities,
    RuntimeClasses,
    ServiceAccounts,
    TaintNewNodes,
)
from allaboard.cluster.admission.webhooks import MutatingWebhooks, ValidatingWebhooks
from allaboard.cluster.crds.life import DefinitionStrategy
from allaboard.cluster.resource import Resource, Strategy
from allaboard.cluster.store.store import Store

_GROUP = "admissionregistration.k8s.io"


def standard_chain(
    store: Store, rng: Random, caller: WebhookCaller | None = None
) -> AdmissionChain:
    """All built-in plugins, following the store's webhook configurations from now on."""
    caller = caller if caller is not None else WebhookCaller(rng)
    mutating, validating = MutatingWebhooks(store, caller), ValidatingWebhooks(store, caller)
    chain = AdmissionChain(
        [
            NamespaceLifecycle(store),
            LimitRanger(store),
            ServiceAccounts(store, rng),
            TaintNewNodes(),
            Priorities(store),
            DefaultTolerations(),
            RuntimeClasses(store),
            mutating,
            validating,
        ]
    )
    mutating.start(chain.refresh)
    validating.start(chain.refresh)
    return chain


def with_extension_rules(resources: Iterable[Resource]) -> list[Resource]:
    """The built-in kinds, definitions and webhook configurations with rules of their own."""
    own: dict[str, Strategy] = {
        "customresourcedefinitions.apiextensions.k8s.io": DefinitionStrategy(),
        f"mutatingwebhookconfigurations.{_GROUP}": WebhookConfigurationStrategy(mutating=True),
        f"validatingwebhookconfigurations.{_GROUP}": WebhookConfigurationStrategy(mutating=False),
    }
    return [dataclasses.replace(r, strategy=own[r.key]) if r.key in own else r for r in resources]
