"""There is one way from a request to its answer: at each entrance it gets the same bytes and the same row.

The entrances are a connection, an ASGI application, and the transport without a socket.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import groupby
from random import Random
from typing import Any

import pytest

from mockserver.dialects import discover
from mockserver.server.routes import find, places
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
from tests.kit.entrances import Entrances, Request
from tests.kit.odd import ODD
from tests.kit.odd import places as places_in
from tests.server.test_bad_requests import BROKEN, ODD_HEADERS

Json = Any
JSON = {"content-type": "application/json"}
MESSAGES = "/anthropic/v1/messages"
CHAT = "/v1/chat/completions"
HI = b'{"model":"m","messages":[{"role":"user","content":"Hello"}]}'


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


@pytest.mark.parametrize("part", range(2))
def test_every_golden_request(entrances: Entrances, part: int) -> None:
    entrances.load(golden_rules())
    golden = json.loads(GOLDEN.read_text())
    known = places(discover(), "openai")
    for each in golden_requests()[part::2]:
        answer = entrances.ask(Request(each.path, each.body, {**JSON, **(each.headers or {})}, each.method))
        assert told(answer.status, answer.body) == golden[each.name], each.name
    assert [path for path in entrances.direct.by_asgi if find(path, known)] == []


# --- what is wrong


def of_tables() -> Iterator[tuple[str, Request]]:
    """Every row of the tables of what is refused and accepted, with how it is validated."""
    for title, group in (*table("refused").items(), *table("accepted").items()):
        dialect = discover()[group["dialect"]]
        operation = next(each for each in dialect.operations if each.name == group["operation"] and each.method == "POST")
        query = "?api-version=2024-05-01-preview" if dialect.name == "azure" else ""
        for row in group["rows"]:
            added = row if isinstance(row, dict) else row[0]
            body = json.dumps(body_of(group, added)).encode()
            path = f"{dialect.mounts[0]}{operation.path}{query}"
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
    for body, _ in REFUSED.values():
        kept = {key: value for key, value in {**USUAL, **body}.items() if value is not None}
        yield Request(MESSAGES, json.dumps(kept).encode(), NEW)
    for path in ("/", "/ns", "/ns/", "/ns/mine", "/ns//v1/models", "/ns/a/ns/b/v1/models", "/v1/%ff", "/v1/%00", "/v1/models"):
        for method in ("GET", "HEAD", "POST"):
            yield Request(path, method=method)


def test_the_corpus_of_bad_requests(entrances: Entrances) -> None:
    entrances.load("", max_body=80_000)
    statuses = {entrances.ask(request).status for request in of_the_corpus()}
    assert statuses == {200, 204, 400, 403, 404, 405, 413, 415, 422}


ASKED: Mapping[tuple[str, str], str] = {
    **{(dialect, "chat"): path for dialect, path in URLS.items()},
    **{(dialect, "completions"): path for dialect, path in TEXT_URLS.items()},
    **{(dialect, "responses"): path for dialect, path in RESPONSE_URLS.items()},
    ("openai", "embeddings"): "/v1/embeddings",
    ("openai", "moderations"): "/v1/moderations",
    ("anthropic", "chat"): MESSAGES,
    ("gemini", "chat"): GEMINI.format(model="gemini-2.5-flash"),
}
EACH = 60  # mutated bodies of each


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
