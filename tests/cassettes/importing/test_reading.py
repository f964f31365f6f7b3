"""Formats are told by their looks; a file that is of none is one clear error, however it is meant."""

import json
import time
from typing import Any

import pytest

from mockserver.cassettes.convert.imports import FORMATS, exchanges_in, import_file
from mockserver.cassettes.format import HEAD
from mockserver.config.errors import CassetteError
from tests.cassettes.importing.kit import ANSWER, KNOWN, interaction

NONE = f"unknown format; you can import {FORMATS}"
BAD: list[tuple[bytes, str]] = [
    (b"", "a: cannot be imported: the file is empty"),
    (b"\xff\xfe\x00", "a: cannot be imported: byte 0 is not UTF-8"),
    (b"{", "a:1:2: cannot be imported: not JSON: Expecting property name enclosed in double quotes"),
    (b"{}", f"a: {NONE}"),
    (b'[{"a": 1}]', f"a: {NONE}"),
    (b"hello", f"a: {NONE}"),
    (b"[" * 100_000, "a: cannot be imported: its JSON is nested too deep"),
    (b"- " * 5_000 + b"a", "a:1:201: this stands more than 100 levels deep; make it flatter"),
    (b'{"log": {"entries": 3}}', f"a: {NONE}"),
    (b"!!python/object/apply:os.system ['touch /tmp/x']", 'the tag "!!python/object/apply:os.system" does not fit'),
]


@pytest.mark.parametrize(("data", "words"), BAD, ids=range(len(BAD)))
def test_what_is_no_recording_is_one_clear_error(data: bytes, words: str) -> None:
    with pytest.raises(CassetteError) as caught:
        list(exchanges_in(data, "a"))
    assert words in str(caught.value.mistakes[0])


def test_a_cassette_of_our_own_is_told() -> None:
    for head in (HEAD, "version: 1\n", "---\nversion: 2\n"):
        with pytest.raises(
            CassetteError, match="this is a mockserver cassette already: move it into the cassettes folder"
        ):
            list(exchanges_in(f"{head}---\nreply: 1\n".encode(), "a"))


YAML = """interactions:
- request: &one
    method: POST
    uri: https://api.openai.com/v1/chat/completions
    body: '{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}'
    headers: {Content-Type: [application/json]}
  response: &two
    status: {code: 200, message: OK}
    headers: {Content-Type: [application/json]}
    body: {string: %s}
- request: *one
  response: !!python/object:some.Response
    status: 200
- request: *one
  response: *two
version: 1
"""


def test_a_python_tag_costs_its_own_interaction_only() -> None:
    found = import_file((YAML % json.dumps(json.dumps(ANSWER))).encode(), "a.yaml", KNOWN)
    assert len(found.episodes) == 2
    (left,) = found.skipped
    assert left.where == "a.yaml:11: interaction 2"
    assert left.why.startswith('line 12: the tag "!!python/object:some.Response" does not fit here')


def test_an_alias_bomb_is_refused_at_once() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 10)]
    began = time.perf_counter()
    with pytest.raises(CassetteError, match="aliases"):
        list(exchanges_in("\n".join([*rows, "interactions: *a9"]).encode(), "a"))
    assert time.perf_counter() - began < 5


def test_json_of_every_kind_is_told_apart() -> None:
    def count(root: Any) -> int:
        return len(list(exchanges_in(json.dumps(root).encode(), "a")))

    assert count({"interactions": [interaction()], "version": 1}) == 1
    assert count([interaction(), interaction()]) == 2
    assert count({"http_interactions": [interaction()]}) == 1
    assert count({"log": {"entries": [{}, {}, 3]}}) == 3
    assert count({"calls": [{}, 3]}) == 2
    assert count({"call": 1, "reply": {}}) == 1
