"""Kubeconfig files and pods' own identities become connections."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from allaboard.client.credentials import CredentialError, ExecPlugin, Fixed, TokenFile
from allaboard.client.kubeconfig import (
    Connection,
    KubeconfigError,
    in_cluster,
    kubeconfig_paths,
    load_connection,
    load_kubeconfig,
)
from allaboard.clock import system_clock

CLOCK = system_clock()


def config(
    cluster: Any = None, user: Any = None, name: str = "main", **more: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": "https://api:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, **more}}],
    }


def write(path: Path, data: Any) -> Path:
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data))
    return path


def connect(tmp_path: Path, data: Any, context: str = "") -> Connection:
    return load_connection(CLOCK, str(write(tmp_path / "config", data)), context)


async def authorization(connection: Connection) -> str:
    return (await connection.credentials.current()).headers.get("Authorization", "")


async def test_a_token(tmp_path: Path) -> None:
    connection = connect(tmp_path, config({"tls-server-name": "x"}, {"token": "t"}, namespace="ns"))
    assert connection.server.url == "https://api:6443"
    assert connection.server.tls_server_name == "x"
    assert connection.namespace == "ns"
    assert await authorization(connection) == "Bearer t"


async def test_a_password(tmp_path: Path) -> None:
    connection = connect(tmp_path, config(user={"username": "u", "password": "p"}))
    assert await authorization(connection) == "Basic " + base64.b64encode(b"u:p").decode()


async def test_a_token_that_looks_like_a_number_stays_a_text(tmp_path: Path) -> None:
    connection = connect(tmp_path, config(user={"token": 123456}))
    assert await authorization(connection) == "Bearer 123456"


async def test_paths_are_relative_to_their_file_and_inline_data_wins(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"authority")
    (tmp_path / "me.crt").write_bytes(b"certificate")
    (tmp_path / "token").write_text("from-file")
    user = {
        "client-certificate": "me.crt",
        "client-key-data": base64.b64encode(b"key").decode(),
        "client-key": "does-not-matter",
        "tokenFile": "token",
    }
    connection = connect(tmp_path, config({"certificate-authority": "ca.crt"}, user))
    assert connection.server.ca == b"authority"
    assert isinstance(connection.credentials, TokenFile)
    identity = await connection.credentials.current()
    assert identity.certificate is not None
    assert (identity.certificate.certificate, identity.certificate.key) == (b"certificate", b"key")
    assert identity.headers == {"Authorization": "Bearer from-file"}


def test_the_first_file_to_say_a_thing_wins(tmp_path: Path) -> None:
    one = write(tmp_path / "one", config({"server": "https://one"}, {"token": "1"}))
    two = write(tmp_path / "two", config({"server": "https://two"}, {"token": "2"}))
    three = write(tmp_path / "three", config({"server": "https://three"}, name="other"))
    paths = kubeconfig_paths({"KUBECONFIG": f"{one}:{tmp_path / 'absent'}:{two}:{three}"})
    merged = load_kubeconfig(paths)
    assert merged.connection(CLOCK).server.url == "https://one"
    assert merged.connection(CLOCK, "other").server.url == "https://three"


def test_home_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config", config())
    assert load_connection(CLOCK, environ={"HOME": str(tmp_path)}).server.url == "https://api:6443"


def test_exec_sections(tmp_path: Path) -> None:
    section = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./bin/login",
        "args": ["--now"],
        "env": [{"name": "A", "value": "b"}],
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    connection = connect(tmp_path, config(user={"exec": section}))
    assert isinstance(connection.credentials, ExecPlugin)
    spec = connection.credentials.spec
    assert Path(spec.command) == tmp_path / "bin" / "login"
    assert (spec.args, spec.env) == (("--now",), {"A": "b"})
    assert spec.cluster == {"server": "https://api:6443"}


def test_impersonation(tmp_path: Path) -> None:
    user = {"as": "jane", "as-groups": ["a", "b"], "as-user-extra": {"k": ["v"]}}
    assert connect(tmp_path, config(user=user)).impersonate == [
        ("Impersonate-User", "jane"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"),
        ("Impersonate-Extra-k", "v"),
    ]  # fmt: skip


INSECURE = {"insecure-skip-tls-verify": True}
EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "x"}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        pytest.param("secret: [", "not YAML", id="broken"),
        pytest.param("- a", "not a kubeconfig", id="a list"),
        pytest.param({}, "no current-context", id="empty"),
        pytest.param({"current-context": "x"}, "no context 'x'", id="no such context"),
        pytest.param({**config(), "clusters": []}, "no cluster 'main'", id="no such cluster"),
        pytest.param({**config(), "users": []}, "no user 'main'", id="no such user"),
        pytest.param(config({"server": "ftp://x"}), "not an http", id="strange address"),
        pytest.param(config({"certificate-authority-data": "%"}), "not base64", id="no base64"),
        pytest.param(config({"certificate-authority": "/no/ca"}), "/no/ca: No such", id="no file"),
        pytest.param(config({**INSECURE, "certificate-authority-data": "eA=="}),
                     "exclude each other", id="authority and insecure"),
        pytest.param(config(user={"client-key-data": "eA=="}), "go together", id="half a pair"),
        pytest.param(config(user={"exec": {**EXEC, "apiVersion": "v9"}}), "apiVersion", id="v9"),
        pytest.param(config(user={"exec": {**EXEC, "command": ""}}), "command", id="no command"),
        pytest.param(config(user={"auth-provider": {"name": "gcp"}}), "not supported", id="gcp"),
        pytest.param(config(user={"token": ["secret"]}), "token: not a text", id="wrong type"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(tmp_path: Path, data: Any, complaint: str) -> None:
    with pytest.raises(CredentialError, match=complaint) as refused:
        connect(tmp_path, data)
    assert "secret" not in str(refused.value)


def test_nothing_to_connect_to(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="no kubeconfig was found"):
        load_connection(CLOCK, environ={"HOME": str(tmp_path)})
    with pytest.raises(KubeconfigError, match="no such file"):
        load_connection(CLOCK, str(tmp_path / "absent"))


async def test_in_a_pod(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"authority")
    (tmp_path / "token").write_text("t")
    (tmp_path / "namespace").write_text("mine")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    connection = in_cluster(CLOCK, environ, tmp_path)
    assert connection.server.url == "https://[fd00::1]:443"
    assert (connection.server.ca, connection.namespace) == (b"authority", "mine")
    assert await authorization(connection) == "Bearer t"
    with pytest.raises(KubeconfigError, match="not in a pod"):
        in_cluster(CLOCK, {}, tmp_path)
    with pytest.raises(KubeconfigError, match=r"ca\.crt"):
        in_cluster(CLOCK, environ, tmp_path / "absent")


def test_without_credentials_nothing_is_sent(tmp_path: Path) -> None:
    assert connect(tmp_path, config()).credentials == Fixed()
