"""Cassettes in a server: loaded once, recorded into, watched for changes by others; what calls get in each mode."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.config.errors import CassetteError, MockserverError
from mockserver.config.layers import assemble
from mockserver.config.settings import MatchSettings, RecordMode
from mockserver.config.source import read
from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.plan import Failure, Forward, Plan, Timing
from mockserver.delivery.script import AT_ONCE, Pace
from mockserver.server.compose import start
from mockserver.server.recording.cassette_store import CassetteStore
from mockserver.server.recording.player import Player, make_sent, pace_reply
from mockserver.server.recording.recorded_calls import parse_episode, parse_sent
from mockserver.server.recording.recording_policy import RecordingPolicy
from mockserver.server.sources import Sources, check_cassettes
from mockserver.state.in_memory import MemoryCounters
from tests.kit.cassette_folder import CHAT, Folder, chat, episode, folder, make_recorded_stream

MISSING = r'there is no cassette "chat" in .*; to record it, set --record once and --upstream DIALECT=URL'
ONE, TWO, THREE = (episode(chat(text), text) for text in "abc")


# --- the store


def test_a_cassette_is_loaded_once_under_both_of_its_names() -> None:
    store = folder(chat=[ONE]).store()
    assert store.get("chat") is None
    cassette = store.load("chat.yaml")
    assert (cassette.file, cassette.size) == ("chat.yaml", 1)
    assert store.load("chat") is store.get("chat") is store.get("chat.yaml") is cassette


def test_a_missing_cassette() -> None:
    store = folder().store()
    assert not store.exists("chat")
    with pytest.raises(CassetteError, match=MISSING):
        store.load("chat")
    assert store.load("chat", new=True).size == 0


def contents(held: Folder) -> list[str]:
    """The message and the answer of each episode in the file: `a1`."""
    found = held.file("chat").load()
    return [json.loads(each.request.body)["messages"][0]["content"] + each.reply.body.decode() for each in found]


def said(text: str) -> Any:
    """An episode: its message and its answer."""
    return episode(chat(text[0]), text[1:])


def test_saved_episodes_are_replayed_and_in_the_file() -> None:
    files = folder()
    store = files.store()
    assert [store.save(name, said(text)) for name, text in (("chat", "a1"), ("chat.yaml", "b2"))] == [1, 2]
    sources = [entry.reply.source for entry in store.load("chat").entries]
    assert sources == ["cassette chat.yaml#1", "cassette chat.yaml#2"]
    assert contents(files) == ["a1", "b2"]


def test_stale_episodes_are_replaced_once_in_a_run() -> None:
    files = folder(chat=[said("a1"), said("b2"), said("a3")])
    store = files.store()
    store.mark_stale("chat.yaml")
    assert store.save("chat", said("a4")) == 1
    assert contents(files) == ["a4", "b2"]
    assert [store.save("chat", said(text)) for text in ("a5", "c6")] == [3, 4]
    assert [entry.number for entry in store.load("chat").find_alike(said("a"))] == [1, 3]
    store = store.copy_unloaded(MatchSettings())
    store.mark_stale("chat")
    assert [store.save("chat", said(text)) for text in ("a7", "b8")] == [5, 2]
    assert contents(files) == ["a4", "b8", "a5", "c6", "a7"]


def test_a_removed_file_is_started_again() -> None:
    files = folder(chat=[said("a1")])
    store = files.store()
    store.mark_stale("chat")
    files.file("chat").path.unlink()
    assert store.copy_unloaded(MatchSettings()).save("chat", said("a2")) == 1
    assert contents(files) == ["a2"]


def test_a_failed_replacement_leaves_the_episodes_stale() -> None:
    files = folder(chat=[said("a1")])
    store, path = files.store(), files.file("chat").path
    store.mark_stale("chat")
    before = path.read_bytes()
    path.write_bytes(before + b"---\nhello\n")
    with pytest.raises(CassetteError):
        store.save("chat", said("a2"))
    assert path.read_bytes() == before + b"---\nhello\n"
    path.write_bytes(before)
    assert store.save("chat", said("a2")) == 1


def test_cassettes_in_rules_must_exist(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    steps = "{name: steps, then: {steps: [{text: a}, {one_of: [{then: {cassette: other}}]}]}}"
    file.write_text(f"rules:\n  - {{name: played, then: {{cassette: chat}}}}\n  - {steps}\n")
    with pytest.raises(MockserverError) as refused:
        start(Sources((file,), {"cassettes": str(folder(other=[]).path)}, {}))
    (mistake,) = refused.value.mistakes
    assert re.search(rf'rules.yaml:2:\d+: rule "played": {MISSING}', str(mistake))
    live = start(Sources((file,), {"cassettes": str(folder(chat=[], other=[]).path)}, {}))
    assert live.player.store.get("other") is not None
    with pytest.raises(MockserverError, match=r"r\.yaml:1:9: '\.\./a' is not a valid cassette name"):
        check_cassettes([read("rules: [{then: {cassette: ../a}}]", "r.yaml")], folder().store())


@pytest.fixture
def files() -> Folder:
    return folder(chat=[ONE, TWO])


@pytest.fixture
def store(files: Folder) -> CassetteStore:
    made = files.store()
    made.load("chat")
    return made


def test_own_writes_are_no_change(store: CassetteStore) -> None:
    assert store.save("chat", THREE) == 3
    store.mark_stale("chat")
    store.save("chat", ONE)
    assert not store.exists("new")
    assert store.save("new", ONE) == 1
    assert not store.list_changed()


def test_changes_by_others_are_reported_once(store: CassetteStore, files: Folder) -> None:
    files.file("chat").append(THREE)
    assert [store.list_changed(), store.list_changed()] == [("chat",), ()]
    files.file("chat").append(THREE)
    assert store.save("chat", ONE) == 5
    assert [store.list_changed(), store.list_changed()] == [("chat",), ()]
    assert not store.exists("new")
    files.file("new").append(ONE)
    assert store.list_changed() == ("new",)
    files.file("chat").path.unlink()
    assert [store.list_changed(), store.list_changed()] == [("chat",), ()]


def test_a_changed_cassette_is_loaded_again(store: CassetteStore, files: Folder) -> None:
    store.refresh("chat")
    assert store.get("chat") is not None
    files.file("chat").append(THREE)
    store.refresh("chat")
    assert store.get("chat") is None
    assert store.load("chat").size == 3


# --- recorded requests


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        (CHAT, "openai"),
        ("/openai/v1/chat/completions", "openai"),
        (CHAT, "skytells"),
        ("/azure-openai/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", "azure_openai"),
        ("/fireworks/inference/v1/chat/completions", "fireworks"),
    ],
)
def test_recorded_requests_are_parsed_by_their_dialect(path: str, dialect: str) -> None:
    call = parse_episode(episode(chat("Hello"), "", path=path, dialect=dialect, headers={"X-Tenant": "é"}))
    assert call is not None
    assert (call.dialect, call.operation, call.last_user) == (dialect, "chat", "Hello")
    assert call.http.find_header("x-tenant") == "é"


def test_recorded_look_ups_have_their_parameters() -> None:
    call = parse_episode(episode(None, "", path="/v1/responses/resp_1?stream=true", method="GET"))
    assert call is not None
    assert (call.operation, call.id, call.stream) == ("response", "resp_1", True)


@pytest.mark.parametrize(
    ("path", "dialect", "method", "body"),
    [
        ("/nowhere", "openai", "POST", chat("a")),
        (CHAT, "nobody", "POST", chat("a")),
        (CHAT, "openai", "PUT", chat("a")),
    ],
)
def test_other_recorded_requests_are_no_calls(path: str, dialect: str, method: str, body: dict[str, object]) -> None:
    assert parse_sent(dialect, episode(body, "", path=path, method=method).request) is None


def test_a_live_request_is_looked_up_as_it_would_be_recorded() -> None:
    call = parse_sent("openai", episode(chat("é"), "", path=f"{CHAT}?a=b+c&d=", headers={"x-tenant": "é"}).request)
    assert call is not None
    sent = make_sent(call.http)
    assert (sent.method, sent.path, sent.query) == ("POST", CHAT, "a=b+c&d=")
    assert ("x-tenant", "é") in sent.headers
    again = parse_sent("openai", sent)
    assert again is not None
    assert again.raw == call.raw
    assert replace(again, raw={}) == replace(call, raw={})


# --- what calls get

TWICE = [episode(chat("two"), "2"), episode(chat("two"), "3")]


def asked(text: str, namespace: str = "default") -> Call:
    call = parse_sent("openai", episode(chat(text), "").request)
    assert call is not None
    return replace(call, http=replace(call.http, namespace=namespace))


def player(held: Folder, record: RecordMode = "none", name: str | None = "chat", **more: Any) -> Player:
    """A player of one cassette; openai has an upstream."""
    return Player(held.store(), **{"upstreams": ("openai",), **more}).choose(name, record)


def found(made: Player, *calls: Call, cassette: str | None = None) -> list[Plan | None]:
    """What calls get one after another."""
    counters = MemoryCounters()

    async def all_of_them() -> list[Plan | None]:
        return [await made.play(call, counters, cassette) for call in calls]

    return asyncio.run(all_of_them())


def got(made: Player, *calls: Call, cassette: str | None = None) -> list[str]:
    """The recorded bytes, `forward`, or the message of a failure."""
    texts = []
    for each in found(made, *calls, cassette=cassette):
        assert each is not None
        match each.outcome:
            case Recorded():
                assert each.outcome.source == each.source
                texts.append(each.outcome.bytes.decode())
            case Forward(name):
                texts.append(f"{each.source[:7]} {name}")
            case Failure():
                assert each.source == "unmatched"
                texts.append(str(each.outcome))
    return texts


def test_an_episode_is_replayed() -> None:
    made = player(folder(chat=[ONE]))
    for each in found(made, asked("a"), asked("a")):
        assert each is not None
        assert each.source == "cassette chat.yaml#1"
    assert found(player(folder(), name=None), asked("a")) == [None]


def test_repeats_are_replayed_in_order_in_each_namespace() -> None:
    made = player(folder(chat=[ONE, *TWICE]))
    calls = [asked("two"), asked("two", "other"), asked("two"), asked("two"), asked("two", "other")]
    assert got(made, *calls) == ["2", "2", "3", "3", "3"]


MODES: list[tuple[RecordMode, bool, str, str]] = [
    ("none", True, "a", "no episode of chat.yaml"),
    ("once", True, "a", "no episode of chat.yaml"),
    ("once", False, "forward chat", "forward chat"),
    ("new_episodes", True, "a", "forward chat"),
    ("new_episodes", False, "forward chat", "forward chat"),
    ("all", True, "forward chat", "forward chat"),
]


@pytest.mark.parametrize(("record", "there", "known", "unknown"), MODES)
def test_modes(record: RecordMode, there: bool, known: str, unknown: str) -> None:
    made = player(folder(chat=[ONE]) if there else folder(), record)
    one, other = got(made, asked("a"), asked("other"))
    assert (one, other[: len(unknown)]) == (known, unknown)


def test_once_records_repeats_until_the_server_ends() -> None:
    files = folder(chat=[])
    made = player(files, "once")
    assert asyncio.run(made.save("chat", ONE)) == "cassette chat.yaml#1"
    assert got(made, asked("a"), asked("a")) == ["forward chat"] * 2
    assert got(player(files, "once"), asked("a")) == ["a"]
    made = player(files, "new_episodes")
    asyncio.run(made.save("chat", THREE))
    assert got(made, asked("c")) == ["c"]


def test_missing_settings_are_named() -> None:
    nowhere = "record is all, but there is no cassette to record into; set --cassette NAME"
    assert got(player(folder(), "all", name=None), asked("a")) == [nowhere]
    assert got(player(folder(), "once", upstreams=("azure",)), asked("a")) == [
        'this request would be recorded into the cassette "chat" (record: once), but there is no upstream for openai; '
        "set --upstream openai=URL"
    ]


def test_a_named_cassette_is_never_recorded() -> None:
    one, two = got(player(folder(chat=[ONE], other=TWICE), "all"), asked("a"), asked("two"), cassette="other")
    assert one.startswith("no episode of other.yaml")
    assert two == "2"
    for name, words in (("none", 'there is no cassette "none"'), ("../up", "is not a valid")):
        (failed,) = found(player(folder(), name=None), asked("a"), cassette=name)
        assert failed is not None
        assert isinstance(failed.outcome, Failure)
        assert (failed.outcome.status, words in str(failed.outcome)) == (500, True)


def test_live_requests_are_redacted_before_they_are_looked_up() -> None:
    settings = read('settings: {scrub: [{regex: sk-secret, with: "<scrubbed>"}]}', "r")
    policy = RecordingPolicy(assemble({}, {}, [settings]), {})
    made = player(folder(chat=[episode(chat("my key is <scrubbed>"), "1"), *TWICE]), policy=policy)
    known, other, missed = got(made, asked("my key is sk-secret"), asked("two", "mine"), asked("the key sk-secret"))
    assert (known, other) == ("1", "2")
    assert "sk-secret" not in missed
    assert "<scrubbed>" in missed


# --- replies

STREAM = make_recorded_stream("1", "[DONE]", every=0.2)
PLAIN = Recorded(200, (("Content-Type", "text/plain"),), b"abc", took=0.5)


def test_a_reply_has_the_recorded_bytes_at_the_chosen_speed() -> None:
    reply, pace = pace_reply(STREAM, AT_ONCE, 0)
    assert (reply.status, reply.frames, reply.frame_times) == (200, (b"data: 1\n\n", b"data: [DONE]\n\n"), ())
    assert pace is AT_ONCE
    assert pace_reply(PLAIN, AT_ONCE, 0)[0].body == b"abc"
    for recorded, speed, times in ((STREAM, 2, (0.1, 0.2)), (PLAIN, 0.5, (1.0,))):
        reply, pace = pace_reply(recorded, AT_ONCE, speed)
        assert (reply.frame_times, pace.at_once) == (times, False)
    assert pace_reply(Recorded(200, frames=()), AT_ONCE, 1)[1] is AT_ONCE
    stated = Pace(Timing(per_token=1.0))  # by a rule
    reply, pace = pace_reply(STREAM, stated, 1)
    assert (reply.frame_times, pace) == ((), stated)


def test_a_reply_has_no_headers_of_the_recorded_connection() -> None:
    dropped = [("Content-Length", "99"), ("content-encoding", "gzip"), ("Transfer-Encoding", "chunked"), ("date", "x")]
    headers = (("Content-Type", "text/plain"), *dropped, ("retry-after", "7"))
    kept = (("content-type", "text/plain"), ("retry-after", "7"))
    assert pace_reply(Recorded(429, headers, b"abc"), AT_ONCE, 0)[0].headers == (*kept, ("content-length", "3"))
    assert pace_reply(Recorded(200, headers, frames=((0.1, b"abc"),)), AT_ONCE, 0)[0].headers == kept
    assert pace_reply(Recorded(204), AT_ONCE, 0)[0].headers == ()
