"""Requests that are hardly HTTP, paths that lead nowhere, strangers, and those who take their time.

Sent over real TLS connections to a server in a process of its own, which must survive all of them.
"""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from child_server import TOKEN, Child, child
from judging import Answer, status_problems

CONFIGMAPS = "/api/v1/namespaces/ns/configmaps"
pytestmark = pytest.mark.xdist_group("bad-input-child")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    with child(Path(tmp_path_factory.mktemp("child"))) as it:
        assert it.call("POST", CONFIGMAPS, {"metadata": {"name": "there"}})[0] == 201
        yield it


@pytest.mark.parametrize(
    "body",
    [
        b"", b" ", b"{", b"}", b"[]", b'"x"', b"7", b"true", b"nul", b"{}}", b"{} {}", b"{'a':1}",
        b'{"a"}', b'{"a":}', b'{"a":1,}', b"{a:1}", b'{"a":NaN}', b'{"a":Infinity}', b'{"a":-}',
        b'{"a":01}', b'{"a":1e999}', b'{"metadata":{"name":"\xff"}}', b"\xef\xbb\xbf{}",
        b"\x00\x00\x00\x00", b'{"metadata":{"name":"\\ud800"}}', b'{"metadata":{"name":"a\nb"}}',
        b"\xff\xfe{\x00}\x00", b'{"metadata":{"name":"a"}', b"<xml/>", b"k8s\x00", b"a: b",
        b'{"kind":"Pod","metadata":{"name":"a"}}', b'{"apiVersion":"v2","metadata":{"name":"a"}}',
        b'{"kind":7}', b'{"apiVersion":[]}', b'{"metadata":7}', b'{"metadata":{"labels":[]}}',
    ],
)  # fmt: skip
def test_bodies_that_are_no_objects(server: Child, body: bytes) -> None:
    status, answer = server.call("POST", CONFIGMAPS, body)
    assert status in (400, 422), answer
    assert not status_problems(Answer(status, answer, 0, 0))


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"a: b: c", b"\t- x", b"a: [", b"a: *b", b"'", b"- 1", b"%YAML 9.9\n---\na: 1",
        b"a: !!binary x", b"\x00", b"\xff\xfe", b"? [a]\n: b", b"&a [*a]",
        b"metadata: {name: .nan}",
        b"!!set {a}", b"--- |\n x", b"metadata:\n  name: a\n name: b",
    ],
)  # fmt: skip
def test_yaml_that_is_no_object(server: Child, body: bytes) -> None:
    status, answer = server.call("POST", CONFIGMAPS, body, {"Content-Type": "application/yaml"})
    assert status in (400, 422), answer
    assert not status_problems(Answer(status, answer, 0, 0))


@pytest.mark.parametrize(
    "path",
    [
        "/..", "/../../etc/passwd", "/api/../../x", "/api/v1/../v1/pods", "//", "//api//v1//pods",
        "/api/v1/namespaces/ns/pods/..%2f..%2fx", "/api/v1/namespaces/ns%2fnodes", "/%", "/%zz",
        "/%00", "/api/v1/namespaces/ns/pods/%00", "/api/v1/namespaces/%2e%2e/pods/a",
        "/api/v1/unknowns", "/apis/no.such.group/v1/things", "/apis/batch/v9/jobs", "/apis/batch",
        "/api/v2", "/api/v1/namespaces/ns/unknowns/x", "/api/v1/pods/x", "/api/v1/nodes/x/y/z",
        "/api/v1/namespaces/ns/nodes", "/" + "a/" * 3000,
        "/api/v1/namespaces/ns/pods/" + "a" * 9000,
        "/api/v1/namespaces/ns/pods/x/log", "/api/v1/namespaces/ns/pods/x/exec",
        "/api/v1/namespaces/ns/pods/x/unknown", "/api/v1/watch", "/openapi/v9", "/metrics/x",
        "/api/v1/namespaces/ns/pods/%c3%a9", "/debug/pprof", "/%ff", "/api/v1/%F0%9F%92%A3",
        "/healthz/../api/v1/secrets", "/version/../api/v1/secrets",
    ],
)  # fmt: skip
def test_paths_that_lead_nowhere(server: Child, path: str) -> None:
    status, answer = server.call("GET", path)
    assert status in (200, 301, 400, 403, 404, 405, 414), (status, answer)
    if status == 200:
        assert path in ("//", "/apis/batch", "//api//v1//pods"), answer
    assert "root:" not in str(answer)


@pytest.mark.parametrize("method", ["BREW", "TRACE", "CONNECT", "OPTIONS", "PROPFIND", "HEAD"])
def test_odd_methods(server: Child, method: str) -> None:
    status, _ = server.call(method, CONFIGMAPS)
    assert status in (200, 400, 404, 405), status


TOKENS = [
    "", " ", "Bearer", "Bearer ", "Bearer x", "bearer  ", "Basic YWRtaW46YWRtaW4=", "Negotiate x",
    f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN.upper()}", f"Basic {TOKEN}", TOKEN,
    "Bearer " + "x" * 20_000, "Bearer \u00e9", "Bearer x y z", "Bearer " + "A" * 16_384,
    "Bearer eyJhbGciOiJub25lIn0.e30.", "Bearer ../../token", "Bearer '; DROP TABLE records; --",
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(TOKENS)))
@pytest.mark.parametrize("path", ["/api/v1/secrets", "/healthz/../api/v1/secrets", "/version"])
def test_strangers_are_strangers(server: Child, number: int, path: str) -> None:
    status, answer = server.call("GET", path, headers={"Authorization": TOKENS[number]})
    assert status in (401, 404, 400), (status, answer)
    if status == 401:
        assert answer["reason"] == "Unauthorized"


@pytest.mark.parametrize(
    "host", ["evil.example.com", "127.0.0.1.evil.com", "localhost@evil", "", "[::1", "a:b:c", "0"]
)
def test_only_our_own_names_are_answered(server: Child, host: str) -> None:
    status, answer = server.call("GET", "/api/v1/pods", headers={"Host": host})
    assert status in (400, 403), (status, answer)


CHUNKED = "Transfer-Encoding: chunked\r\n"
HEAD = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "\r\nGET\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        f"POST {CONFIGMAPS} HTTP/1.1\r\n{HEAD}Content-Length: -1\r\n\r\n",
        f"POST {CONFIGMAPS} HTTP/1.1\r\n{HEAD}Content-Length: x\r\n\r\n",
        f"POST {CONFIGMAPS} HTTP/1.1\r\n{HEAD}Content-Length: 99999999999\r\n\r\n{{}}",
        f"POST {CONFIGMAPS} HTTP/1.1\r\n{HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}",
        f"POST {CONFIGMAPS} HTTP/1.1\r\n{HEAD}Content-Length: 2\r\n{CHUNKED}\r\n",
        f"POST {CONFIGMAPS} HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        f"POST {CONFIGMAPS} HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\nffffffffffff\r\n",
        f"POST {CONFIGMAPS} HTTP/1.1\r\n{HEAD}Transfer-Encoding: gzip, bogus\r\n\r\n",
        f"GET /{'a' * 40_000} HTTP/1.1\r\n{HEAD}\r\n",
        f"GET / HTTP/1.1\r\n{HEAD}X: {'a' * 70_000}\r\n\r\n",
        f"GET / HTTP/1.1\r\n{HEAD}" + "X: y\r\n" * 50_000 + "\r\n",
        f"GET / HTTP/1.1\r\n{HEAD}Bad Header: x\r\n\r\n",
        f"GET / HTTP/1.1\r\n{HEAD} folded\r\n\r\n",
        f"GET / HTTP/1.1\r\n{HEAD}X: \x00\r\n\r\n",
        f"GET {CONFIGMAPS}?watch=1 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_hardly_http(server: Child, text: str) -> None:
    answer = server.raw(text.encode("latin-1"))
    refused = (b"HTTP/1.1 4", b"HTTP/1.0 4", b"HTTP/1.1 504")  # 504: the rest never came
    assert not answer or answer.startswith(refused), answer[:300]
    assert server.is_alive()


@pytest.mark.parametrize("query", [f"x{n}={n}" for n in (1, 2)] + ["&" * 10_000, "a=1&" * 300])
def test_long_queries(server: Child, query: str) -> None:
    status, answer = server.call("GET", f"{CONFIGMAPS}?{query}")
    assert status in (200, 400), answer


def _half_a_request(server: Child, text: bytes) -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    secure: ssl.SSLSocket = server.context.wrap_socket(plain, server_hostname="localhost")
    secure.sendall(text)
    return secure


def test_slow_bodies_are_given_up_and_nobody_else_waits(server: Child) -> None:
    head = f"POST {CONFIGMAPS} HTTP/1.1\r\n{HEAD}Content-Length: 1000\r\n\r\n{{"
    with ExitStack() as stack:
        slow = [stack.enter_context(_half_a_request(server, head.encode())) for _ in range(40)]
        started = time.monotonic()
        status, _ = server.call("POST", CONFIGMAPS, {"metadata": {"generateName": "quick-"}})
        assert status == 201 and time.monotonic() - started < 2
        answers = [connection.recv(65536) for connection in slow]
    assert all(a.startswith(b"HTTP/1.1 504") for a in answers), answers[0]


def test_slow_headers_keep_nobody_waiting(server: Child) -> None:
    with ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(_half_a_request(server, b"GET /api/v1/pods HTTP/1.1\r\nHo"))
        started = time.monotonic()
        assert server.call("GET", "/api/v1/pods")[0] == 200
        assert time.monotonic() - started < 2


def _idle(server: Child, count: int) -> None:
    before = server.memory_mb()
    with ExitStack() as stack:
        for _ in range(count):
            address = ("127.0.0.1", server.port)
            stack.enter_context(socket.create_connection(address, timeout=20))
        started = time.monotonic()
        assert server.call("GET", "/api/v1/pods")[0] == 200
        assert time.monotonic() - started < 5
        grown = server.memory_mb() - before
    assert grown < 50 + count * 0.15, f"grew by {grown:.0f} MB"


def test_a_thousand_idle_connections_keep_nobody_waiting(server: Child) -> None:
    _idle(server, 1000)


@pytest.mark.soak
def test_ten_thousand_idle_connections(server: Child) -> None:
    _idle(server, 10_000)


@pytest.mark.parametrize(
    "query",
    [
        "watch=1&timeoutSeconds=-1", "watch=1&timeoutSeconds=999999999999999999999999",
        "watch=1&timeoutSeconds=x", "watch=1&resourceVersion=x", "watch=1&resourceVersion=-5",
        "watch=1&resourceVersion=1e9", "watch=1&resourceVersionMatch=Exact&timeoutSeconds=1",
        "watch=1&sendInitialEvents=true&timeoutSeconds=1", "watch=1&continue=x&timeoutSeconds=1",
        "watch=1&resourceVersion=99999999999999999999999&timeoutSeconds=1",
        "watch=1&labelSelector=%21%21&timeoutSeconds=1", "watch=1&fieldSelector=x%3Dy",
        "watch=1&labelSelector=" + "a%2C" * 3000 + "&timeoutSeconds=1",
    ],
)  # fmt: skip
def test_watches_that_make_no_sense(server: Child, query: str) -> None:
    status, answer = server.call("GET", f"{CONFIGMAPS}?{query}")
    assert status in (200, 400, 410, 414, 422, 504), (status, answer)
    if status >= 400 and isinstance(answer, dict):
        assert not status_problems(Answer(status, answer, 0, 0))
