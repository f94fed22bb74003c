"""Where is the server and who are we, according to kubeconfig files or the pod we run in?

Several files merge as kubectl merges them: the first to say a thing wins, for each cluster, user
and context as a whole. Paths in a file are relative to it. Secrets appear in no repr.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from allaboard.api.codec import Malformed
from allaboard.api.meta import Json
from allaboard.api.yaml_text import read_first
from allaboard.client.credentials import (
    EXEC_VERSIONS,
    Certificate,
    CredentialError,
    Credentials,
    ExecPlugin,
    ExecSpec,
    Fixed,
    Identity,
    TokenFile,
    decoded,
    password_headers,
    token_headers,
)
from allaboard.clock import Clock

IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class KubeconfigError(CredentialError):
    """The configuration cannot be used; the text names file and field."""


@dataclass(frozen=True, slots=True)
class Server:
    """An API server and how to reach it safely."""

    url: str
    ca: bytes | None = field(default=None, repr=False)  # PEM; None: the system's
    insecure: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


@dataclass(frozen=True, slots=True)
class Connection:
    """All that a transport needs, and the namespace that commands default to."""

    server: Server
    credentials: Credentials = field(default_factory=Fixed)
    impersonate: Sequence[tuple[str, str]] = ()
    namespace: str = "default"


@dataclass(slots=True)
class Kubeconfig:
    """Merged files: named clusters, users and contexts."""

    clusters: dict[str, Json] = field(default_factory=dict, repr=False)
    users: dict[str, Json] = field(default_factory=dict, repr=False)
    contexts: dict[str, Json] = field(default_factory=dict)
    current_context: str = ""

    def connection(self, clock: Clock, context: str = "") -> Connection:
        """The connection that a context (default: the current one) stands for."""
        name = context or self.current_context
        if not name:
            raise KubeconfigError("no context is given and the kubeconfig has no current-context")
        chosen = _named(self.contexts, name, "context")
        cluster_name = _text(chosen, "cluster", f"context {name!r}")
        cluster = _named(self.clusters, cluster_name, "cluster")
        user_name = _text(chosen, "user", f"context {name!r}")
        user = _named(self.users, user_name, "user") if user_name else {}
        server = _server(cluster, f"cluster {cluster_name!r}")
        where = f"user {user_name!r}"
        return Connection(
            server,
            _credentials(user, cluster, clock, where),
            _impersonation(user),
            _text(chosen, "namespace", name) or "default",
        )


def kubeconfig_paths(environ: Mapping[str, str]) -> list[Path]:
    """The files that kubectl would read."""
    listed = [part for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        return [Path(part) for part in listed]
    return [Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config"]


def load_kubeconfig(paths: Sequence[Path], must_exist: bool = False) -> Kubeconfig:
    """Merge files; the first to name a thing wins. Absent ones are skipped unless they must be."""
    merged = Kubeconfig()
    for path in paths:
        try:
            text = path.read_bytes()
        except FileNotFoundError as error:
            if must_exist:
                raise KubeconfigError(f"{path}: no such file") from error
            continue
        except OSError as error:
            raise KubeconfigError(f"{path}: {error.strerror}") from error
        _merge(merged, _parsed(text, path), path)
    return merged


def load_connection(
    clock: Clock, kubeconfig: str = "", context: str = "", environ: Mapping[str, str] | None = None
) -> Connection:
    """As kubectl does it: the named file, else KUBECONFIG or ~/.kube/config, else the pod's own."""
    environ = os.environ if environ is None else environ
    if kubeconfig:
        return load_kubeconfig([Path(kubeconfig)], must_exist=True).connection(clock, context)
    config = load_kubeconfig(kubeconfig_paths(environ))
    if config.clusters or context:
        return config.connection(clock, context)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(clock, environ)
    raise KubeconfigError("no kubeconfig was found (KUBECONFIG, ~/.kube/config) and this is no pod")


def in_cluster(
    clock: Clock, environ: Mapping[str, str] | None = None, mount: Path = IN_CLUSTER
) -> Connection:
    """The connection of a pod's service account; its token file is read again as it changes."""
    environ = os.environ if environ is None else environ
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise KubeconfigError("not in a pod: KUBERNETES_SERVICE_HOST and _PORT are not set")
    try:
        ca = (mount / "ca.crt").read_bytes()
    except OSError as error:
        raise KubeconfigError(f"{mount / 'ca.crt'}: {error.strerror}") from error
    try:
        namespace = (mount / "namespace").read_text().strip() or "default"
    except OSError:
        namespace = "default"
    shown = f"[{host}]" if ":" in host else host
    server = Server(f"https://{shown}:{port}", ca)
    return Connection(server, TokenFile(mount / "token", clock), namespace=namespace)


def _parsed(text: bytes, path: Path) -> Json:
    try:
        data = read_first(text).data
    except Malformed as error:  # whose text may quote a secret
        line = getattr(error, "line", 0)
        raise KubeconfigError(f"{path}: not YAML (line {line})") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise KubeconfigError(f"{path}: not a kubeconfig")
    return data


def _merge(merged: Kubeconfig, data: Json, path: Path) -> None:
    base = path.absolute().parent
    for section, inner, into in (
        ("clusters", "cluster", merged.clusters),
        ("users", "user", merged.users),
        ("contexts", "context", merged.contexts),
    ):
        entries = data.get(section) or []
        if not isinstance(entries, list):
            raise KubeconfigError(f"{path}: {section}: must be a list")
        for item in entries:
            if not isinstance(item, dict) or not isinstance(item.get(inner) or {}, dict):
                raise KubeconfigError(f"{path}: {section}: every entry needs a name and a {inner}")
            body = _with_base(item.get(inner) or {}, base)
            into.setdefault(str(item.get("name") or ""), body)
    merged.current_context = merged.current_context or str(data.get("current-context") or "")


def _with_base(body: Json, base: Path) -> Json:
    """Paths made absolute: later nobody knows which file they came from."""
    result = dict(body)
    for name in ("certificate-authority", "client-certificate", "client-key", "tokenFile"):
        if result.get(name):
            result[name] = str(base / str(result[name]))
    program = result.get("exec")
    if isinstance(program, dict) and os.sep in str(program.get("command") or ""):
        result["exec"] = {**program, "command": str(base / str(program["command"]))}
    return result


def _named(things: Mapping[str, Json], name: str, what: str) -> Json:
    if name not in things:
        known = ", ".join(sorted(things)) or "none"
        raise KubeconfigError(f"the kubeconfig has no {what} {name!r} (it has: {known})")
    return things[name]


def _text(body: Json, name: str, where: str) -> str:
    value = body.get(name)
    if value is None:
        return ""
    if isinstance(value, bool | dict | list):
        raise KubeconfigError(f"{where}: {name}: not a text")
    return str(value)


def _bytes(body: Json, name: str, where: str) -> bytes | None:
    """A PEM text given inline (base64, `name-data`) or as a path (`name`); inline wins."""
    inline = _text(body, f"{name}-data", where)
    if inline:
        return decoded(inline, f"{where}: {name}-data")
    path = _text(body, name, where)
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise KubeconfigError(f"{where}: {name}: {path}: {error.strerror}") from error


def _server(cluster: Json, where: str) -> Server:
    url = _text(cluster, "server", where)
    if not url.startswith(("https://", "http://")):
        raise KubeconfigError(f"{where}: server: {url!r} is not an http or https address")
    insecure = cluster.get("insecure-skip-tls-verify") is True
    ca = _bytes(cluster, "certificate-authority", where)
    if insecure and ca is not None:
        raise KubeconfigError(
            f"{where}: a certificate authority and insecure-skip-tls-verify exclude each other"
        )
    return Server(
        url.rstrip("/"),
        ca,
        insecure,
        _text(cluster, "tls-server-name", where),
        _text(cluster, "proxy-url", where),
    )


def _credentials(user: Json, cluster: Json, clock: Clock, where: str) -> Credentials:
    certificate, key = _bytes(user, "client-certificate", where), _bytes(user, "client-key", where)
    if (certificate is None) != (key is None):
        raise KubeconfigError(f"{where}: client-certificate and client-key go together")
    pair = Certificate(certificate, key) if certificate and key else None
    token, token_file = _text(user, "token", where), _text(user, "tokenFile", where)
    if token_file:
        return TokenFile(Path(token_file), clock, pair, fallback=token)
    if token:
        return Fixed(Identity(token_headers(token), pair))
    username = _text(user, "username", where)
    if username:
        headers = password_headers(username, _text(user, "password", where))
        return Fixed(Identity(headers, pair))
    if user.get("exec"):
        return ExecPlugin(_exec_spec(user["exec"], cluster, where), clock)
    if user.get("auth-provider"):
        raise KubeconfigError(f"{where}: auth-provider is not supported; use an exec plugin")
    return Fixed(Identity({}, pair))


def _exec_spec(said: Any, cluster: Json, where: str) -> ExecSpec:
    where = f"{where}: exec"
    if not isinstance(said, dict):
        raise KubeconfigError(f"{where}: not a section")
    version = _text(said, "apiVersion", where)
    if version not in EXEC_VERSIONS:
        raise KubeconfigError(
            f"{where}: apiVersion: {version!r}; known: {', '.join(EXEC_VERSIONS)}"
        )
    command = _text(said, "command", where)
    if not command:
        raise KubeconfigError(f"{where}: command: missing")
    env = {str(e.get("name")): str(e.get("value") or "") for e in said.get("env") or []}
    spec = ExecSpec(
        command,
        version,
        tuple(str(arg) for arg in said.get("args") or []),
        env,
        _text(said, "installHint", where),
        _text(said, "interactiveMode", where) or "IfAvailable",
    )
    if said.get("provideClusterInfo") is True:
        return replace(spec, cluster=_cluster_info(cluster))
    return spec


def _cluster_info(cluster: Json) -> Json:
    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data",
             "proxy-url")  # fmt: skip
    return {name: cluster[name] for name in names if cluster.get(name)}


def _impersonation(user: Json) -> list[tuple[str, str]]:
    headers = []
    if user.get("as"):
        headers.append(("Impersonate-User", str(user["as"])))
    if user.get("as-uid"):
        headers.append(("Impersonate-Uid", str(user["as-uid"])))
    headers += [("Impersonate-Group", str(group)) for group in user.get("as-groups") or []]
    for name, values in (user.get("as-user-extra") or {}).items():
        headers += [(f"Impersonate-Extra-{name}", str(value)) for value in values or []]
    return headers
