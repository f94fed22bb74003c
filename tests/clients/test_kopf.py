"""An operator written with `kopf`: handlers, finalizers, retries, timers, indexes, resuming."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from manifests import CRD, GROUP, pod, train

from running_cluster import RunningCluster

pytestmark = pytest.mark.xdist_group("kopf")
SPACE = "railway"
PLACE = (GROUP, "v1", SPACE, "trains")
FINALIZER = "rail.example.com/operator"
LIMIT_S = 30


@pytest.fixture(scope="module")
def api(cluster: RunningCluster) -> Iterator[client.ApiClient]:
    """A connection to a cluster with Trains, two timetables and the operator's namespace."""
    with config.new_client_from_config(str(cluster.kubeconfig)) as connected:
        core = client.CoreV1Api(connected)
        core.create_namespace({"metadata": {"name": SPACE}})
        next(watch.Watch().stream(core.list_namespaced_service_account, SPACE))
        client.ApiextensionsV1Api(connected).create_custom_resource_definition(CRD)
        for line in ("north", "south"):
            meta = {"name": f"{line}-table", "labels": {"role": "timetable"}}
            core.create_namespaced_config_map(SPACE, {"metadata": meta, "data": {"line": line}})
        yield connected


@contextmanager
def running_operator(cluster: RunningCluster, log: Path) -> Iterator[None]:
    script = Path(__file__).with_name("train_operator.py")
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "-n", SPACE, str(script)]
    env = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    with log.open("a") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=env)
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 0, log.read_text()


class Railway:
    """What a person does with Trains, and what they wait to see."""

    def __init__(self, api: client.ApiClient, cluster: RunningCluster, log: Path) -> None:
        self.custom = client.CustomObjectsApi(api)
        self.core = client.CoreV1Api(api)
        self.cluster, self.log = cluster, log

    def create(self, name: str, cars: int = 3, **labels: str) -> Any:
        body = train(name, cars)
        body["metadata"]["labels"] = labels
        return self.custom.create_namespaced_custom_object(*PLACE, body)

    def get(self, name: str) -> Any:
        return self.custom.get_namespaced_custom_object(*PLACE, name)

    def patch(self, name: str, patch: Any) -> Any:
        return self.custom.patch_namespaced_custom_object(*PLACE, name, patch)

    def changes(self, listing: Any, *place: str, **options: Any) -> Iterator[tuple[str, Any]]:
        """Watch events as type and object; the connection is closed with the generator."""
        watching = watch.Watch()
        with closing(
            watching.stream(listing, *place, timeout_seconds=LIMIT_S, **options)
        ) as stream:
            for event in stream:
                yield event["type"], event["object"]

    def wait(self, name: str, holds: Callable[[Any], Any]) -> Any:
        """The train, once it is as hoped for."""
        listing, last = self.custom.list_namespaced_custom_object, None
        with closing(self.changes(listing, *PLACE, field_selector=f"metadata.name={name}")) as seen:
            for _, last in seen:
                if holds(last):
                    return last
        raise AssertionError(f"{name} stayed {last}\n{self.log.read_text()[-4000:]}")

    def wait_built(self, name: str) -> Any:
        return self.wait(name, lambda t: t["metadata"].get("labels", {}).get("built") == "yes")

    def wait_gone(self, name: str, since: str) -> None:
        listing = self.custom.list_namespaced_custom_object
        with closing(self.changes(listing, *PLACE, resource_version=since)) as seen:
            assert any((t, o["metadata"]["name"]) == ("DELETED", name) for t, o in seen)

    def wait_collected(self, name: str, since: str) -> None:
        listing = self.core.list_namespaced_config_map
        with closing(self.changes(listing, SPACE, resource_version=since)) as seen:
            assert any((t, o.metadata.name) == ("DELETED", name) for t, o in seen)

    def wait_event(self, name: str, reason: str) -> None:
        """The operator posts events in the background."""
        listing, chosen = self.core.list_namespaced_event, f"involvedObject.name={name}"
        with closing(self.changes(listing, SPACE, field_selector=chosen)) as seen:
            assert any(event.reason == reason for _, event in seen)

    def data(self, name: str) -> Any:
        return self.core.read_namespaced_config_map(name, SPACE).data


@pytest.fixture(scope="module")
def quiet(
    api: client.ApiClient, cluster: RunningCluster, tmp_path_factory: pytest.TempPathFactory
) -> Railway:
    """A railway whose operator does not run yet."""
    return Railway(api, cluster, tmp_path_factory.mktemp("operator") / "log.txt")


@pytest.fixture(scope="module")
def railway(quiet: Railway) -> Iterator[Railway]:
    with running_operator(quiet.cluster, quiet.log):
        yield quiet


def test_a_restarted_operator_catches_up(quiet: Railway) -> None:
    """What was made before it came is resumed or created; what changed while it was away, too."""
    quiet.create("early")
    with running_operator(quiet.cluster, quiet.log):
        early = quiet.wait("early", lambda t: t.get("status", {}).get("cars") == 3)
        assert early["metadata"]["finalizers"] == [FINALIZER]
    quiet.patch("early", {"spec": {"cars": 8}})
    with running_operator(quiet.cluster, quiet.log):
        caught_up = quiet.wait(
            "early", lambda t: t["status"].get("resumed") and t["status"]["cars"] == 8
        )
        assert caught_up["status"]["resumed"] == 1
        assert quiet.data("early-cars") == {"cars": "8"}


def test_a_created_train_is_built(railway: Railway) -> None:
    railway.create("express")
    built = railway.wait("express", lambda t: t.get("status", {}).get("build"))
    assert built["status"]["cars"] == 3
    assert built["status"]["build"] == {"lines": ["north", "south"]}
    assert FINALIZER in built["metadata"]["finalizers"]
    assert built["metadata"]["generation"] == 1  # neither labels nor status are the spec
    child = railway.core.read_namespaced_config_map("express-cars", SPACE)
    assert child.data == {"cars": "3"}
    assert child.metadata.owner_references[0].uid == built["metadata"]["uid"]


def test_a_change_reaches_the_child_the_status_and_the_events(railway: Railway) -> None:
    railway.create("local")
    railway.wait_built("local")
    railway.patch("local", {"spec": {"cars": 5}})
    changed = railway.wait("local", lambda t: t["status"]["cars"] == 5)
    assert changed["metadata"]["generation"] == 2
    assert railway.data("local-cars") == {"cars": "5"}
    railway.patch("local", {"spec": {"line": "west"}})
    railway.wait(
        "local",
        lambda t: (
            "west"
            in t["metadata"]["annotations"].get("kopf.zalando.org/last-handled-configuration", "")
        ),
    )
    assert railway.get("local")["status"]["cars"] == 5
    railway.wait_event("local", "Recoupled")


def test_a_deleted_train_is_mourned_before_it_goes(railway: Railway) -> None:
    railway.create("freight")
    since = railway.wait_built("freight")["metadata"]["resourceVersion"]
    railway.custom.delete_namespaced_custom_object(*PLACE, "freight")
    railway.wait_gone("freight", since)
    assert railway.data("freight-farewell") == {"name": "freight"}
    with pytest.raises(ApiException) as gone:
        railway.get("freight")
    assert gone.value.status == 404
    railway.wait_collected("freight-cars", since)  # owned, so it goes too


def test_handlers_are_tried_again_or_given_up(railway: Railway) -> None:
    railway.create("wet", flaky="")
    tried = railway.wait("wet", lambda t: t.get("status", {}).get("attempts"))
    assert tried["status"]["attempts"] == 3
    railway.create("lost", hopeless="")
    railway.wait_built("lost")  # the other handler is not held up
    railway.wait_event("lost", "NoTrack")
    handled = "kopf.zalando.org/last-handled-configuration"
    railway.wait("lost", lambda t: handled in t["metadata"]["annotations"])


def test_timers_tick_and_daemons_run(railway: Railway) -> None:
    railway.create("clockwork", timed="", driven="")
    ticking = railway.wait("clockwork", lambda t: t.get("status", {}).get("ticks", 0) >= 3)
    assert ticking["status"]["driving"] is True
    since = ticking["metadata"]["resourceVersion"]
    railway.custom.delete_namespaced_custom_object(*PLACE, "clockwork")
    railway.wait_gone("clockwork", since)


def test_events_of_other_kinds_are_seen(railway: Railway) -> None:
    railway.create("shuttle")
    railway.wait_built("shuttle")
    railway.core.create_namespaced_pod(SPACE, pod("rider", train="shuttle"))
    boarded = "rail.example.com/boarded"
    railway.wait("shuttle", lambda t: t["metadata"]["annotations"].get(boarded) == "yes")


def test_an_index_follows_its_objects(railway: Railway) -> None:
    meta = {"name": "west-table", "labels": {"role": "timetable"}}
    railway.core.create_namespaced_config_map(SPACE, {"metadata": meta, "data": {"line": "west"}})
    railway.core.delete_namespaced_config_map("north-table", SPACE)
    railway.create("late")
    built = railway.wait("late", lambda t: t.get("status", {}).get("build"))
    assert built["status"]["build"] == {"lines": ["south", "west"]}
