"""What a client may not do: too big, too slow, too many, unknown, unauthenticated."""

import gzip
import os
import socket
import ssl
import stat
from pathlib import Path

import pytest
from black_box import MAPS, NAMESPACE, TOKEN, Server, config_map, make_server

from allaboard.cluster.server.deadlines import HEADER_S
from allaboard.cluster.server.services import Config


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(b'{"data": {"a": "' + b"x" * 3 * 1024 * 1024 + b'"}}', 413, id="3 MiB"),
        pytest.param(b"{", 400, id="half an object"),
        pytest.param(b"", 400, id="nothing"),
        pytest.param(b"[1,2]", 400, id="a list"),
        pytest.param(b"null", 422, id="null is an object without a name"),
        pytest.param(b"\xff\xfe", 400, id="not even text"),
        pytest.param(b'{"metadata": ' + b"[" * 20000 + b"]" * 20000 + b"}", 400, id="deep"),
        pytest.param(b'{"metadata": {"name": 5}}', 400, id="a number for a name"),
        pytest.param(b'{"metadata": {"name": "' + b"n" * 254 + b'"}}', 422, id="long name"),
    ],
)
def test_bad_bodies(server: Server, body: bytes, status: int) -> None:
    answer = server.post(MAPS, body)
    assert answer.status == status
    assert (answer.body["kind"], answer.body["code"]) == ("Status", status)


def test_annotations_have_256_KiB(server: Server) -> None:
    big = {"annotations": {"a": "x" * 256 * 1024}}
    answer = server.post(MAPS, config_map("annotated", meta=big))
    assert (answer.status, answer.reason) == (422, "Invalid")


def test_a_yaml_bomb_is_refused(server: Server) -> None:
    lines = ["metadata: {name: bomb}", "a: &a [x,x,x,x,x,x,x,x,x]"]
    for before, after in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{after}: &{after} [" + ",".join([f"*{before}"] * 9) + "]")
    headers = {"Content-Type": "application/yaml"}
    answer = server.post(MAPS, "\n".join(lines).encode(), headers=headers)
    assert answer.status == 400


def test_gzip_is_read_up_to_the_limit(server: Server) -> None:
    headers = {"Content-Encoding": "gzip"}
    small = gzip.compress(b'{"metadata": {"name": "zipped"}}')
    assert server.post(MAPS, small, headers=headers).status == 201
    bomb = gzip.compress(b" " * 50 * 1024 * 1024)
    assert server.post(MAPS, bomb, headers=headers).status == 413
    assert server.post(MAPS, b"not gzip", headers=headers).status == 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nope", 404),
        ("GET", "/apis/nope.example.com/v1/things", 404),
        ("GET", "/apis/batch/v9/jobs", 404),
        ("GET", f"{NAMESPACE}/nosuch", 404),
        ("GET", f"{NAMESPACE}/nodes", 404),
        ("GET", "/api/v1/configmaps/x", 404),
        ("GET", f"{MAPS}/a/b/c", 404),
        ("GET", f"{MAPS}/a%2Fb", 404),
        ("GET", f"{MAPS}/../pods", 404),
        ("POST", "/api/v1/configmaps", 405),
        ("POST", f"{MAPS}/x", 405),
        ("PUT", MAPS, 405),
        ("PATCH", MAPS, 405),
        ("OPTIONS", MAPS, 405),
        ("DELETE", "/api", 405),
        ("POST", "/version", 405),
        ("DELETE", "/apis/batch/v1/namespaces/t/jobs/x/status", 405),
        ("GET", f"{MAPS}/", 200),
        ("HEAD", MAPS, 200),
    ],
)
def test_paths_and_methods(server: Server, method: str, path: str, status: int) -> None:
    assert server.call(method, path).status == status


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_unknown_media_are_415(server: Server, kind: str) -> None:
    assert server.post(MAPS, b"a=b", headers={"Content-Type": kind}).status == 415


@pytest.mark.parametrize(
    ("header", "path", "status"),
    [
        pytest.param(None, MAPS, 401, id="nobody"),
        pytest.param("Bearer wrong", MAPS, 401, id="a wrong token"),
        pytest.param("Basic YTpi", MAPS, 401, id="a password"),
        pytest.param("Bearer wrong", "/version", 401, id="a wrong token is wrong everywhere"),
        pytest.param(None, "/healthz", 200, id="health is open"),
        pytest.param(None, "/livez", 200, id="liveness is open"),
        pytest.param(None, "/readyz", 200, id="readiness is open"),
        pytest.param(None, "/version", 200, id="the version is open"),
        pytest.param(None, "/metrics", 401, id="metrics are not"),
    ],
)
def test_who_may_ask(server: Server, header: str | None, path: str, status: int) -> None:
    connection = server.connect()
    connection.request("GET", path, headers={"Authorization": header} if header else {})
    assert connection.getresponse().status == status
    connection.close()


def test_a_client_certificate_is_an_identity(server: Server) -> None:
    connection = server.connect(server.files.client_context(with_certificate=True))
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    connection.request("POST", path, b"{}", {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == 201
    assert '"username":"kubernetes-admin"' in text and '"system:masters"' in text


def test_a_service_account_gets_tokens_that_work(server: Server) -> None:
    path = f"{NAMESPACE}/serviceaccounts/default/token"
    issued = server.post(path, {"spec": {"expirationSeconds": 600}})
    assert issued.status == 201
    headers = {"Authorization": f"Bearer {issued.body['status']['token']}"}
    reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    info = server.post(reviews, {}, headers=headers).body["status"]["userInfo"]
    assert info["username"] == "system:serviceaccount:t:default"
    assert server.post(path, {"spec": {"expirationSeconds": 1}}).status == 422


def test_impersonation_names_a_user(server: Server) -> None:
    reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    headers = {"Impersonate-User": "jane", "Impersonate-Group": "devs"}
    info = server.post(reviews, {}, headers=headers).body["status"]["userInfo"]
    assert info == {"username": "jane", "groups": ["devs", "system:authenticated"]}
    assert server.get(MAPS, headers={"Impersonate-Group": "devs"}).status == 400


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("127.0.0.1:6443", 200), ("[::1]:1", 200), ("evil.example.com", 403)],
)
def test_only_our_own_names_are_hosts(server: Server, host: str, status: int) -> None:
    assert server.get("/version", headers={"Host": host}).status == status


def test_private_files_are_private(server: Server) -> None:
    for path in (server.files.server_key, server.files.client_key, server.files.ca):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_too_many_at_once_are_told_to_come_back(tmp_path: Path) -> None:
    running = make_server(tmp_path, Config(max_writes_in_flight=2))
    try:
        running.http._writes = 2  # as if two writes were under way
        answer = running.post(MAPS, config_map("late"))
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        running.http._writes = 0
        assert running.post(MAPS, config_map("late")).status == 201
    finally:
        running.stop()


def raw(server: Server) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", server.http.port), timeout=20)
    return server.context.wrap_socket(plain, server_hostname="localhost")


def test_slow_bodies_time_out_and_slow_headers_are_cut_off(tmp_path: Path) -> None:
    running = make_server(tmp_path, Config(request_timeout_s=0.5))
    try:
        slow = raw(running)
        head = f"POST {MAPS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        slow.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        assert b" 504 " in slow.recv(4096)
        slow.close()
        loris = raw(running)
        loris.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")

        async def much_later() -> None:
            loop_time = running.http._listener.get_loop().time()  # type: ignore[union-attr]
            running.http._deadlines.sweep(loop_time + HEADER_S + 1)

        running.run(much_later())
        assert loris.recv(4096) == b""
        loris.close()
        assert running.get("/healthz").status == 200
    finally:
        running.stop()


def test_the_server_listens_on_loopback_only(server: Server) -> None:
    with pytest.raises(ValueError, match="loopback"):
        server.run(server.http.start(0, "0.0.0.0"))


@pytest.mark.parametrize("line", [b"GET /api/v1/\xff\xfe", b"GET /api/v1/nodes/\xed\xa0\x80"])
def test_targets_that_are_not_text_are_answered(server: Server, line: bytes) -> None:
    wire = raw(server)
    head = b" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + TOKEN.encode()
    wire.sendall(line + head + b"\r\nConnection: close\r\n\r\n")
    answer = wire.recv(4096)
    wire.close()
    assert b" 400 " in answer.splitlines()[0]
    assert b'"kind":"Status"' in answer


def test_an_unknown_method_is_not_allowed(server: Server) -> None:
    assert server.call("BREW", MAPS).status == 405
