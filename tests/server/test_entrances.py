"""There is one way from a request to its answer: at each entrance it gets the same bytes and the same row.

The entrances are a connection, an ASGI application, and the transport without a socket.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from random import Random
from socket import SO_LINGER, SOL_SOCKET
from struct import pack
from time import monotonic, sleep
from typing import Any

import pytest

from mockserver.dialects import discover_all
from mockserver.engine.offload import LARGEST_IN_LOOP
from mockserver.server.routes import find_routes
from tests.determinism.requests import GOLDEN, told
from tests.determinism.requests import requests as golden_requests
from tests.determinism.requests import rules as golden_rules
from tests.dialects.anthropic.test_refusals import NEW, REFUSED, USUAL
from tests.dialects.case_files import Case, all_cases
from tests.dialects.features import RESPONSE_URLS, TEXT_URLS, URLS
from tests.dialects.gemini.features import URL as GEMINI
from tests.dialects.test_bad_input import BAD
from tests.dialects.test_requests import body as body_of
from tests.dialects.test_requests import table
from tests.fuzz.bodies import NUMBERS, TEXTS, sound
from tests.kit.entrances import Entrances, Heard, Request
from tests.kit.odd import ODD
from tests.kit.odd import places as places_in
from tests.kit.raw import HI, PATIENCE, STREAM, Raw, post, write_chunked
from tests.server.test_bad_requests import BROKEN, ODD_HEADERS

Json = Any
JSON = {"content-type": "application/json"}
MESSAGES = "/anthropic/v1/messages"
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def entrances() -> Iterator[Entrances]:
    with ExitStack() as stack:
        made = Entrances(stack)
        made.ask(Request("/azure/info", method="GET"))  # the first that makes the paths of all dialects
        yield made


@pytest.fixture(autouse=True)
def forgotten(entrances: Entrances) -> None:
    entrances.direct.by_asgi.clear()


# --- what is right


def of_case(case: Case) -> Request:
    body = case.body if isinstance(case.body, bytes) else b"" if case.body is None else json.dumps(case.body).encode()
    return Request(case.path, body, {**JSON, **(case.headers or {})}, case.method)


def test_every_case_of_the_dialects(entrances: Entrances) -> None:
    for _, cases in groupby(all_cases(), key=lambda case: (case.rules, case.settings)):
        first, *others = cases
        entrances.load(first.rules, **first.settings)
        for case in (first, *others):
            entrances.ask(of_case(case))
    assert entrances.direct.by_asgi == []


def test_golden_requests(entrances: Entrances) -> None:
    """Each feature in two dialects of a family at least; tests/determinism asks for each in all of them."""
    entrances.load(golden_rules())
    golden = json.loads(GOLDEN.read_text())
    routes = find_routes("openai")
    for each in golden_requests()[::5]:
        answer = entrances.ask(Request(each.path, each.body, {**JSON, **(each.headers or {})}, each.method))
        assert told(answer.status, answer.body) == golden[each.name], each.name
    assert [path for path in entrances.direct.by_asgi if routes.find(path)] == []


def test_streams_that_take_their_time(entrances: Entrances) -> None:
    entrances.load(PACED)
    for word in (b"constant", b"template"):
        for body in (HI, STREAM):
            heard = entrances.ask(Request(CHAT, body.replace(b"Hello", word), JSON))
            assert heard.body.count(b"data: ") == (8 if body is STREAM else 0), heard
    assert entrances.direct.by_asgi == []


PACED = """
rules:
  - when: {last_user: constant}
    then: {text: one two three four five, timing: {per_token: 2ms}}
  - then: {text: "one two three four {{ last_user }}", timing: {per_token: 2ms, jitter: 0.5}}
"""


FRAMED = """
rules:
  - when: {last_user: length}
    then: {raw: {body: hi, headers: {x-content-length: "2"}}}
  - when: {last_user: note}
    then: {raw: {body: hi, headers: {note: "content-length: 2"}}}
  - when: {last_user: others}
    then: {raw: {body: hi, headers: {x-transfer-encoding: gzip, x-connection: close}}}
"""


@pytest.mark.parametrize("word", [b"length", b"note", b"others"])
def test_only_whole_names_of_headers_frame_a_body(word: bytes, entrances: Entrances) -> None:
    entrances.load(FRAMED)
    assert entrances.ask(Request(CHAT, HI.replace(b"Hello", word), JSON)).body == b"hi"
    assert entrances.direct.by_asgi == []


# --- what is wrong


def of_tables() -> Iterator[tuple[str, Request]]:
    """Every row of the tables of what is refused and accepted, with how it is validated."""
    for group in (*table("refused").values(), *table("accepted").values()):
        for name in group["dialect"].split():
            dialect = discover_all()[name]
            operation = next(
                each for each in dialect.operations if each.name == group["operation"] and each.method == "POST"
            )
            query = "?api-version=2024-05-01-preview" if name == "azure" else ""
            path = f"{dialect.mounts[0]}{operation.path}{query}"
            for row in group["rows"]:
                added = row if isinstance(row, dict) else row[0]
                body = json.dumps(body_of(group, added)).encode()
                yield group.get("validation", "published"), Request(path, body, {**JSON, **group.get("headers", {})})


def test_every_row_of_the_tables_of_bodies(entrances: Entrances) -> None:
    statuses = set[int]()
    for validation, rows in groupby(sorted(of_tables(), key=lambda row: row[0]), key=lambda row: row[0]):
        entrances.load("", validation=validation)
        statuses |= {entrances.ask(request).status for _, request in rows}
    assert statuses == {200, 400, 422}


def of_the_corpus() -> Iterator[Request]:
    chats = {**URLS, "anthropic": MESSAGES, "gemini": GEMINI.format(model="gemini-2.5-flash")}
    for path in chats.values():
        for body in (*BAD.values(), *BROKEN.values()):
            yield Request(path, body, JSON)
        for name, value in ODD_HEADERS.items():
            yield Request(path, HI, {name: value.replace("\x7f", "")})  # which no connection lets in
        for media in ("text/plain", "multipart/form-data; boundary=x", "application/problem+JSON", ""):
            yield Request(path, HI, {"content-type": media})
        for coding in ("gzip", "br", "identity", "made-up", "gzip, gzip, gzip, gzip"):
            yield Request(path, HI, {**JSON, "content-encoding": coding})
        for method in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS"):
            yield Request(path, method=method)
        yield Request(path, HI, {**JSON, "x-mockserver-timing": "maybe"})
        yield Request(f"/ns/*{path}", HI, JSON)
        yield Request(f"/ns/mine{path}", HI[:-1], JSON)
        yield Request(f"/ns/mine{path}?a&b=%ff&=&&a=1&a=2&stream=nonsense", HI, JSON)
        yield Request(path.replace("/", "//"), HI, JSON)
        yield Request(path.replace("chat", "%63hat"), HI, JSON)
        yield Request(f"{path.partition('?')[0]}/x%0Ay", HI, JSON)
    for size in (LARGEST_IN_LOOP - 1, LARGEST_IN_LOOP, LARGEST_IN_LOOP + 1, 79_999, 80_000, 80_001):
        whole = HI.replace(b"Hello", b"x" * (size - len(HI) + 5))
        yield from (
            Request(path, body, JSON) for path in (CHAT, f"/ns/mine{CHAT}") for body in (whole, whole[:-1] + b"]")
        )
    for body, _ in REFUSED.values():
        kept = {key: value for key, value in {**USUAL, **body}.items() if value is not None}
        yield Request(MESSAGES, json.dumps(kept).encode(), NEW)
    for path in (
        "/",
        "/ns",
        "/ns/",
        "/ns/mine",
        "/ns//v1/models",
        "/ns/a/ns/b/v1/models",
        "/v1/%ff",
        "/v1/%00",
        "/v1/models",
    ):
        for method in ("GET", "HEAD", "POST"):
            yield Request(path, method=method)


def test_the_corpus_of_bad_requests(entrances: Entrances) -> None:
    entrances.load("", max_body=80_000)
    statuses = {entrances.ask(request).status for request in of_the_corpus()}
    assert statuses == {200, 204, 400, 404, 405, 413, 415, 422}


COHERE = {"chat": "chat", "embeddings": "embed", "rerank": "rerank"}
ASKED: Mapping[tuple[str, str], str] = {
    **{(dialect, "chat"): path for dialect, path in URLS.items()},
    **{(dialect, "completions"): path for dialect, path in TEXT_URLS.items()},
    **{(dialect, "responses"): path for dialect, path in RESPONSE_URLS.items()},
    ("openai", "embeddings"): "/v1/embeddings",
    ("openai", "moderations"): "/v1/moderations",
    ("anthropic", "chat"): MESSAGES,
    **{("cohere", name): f"/cohere/v2/{path}" for name, path in COHERE.items()},
    **{(name, "rerank"): f"/{name}/v1/rerank" for name in ("jina", "voyage")},
    ("gemini", "chat"): GEMINI.format(model="gemini-2.5-flash"),
}
EACH = 20  # mutated bodies of each


def mutate(body: Json, random: Random) -> bytes:
    """Return a body with some of its values, at any depth, made others; now and then no JSON."""
    body = json.loads(json.dumps(body))
    for _ in range(random.randint(1, 3)):
        found = list(places_in(body))
        if not found:
            break
        holder, key = random.choice(found)
        other = json.loads(json.dumps(random.choice(random.choice((ODD, NUMBERS, TEXTS)))))
        match random.randrange(5):
            case 0:
                del holder[key]
            case 1:
                holder[key] = [holder[key], other]
            case 2 if isinstance(holder, dict):
                holder[random.choice(("", "type", "name", "later"))] = other
            case _:
                holder[key] = other
    text = json.dumps(body, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    at = random.randrange(len(text)) if random.random() < 0.1 else len(text)
    return text[:at] + text[at + 1 :]


@pytest.mark.parametrize("validation", ["published", "live", "off"])
def test_mutated_bodies(entrances: Entrances, validation: str) -> None:
    entrances.load("", validation=validation)
    random = Random(f"entrances {validation}")
    statuses = list[int]()
    for (dialect, operation), path in ASKED.items():
        for _ in range(EACH):
            body = mutate(random.choice(sound(operation, dialect)), random)
            statuses.append(entrances.ask(Request(path, body, JSON)).status)
    assert {200, 400, 422} <= set(statuses)
    assert max(statuses) < 500


# --- what else an entrance does


def connected(entrances: Entrances, request: Request) -> Heard:
    """Return what is heard over a connection and by ASGI, which is the same; the transport is no browser."""
    direct, by_asgi, _ = entrances.all
    heard = direct.ask(request)
    assert heard == by_asgi.ask(request)
    return heard


def test_limits_are_kept_and_told(entrances: Entrances) -> None:
    entrances.load("", limits={"requests_per_day": 2})
    for entrance in entrances.all:
        heard = [entrance.ask(Request(CHAT, HI, JSON)) for _ in range(3)]
        assert [each.status for each in heard] == [200, 200, 429]
        fields = [dict(each.headers) for each in heard]
        assert [each["x-ratelimit-remaining-requests"] for each in fields] == ["1", "0", "0"]
        assert "retry-after" in fields[2]
        assert "Rate limit" in json.loads(heard[2].body)["error"]["message"]
    assert entrances.direct.by_asgi == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://localhost"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "evil.example"}, 403),
        ({"service-worker": "script"}, 403),
    ],
)
def test_pages_of_other_origins_are_refused(entrances: Entrances, headers: Mapping[str, str], status: int) -> None:
    entrances.load("")
    assert connected(entrances, Request(CHAT, HI, {**JSON, **headers})).status == status
    assert entrances.direct.by_asgi == []


VARYING = """
rules:
  - when: {last_user: vary}
    then: {raw: {body: hi, headers: {content-type: text/plain, vary: accept, access-control-allow-origin: me}}}
"""
APP = "https://app.example"


@pytest.mark.parametrize("origins", [APP, "*", f"{APP},*"])
def test_pages_hear_that_they_may_read_the_answer(origins: str) -> None:
    preflight = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    with ExitStack() as stack:
        entrances = Entrances(stack, VARYING, cors=origins)
        for origin in (None, APP, "https://other.example"):
            for body in (HI, HI.replace(b"Hello", b"vary"), STREAM, b"{"):
                heard = connected(entrances, Request(CHAT, body, {**JSON, **({"origin": origin} if origin else {})}))
                told = dict(heard.headers).get("access-control-allow-origin", "")
                assert (told in ("*", origin)) is ("*" in origins or origin == APP) or origin is None
        assert entrances.direct.by_asgi == []
        for origin in (APP, "https://other.example"):
            heard = connected(entrances, Request(CHAT, method="OPTIONS", headers={"origin": origin, **preflight}))
            assert (heard.status == 200) is ("*" in origins or origin == APP)


def test_a_namespace_has_a_memory_of_its_own(entrances: Entrances) -> None:
    entrances.load("rules: [{when: {namespace: mine}, times: 1, then: {text: once}}]")
    bodies = [entrances.ask(Request(f"/ns/{name}{CHAT}", HI, JSON)).body for name in ("mine", "mine", "yours")]
    assert [b'"once"' in body for body in bodies] == [True, False, False]
    assert entrances.direct.by_asgi == []


def test_a_reload_is_for_the_next_request_of_a_connection(entrances: Entrances) -> None:
    entrances.load("rules: [{then: {text: before}}]")
    with Raw(entrances.direct.port) as line:
        assert b"before" in line.send(post(HI)).receive().body
        entrances.direct.reload("rules: [{then: {text: after}}]")
        assert b"after" in line.send(post(HI)).receive().body
    assert entrances.direct.by_asgi == []


HELLO = post(HI)


@pytest.mark.parametrize(
    ("segments", "statuses", "by_asgi"),
    [
        ((HELLO,), [200], 0),
        ((HELLO + HELLO + HELLO,), [200, 200, 200], 0),
        ((HELLO + b"garbage\r\n\r\n",), [200, 400], 0),
        ((HELLO + HELLO[:20], HELLO[20:]), [200, 200], 0),
        ((HELLO + HELLO[:-5], HELLO[-5:] + HELLO), [200, 200, 200], 2),
        ((HELLO[:-5], HELLO[-5:]), [200], 1),
        ((HELLO[:30], HELLO[30:]), [200], 0),
        ((post(write_chunked(HI), "transfer-encoding: chunked"),), [200], 0),
        ((post(write_chunked(HI[:9], HI[9:]), "transfer-encoding: chunked"),), [200], 0),
        ((post(HI, "expect: 100-continue"),), [100, 200], 1),
        ((post(HI, "expect: 100-continue")[: -len(HI)], HI), [100, 200], 1),
        ((post(HI, "connection: close"),), [200], 1),
        ((post(HI, version="1.0"),), [200], 1),
        ((HELLO.replace(b"POST", b"HEAD"),), [200], 1),
        ((HELLO.replace(b"POST", b"PUT"),), [405], 0),
        ((post(STREAM) + HELLO,), [200, 200], 0),
        ((post(HI.replace(b"Hello", b"paced")) + HELLO,), [200, 200], 1),
        ((post(STREAM.replace(b"Hello", b"paced")) + HELLO,), [200, 200], 1),
        ((post(HI.replace(b"Hello", b"long")) + HELLO,), [200, 200], 1),
    ],
)
def test_requests_however_they_come(
    segments: Sequence[bytes], statuses: Sequence[int], by_asgi: int, entrances: Entrances
) -> None:
    """`by_asgi`: how many of them are left to the application, as they are not whole or not plain, or have to wait."""
    entrances.load(SLOW)
    plain = entrances.ask(Request(CHAT, HI, JSON))
    with Raw(entrances.direct.port) as line:
        for segment in segments:
            line.send(segment)
            sleep(0.02 * (segment is not segments[-1]))  # until it is read
        is_head = segments[0].startswith(b"HEAD")
        answers = [line.receive(to="HEAD" if is_head else "POST") for _ in statuses]
    assert [answer.status for answer in answers] == statuses
    assert answers[-1].status != 200 or answers[-1].body == (b"" if is_head else plain.body)
    assert len(entrances.direct.by_asgi) == by_asgi


def test_an_answer_that_is_made_on_a_thread(entrances: Entrances) -> None:
    entrances.load(SLOW)
    for body in (HI, STREAM):
        heard = entrances.ask(Request(CHAT, body.replace(b"Hello", b"long"), JSON))
        assert heard.body.count(b"word") == 30_000
    assert entrances.direct.by_asgi == []


SLOW = f"""
rules:
  - {{when: {{last_user: paced}}, then: {{text: one two three, timing: {{total: 50ms}}}}}}
  - {{when: {{last_user: long}}, then: {{text: "{"word " * 30_000}"}}}}
  - {{when: {{last_user: never}}, then: {{text: one, timing: {{total: 1h}}}}}}
  - {{then: {{text: Hi}}}}
"""
ONE_AT_A_TIME = {"concurrent_requests": 1, "queue": 9, "requests_per_day": 100}
NEVER = post(HI.replace(b"Hello", b"never"))


def test_a_client_that_leaves_the_queue_has_drawn_nothing(entrances: Entrances) -> None:
    live = entrances.load(SLOW, limits=ONE_AT_A_TIME).direct.live
    with Raw(entrances.direct.port) as working, Raw(entrances.direct.port) as other:
        working.send(NEVER)
        eventually(lambda: len(live.journal) == 1)
        with Raw(entrances.direct.port) as waiting:
            waiting.send(HELLO)
            eventually(lambda: len(live.journal) == 2)
            waiting.socket.setsockopt(SOL_SOCKET, SO_LINGER, pack("ii", 1, 0))  # it leaves without a farewell
        eventually(lambda: [row.ended for row in live.journal] == ["", "client left"])
        working.socket.close()
        assert other.send(HELLO).receive().headers["x-ratelimit-remaining-requests"] == "98"
    assert entrances.direct.by_asgi == []


def test_who_waits_when_the_server_stops_is_told(entrances: Entrances) -> None:
    with ExitStack() as stack:
        stopping = Entrances(stack, SLOW, limits=ONE_AT_A_TIME).direct
        working, waiting = [stack.enter_context(Raw(stopping.port)).send(NEVER) for _ in range(2)]
        eventually(lambda: len(stopping.live.journal) == 2)
        stopping.stop()
        answers = [line.receive() for line in (working, waiting)]
        assert [answer.status for answer in answers] == [503, 503]
        assert [answer.headers["x-mockserver-source"] for answer in answers] == ["invalid", "invalid"]
        assert [row.ended for row in stopping.live.journal] == ["server stopped", "server stopped"]


def eventually(holds: Callable[[], bool]) -> None:
    deadline = monotonic() + PATIENCE
    while not holds():
        assert monotonic() < deadline
        sleep(0.005)
