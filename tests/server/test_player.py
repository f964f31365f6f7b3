"""What calls get of cassettes, in each mode."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from mockserver.config.settings import assemble
from mockserver.config.source import read
from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.plan import Failure, Forward
from mockserver.core.store import Lookup
from mockserver.server.cassette_store import parse_sent
from mockserver.server.recorder import RecordingPolicy, recording_policy
from mockserver.server.replay import Player, Record, sent_of
from mockserver.state.memory import MemoryStore
from tests.kit.reels import CHAT, Folder, chat, episode, folder

ONE = episode(chat("one"), "1")
TWICE = [episode(chat("two"), "2"), episode(chat("two"), "3")]


def asked(text: str, namespace: str = "default", **more: Any) -> Call:
    """A live call."""
    call = parse_sent("openai", episode(chat(text, **more), "").request)
    assert call is not None
    return replace(call, http=replace(call.http, namespace=namespace))


def player(held: Folder, record: Record = "none", name: str | None = "chat", **more: Any) -> Player:
    """A player of one cassette; openai has an upstream."""
    made = Player(held.store(), upstreams=more.pop("upstreams", ("openai",)), **more)
    return made.chosen(name, record)


def played(made: Player, *calls: Call, cassette: str | None = None) -> list[Lookup | None]:
    """What calls get one after another."""
    store = MemoryStore()

    async def all_of_them() -> list[Lookup | None]:
        return [await made.play(call, store, cassette) for call in calls]

    return asyncio.run(all_of_them())


def got(found: Lookup | None) -> str:
    """The bytes that were recorded; `forward`, or what is wrong."""
    assert found is not None
    match found.outcome:
        case Recorded():
            assert found.outcome.source == found.source
            return found.outcome.bytes.decode()
        case Forward(cassette):
            assert found.source == "forwarded"
            return f"forward {cassette}"
        case Failure():
            assert found.source == "unmatched"
            return str(found.outcome)


def test_an_episode_is_played_and_settled() -> None:
    made = player(folder(chat=[ONE]))
    assert made.loaded is not None
    assert (made.loaded.file, made.loaded.size) == ("chat.yaml", 1)
    for found in played(made, asked("one"), asked("one")):
        assert got(found) == "1"
        assert found is not None
        assert (found.source, found.cacheable) == ("cassette chat.yaml#1", True)


def test_repeats_play_in_order_then_the_last_again_in_each_namespace() -> None:
    made = player(folder(chat=[ONE, *TWICE]))
    calls = [asked("two"), asked("two", "other"), asked("two"), asked("two"), asked("two", "other")]
    found = played(made, *calls)
    assert list(map(got, found)) == ["2", "2", "3", "3", "3"]
    assert not any(each.cacheable for each in found if each)


def test_without_a_cassette_nothing_is_played() -> None:
    assert played(player(folder(), name=None), asked("one")) == [None]


def test_recording_into_nothing_is_told() -> None:
    (found,) = played(player(folder(), "all", name=None), asked("one"))
    assert got(found) == "record is all, but there is no cassette to record into; set --cassette NAME"


MODES: list[tuple[Record, bool, str, str]] = [
    ("none", True, "1", "no episode"),
    ("once", True, "1", "no episode"),
    ("once", False, "forward chat", "forward chat"),
    ("new_episodes", True, "1", "forward chat"),
    ("new_episodes", False, "forward chat", "forward chat"),
    ("all", True, "forward chat", "forward chat"),
    ("all", False, "forward chat", "forward chat"),
]


@pytest.mark.parametrize(("record", "there", "known", "unknown"), MODES)
def test_modes(record: Record, there: bool, known: str, unknown: str) -> None:
    made = player(folder(chat=[ONE]) if there else folder(), record)
    one, other = played(made, asked("one"), asked("other"))
    assert got(one) == known
    assert got(other).startswith(unknown)


def test_once_records_repeats_too_until_the_server_ends() -> None:
    files = folder()
    made = player(files, "once")
    asyncio.run(made.save("chat", ONE))
    assert [got(found) for found in played(made, asked("one"), asked("one"))] == ["forward chat"] * 2
    assert [got(found) for found in played(player(files, "once"), asked("one"))] == ["1"]


@pytest.mark.parametrize("record", ["once", "new_episodes", "all"])
def test_without_an_upstream_it_says_which_setting_is_missing(record: Record) -> None:
    (found,) = played(player(folder(), record, upstreams=("azure",)), asked("one"))
    assert got(found) == (
        f'this request would be recorded into the cassette "chat" (record: {record}), but there is no upstream for '
        "openai; set --upstream openai=URL"
    )


def test_a_named_cassette_is_looked_into_alone_and_never_recorded() -> None:
    made = player(folder(chat=[ONE], other=TWICE), "all")
    one, two = played(made, asked("one"), asked("two"), cassette="other")
    assert got(one).startswith("no episode of other.yaml")
    assert got(two) == "2"


@pytest.mark.parametrize(("name", "said"), [("none", 'there is no cassette "none"'), ("../up", "is not a valid")])
def test_a_named_cassette_that_cannot_be_played_is_told(name: str, said: str) -> None:
    (found,) = played(player(folder(), name=None), asked("one"), cassette=name)
    assert said in got(found)
    assert found is not None
    assert isinstance(found.outcome, Failure)
    assert found.outcome.status == 500


def scrubbing(text: str, instead: str = "<scrubbed>") -> RecordingPolicy:
    """What takes this text out of recordings."""
    return recording_policy(
        assemble({}, {}, [read(f'settings: {{scrub: [{{regex: "{text}", with: "{instead}"}}]}}', "r")]), {}
    )


def test_live_requests_are_scrubbed_before_they_are_looked_up() -> None:
    made = player(folder(chat=[episode(chat("my key is <scrubbed>"), "1"), *TWICE]), keeping=scrubbing("sk-secret"))
    found = played(made, asked("my key is sk-secret"), asked("two", "mine"), asked("the key sk-secret is mine"))
    assert list(map(got, found[:2])) == ["1", "2"]
    assert "sk-secret" not in got(found[2])
    assert "<scrubbed>" in got(found[2])


def test_a_request_as_a_recording_has_it() -> None:
    call = parse_sent("openai", episode(chat("é"), "", path=f"{CHAT}?a=b+c&d=", headers={"x-tenant": "é"}).request)
    assert call is not None
    sent = sent_of(call.http)
    assert (sent.method, sent.path, sent.query) == ("POST", CHAT, "a=b+c&d=")
    assert ("x-tenant", "é") in sent.headers
    assert parse_sent("openai", sent) == call
