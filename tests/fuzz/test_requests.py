"""All that stands around a body: methods, paths, queries, headers, namespaces. Nothing of it harms anybody."""

import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.dialects import discover
from tests.fuzz.amount import thrown
from tests.fuzz.bodies import TEXTS
from tests.fuzz.document import Place, every_place
from tests.fuzz.judge import SUCCESSES, checked, judge
from tests.fuzz.test_bodies import target
from tests.fuzz.wire import Connection, Request
from tests.kit.raw import RawResponse

HI = b'{"model":"m","messages":[{"role":"user","content":"Hello"}],"input":"hello","prompt":"hello"}'
PLACES = tuple(every_place())
DIALECTS = tuple(discover())
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "PROPFIND", "QUERY")
STEPS = (
    b"", b"/", b"//", b"%2f", b"/..", b"/%2e%2e", b"/.", b"%00", b"%0d%0ax:y", b"%ff", b"%c0%af", b"%", b"%zz",
    b"%25", b";x=y", b"+", b"%20", b"%f0%9f%8c%8a", b"%ed%a0%80", b"/x" * 200, b"x" * 3000, b"{response_id}",
    b"/*", b"~", b"@",
)  # fmt: skip
ODD = st.one_of(
    st.sampled_from(TEXTS).map(lambda text: quote(text, errors="surrogatepass").encode()),
    st.binary(max_size=12).map(lambda octets: quote(octets).encode()),
    st.sampled_from(STEPS),
)
NAMES = (
    b"authorization", b"api-key", b"x-api-key", b"content-type", b"accept", b"accept-encoding", b"user-agent",
    b"x-stainless-retry-count", b"x-stainless-timeout", b"x-ms-client-request-id", b"extra-parameters",
    b"x-request-id", b"openai-organization", b"openai-beta", b"idempotency-key", b"x-mockserver-timing",
    b"x-mockserver-call", b"cookie", b"x-forwarded-for", b"forwarded", b"if-none-match", b"range", b"te", b"via",
    b"x", b"azureml-model-deployment",
)  # fmt: skip
VALUES = (
    b"", b" ", b"Bearer", b"Bearer ", b"Bearer sk-1", b"bearer \xff\xfe", b"Basic dTpw", b"\xff", b"\xe2\x98\x83",
    b"*", b"-1", b"0", b"1", b"9" * 400, b"1e9", b"nan", b"off", b"true", b"gzip", b"text/html",
    b"application/json", b"application/json; charset=utf-16", b"text/plain; json", b"multipart/form-data", b"json",
    b"x" * 3000, b"{0}%s",
)  # fmt: skip
ANY_VALUE = st.sampled_from(VALUES) | st.binary(max_size=20).map(
    _printable := lambda octets: bytes(byte for byte in octets if byte >= 0x20 and byte != 0x7F).strip()
)
HEADERS = st.lists(st.tuples(st.sampled_from(NAMES), ANY_VALUE), max_size=5)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_odd_paths_and_methods(connection: Connection, dialect: str) -> None:
    own = [place for place in PLACES if place.dialect == dialect]

    @given(
        place=st.sampled_from(own), method=st.sampled_from(METHODS), odd=st.tuples(_fronts(), ODD, st.integers(0, 200))
    )
    @thrown(30)
    def ask(place: Place, method: str, odd: tuple[bytes, bytes, int]) -> None:
        (front, odd_step, at), whole = odd, target(place)
        head = max(len(mount) for mount in discover()[dialect].mounts if place.path.startswith(mount)) + 1
        at = min(head + at, len(whole))
        spoilt = front + whole[:at] + odd_step + whole[at:]
        checked(connection, Request(method, spoilt, body=HI), lambda answer: _judge(answer, dialect, method))

    ask()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_odd_headers_and_queries(connection: Connection, dialect: str) -> None:
    own = [place for place in PLACES if place.dialect == dialect]

    @given(place=st.sampled_from(own), headers=HEADERS, query=st.lists(st.tuples(_KEYS, ODD), max_size=4))
    @thrown(30)
    def ask(place: Place, headers: list[tuple[bytes, bytes]], query: list[tuple[bytes, bytes]]) -> None:
        whole = target(place)
        more = b"&".join(key + b"=" + value for key, value in query)
        asked = whole + (b"&" if b"?" in whole else b"?") + more
        body = HI if place.has_body else None
        method = place.operation.method
        checked(connection, Request(method, asked, headers, body), lambda answer: _judge(answer, dialect, method))

    ask()


_KEYS = ODD | st.sampled_from(
    (
        b"api-version", b"stream", b"starting_after", b"after", b"limit", b"order", b"include[]", b"include",
        b"metadata[k]",
    )
)  # fmt: skip


def _fronts() -> st.SearchStrategy[bytes]:
    named = ODD.map(lambda name: b"/ns/x" + re.sub(rb"/|%2f", b"", name, flags=re.IGNORECASE))  # no slash is part of it
    return st.one_of(st.just(b""), st.just(b""), st.just(b"/ns/mine"), named)


def _judge(answer: RawResponse, dialect: str, method: str) -> None:
    assert answer.status < 500
    if answer.status not in SUCCESSES:
        judge(answer, dialect, "", method)
