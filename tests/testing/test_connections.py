"""Connections to providers are stopped while a server's environment is set, whichever client makes them."""

import asyncio
import http.client
import http.server
import json
import socket
import ssl
import threading
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import httpx
import openai
import pytest
import requests
import trio
import uvloop
from google import genai

from mockserver.config.errors import ConfigError
from mockserver.server.recording.upstreams import relaying
from mockserver.testing import BlockedConnectionError, MockServer
from mockserver.testing.clients import patch_environ
from mockserver.testing.connections import check_hosts

HOST, URL = "api.openai.com", "https://api.openai.com/v1/models"
PATCHED = [
    *((socket, name) for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex")),
    *((socket.socket, name) for name in ("connect", "connect_ex")),
    (asyncio.BaseEventLoop, "getaddrinfo"),
    (ssl.SSLContext, "wrap_socket"),
    (ssl.SSLContext, "wrap_bio"),
    *((uvloop.Loop, name) for name in ("getaddrinfo", "create_connection", "start_tls")),
]


@pytest.fixture(autouse=True)
def without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find every host here, so that a connection that is not stopped goes no further."""

    def find(host: object, port: object, *_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", int(str(port or 0))))]

    async def find_in_loop(_: object, host: object, port: object, **__: object) -> list[Any]:
        return find(host, port)

    monkeypatch.setattr(socket, "getaddrinfo", find)
    monkeypatch.setattr(uvloop.Loop, "getaddrinfo", find_in_loop)


@pytest.fixture
def server(running: MockServer, without_network: None) -> Iterator[MockServer]:
    running.reset()
    with running.environ():
        yield running


def with_openai() -> None:
    with openai.OpenAI(base_url="https://api.openai.com/v1", api_key="x") as client:
        client.models.list()


def with_http_client() -> None:
    http.client.HTTPSConnection(HOST, 443).request("GET", "/")


async def with_httpx() -> None:
    async with httpx.AsyncClient() as client:
        await client.get(URL)


async def with_aiohttp() -> None:
    async with aiohttp.ClientSession() as session:
        await session.get(URL)


async def with_openai_async() -> None:
    async with openai.AsyncOpenAI(base_url="https://api.openai.com/v1", api_key="x") as client:
        await client.models.list()


async def with_streams() -> None:
    await asyncio.open_connection(HOST, 443, ssl=True)


async def by_address_and_name() -> None:
    await asyncio.get_running_loop().create_connection(asyncio.Protocol, "127.0.0.1", 9, ssl=True, server_hostname=HOST)


async def in_a_thread() -> None:
    await asyncio.to_thread(lambda: httpx.get(URL))


SYNC: list[Callable[[], object]] = [
    with_openai,
    with_http_client,
    lambda: httpx.get(URL),
    lambda: requests.get(URL, timeout=9),
    lambda: urllib.request.urlopen(URL),
]
ASYNC = [with_httpx, with_aiohttp, with_openai_async, with_streams, in_a_thread]


@pytest.mark.parametrize("connect", SYNC)
def test_a_synchronous_client(
    server: MockServer, connect: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = list[str]()
    monkeypatch.setattr(server.local.guard, "error", lambda text: attempts.append(text) or BlockedConnectionError(text))
    with pytest.raises(BlockedConnectionError, match=r"stopped a connection to api\.openai\.com:443 at tests/testing/"):
        connect()
    (told,) = server.problems()
    assert attempts == [told.text]  # nothing is tried again
    assert f"{__file__.rpartition('/')[2]}:" in told.headline


@pytest.mark.parametrize("runner", [asyncio.run, uvloop.run])
@pytest.mark.parametrize("connect", ASYNC)
def test_an_asynchronous_client(
    server: MockServer, runner: Callable[[Any], object], connect: Callable[[], Awaitable[object]]
) -> None:
    with pytest.raises(BlockedConnectionError, match=r"stopped a connection to api\.openai\.com:443"):
        runner(connect())
    assert len(server.problems()) == 1


async def asked_with_a_limit() -> None:
    await asyncio.wait_for(with_aiohttp(), 9)


async def asked_at_once() -> None:
    await asyncio.gather(with_aiohttp(), asyncio.sleep(0))


@pytest.mark.parametrize("runner", [asyncio.run, uvloop.run])
@pytest.mark.parametrize("connect", [with_aiohttp, asked_with_a_limit, asked_at_once])
def test_the_line_that_waits_for_a_task_of_the_client(
    server: MockServer, runner: Callable[[Any], object], connect: Callable[[], Awaitable[object]]
) -> None:
    line = with_aiohttp.__code__.co_firstlineno + 2
    with pytest.raises(BlockedConnectionError, match=rf" at tests/testing/test_connections\.py:{line}\n"):
        runner(connect())


def test_the_line_that_waits_in_another_thread(server: MockServer) -> None:
    async def session() -> aiohttp.ClientSession:
        return aiohttp.ClientSession()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    client = asyncio.run_coroutine_threadsafe(session(), loop).result()
    try:
        with pytest.raises(BlockedConnectionError, match=r" at tests/testing/test_connections\.py:\d+\n"):
            asyncio.run_coroutine_threadsafe(client._request("GET", URL), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(client.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def by_socket(method: str) -> None:
    with socket.socket() as made:
        getattr(made, method)((HOST, 443))


def with_positional_name(wrap: str, *before: object) -> None:
    getattr(ssl.create_default_context(), wrap)(*before, HOST)


@pytest.mark.parametrize(
    "connect",
    [
        lambda: socket.gethostbyname(HOST),
        lambda: socket.gethostbyname_ex(HOST),
        lambda: by_socket("connect"),
        lambda: by_socket("connect_ex"),
        lambda: with_positional_name("wrap_socket", socket.socket(), False, True, True),
        lambda: with_positional_name("wrap_bio", ssl.MemoryBIO(), ssl.MemoryBIO(), False),
    ],
)
def test_calls_that_few_clients_make(server: MockServer, connect: Callable[[], object]) -> None:
    with pytest.raises(BlockedConnectionError, match=r"stopped a connection to api\.openai\.com"):
        connect()


def test_uvloop_by_itself(server: MockServer) -> None:
    with pytest.raises(BlockedConnectionError, match=r"api\.openai\.com:9 "):
        uvloop.run(by_address_and_name())


def test_trio(server: MockServer) -> None:
    with pytest.raises(BlockedConnectionError, match=r"api\.openai\.com:443"):
        trio.run(with_httpx)


def test_a_thread_whose_error_nobody_sees(server: MockServer) -> None:
    def run() -> None:
        with suppress(BaseException):
            httpx.get(URL)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    with pytest.raises(AssertionError, match=r"stopped a connection to api\.openai\.com:443 at tests/testing/"):
        server.verify()


@pytest.fixture
def proxy() -> Iterator[SimpleNamespace]:
    """A proxy that opens each tunnel, and notes what a client sends into it."""
    listener, found = socket.create_server(("127.0.0.1", 0)), SimpleNamespace(asked=b"", sent=b"")

    def serve() -> None:
        with suppress(OSError):
            client, _ = listener.accept()
            with client:
                found.asked = client.recv(9999)
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                found.sent = client.recv(9999)

    thread = threading.Thread(target=serve)
    thread.start()
    found.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    yield found
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


async def with_httpx_through(proxy: str) -> None:
    async with httpx.AsyncClient(proxy=proxy) as client:
        await client.get(URL)


async def with_aiohttp_through(proxy: str) -> None:
    async with aiohttp.ClientSession() as session:
        await session.get(URL, proxy=proxy)


THROUGH: list[Callable[[str], object]] = [
    lambda proxy: httpx.Client(proxy=proxy).get(URL),
    lambda proxy: requests.get(URL, proxies={"https": proxy}, timeout=9),
    lambda proxy: asyncio.run(with_httpx_through(proxy)),
    lambda proxy: asyncio.run(with_aiohttp_through(proxy)),
    lambda proxy: uvloop.run(with_httpx_through(proxy)),
    lambda proxy: uvloop.run(with_aiohttp_through(proxy)),
]


@pytest.mark.parametrize("connect", THROUGH)
def test_a_proxy_gets_nothing_to_pass_on(
    server: MockServer, proxy: SimpleNamespace, connect: Callable[[str], object]
) -> None:
    with pytest.raises(BlockedConnectionError, match=r"stopped a connection to api\.openai\.com"):
        connect(proxy.url)
    assert proxy.asked.startswith(b"CONNECT api.openai.com:443")
    assert proxy.sent == b""


PROVIDER_HOSTS = [
    "eu.api.openai.com", "mine.openai.azure.com", "mine.services.ai.azure.com", "a.b.inference.ai.azure.com",
    "mine.cognitiveservices.azure.com", "models.inference.ai.azure.com", "api.fireworks.ai", "api.skytells.ai",
    "crazyrouter.com", "api.tzafon.ai", "api.lightcone.ai", "api.anthropic.com", "API.MISTRAL.AI.",
    "generativelanguage.googleapis.com", "us-central1-aiplatform.googleapis.com", "openrouter.ai",
    "api.cohere.com", "api.cohere.ai", "api.voyageai.com", "api.jina.ai",
    "bedrock-runtime.eu-west-1.amazonaws.com", "router.huggingface.co", "api.x.ai", "api.groq.com",
]  # fmt: skip


@pytest.mark.parametrize("host", PROVIDER_HOSTS)
def test_providers(server: MockServer, host: str) -> None:
    for each in (host, host.encode()):
        with pytest.raises(BlockedConnectionError):
            socket.getaddrinfo(each, 443)


@pytest.mark.parametrize(
    "host", ["example.org", "localhost", "openai.com", "api.openai.com.example.org", None, b"", ""]
)
def test_other_hosts(server: MockServer, host: str | bytes | None) -> None:
    assert socket.getaddrinfo(host, 443)


def test_how_to_go_on(server: MockServer) -> None:
    texts = []
    for host in ("api.openai.com", "mine.openai.azure.com", "crazyrouter.com", "api.mistral.ai", "api.replicate.com"):
        with pytest.raises(BlockedConnectionError) as raised:
            socket.getaddrinfo(host, None)
        texts.append(str(raised.value).split("\n  ")[1:])
    assert texts == [
        [
            "its URL is set by the app: let the test set it to mockserver.base_url()",
            'to let it connect: allow_hosts=["api.openai.com"]',
        ],
        [
            'its URL is set by the app: let the test set it to mockserver.base_url("azure_openai")',
            'to let it connect: allow_hosts=["mine.openai.azure.com"]',
        ],
        [
            'its URL is set by the app: let the test set it to mockserver.base_url("crazyrouter")',
            'to let it connect: allow_hosts=["crazyrouter.com"]',
        ],
        [
            "the provider's own client reads no variable for its URL: let the test pass it"
            ' mockserver.base_url("mistral")',
            'to let it connect: allow_hosts=["api.mistral.ai"]',
        ],
        [
            "if its client speaks OpenAI's API: set its URL to mockserver.base_url()",
            "otherwise: replace the client in the test, as no dialect of mockserver serves this provider",
            'to let it connect: allow_hosts=["api.replicate.com"]',
        ],
    ]


def test_a_client_may_have_been_created_early(server: MockServer) -> None:
    def advice() -> str:
        with pytest.raises(BlockedConnectionError) as raised:
            with_openai()
        return str(raised.value)

    assert "if the client was created before the test set OPENAI_BASE_URL:\n" in advice()
    with patch_environ(server.env):  # as mockserver_env = session does
        assert "mockserver_env" not in advice()


def test_a_client_of_google_may_have_been_created_early(server: MockServer) -> None:
    client = genai.Client(api_key="any", http_options={"base_url": "https://generativelanguage.googleapis.com"})
    with pytest.raises(BlockedConnectionError, match="was created before the test set GOOGLE_GEMINI_BASE_URL"):
        client.models.generate_content(model="gemini-2.5-flash", contents="hello")


def test_allowed_hosts() -> None:
    with MockServer(allow_hosts=["*.OpenAI.com"]) as server:
        assert socket.getaddrinfo("api.openai.com", 443)
        with pytest.raises(BlockedConnectionError):
            socket.getaddrinfo("api.fireworks.ai", 443)
        with MockServer(allow_hosts="*"):
            assert socket.getaddrinfo("api.fireworks.ai", 443)
        server.reset()  # forgets what was stopped
        server.verify()


@pytest.mark.parametrize(
    ("hosts", "told"),
    [
        (3, "allow_hosts takes a list of hosts, not 3"),
        ([3], "allow_hosts takes a list of hosts, not [3]"),
        (
            "https://api.openai.com",
            'allow_hosts takes hosts, such as "api.openai.com" or "*.azure.com", not \'https://api.openai.com\'',
        ),
    ],
)
def test_what_is_no_host(hosts: object, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_hosts(hosts)
    assert str(raised.value) == told


def test_nothing_stays_patched() -> None:
    before = [vars(owner).get(name) for owner, name in PATCHED]
    with MockServer() as server, server.environ():
        assert not any(vars(owner)[name] is was for (owner, name), was in zip(PATCHED, before, strict=True))
    assert [vars(owner).get(name) for owner, name in PATCHED] == before


def test_a_block_within_a_block_ends_nothing(server: MockServer) -> None:
    with server.environ():
        pass
    with pytest.raises(BlockedConnectionError):
        socket.getaddrinfo("api.openai.com", 443)


def test_a_patch_of_others_that_outlasts_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    server = MockServer().start()
    before = socket.getaddrinfo
    with pytest.MonkeyPatch.context() as others:
        with server.environ():
            ours = socket.getaddrinfo
            others.setattr(socket, "getaddrinfo", lambda *args: ours(*args))
        assert socket.getaddrinfo("api.openai.com", 443)  # ours is still in use, and lets it through
    server.local.guard.stop()
    server.stop()
    assert socket.getaddrinfo is before


@pytest.fixture
def provider() -> Iterator[int]:
    """The port of a provider that answers a chat."""
    answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": "recorded"}}]}).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield listening.server_port
        listening.shutdown()
        thread.join()


def test_the_server_itself_reaches_its_upstream(provider: int, tmp_path: Path) -> None:
    upstream = {"openai": f"http://api.openai.com:{provider}/v1"}
    with MockServer(upstream=upstream, cassette="new", cassettes=str(tmp_path), record="once") as server:
        answer = server.client().chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "hi"}])
        assert answer.choices[0].message.content == "recorded"
        with pytest.raises(BlockedConnectionError):
            httpx.get(upstream["openai"])
        server.reset()


def test_a_relayed_request_on_the_loop_of_asyncio(server: MockServer) -> None:
    async def find() -> object:
        return await asyncio.get_running_loop().getaddrinfo(HOST, 443, type=socket.SOCK_STREAM)

    async def relayed() -> object:
        relaying.set(True)
        return await find()

    assert asyncio.run(relayed())
    with pytest.raises(BlockedConnectionError):
        asyncio.run(find())
