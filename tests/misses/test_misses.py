"""Requests that no rule answers: what is generated, and the texts that name the nearest rules.

`pytest tests/misses --update` rewrites the golden texts; review them as a reader of error messages would.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.features import URLS
from tests.dialects.invariants import has_shape
from tests.kit.asgi import app
from tests.kit.local import Answered

Json = Any
HERE = Path(__file__).parent
RULES = """\
version: 1
rules:
  - name: weather
    when: {last_user: "*weather in Oslo*", tools: {includes: get_weather}}
    then: {text: Clear.}
  - name: greeting
    when: {last_user: {starts_with: hello, ignore_case: true}, model: gpt-4o*}
    then: {text: Hi!}
  - name: goodbye
    when: {last_user: {regex: '(?P<word>bye|farewell)'}, turn: {gte: 2}}
    then: {text: Bye!}
  - name: creative
    when:
      any:
        - {param.temperature: {gt: 1.5}}
        - {system: "*poet*"}
      not: {model: o3}
    then: {text: O sea!}
  - when: {header.x-tenant: acme}
    then: {text: Acme.}
"""
TOOL = {"type": "function", "function": {"name": "get_time"}}


def body(text: str, **more: Json) -> dict[str, Json]:
    return {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **more}


MISSES: Mapping[str, Mapping[str, Json]] = {
    "a-word-off": body("How is the wether in Oslo?", tools=[TOOL]),
    "another-model": body("Hello there", model="o3"),
    "too-early": body("farewell then"),
    "nothing-alike": body("What is the capital of France?"),
    "temperature": body("Write me something.", temperature=1.5),
    "odd-characters": body("bye\n\u202eevil\u0000\x1b[31m " + "x" * 500, model="m\nodel"),
    "empty": {"model": "", "messages": [{"role": "system", "content": ""}]},
}


def missed(request: Mapping[str, Json], rules: str = RULES, dialect: str = "openai") -> Answered:
    answered = app(rules, unmatched="error").ask(URLS[dialect], request)
    assert (answered.status, answered.source) == (404, "unmatched")
    has_shape(answered.json, dialect, "error")
    return answered


def message(answered: Answered) -> str:
    """The text of the error, the rules file without its folder."""
    error = answered.json["error"]
    text: str = error["message"] if isinstance(error, dict) else answered.json["message"]
    return re.sub(r"/\S+/rules\.yaml", "rules.yaml", text)


@pytest.mark.parametrize("name", MISSES)
def test_the_nearest_rules_are_told(name: str, update: bool) -> None:
    told, golden = message(missed(MISSES[name])), HERE / f"{name}.txt"
    if update:
        golden.write_text(told + "\n")
    assert told + "\n" == golden.read_text()


def test_every_golden_text_is_used() -> None:
    assert {file.stem for file in HERE.glob("*.txt")} == set(MISSES)


@pytest.mark.parametrize("dialect", URLS)
def test_every_dialect_tells_the_same_in_its_own_body(dialect: str) -> None:
    request = MISSES["another-model"]
    assert message(missed(request, dialect=dialect)) == message(missed(request))


def test_a_report_shows_three_rules_and_no_line_of_the_request() -> None:
    told = message(missed(MISSES["odd-characters"]))
    assert len(re.findall(r"^  rules\.yaml:\d+", told, re.MULTILINE)) == 3
    assert all(line.isprintable() for line in told.splitlines())
    assert max(map(len, told.splitlines())) < 300


def test_without_rules_the_report_says_so() -> None:
    assert message(missed(body("Hello"), "")) == "no rule answers this request: there are no rules that answer"


@pytest.mark.parametrize("dialect", URLS)
def test_a_missed_stream_is_a_plain_error(dialect: str) -> None:
    request = MISSES["nothing-alike"]
    streamed = missed({**request, "stream": True}, dialect=dialect)
    assert streamed.headers["content-type"] == "application/json"
    assert message(streamed) == message(missed(request, dialect=dialect))


# --- generate


def generated(request: Mapping[str, Json], dialect: str = "openai", **settings: Json) -> str:
    answered = app(RULES, **settings).ask(URLS[dialect], request)
    assert (answered.status, answered.source) == (200, "generated")
    content: str = answered.json["choices"][0]["message"]["content"]
    return content


def test_prose_follows_from_seed_and_meaning() -> None:
    request = MISSES["nothing-alike"]
    text = generated(request)
    assert text == generated({**request, "user": "me", "stream": False}), "bookkeeping changes nothing"
    others = [generated(request, seed=1), generated(body("What is the capital of Spain?"))]
    others += [generated({**request, "temperature": 0.5}), generated(request, "skytells")]
    assert len({text, *others}) == 5


@pytest.mark.parametrize("dialect", URLS)
def test_prose_has_a_plausible_length(dialect: str) -> None:
    texts = [generated(body(f"Tell me about the number {n}."), dialect) for n in range(20)]
    assert len(set(texts)) == 20
    for text in texts:
        assert 30 < len(text) < 3000
        assert text == text.strip()
        assert text[0].isupper()
        assert text[-1] in ".!?"
