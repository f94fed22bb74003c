"""What the clients send: the same few objects for all of them."""

from typing import Any

Manifest = dict[str, Any]
GROUP = "rail.example.com"
SIM = "sim.allaboard.dev"

CRD: Manifest = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"trains.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {
            "plural": "trains",
            "singular": "train",
            "kind": "Train",
            "listKind": "TrainList",
            "shortNames": ["tr"],
            "categories": ["all"],
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.cars",
                        "statusReplicasPath": ".status.cars",
                    },
                },
                "additionalPrinterColumns": [
                    {"name": "Cars", "type": "integer", "jsonPath": ".spec.cars"},
                    {"name": "Line", "type": "string", "jsonPath": ".spec.line"},
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "A train.",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["cars"],
                                "properties": {
                                    "cars": {
                                        "type": "integer",
                                        "minimum": 0,
                                        "description": "How many cars it has.",
                                    },
                                    "line": {"type": "string", "default": "north"},
                                },
                            },
                            "status": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                                "properties": {"cars": {"type": "integer"}},
                            },
                        },
                    }
                },
            }
        ],
    },
}


def configmap(name: str, **data: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod(name: str, **labels: str) -> Manifest:
    """Runs until it is deleted."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {f"{SIM}/start-after": "0s"},
        },
        "spec": {"containers": [{"name": "main", "image": "x"}]},
    }


def job(name: str, completions: int = 1, run_for: str = "0s") -> Manifest:
    """Every pod starts at once."""
    annotations = {f"{SIM}/start-after": "0s", f"{SIM}/run-for": run_for}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completions": completions,
            "parallelism": completions,
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "x"}],
                },
            },
        },
    }


def train(name: str, cars: int) -> Manifest:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Train",
        "metadata": {"name": name},
        "spec": {"cars": cars},
    }
