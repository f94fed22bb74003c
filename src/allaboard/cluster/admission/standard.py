"""Which plugins does a server have, and in which order?

The order is kube-apiserver's. A plugin of ours joins with `chain.insert(plugin,
before="MutatingAdmissionWebhook")`, so that webhooks see what it did.
"""

from random import Random

from allaboard.cluster.admission.caller import WebhookCaller
from allaboard.cluster.admission.chain import AdmissionChain
from allaboard.cluster.admission.limits import LimitRanger
from allaboard.cluster.admission.namespaces import NamespaceLifecycle
from allaboard.cluster.admission.pods import (
    DefaultTolerations,
    Priorities,
    RuntimeClasses,
    ServiceAccounts,
    TaintNewNodes,
)
from allaboard.cluster.admission.services import service_resolver
from allaboard.cluster.admission.webhooks import MutatingWebhooks, ValidatingWebhooks
from allaboard.cluster.store.store import Store


def standard_chain(
    store: Store, rng: Random, caller: WebhookCaller | None = None
) -> AdmissionChain:
    """All built-in plugins, following the store's webhook configurations from now on."""
    caller = caller if caller is not None else WebhookCaller(rng, service_resolver(store))
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
