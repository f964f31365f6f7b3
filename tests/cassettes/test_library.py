"""What a loaded cassette finds."""

from mockserver.cassettes.match import EpisodeIndex
from mockserver.config.cassettes import Match
from mockserver.core.call import Call
from mockserver.core.episode import Episode
from mockserver.server.parse_recorded import parse_episode
from tests.kit.reels import chat, episode


def library(*episodes: Episode) -> EpisodeIndex:
    """A cassette that holds these."""
    made = EpisodeIndex("chat.yaml", parse_episode, Match())
    for number, each in enumerate(episodes, 1):
        made.add(each, number)
    return made


def key(held: EpisodeIndex, text: str) -> str:
    """What a request of one message is looked up by."""
    call = parse_episode(episode(chat(text), ""))
    assert call is not None
    return held.key(call)


def test_episodes_are_found_in_their_order() -> None:
    held = library(episode(chat("a"), "1"), episode(chat("b"), "2"), episode(chat("a"), "3"))
    assert [(entry.number, entry.reply.bytes) for entry in held.find(key(held, "a"))] == [(1, b"1"), (3, b"3")]
    assert [entry.reply.source for entry in held.find(key(held, "b"))] == ["cassette chat.yaml#2"]
    assert held.find(key(held, "c")) == ()
    assert [entry.number for entry in held.entries] == [1, 2, 3]


def test_what_is_recorded_is_there_at_once() -> None:
    held = library(episode(chat("a"), "1"))
    held.add(episode(chat("b"), "2"), 7)
    assert [entry.reply.source for entry in held.find(key(held, "b"))] == ["cassette chat.yaml#7"]
    assert held.size == 2


def test_what_answers_the_same() -> None:
    held = library(episode(chat("a"), "1"), episode(chat("b"), "2"), episode(chat("a"), "3"))
    assert [entry.number for entry in held.alike(episode(chat("a"), "4"))] == [1, 3]
    assert held.alike(episode(chat("c"), "")) == ()
    assert held.alike(episode({"messages": 7}, "")) == ()


def test_other_episodes_of_the_same_cassette() -> None:
    read = list[Episode]()

    def reader(each: Episode) -> Call | None:
        read.append(each)
        return parse_episode(each)

    one, two, bad = episode(chat("a"), "1"), episode(chat("b"), "2"), episode({"messages": 7}, "")
    held = EpisodeIndex("chat.yaml", reader, Match()).again((one, bad))
    made = held.again((two, episode(chat("a"), "1"), bad))
    assert [(entry.reply.source, entry.reply.bytes) for entry in made.entries] == [
        *(("cassette chat.yaml#1", b"2"), ("cassette chat.yaml#2", b"1"))
    ]
    assert (made.size, made.unread) == (3, [3])
    assert read == [one, bad, two, bad]
    assert (held.size, held.unread) == (2, [2])


def test_what_its_dialect_refuses_answers_nothing() -> None:
    held = library(episode({"messages": 7}, "1"), episode(chat("a"), "2"), episode(chat("a"), "3", path="/nowhere"))
    assert (held.unread, held.size) == ([1, 3], 3)
    assert [entry.number for entry in held.entries] == [2]
