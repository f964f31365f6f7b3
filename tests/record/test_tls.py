"""Upstreams that speak TLS, and the certificates that they show: real ones, made here."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.recording import recording
from tests.kit.scripts import ANSWER, HELLO, HI, STREAM, THERE, failed
from tests.kit.upstream import Upstream, plain, stream, upstream

SCRIPTS = {"plain": plain(ANSWER), "stream": stream(HELLO, THERE, b"data: [DONE]\n\n")}


def certificate(folder: Path, address: str) -> tuple[Path, Path]:
    shown, key = folder / f"{address}.pem", folder / f"{address}.key"
    words = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    names = ("-days", "2", "-subj", "/CN=mockserver", "-addext", f"subjectAltName=IP:{address}")
    subprocess.run([*words, *names, "-out", shown, "-keyout", key], check=True, capture_output=True)
    return shown, key


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("tls"), "127.0.0.1")


@pytest.fixture(scope="module")
def secure(shown: tuple[Path, Path]) -> Iterator[Upstream]:
    with upstream(SCRIPTS, *shown) as process:
        yield process


@pytest.mark.parametrize("request_", [HI, STREAM], ids=["plain", "streamed"])
def test_a_certificate_that_nobody_trusts(
    secure: Upstream, tmp_path: Path, request_: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with recording(secure.base("plain", "https"), tmp_path / "tapes") as relay:
        got = relay.ask(request_)
    assert got.status == 502
    assert failed(got) == (
        f"The upstream of openai, 127.0.0.1:{secure.port}, has a certificate that is not trusted: "
        "self-signed certificate; to trust it, set SSL_CERT_FILE to a file with all trusted certificates."
    )
    assert failed(got) in caplog.messages
    assert relay.episodes == ()


def test_a_certificate_that_the_environment_trusts(
    secure: Upstream, shown: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(shown[0]))
    with recording(secure.base("plain", "https"), tmp_path) as relay:
        assert relay.ask(HI).body == ANSWER
    with recording(secure.base("stream", "https"), tmp_path) as relay:
        streamed = relay.ask(STREAM).body
    plainly, as_stream = relay.episodes
    assert plainly.reply.body == ANSWER
    assert as_stream.reply.bytes == streamed
