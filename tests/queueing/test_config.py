"""The Configuration file: two versions, two sets of defaults, and refusals that name the field."""

from typing import Any

import pytest

from allaboard.queueing.config import ConfigError, PodsReady, Requeuing, load


def config(version: str = "v1beta2", **sections: Any) -> dict[str, Any]:
    api_version = f"config.kueue.x-k8s.io/{version}"
    return {"apiVersion": api_version, "kind": "Configuration", **sections}


@pytest.mark.parametrize(
    ("version", "section", "expected"),
    [
        pytest.param("v1beta1", None, None, id="off without the section"),
        pytest.param("v1beta2", None, None, id="off without the section, in the new version too"),
        pytest.param("v1beta1", {}, None, id="the old version is switched on by name"),
        pytest.param(
            "v1beta1", {"enable": True}, PodsReady(300.0, True), id="the KEP's defaults"
        ),
        pytest.param(
            "v1beta2", {}, PodsReady(1800.0, False, recovery_timeout_s=1800.0), id="today's"
        ),
        pytest.param(
            "v1beta2", {"timeout": "10m", "recoveryTimeout": "0s"}, PodsReady(600.0, False),
            id="zero switches recovery off",
        ),
        pytest.param(
            "v1beta2",
            {"requeuingStrategy": {"timestamp": "Creation", "backoffLimitCount": 3,
                                   "backoffBaseSeconds": 10, "backoffMaxSeconds": 20}},
            PodsReady(1800.0, False, recovery_timeout_s=1800.0,
                      requeuing=Requeuing(False, 3, 10.0, 20.0)),
            id="requeuing",
        ),
    ],
)  # fmt: skip
def test_waiting_for_pods(version: str, section: Any, expected: PodsReady | None) -> None:
    sections = {} if section is None else {"waitForPodsReady": section}
    assert load(config(version, **sections)).pods_ready == expected


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "must be an object"),
        ({"apiVersion": "v1", "kind": "Configuration"}, "must be config.kueue.x-k8s.io/v1beta1"),
        (config(waitForPodsReady=3), "waitForPodsReady: found 3; must be an object"),
        (config(waitForPodsReady={"timeout": "soon"}), "waitForPodsReady.timeout: found 'soon'"),
        (config(waitForPodsReady={"timeout": "-5s"}), "at least 1s"),
        (config(waitForPodsReady={"enable": True}), "waitForPodsReady.enable: unknown"),
        (
            config(waitForPodsReady={"requeuingStrategy": {"backoffLimitCount": -1}}),
            "waitForPodsReady.requeuingStrategy.backoffLimitCount: found -1; must be a whole",
        ),
        (config(waitForPodsReady={"blockAdmissionScope": "Moon"}), "one of Cluster, Cohort"),
        (config(waitForPodsReady={"workloadTimeouts": {"min": "9m", "max": "1m"}}), "not exceed"),
        (config(integrations={"frameworks": ["ray.io/rayjob"]}), "ray.io/rayjob: not integrated"),
        (
            config(fairSharing={"preemptionStrategies": ["Coin"]}),
            "fairSharing.preemptionStrategies",
        ),
        (config(clientConnection={"qps": "fast"}), "clientConnection.qps: found 'fast'"),
        (config(manageJobsWithoutQueueName="yes"), "must be true or false"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_allowed(document: Any, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(document)
    assert words in str(caught.value)


def test_sections_of_others_are_kept() -> None:
    assert load(config(metrics={"bindAddress": ":8443"})).others == {
        "metrics": {"bindAddress": ":8443"}
    }
