"""Requests over real sockets: TLS, identities, broken connections, half lines."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from tiny_server import (
    Answer,
    Authority,
    TinyServer,
    hangs_up,
    line,
    refuses,
    says,
    server_context,
    serving,
    streams,
)

from allaboard.api.errors import (
    ApiError,
    Expired,
    Forbidden,
    InternalError,
    Timeout,
    Unauthorized,
    Unavailable,
)
from allaboard.api.types import Pod
from allaboard.client.client import Client
from allaboard.client.credentials import (
    Certificate,
    CredentialError,
    ExecPlugin,
    ExecSpec,
    Fixed,
    Identity,
    TokenFile,
    token_headers,
)
from allaboard.client.http import HttpTransport
from allaboard.client.kubeconfig import Connection, Server
from allaboard.client.retries import Retries
from allaboard.client.transport import Request
from allaboard.clock import Clock, system_clock

POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x", "namespace": "a"}}
QUICK = Retries(first_s=0.001, longest_s=0.002)


class Setup:
    """A client on a tiny server; closes what it opened."""

    def __init__(self, tiny: TinyServer, **connection: Any) -> None:
        server = connection.pop("server", Server(tiny.url))
        timeout_s = connection.pop("answer_s", 5.0)
        self.transport = HttpTransport(Connection(server, **connection), "test/1", None, timeout_s)
        self.client = Client(self.transport, "test/1", QUICK)

    async def __aenter__(self) -> Client:
        return self.client

    async def __aexit__(self, *_: object) -> None:
        await self.transport.close()


async def test_a_get_asks_and_types_the_answer() -> None:
    async with serving() as tiny, Setup(tiny) as client:
        tiny.answers = [says(POD)]
        pod = await client.get(Pod, "x", "a")
        assert pod.key == ("a", "x")
        method, path, headers, _ = tiny.requests[0]
        assert (method, path) == ("GET", "/api/v1/namespaces/a/pods/x")
        assert headers["User-Agent"] == "test/1"


async def test_connections_are_reused() -> None:
    peers = []

    async def answer(request: Any) -> Any:
        peers.append(request.transport.get_extra_info("peername"))
        return await says(POD)(request)

    async with serving() as tiny, Setup(tiny) as client:
        tiny.answers = [answer]
        for _ in range(3):
            await client.get(Pod, "x", "a")
        assert len(set(peers)) == 1


async def test_odd_names_are_quoted() -> None:
    async with serving() as tiny, Setup(tiny) as client:
        tiny.answers = [says(POD)]
        await client.get(Pod, "a b?c#d%", "a")
        assert tiny.requests[0][1] == "/api/v1/namespaces/a/pods/a%20b%3Fc%23d%25"


@pytest.mark.parametrize(
    ("answers", "tries", "error"),
    [
        pytest.param([hangs_up(), says(POD)], 2, None, id="a lost read is asked again"),
        pytest.param([refuses(503, "ServiceUnavailable"), says(POD)], 2, None, id="so is a 503"),
        pytest.param([refuses(429, "TooManyRequests", Retry_After="0"), says(POD)], 2, None,
                     id="a 429 waits as told"),
        pytest.param([refuses(403, "Forbidden")], 1, Forbidden, id="a refusal is final"),
        pytest.param([hangs_up()], 6, Timeout, id="after a while it gives up"),
    ],
)  # fmt: skip
async def test_reads_are_retried(
    answers: list[Answer], tries: int, error: type[ApiError] | None
) -> None:
    async with serving() as tiny, Setup(tiny) as client:
        tiny.answers = answers
        if error is None:
            assert (await client.get(Pod, "x", "a")).name == "x"
        else:
            with pytest.raises(error):
                await client.get(Pod, "x", "a")
        # aiohttp itself repeats a read whose reused connection turned out closed
        assert tries <= len(tiny.requests) <= 2 * tries


@pytest.mark.parametrize(
    ("answers", "tries", "error"),
    [
        pytest.param([hangs_up(), says(POD)], 1, Timeout, id="unknown outcome: never again"),
        pytest.param([refuses(500, "InternalError"), says(POD)], 1, InternalError, id="500: never"),
        pytest.param([refuses(503, "ServiceUnavailable"), says(POD)], 1, Unavailable,
                     id="503 without a word: never"),
        pytest.param([refuses(503, "ServiceUnavailable", Retry_After="0"), says(POD)], 2, None,
                     id="turned away with Retry-After"),
        pytest.param([refuses(429, "TooManyRequests", Retry_After="0"), says(POD)], 2, None,
                     id="too many requests"),
    ],
)  # fmt: skip
async def test_writes_are_repeated_only_if_surely_not_done(
    answers: list[Answer], tries: int, error: type[ApiError] | None
) -> None:
    async with serving() as tiny, Setup(tiny) as client:
        tiny.answers = answers
        if error is None:
            await client.create(POD, Pod)
        else:
            with pytest.raises(error):
                await client.create(POD, Pod)
        assert len(tiny.requests) == tries


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    async with serving() as tiny:
        url = tiny.url
    transport = HttpTransport(Connection(Server(url)))
    with pytest.raises(Unavailable):
        await transport.request(Request("POST", "/api/v1/pods", body={}))
    await transport.close()


async def test_silence_is_a_timeout() -> None:
    async def never(request: Any) -> Any:
        await asyncio.sleep(3600)

    async with serving() as tiny, Setup(tiny, answer_s=0.1) as client:
        tiny.answers = [never]
        with pytest.raises(Timeout):
            await client.create(POD, Pod)


async def test_answers_that_are_no_objects_are_errors_not_crashes() -> None:
    async with serving() as tiny, Setup(tiny) as client:
        for body in ("text", 5, None, []):
            tiny.answers = [says(body)]
            with pytest.raises(InternalError):
                await client.get(Pod, "x", "a")
        tiny.answers = [says("<html>", 502)]
        with pytest.raises(ApiError):
            await client.get(Pod, "x", "a")


@pytest.mark.parametrize(
    "how", ["trusted", "unknown authority", "insecure", "wrong name", "other name given"]
)
async def test_tls(how: str, tmp_path: Path) -> None:
    authority = Authority()
    names = [x509.DNSName("api.example")] if "name" in how else []
    async with serving(server_context(authority, tmp_path, *names)) as tiny:
        tiny.answers = [says(POD)]
        server = {
            "trusted": Server(tiny.url, authority.pem),
            "unknown authority": Server(tiny.url, Authority().pem),
            "insecure": Server(tiny.url, None, insecure=True),
            "wrong name": Server(tiny.url, authority.pem),
            "other name given": Server(tiny.url, authority.pem, tls_server_name="api.example"),
        }[how]
        async with Setup(tiny, server=server) as client:
            if how in ("unknown authority", "wrong name"):
                with pytest.raises(InternalError, match="certificate is not trusted"):
                    await client.create(POD, Pod)
                assert tiny.requests == []
            else:
                assert (await client.create(POD, Pod)).name == "x"


async def test_a_client_certificate_says_who_we_are(tmp_path: Path) -> None:
    authority = Authority()
    mine = authority.issue("alice")
    async with serving(server_context(authority, tmp_path)) as tiny:
        tiny.answers = [says(POD)]
        identity = Identity({}, Certificate(*mine))
        server = Server(tiny.url, authority.pem)
        async with Setup(tiny, server=server, credentials=Fixed(identity)) as client:
            await client.get(Pod, "x", "a")
        assert tiny.peer_names == ["alice"]


async def test_impersonation_headers_are_sent() -> None:
    wanted = [("Impersonate-User", "jane"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b")]
    async with serving() as tiny, Setup(tiny, impersonate=wanted) as client:
        tiny.answers = [says(POD)]
        await client.get(Pod, "x", "a")
        assert tiny.requests[0][2].getall("Impersonate-Group") == ["a", "b"]


async def test_a_token_file_is_read_again_each_minute_and_after_a_401(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    seconds = 0.0
    credentials = TokenFile(path, Clock(0.0, lambda: seconds))
    async with serving() as tiny, Setup(tiny, credentials=credentials) as client:
        tiny.answers = [says(POD)]
        await client.get(Pod, "x", "a")
        path.write_text("two")
        await client.get(Pod, "x", "a")
        seconds = 61.0
        await client.get(Pod, "x", "a")
        path.write_text("three")
        tiny.answers = [refuses(401, "Unauthorized"), says(POD)]
        await client.create(POD, Pod)
        path.unlink()
        seconds = 200.0
        await client.get(Pod, "x", "a")
    tokens = [str(a).removeprefix("Bearer ") for a in tiny.authorizations]
    assert tokens == ["one", "one", "two", "two", "three", "three"]


PLUGIN = """
import json, os, pathlib, sys
count = pathlib.Path(sys.argv[1])
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
assert info["kind"] == "ExecCredential" and info["spec"]["interactive"] is False, info
status = {"token": os.environ["PREFIX"] + str(number)}
status["expirationTimestamp"] = sys.argv[2]
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": status}))
"""


def plugin(tmp_path: Path, clock: Clock, ends: str, version: str = "v1") -> ExecPlugin:
    script = tmp_path / "plugin.py"
    script.write_text(PLUGIN)
    spec = ExecSpec(
        sys.executable,
        f"client.authentication.k8s.io/{version}",
        (str(script), str(tmp_path / "count"), ends),
        {"PREFIX": "secret-"},
        interactive_mode="Never",
    )
    return ExecPlugin(spec, clock)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_an_exec_plugin_is_asked_again_when_its_token_ends(
    tmp_path: Path, version: str
) -> None:
    now = 1767225600.0  # 2026-01-01T00:00:00Z
    clock = Clock(0.0, lambda: now)
    clock._offset = 0.0
    credentials = plugin(tmp_path, clock, "2026-01-01T00:10:00Z", version)
    async with serving() as tiny, Setup(tiny, credentials=credentials) as client:
        tiny.answers = [says(POD)]
        await client.get(Pod, "x", "a")
        await client.get(Pod, "x", "a")
        now += 595
        await client.get(Pod, "x", "a")
        tiny.answers = [refuses(401, "Unauthorized"), says(POD)]
        await client.get(Pod, "x", "a")
    tokens = [str(a).removeprefix("Bearer secret-") for a in tiny.authorizations]
    assert tokens == ["1", "1", "2", "3", "4"]
    assert "secret" not in repr(credentials)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["/no/such/program"], "No such file or directory; install it"),
        ([sys.executable, "-c", "print('secret')"], "no ExecCredential"),
        ([sys.executable, "-c", "exit(3)"], "ended with code 3"),
        ([sys.executable, "-c", "print('{\"status\": {}}')"], "did not answer an ExecCredential"),
    ],
)
async def test_a_broken_plugin_is_named_without_its_secrets(
    command: list[str], complaint: str
) -> None:
    spec = ExecSpec(
        command[0], "client.authentication.k8s.io/v1", command[1:], install_hint="install it"
    )
    credentials = ExecPlugin(spec, system_clock())
    with pytest.raises(CredentialError, match=complaint) as refused:
        await credentials.current()
    assert "secret" not in str(refused.value)
    async with serving() as tiny, Setup(tiny, credentials=credentials) as client:
        with pytest.raises(Unauthorized, match=complaint):
            await client.get(Pod, "x", "a")


def event_line(version: int) -> bytes:
    return line("MODIFIED", metadata={"name": f"p{version}", "resourceVersion": str(version)})


async def watched(client: Client) -> list[str]:
    names: list[str] = []
    async with client.watch(Pod, "a", resource_version="1") as events:
        async for event in events:
            names.append(event.object.name)
    return names


LINES = event_line(1) + event_line(2) + event_line(3)


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([LINES], id="all at once"),
        pytest.param([bytes([b]) for b in LINES[:90]] + [LINES[90:]], id="byte by byte"),
        pytest.param([LINES[:100], LINES[100:150], LINES[150:]], id="in halves"),
        pytest.param([b"\n\n", LINES, b"\r\n"], id="with empty lines"),
    ],
)
async def test_a_watch_is_whole_lines(chunks: list[bytes]) -> None:
    async with serving() as tiny, Setup(tiny) as client:
        tiny.answers = [streams(*chunks)]
        assert await watched(client) == ["p1", "p2", "p3"]
        query = tiny.requests[0][1].split("?")[1]
        assert "watch=true" in query and "resourceVersion=1" in query
        assert 300 <= int(query.split("timeoutSeconds=")[1].split("&")[0]) <= 600


async def test_a_watch_cut_in_mid_line_just_ends() -> None:
    async with serving() as tiny, Setup(tiny) as client:
        tiny.answers = [streams(event_line(1), event_line(2)[:20], cut=True)]
        assert await watched(client) == ["p1"]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(streams(b"}{ garbage\n"), InternalError, id="no JSON"),
        pytest.param(streams(b"[1]\n"), InternalError, id="no event"),
        pytest.param(streams(b'{"type": "ADDED"}\n'), InternalError, id="no object"),
        pytest.param(streams(line("ERROR", kind="Status", code=410, reason="Expired")), Expired,
                     id="an ERROR event"),
        pytest.param(refuses(410, "Expired"), Expired, id="a 410 answer"),
        pytest.param(refuses(403, "Forbidden"), Forbidden, id="a refusal"),
        pytest.param(hangs_up(), Timeout, id="no answer"),
    ],
)  # fmt: skip
async def test_a_watch_fails_honestly(answer: Answer, error: type[ApiError]) -> None:
    async with serving() as tiny, Setup(tiny) as client:
        tiny.answers = [answer]
        with pytest.raises(error):
            await watched(client)


async def test_nothing_secret_is_shown() -> None:
    identity = Identity(token_headers("secret"), Certificate(b"secret", b"secret"))
    connection = Connection(Server("https://x", b"secret"), Fixed(identity))
    assert "secret" not in repr(connection) + repr(HttpTransport(connection))


async def test_loopback_is_never_proxied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:1")
    async with serving() as tiny, Setup(tiny) as client:
        tiny.answers = [says(POD)]
        await client.get(Pod, "x", "a")


async def test_a_proxy_is_used_when_told() -> None:
    async with serving() as tiny:
        tiny.answers = [says(POD)]
        server = Server("http://api.invalid", proxy_url=tiny.url)
        async with Setup(tiny, server=server) as client:
            await client.get(Pod, "x", "a")
        assert tiny.requests[0][2]["Host"] == "api.invalid"
