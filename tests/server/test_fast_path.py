"""Requests that are like earlier ones get, below ASGI, the bytes and journal rows that the handler would give them."""

import asyncio
import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from weakref import ref

import pytest

from mockserver.config.models_and_limits import KeySettings
from mockserver.config.settings import Settings
from mockserver.config.source import read
from mockserver.server import fast_path
from mockserver.server.answer_templates import ANY_COUNT, KeptAnswer
from mockserver.server.fast_path import FastPath
from mockserver.server.live import start
from mockserver.server.run import Running
from mockserver.server.sources import Sources, compiled
from tests.kit.raw import Raw
from tests.server.fast_path_cases import (
    ANSWERED,
    BODIES,
    CHAT,
    GEMINI_STREAM,
    MOUNTS,
    OPTIONS,
    OTHER_OPTIONS,
    RESULTS,
    RULES,
    TEXTS,
    UNRULED,
    post,
    request,
)


@pytest.fixture(scope="module")
def rules_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "rules.yaml"
    path.write_text(RULES)
    return path


@contextmanager
def serving(rules_file: Path, **flags: Any) -> Iterator[Running]:
    with Running(start(Sources((rules_file,), flags={"port": 0, **flags}))) as running:
        yield running


def exchanged(running: Running, requests: Sequence[bytes]) -> list[tuple[object, Mapping[str, object]]]:
    """Each answer as it came, without its date, and its row of the journal."""
    port = int(running.address.rpartition(":")[2])
    with Raw(port) as raw:
        answers = [answer_of(raw.send(each), framed=b"paced" not in each) for each in requests]
    running.settle()
    return list(zip(answers, map(row_of, running.live.journal), strict=True))


def answer_of(raw: Raw, *, framed: bool) -> object:
    """Status, headers and body, with its framing: that of a paced stream depends on how late its parts are."""
    answer = raw.receive()
    fields = [field for field in answer.headers.items() if field[0] != "date"]
    return answer.status, fields, answer.framed if framed else answer.body


def row_of(row: Any) -> Mapping[str, object]:
    names = ("seq", "method", "path", "dialect", "namespace", "query", "headers", "body", "received", "operation")
    more = ("model", "status", "reply_headers", "source", "trace", "remarks", "faults", "usage", "size", "ended")
    shown = {name: getattr(row, name) for name in (*names, *more)}
    return {
        **shown,
        "headers": tuple(row.headers),
        "sent": b"".join(data for _, data in row.sent),
        "rules": len(row.rules),
    }


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each request was answered on the fast path."""
    noted = list[bool]()
    answer = FastPath.answer

    def noting(self: FastPath, data: bytes, write: Any) -> bool:
        noted.append(answer(self, data, write))
        return noted[-1]

    monkeypatch.setattr(FastPath, "answer", noting)
    return noted


@pytest.mark.parametrize("dialect", MOUNTS)
@pytest.mark.parametrize("options", OPTIONS)
def test_both_ways_give_the_same(
    dialect: str, options: str, rules_file: Path, answered: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = GEMINI_STREAM if (dialect, options) == ("gemini", "streamed") else MOUNTS[dialect]
    more = OTHER_OPTIONS.get(dialect, OPTIONS)[options]
    requests = [request(path, text, more, BODIES.get(dialect, CHAT)) for text in TEXTS]
    with serving(rules_file) as running:
        fast = exchanged(running, requests)
    monkeypatch.setattr(FastPath, "answer", lambda self, data, write: False)
    with serving(rules_file) as running:
        slow = exchanged(running, requests)
    for text, one, other in zip(TEXTS, fast, slow, strict=True):
        assert one == other, text
    assert sum(answered) >= ANSWERED.get((dialect, options), ANSWERED["any", options])


@pytest.mark.parametrize("dialect", [name for name in MOUNTS if "responses" not in name])
@pytest.mark.parametrize("text", ["hello again", "tell me about bridges", "paced again"])
def test_what_comes_again_is_known(
    dialect: str, text: str, rules_file: Path, answered: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a template or the generator has answered it."""
    filled, fill = list[bytes](), FastPath._filled
    monkeypatch.setattr(FastPath, "_filled", lambda self, data: filled.append(data) or fill(self, data))
    path = GEMINI_STREAM if "paced" in text and dialect == "gemini" else MOUNTS[dialect]
    options = ', "stream": true' if "paced" in text and dialect != "gemini" and "embed" not in dialect else ""
    texts = (
        *(text.replace("again", f"{number}").replace("bridges", f"{number} boats") for number in range(4)),
        *[text] * 4,
    )
    requests = [request(path, each, options, BODIES.get(dialect, CHAT)) for each in texts]
    with serving(rules_file) as running:
        fast = exchanged(running, requests)
    assert filled.count(requests[-1]) <= 2 < answered.count(True)
    monkeypatch.setattr(FastPath, "answer", lambda self, data, write: False)
    with serving(rules_file) as running:
        assert exchanged(running, requests) == fast


@pytest.mark.parametrize("dialect", [name for name in MOUNTS if "responses" not in name])
@pytest.mark.parametrize("options", ["plain", "limited", "tools"])
def test_what_no_rule_answers_is_generated_on_the_fast_path(
    dialect: str, options: str, rules_file: Path, answered: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Responses are not: they are kept, unless the client says otherwise."""
    more = OTHER_OPTIONS.get(dialect, OPTIONS)[options]
    requests = [request(MOUNTS[dialect], text, more, BODIES.get(dialect, CHAT)) for text in UNRULED]
    with serving(rules_file) as running:
        fast = exchanged(running, requests)
    assert sum(answered) >= len(UNRULED) - 2
    monkeypatch.setattr(FastPath, "answer", lambda self, data, write: False)
    with serving(rules_file) as running:
        assert exchanged(running, requests) == fast


@pytest.mark.parametrize("dialect", MOUNTS)
def test_rules_that_read_the_body_get_the_same(
    dialect: str, rules_file: Path, answered: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [request(MOUNTS[dialect], text, "", BODIES.get(dialect, CHAT)) for text in TEXTS]
    named = b"[{when: {body: \"contains(to_string(@), 'there, 2')\"}, then: {text: Named.}}]"
    both = list[object]()
    for way in ("fast", "slow"):
        if way == "slow":
            monkeypatch.setattr(FastPath, "answer", lambda self, data, write: False)
        with serving(rules_file) as running:
            running.live.namespaces.touch("default").rules = compiled([read(b"rules: " + named, "named")], None)
            both.append(exchanged(running, requests))
    assert both[0] == both[1]
    assert sum(answered) >= 6


def test_responses_are_kept_and_continued_the_same_on_both_ways(
    rules_file: Path, answered: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = conversation(rules_file)
    assert sum(answered) == 4
    monkeypatch.setattr(FastPath, "answer", lambda self, data, write: False)
    assert conversation(rules_file) == fast


def conversation(rules_file: Path) -> Sequence[object]:
    """Responses, what is kept of them, and how the conversations go on."""
    path, body = "/openai/v1/responses", '{{"model": "gpt-4o", "instructions": "Be polite.", "input": {0}{1}}}'
    found = list[Any]()
    with serving(rules_file) as running, Raw(int(running.address.rpartition(":")[2])) as raw:
        for text in ("hello 1", "hello there, 2", "hello 3", "say hello to the world, 4", "hello 3", "hello 1"):
            asked = raw.send(request(path, text, "", body)).receive().json
            head = f"GET {path}/{asked['id']} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\n\r\n"
            items = head.replace(" HTTP/1.1", "/input_items HTTP/1.1")
            further = request(path, "hello again", f', "previous_response_id": "{asked["id"]}"', body)
            found.append([asked, *(raw.send(each).receive().json for each in (head.encode(), items.encode(), further))])
            assert found[-1][1] == asked
        found.append(asyncio.run(running.live.engine.memory.shelf.values("default")))
    return found


ODD: Sequence[Any] = (
    None,
    1,
    1e16,
    10**30,
    "",
    " ",
    [],
    {},
    [{}],
    {"a": 1},
    True,
    "tool",
    "user",
    "call_1",
    [1, 2],
    ["a", "b"],
)
KEYS = ("name", "id", "tool_call_id", "refusal", "x", "type", "content", "audio", "tool_calls")


def altered(value: Any, random: Random) -> Any:
    """A JSON value with something odd somewhere in it."""
    if not value or not isinstance(value, dict | list) or random.random() < 0.2:
        return random.choice(ODD)
    if isinstance(value, list):
        at = random.randrange(len(value))
        return [altered(each, random) if index == at else each for index, each in enumerate(value)]
    key = random.choice((*value, *value, random.choice(KEYS)))
    return {**value, key: altered(value.get(key), random)}


@pytest.mark.parametrize(
    "dialect",
    ["results of tools", "tzafon", "azure", "fireworks", "turns of responses", "gemini", "embeddings of lists"],
)
def test_bodies_with_something_odd_get_the_same(
    dialect: str, rules_file: Path, answered: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    random, path, body = Random(7), MOUNTS[dialect], BODIES.get(dialect, CHAT)
    if dialect in ("tzafon", "azure", "fireworks"):
        body = RESULTS
    plain = [json.loads(body.format(f'"hello {number}"', "", number)) for number in range(90)]
    bodies = [altered(each, random) if at > 3 and at % 3 else each for at, each in enumerate(plain)]
    requests = [post(path, json.dumps(each).encode()) for each in bodies]
    with serving(rules_file) as running:
        fast = exchanged(running, requests)
    assert sum(answered) >= 25
    monkeypatch.setattr(FastPath, "answer", lambda self, data, write: False)
    with serving(rules_file) as running:
        slow = exchanged(running, requests)
    for asked, one, other in zip(bodies, fast, slow, strict=True):
        assert one == other, asked


def test_a_usage_that_a_rule_states_stays(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES + "\n  - when: {last_user: '*usage*'}\n    then: {text: A, usage: {prompt_tokens: 15}}\n")
    with serving(rules) as running, Raw(int(running.address.rpartition(":")[2])) as raw:
        for text in ("usage 1", "usage 2", "usage 3", "usage of four times as many tokens, 4"):
            found = raw.send(request(MOUNTS["openai"], text, "")).receive().json["usage"]
            assert found["prompt_tokens"] == 15


HELLO = [request(MOUNTS["openai"], f"hello, the {word} time", "") for word in ("first", "second", "third", "fourth")]


def test_a_number_that_answers_repeat_is_not_taken_for_tokens(rules_file: Path, answered: list[bool]) -> None:
    body = '{"model": "gpt-4o", "store": false, "metadata": {"a": "%d"}, "input": "%s"}'
    texts = ("a much longer text of many words", "yet another long text of words", "one two three", "red")
    numbers = [number for number in range(ANY_COUNT, ANY_COUNT + 30) for _ in texts]
    requests = [post("/v1/responses", (body % (number, texts[at % 4])).encode()) for at, number in enumerate(numbers)]
    with serving(rules_file) as running:
        for number, ((_, _, said), _) in zip(numbers, exchanged(running, requests), strict=True):  # type: ignore[misc]
            assert b'"%d"' % number in said
    assert any(answered)


def hello(raw: Raw, number: int) -> str:
    answer = raw.send(HELLO[number]).receive()
    content: str = answer.json["choices"][0]["message"]["content"] if answer.status == 200 else str(answer.status)
    return content


@contextmanager
def learned(running: Running) -> Iterator[Raw]:
    """A connection on which the next hello is answered on the fast path."""
    with Raw(int(running.address.rpartition(":")[2])) as raw:
        assert [hello(raw, number) for number in (0, 1, 2)] == [GREETING] * 3
        yield raw


GREETING = "Hello! How can I help you today?"


def test_rules_and_settings_that_change_hold_at_once(rules_file: Path, answered: list[bool]) -> None:
    with serving(rules_file) as running, learned(running) as raw:
        assert answered == [False, False, True]
        live, document = running.live, read(b'rules: [{when: {last_user: "*hello*"}, then: {text: "Later."}}]', "later")
        live.namespaces.touch("default").rules = compiled([document], None)
        assert (hello(raw, 3), hello(raw, 0)) == ("Later.", "Later.")
        live.namespaces.touch("default").rules = ()
        assert (hello(raw, 3), answered[-1]) == (GREETING, True)
        live.settings = live.settings.model_copy(update={"keys": {"other": KeySettings()}})
        assert (hello(raw, 3), hello(raw, 2)) == ("401", "401")
        live.settings = Settings.model_validate({"limits": {"requests_per_minute": 2}})
        assert [hello(raw, number) for number in range(4)] == [GREETING, GREETING, "429", "429"]


def test_the_journal_of_the_fixture_keeps_what_was_asked(rules_file: Path, answered: list[bool]) -> None:
    with serving(rules_file) as running:
        running.live.journal.keeps_calls = True
        with learned(running):
            pass
        running.settle()
        for row, sent in zip(running.live.journal, HELLO, strict=False):
            assert row.call is not None
            assert sent.endswith(row.call.http.body)
            assert row.call.last_user in sent.decode()
            assert row.call.prompt_tokens == row.usage.prompt if row.usage else None
    assert answered == [False, False, True]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ([HELLO[3][:-20], HELLO[3][-20:]], [200]),  # in two packets
        ([HELLO[3] + HELLO[2]], [200, 200]),  # two in one
        ([HELLO[3].replace(b"Content-Length", b"CONTENT-LENGTH")], [200]),
        ([HELLO[3].replace(b"Content-Length", b"Expect: 100-continue\r\nContent-Length")], [100, 200]),
        ([HELLO[3].replace(b"localhost", b"local host")], [400]),
        ([HELLO[3].replace(b"Content-Length: ", b"Content-Length: 0")], [200]),
        ([HELLO[3].replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n")], [400]),
        ([HELLO[3].replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")], [400]),
        ([HELLO[3].replace(b'"hello', b" hello")], [400]),
        ([HELLO[3].replace(b"messages", b"massages")], [400]),
        ([HELLO[3].replace(b'"role": "user"', b'"role": "uzer"')], [400]),
        ([HELLO[3].replace(b'"role": "user"', b'"role": [1234]')], [400]),
        ([HELLO[3].replace(b'"content": "hello', b'"content": [[],"h')], [400]),
    ],
)
def test_what_is_not_so_simple_goes_the_long_way(
    sent: Sequence[bytes],
    status: Sequence[int],
    rules_file: Path,
    answered: list[bool],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with serving(rules_file) as running, learned(running) as raw:
        raw.send(*sent)
        assert [raw.receive().status for _ in status] == status
    assert not caplog.records


@pytest.mark.parametrize("closing", [b"HTTP/1.0", b"HTTP/1.1\r\nConnection: close"])
def test_a_connection_that_is_to_close_closes(closing: bytes, rules_file: Path, answered: list[bool]) -> None:
    with serving(rules_file) as running:
        for each in HELLO:
            with Raw(int(running.address.rpartition(":")[2])) as raw:
                assert raw.send(each.replace(b"HTTP/1.1", closing)).rest().startswith(b"HTTP/1.1 200 ")
    assert not any(answered)


ENDLESS = request(MOUNTS["openai"], "endless", ', "stream": true')


@contextmanager
def streaming(running: Running, *more: bytes) -> Iterator[Raw]:
    """A connection that has got the beginning of a paced stream on the fast path."""
    port = int(running.address.rpartition(":")[2])
    with Raw(port) as raw:
        raw.send(ENDLESS)._until(b"One")
    with Raw(port) as raw:
        raw.send(ENDLESS, *more)._until(b"One")
        yield raw


def test_a_client_that_leaves_a_paced_stream_is_noted(rules_file: Path, answered: list[bool]) -> None:
    with serving(rules_file) as running:
        with streaming(running):
            pass
        running.hang_up()
        running.settle()
        assert [row.ending for row in running.live.journal] == ["client left after 2 frames"] * 2
        assert not running._server.server_state.tasks
    assert answered == [False, True]


def test_a_server_that_stops_ends_paced_streams(rules_file: Path, answered: list[bool]) -> None:
    with serving(rules_file) as running:
        port = int(running.address.rpartition(":")[2])
        with Raw(port) as usual, Raw(port) as quick:
            for raw in (usual, quick):
                raw.send(ENDLESS)._until(b"One")
            running.stop()
            one, other = running.live.journal
    assert (one.ended, other.ended) == ("server stopped", "server stopped")
    assert one.size == other.size == one.written > 0
    assert min(one.first, other.first) > 0
    assert answered == [False, True]


def test_a_journal_that_keeps_nothing_answers_on(rules_file: Path, answered: list[bool]) -> None:
    with serving(rules_file, journal_calls=0, journal_bytes=10_000) as running:
        with Raw(int(running.address.rpartition(":")[2])) as raw:
            assert [raw.send(HELLO[0]).receive().status for _ in range(50)] == [200] * 50
        assert (len(running.live.journal), running.live.journal.size) == (0, 0)
    assert answered.count(True) > 40


def test_an_answer_without_a_body_leaves_nothing_for_the_next(tmp_path: Path) -> None:
    empty = request(MOUNTS["openai"], "silence", "")
    rules = tmp_path / "rules.yaml"
    rules.write_text('version: 1\nrules: [{when: {last_user: silence}, then: {raw: {status: 200, body: ""}}}]\n')
    with serving(rules) as running, Raw(int(running.address.rpartition(":")[2])) as raw:
        assert [raw.send(empty).receive().body for _ in range(5)] == [b""] * 5
        running.settle()
        (sums,) = running.live.journal.tally.ways.values()
        assert (sums.count, sum(sums.firsts)) == (5, 0)


def test_a_server_that_has_ended_leaves_nothing_in_memory(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{when: {last_user: '*hello*'}, then: {text: Hi.}}]")
    inputs = [f"{text} {number}" for number in range(8) for text in ("hello", "hm")]
    responses = [post(MOUNTS["responses"], b'{"model": "gpt-4o", "input": "%b"}' % text.encode()) for text in inputs]
    with serving(rules) as running, Raw(int(running.address.rpartition(":")[2])) as raw:
        assert {raw.send(each).receive().status for each in responses} == {200}
        (space,) = running.live.engine.memory.shelf._spaces.values()
        assert any(isinstance(each, KeptAnswer) for each, *_ in space.entries.values())
        journal = ref(running.live.journal)
    del running, space
    gc.collect()
    assert journal() is None


def test_a_request_behind_a_paced_stream_waits_for_its_end(rules_file: Path, answered: list[bool]) -> None:
    paced = request(MOUNTS["openai"], "paced", ', "stream": true')
    with serving(rules_file) as running, Raw(int(running.address.rpartition(":")[2])) as raw:
        alone = raw.send(paced).receive().body
        raw.send(paced)
        assert [each.body for each in (raw.send(paced).receive(), raw.receive())] == [alone] * 2
        running.settle()
        assert [row.ended for row in running.live.journal] == ["complete"] * 3
        assert not running._server.server_state.tasks
    assert answered[:2] == [False, True]


def test_what_is_learned_takes_little_memory(rules_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_path, "MAX_LEARNED", 50_000)
    known = list[int]()
    learn = FastPath.learn
    monkeypatch.setattr(FastPath, "learn", lambda self, *given: known.append(self._learned) or learn(self, *given))
    with serving(rules_file) as running, Raw(int(running.address.rpartition(":")[2])) as raw:
        for number in range(60):
            assert raw.send(request(f"/openai/v1/chat/completions?n={number}", "hello", "")).receive().status == 200
    assert max(known) <= 50_000 + fast_path.BARE + 1000


def test_answers_of_many_rules_that_come_and_go_take_little_memory(
    rules_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_path, "MAX_LEARNED", 50_000)
    forgotten = list[int]()
    forget = FastPath._forget
    monkeypatch.setattr(FastPath, "_forget", lambda self: forgotten.append(1) or forget(self))
    with serving(rules_file) as running, Raw(int(running.address.rpartition(":")[2])) as raw:
        for number in range(40):
            document = read(b'rules: [{when: {last_user: "*hello*"}, then: {text: "Later %d."}}]' % number, "later")
            running.live.namespaces.touch("default").rules = compiled([document], None)
            assert hello(raw, 0) == f"Later {number}."
    assert len(forgotten) > 1
