"""TLS: official clients over https and wss, both versions of HTTP, and certificates that cannot be used."""

import asyncio
import gc
import ipaddress
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google import genai
from google.genai import types
from openai import DefaultHttpxClient, OpenAI

from mockserver.config.errors import ConfigError
from mockserver.testing import MockServer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `cert.pem`, for this machine, its `key.pem`, and both in `both.pem`."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
    cert = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    form = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    sealed = key.private_bytes(serialization.Encoding.PEM, form, serialization.BestAvailableEncryption(b"secret"))
    for file, data in {"cert": cert, "key": secret, "both": cert + secret, "sealed": sealed}.items():
        (folder / f"{file}.pem").write_bytes(data)
    return folder


@pytest.fixture
def server(folder: Path) -> Iterator[MockServer]:
    with MockServer(tls_cert=str(folder / "both.pem"), timing=True) as server:
        server.on("hello").reply("Hi over TLS, one word at a time", timing={"per_token": "5ms"})
        yield server


@pytest.fixture
def trust(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=folder / "cert.pem")


def test_a_client_over_https(server: MockServer, trust: ssl.SSLContext) -> None:
    assert server.url.startswith("https://127.0.0.1:")
    with OpenAI(
        base_url=server.base_url("openai"), api_key="any", http_client=DefaultHttpxClient(verify=trust)
    ) as client:
        asked = {"role": "user", "content": "hello"}
        chunks = client.chat.completions.create(model="gpt-4o", messages=[asked], stream=True)  # type: ignore[call-overload]
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hi over TLS, one word at a time"
    home = httpx2.get(server.url, verify=trust).json()
    assert home["base_urls"]["openai"] == server.base_url("openai")


@pytest.mark.parametrize("offered", ["http/1.1", "h2"])
def test_both_versions_of_http(offered: str, server: MockServer, trust: ssl.SSLContext) -> None:
    with httpx2.Client(verify=trust, http1=offered == "http/1.1", http2=offered == "h2") as client:
        got = client.get(f"{server.url}/health")
    assert (got.status_code, got.http_version) == (200, "HTTP/2" if offered == "h2" else "HTTP/1.1")


def test_google_s_client_in_a_live_session(server: MockServer, trust: ssl.SSLContext) -> None:
    options = types.HttpOptions(base_url=server.base_url("gemini"), async_client_args={"ssl": trust})

    async def talk() -> str:
        client = genai.Client(api_key="any", http_options=options)
        config: types.LiveConnectConfigDict = {"response_modalities": [types.Modality.TEXT]}
        async with client.aio.live.connect(model="gemini-live-2.5-flash-preview", config=config) as session:
            said = types.Content(role="user", parts=[types.Part(text="hello")])
            await session.send_client_content(turns=said, turn_complete=True)
            return "".join([message.text or "" async for message in session.receive()])

    assert asyncio.run(talk()) == "Hi over TLS, one word at a time"


def test_a_client_without_trust_or_tls(server: MockServer) -> None:
    with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx2.get(server.url)
    with pytest.raises(httpx2.RemoteProtocolError):
        httpx2.get(server.url.replace("https", "http"))
    assert not server.calls


def test_handshakes_that_fail_are_not_worth_a_line(server: MockServer, caplog: pytest.LogCaptureFixture) -> None:
    address = server.url.removeprefix("https://").split(":")
    clients = [socket.create_connection((address[0], int(address[1])), timeout=60) for _ in range(20)]
    for client in clients:
        client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
    for client in clients:
        with suppress(ConnectionResetError):
            assert client.recv(100) == b""
        client.close()
    gc.collect()
    assert not caplog.records


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"tls_cert": "cert.pem"}, "no certificate with its key: "),
        ({"tls_cert": "cert.pem", "tls_key": "sealed.pem"}, "no certificate with its key: "),
        ({"tls_cert": "cert.pem", "tls_key": "nowhere.pem"}, "cert.pem and nowhere.pem: there is no such file"),
        ({"tls_key": "key.pem"}, "tls_key is of no use without tls_cert; set both, or neither"),
    ],
)
def test_what_cannot_be_used(files: dict[str, str], why: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigError) as error:
        MockServer(**files).start()  # type: ignore[arg-type]
    assert why in str(error.value)


def test_certificate_and_key_in_two_files(folder: Path, trust: ssl.SSLContext) -> None:
    with MockServer(tls_cert=os.fspath(folder / "cert.pem"), tls_key=os.fspath(folder / "key.pem")) as server:
        assert httpx2.get(f"{server.url}/health", verify=trust).json() == {"status": "ok"}
