"""Rules files, templates and settings that were spoilt: mistakes with their places, or a server that answers."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from mockserver.config.errors import MockserverError
from mockserver.config.layers import assemble, format_variable
from mockserver.config.settings import Settings
from mockserver.config.source import read
from mockserver.core.frames import write_event
from mockserver.core.http import HttpRequest
from mockserver.dialects import discover
from mockserver.rules.load import Rule, load
from mockserver.server.compose import start
from mockserver.server.live import Live
from mockserver.server.respond import Responder
from mockserver.server.sources import Sources
from tests.dialects.features import FEATURES, RESPONSE_FEATURES, TEXT_FEATURES, Feature
from tests.fuzz.amount import thrown
from tests.fuzz.bodies import TEXTS, spoil
from tests.fuzz.wire import PATIENCE

Json = Any
KNOWN = {name: dialect.features for name, dialect in discover().items()}
TOUR = Path(__file__).parents[2] / "rules.yaml"


def _listed() -> list[Json]:
    """Sound rules of every kind: those of the tour, and one for each feature."""
    found = yaml.safe_load(TOUR.read_text())["rules"]
    tables: tuple[Mapping[str, Feature], ...] = (FEATURES, TEXT_FEATURES, RESPONSE_FEATURES)
    thens = [feature.then for table in tables for feature in table.values() if feature.then is not None]
    return [*found, *({"then": then} for then in thens)]


RULES = _listed()
SETTINGS: Mapping[str, Json] = {
    "seed": 7,
    "clock": "2024-01-01T00:00:00Z",
    "models": {"gpt-4o*": {"context": 100}, "m": None},
    "keys": ["sk-1"],
    "timing": {"first_token": "30ms", "per_token": "1ms", "jitter": "20%"},
    "max_body": "1MB",
    "strict": True,
    "ids": "unique",
}
WORDS = (
    "{{", "}}", "{%", "%}", "{#", "#}", " ", "call", "call.model", "last_user", "match.x", "fake.name", "fake",
    "x", "|", "upper", "tojson", "default(1)", "join(',')", "for x in", "range(10**9)", "endfor", "if", "else",
    "endif", "set x =", "macro f()", "endmacro", "f()", "~", "*", "**", "+", "-", "'", '"', "\\", "\n", "(", ")",
    "[", "]", ".", ",", "1", "1e400", "99999999999999999999", "'a' * 10**9", "not", "in", "is defined",
    "loop.index", "include 'x'", "raw", "tool_result.json.a.b", "__class__", "call.raw", "seed", "namespace()",
    "cycler", "lipsum(99)", "\x00", "\u2028", "é",
)  # fmt: skip
BODIES: Mapping[str, Json] = {
    "/v1/chat/completions": {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello weather in Oslo"}]},
    "/v1/responses": {"model": "text", "input": "hello", "stream": True},
    "/azure-openai/openai/v1/completions": {"model": "text", "prompt": ["hello", "busy"]},
}


@st.composite
def spoilt_rules(draw: st.DrawFn) -> str:
    rules = json.loads(json.dumps(draw(st.lists(st.sampled_from(RULES), min_size=1, max_size=3))))
    file: Json = {"version": 1, "settings": {}, "rules": rules}
    for _ in range(draw(st.integers(1, 3))):
        file = spoil(draw, file)
    text: str = yaml.safe_dump(file, sort_keys=False, allow_unicode=draw(st.booleans()))
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(_YAML) | st.text(max_size=4)) + text[at + draw(st.integers(0, 9)) :]
    return text


_YAMLISH = st.lists(
    st.sampled_from(("{", "}", "[", "]", ":", ",", " ", "a", "1", "first_token", "ms", "'")), max_size=9
).map("".join)
_YAML = (
    "\t", "&a ", "*a", "!!python/object:os.system ", "!x ", "<<: ", "---\n", "...", "? ", "|", ">", "{", "[", "'",
    "%",
)  # fmt: skip


@given(text=spoilt_rules())
@thrown(150)
def test_spoilt_rules(text: str) -> None:
    _in_time(lambda: _load(text))


@given(
    text=st.binary(max_size=120) | st.text(st.sampled_from("{}[]:,-&*!|>'\"%@`\n\t #ab1"), max_size=60).map(str.encode)
)
@thrown(150)
def test_any_text_as_rules(text: bytes) -> None:
    _in_time(lambda: _load(text))


@given(pieces=st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=14), fenced=st.booleans())
@thrown(150)
def test_any_text_as_a_template(pieces: list[str], fenced: bool) -> None:
    text = " ".join(("{{", *pieces, "}}") if fenced else pieces)
    rules = {
        "rules": [{"when": {"last_user": {"regex": "(?P<x>h)"}}, "then": {"text": text, "headers": {"x-y": text}}}]
    }
    _in_time(lambda: _load(json.dumps(rules)))


@given(st.data())
@thrown(150)
def test_spoilt_settings(data: st.DataObject) -> None:
    values = json.loads(json.dumps(SETTINGS))
    for _ in range(data.draw(st.integers(1, 3))):
        values = spoil(data.draw, values)
    text = yaml.safe_dump({"settings": values}, sort_keys=False, allow_unicode=True)
    _in_time(lambda: _assembled(lambda: assemble({}, {}, [read(text, "r.yaml")], dialects=KNOWN), placed=True))


@given(
    name=st.sampled_from(sorted(Settings.model_fields)), value=st.sampled_from(TEXTS) | st.text(max_size=20) | _YAMLISH
)
@thrown(150)
def test_any_text_as_a_variable_or_a_flag(name: str, value: str) -> None:
    _in_time(lambda: _assembled(lambda: assemble({}, {format_variable(name): value}, [], dialects=KNOWN)))
    _in_time(lambda: _assembled(lambda: assemble({name: value}, {}, [], dialects=KNOWN)))


def _assembled(make: Callable[[], Settings], *, placed: bool = False) -> None:
    if (error := _refused(make)) is not None and placed:
        _is_told(error)


def _refused(work: Callable[[], object]) -> MockserverError | None:
    """What our user has to mend; anything else that is raised is a defect."""
    try:
        work()
    except MockserverError as error:
        return error
    return None


def _is_told(error: MockserverError) -> None:
    """Every mistake has its place, but for the count of those that are too many to tell."""
    assert error.mistakes
    assert all(mistake.place or " more" in mistake.message for mistake in error.mistakes), error
    str(error).encode("utf-8", "backslashreplace")


def _load(text: str | bytes) -> None:
    found = list[Rule]()
    error = _refused(lambda: found.extend(load([read(text, "r.yaml")], KNOWN)))
    if error is not None:
        _is_told(error)
    elif found:
        _answer(text)


def _answer(text: str | bytes) -> None:
    live = _started(text)
    if live is None:
        return
    for path, body in BODIES.items():
        if (place := live.routes.find(path)) is None:
            continue
        asked = HttpRequest("POST", path, body=json.dumps(body).encode(), path_params=place.params)
        responder = Responder(live, place.endpoint)
        answer = asyncio.run(responder.respond(responder.admit(asked)))
        b"".join(map(write_event, answer.reply.frames or ()))
        assert answer.reply.status < 500 or answer.plan.source.startswith("rule "), answer


def _started(text: str | bytes) -> Live | None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "r.yaml"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return _begun(file)


def _begun(file: Path) -> Live | None:
    found = list[Live]()
    error = _refused(lambda: found.append(start(Sources((file,)))))
    if error is not None:
        _is_told(error)
    return found[0] if found else None


def _in_time(work: Callable[[], None]) -> None:
    begun = time.perf_counter()
    work()
    assert time.perf_counter() - begun < PATIENCE
