"""Where requests go upstream, and what is said of those that do not arrive."""

import socket
import ssl
from typing import Any

import pytest

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects import discover
from mockserver.server.recording.upstreams import (
    PASSED_BY,
    Upstream,
    UpstreamClient,
    find_upstream,
    replace_upload_urls,
    select_forwarded,
)

DEPLOYED = "/openai/deployments/a/chat/completions"
ADDRESS = "https://api.example/v1"


def to(dialect: str = "openai", key: str | None = None) -> Upstream:
    return Upstream(discover()[dialect], ADDRESS, key, dialect)


@pytest.mark.parametrize(
    ("dialect", "written", "path", "query", "expected"),
    [
        ("openai", "/v1/chat/completions", "/v1/chat/completions", "", "/chat/completions"),
        ("openai", "/openai/v1/models", "/openai/v1/models", "a=b&c=%20", "/models?a=b&c=%20"),
        ("openai", "/ns/x/v1/models", "/v1/models", "", "/models"),
        ("openai", "/anthropic/v1/chat/completions", "/anthropic/v1/chat/completions", "", "/chat/completions"),
        ("openai", "/ns/v1%2Fv1/v1/models", "/v1/models", "", "/models"),
        ("openai", "/v1/models/a%2Fb%3F", "/v1/models/a/b?", "", "/models/a%2Fb%3F"),
        ("openai", "//v1//models/é".encode().decode("latin-1"), "/v1/models/é", "", "/models/%C3%A9"),
        ("openai", "/other", "/v1/models/100%", "", "/models/100%25"),
        (
            "azure",
            "/azure/chat/completions",
            "/azure/chat/completions",
            "api-version=1",
            "/chat/completions?api-version=1",
        ),
        ("azure", "/models/info", "/models/info", "", "/models/info"),
        ("fireworks", "/fireworks/inference/v1/models", "/fireworks/inference/v1/models", "", "/models"),
        ("fireworks", "/fireworks/v1/models", "/fireworks/v1/models", "", "/models"),
        ("azure_openai", f"/azure-openai{DEPLOYED}", f"/azure-openai{DEPLOYED}", "q[]=%5B", f"{DEPLOYED}?q[]=%5B"),
    ],
)
def test_addresses(dialect: str, written: str, path: str, query: str, expected: str) -> None:
    assert to(dialect).build_url(path, written.encode("latin-1"), query.encode()) == ADDRESS + expected


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (f"{ADDRESS}/files/a?b=c", "/ns/x/openai/v1/files/a?b=c"),
        ("/v1/files/a", "/ns/x/openai/v1/files/a"),
        ("files/a", "/ns/x/openai/v1/files/a"),
        ("/v10/files", "/v10/files"),
        ("https://api.example:444/v1/files/a", "https://api.example:444/v1/files/a"),
        ("https://files.example/v1/a", "https://files.example/v1/a"),
        ("http://[no url", "http://[no url"),
    ],
)
def test_redirects_within_the_upstream(location: str, expected: str) -> None:
    http = HttpRequest("GET", "/openai/v1/models", namespace="x")
    field = (b"location", location.encode())
    assert to().translate_location(http, f"{ADDRESS}/models", field) == (b"location", expected.encode())


def test_an_upload_url_that_is_none_stays_as_it_is() -> None:
    headers = (("x-goog-upload-url", "http://[no/upload/v1beta/files?upload_id=1"),)
    http = HttpRequest("POST", "/gemini/upload/v1beta/files")
    assert replace_upload_urls(headers, http, discover()["gemini"]) == headers


def test_a_path_of_slashes_takes_no_time() -> None:
    path = "/v1/models/" + "/" * 60_000
    assert to().build_url(path, b"/x" + path.encode(), b"").startswith(f"{ADDRESS}/models/")


@pytest.mark.parametrize(
    ("dialect", "header", "value"),
    [
        ("openai", b"authorization", b"Bearer k-1"),
        ("tzafon", b"authorization", b"Bearer k-1"),
        ("azure", b"api-key", b"k-1"),
        ("azure_openai", b"api-key", b"k-1"),
        ("skytells", b"x-api-key", b"k-1"),
        ("fireworks", b"authorization", b"Bearer k-1"),
        ("crazyrouter", b"authorization", b"Bearer k-1"),
    ],
)
def test_a_key_is_in_the_header_of_its_dialect(dialect: str, header: bytes, value: bytes) -> None:
    sent = [(b"authorization", b"Bearer mine"), (b"api-key", b"mine"), (b"x-api-key", b"mine"), (b"accept", b"*/*")]
    assert to(dialect, "k-1").build_headers(sent) == [(b"accept", b"*/*"), (header, value)]
    assert to(dialect).build_headers(sent) == sent


def test_the_upstream_of_a_dialect() -> None:
    openai = discover()["openai"]
    environ = {"MOCKSERVER_UPSTREAM_KEY_OPENAI": "k-1", "MOCKSERVER_UPSTREAM_KEY_AZURE": "k-2"}
    call = Call("openai", "chat", "gpt-5", HttpRequest("POST", "/v1/chat/completions"), None)
    found = find_upstream(openai, call, {"openai": ADDRESS}, environ=environ)
    assert found == Upstream(openai, ADDRESS, "k-1", "openai")
    keyless = {"MOCKSERVER_UPSTREAM_KEY_OPENAI": ""}
    assert find_upstream(openai, call, {"openai": ADDRESS}, environ=keyless).key is None
    with pytest.raises(Failure, match="No upstream is set for openai; set one, such as --upstream openai=https"):
        find_upstream(openai, call, {"azure": ADDRESS}, environ=environ)


def test_headers_of_a_connection_are_not_passed_on() -> None:
    kept = [(b"accept", b"*/*"), (b"x-b", b"2"), (b"content-encoding", b"gzip")]
    dropped = [
        (b"Host", b"x"), (b"Connection", b"close, X-A"), (b"x-a", b"1"), (b"Transfer-Encoding", b"chunked"),
        (b"Content-Length", b"2"), (b"Upgrade", b"h2c"), (b"TE", b"trailers"), (b"keep-alive", b"1"),
        (b"Proxy-Authorization", b"x"), (b"X-Mockserver-Timing", b"off"), (b"expect", b"100-continue"),
    ]  # fmt: skip
    assert list(select_forwarded([*dropped, *kept])) == kept


def test_cookies_go_on_from_programs_and_not_from_pages() -> None:
    sent = [(b"cookie", b"session=of-another-port"), (b"accept", b"*/*")]
    assert list(select_forwarded(sent)) == sent
    assert list(select_forwarded([*sent, (b"Origin", b"https://app.example")])) == sent[1:]


def test_circles() -> None:
    ours, other = UpstreamClient(), UpstreamClient()
    (signed,) = ours.sign([(b"accept", b"*/*")])
    (twice,) = other.sign([signed])
    assert twice == (PASSED_BY, ours.name + b", " + other.name)
    for upstreams in (ours, other):
        with pytest.raises(Failure, match="leads back to it") as failure:
            upstreams.sign([twice])
        assert failure.value.headers == (("x-mockserver-relay", "circle"),)


def caused(cause: BaseException) -> OSError:
    error = OSError("All connection attempts failed")
    error.__cause__ = cause
    return error


def untrusted(code: int, message: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    error.verify_code, error.verify_message = code, message
    return error


NO_TLS = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")
SETTING = "and the setting upstream"
TRUST = "; to trust it, set SSL_CERT_FILE to a file with all trusted certificates"
UNTRUSTED = "has a certificate that is not trusted: "


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            caused(ConnectionRefusedError(111, "Connect call failed")),
            f"refuses connections; check that it runs, {SETTING}",
        ),
        (
            caused(socket.gaierror(-2, "Name not known")),
            f"cannot be found: Name not known; check the network, the proxy {SETTING}",
        ),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION] no"), "failed the TLS handshake: [SSL: WRONG_VERSION] no"),
        (NO_TLS, f"failed the TLS handshake: {NO_TLS.strerror}; if it speaks plain HTTP, begin its URL with http://"),
        (caused(untrusted(18, "self-signed certificate")), f"{UNTRUSTED}self-signed certificate{TRUST}"),
        (caused(untrusted(10, "certificate has expired")), f"{UNTRUSTED}certificate has expired"),
        (TimeoutError(), "did not answer in time"),
        (RuntimeError("odd\nthing."), "gave no answer: odd\\x0athing"),
        (RuntimeError(), "gave no answer: RuntimeError"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_why_there_is_no_answer(error: Exception, why: str) -> None:
    failure = to(key="k-secret").make_failure(error)
    assert failure.reason == ("gateway_timeout" if "in time" in why else "bad_gateway")
    assert failure.message == f"The upstream of openai, api.example, {why}."


async def test_one_client_for_all() -> None:
    upstreams = UpstreamClient()
    first: Any = await upstreams.get_client()
    assert await upstreams.get_client() is first
    assert not first.follow_redirects
    assert first.trust_env
    await upstreams.close()
    await upstreams.close()
    assert first.is_closed
