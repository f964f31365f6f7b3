"""`mockserver cassette list`."""

from msgspec.structs import replace

from mockserver.core.episode import Episode, Recorded
from tests.cli.cassette.conftest import Place
from tests.kit.episodes import chat, chats

NEXT = "record something with --record once, import it, or set --cassettes FOLDER"


def test_cassettes_and_episodes(place: Place) -> None:
    place.keep(
        "b/chat", *chats(("Hi", "Hello"), ("x", "y"), stream=True), replace(chat("a", {"error": 429}), model="m")
    )
    place.keep("a", chat("Look it up", {"tool_calls": [{"name": "f", "arguments": {"a": 1}}]}))
    ran = place.run("list")
    assert (ran.code, ran.err) == (0, "")
    first, second = ran.out.splitlines()
    assert first.split()[:3] == ["a.yaml", "1", "episode"]
    assert second.split()[:3] == ["b/chat.yaml", "3", "episodes"]
    assert second.endswith("2025-10-09  openai  gpt-4o, m")
    ran = place.run("list", "b/chat", "a#1")
    assert ran.out.splitlines()[0] == "b/chat.yaml#1  openai chat gpt-4o -> 200 in 4 events: Hello"
    assert ran.out.splitlines()[2].startswith(
        "b/chat.yaml#3  openai chat m -> 429: error rate_limit_exceeded Rate limit"
    )
    assert ran.out.splitlines()[3] == 'a.yaml#1  openai chat gpt-4o -> 200: f({"a":1})'


def test_what_is_broken_is_told_beside_the_rest(place: Place) -> None:
    place.keep("good", *chats(("Hi", "Hello")))
    (place.folder / "bad.yaml").write_text("hello")
    ran = place.run("list")
    assert ran.code == 2
    assert ran.out.startswith("good.yaml  1 episode")
    assert "cassettes/bad.yaml:1:1: " in ran.err
    assert len(ran.err.splitlines()) == 1
    ran = place.run("list", "bad", "none", "good")
    assert (ran.code, ran.out) == (2, "good.yaml#1  openai chat gpt-4o -> 200: Hello\n")
    assert ["bad.yaml" in line for line in ran.err.splitlines()] == [True, False]


def test_a_folder_or_a_cassette_that_is_not_there(place: Place) -> None:
    ran = place.run("list")
    assert (ran.code, ran.err) == (
        2,
        f"mockserver: there is no folder cassettes; {NEXT}\n",
    )
    place.folder.mkdir()
    assert place.run("list").err == "no cassettes in cassettes\n"
    assert place.run("list", "chat").err == f'mockserver: there is no cassette "chat" in cassettes; {NEXT}\n'
    place.keep("chat", *chats(("Hi", "Hello")))
    none = 'mockserver: there is no cassette "{}" in cassettes; {}\n'
    assert place.run("list", "chta").err == none.format("chta", 'did you mean "chat"?')
    assert place.run("list", "zzz").err == none.format("zzz", "there are chat")
    assert place.run("list", "chat#2").err == "mockserver: cassettes/chat.yaml has 1 episode; there is no #2\n"
    assert place.run("list", "chat#0").err.endswith("after # write the number of an episode, from 1 on\n")
    for name in ("../chat", "/etc/passwd"):
        ran = place.run("list", name)
        assert (ran.code, len(ran.err.splitlines())) == (2, 1)
        assert "not a valid cassette name" in ran.err


def test_answers_that_are_no_texts_are_told_by_what_they_are(place: Place) -> None:
    (plain,) = chats(("Hi", "Hello"))

    def answer(body: bytes, kind: str) -> Episode:
        return replace(plain, operation="files", reply=Recorded(200, (("content-type", kind),), body))

    place.keep(
        "a",
        answer(b"\xff\xfb" * 2_500, "audio/mpeg"),
        answer(b'{"id": "file-1", "object": "file"}', "application/json"),
        answer(b'{"data": [1, 2]}', "application/json"),
        answer(b"{}", "application/json"),
        answer(b"", "audio/mpeg"),
    )
    told = [line.partition("200: ")[2] for line in place.run("list", "a").out.splitlines()]
    assert told == ["audio/mpeg, 5.0 kB", "file-1", "2 files", "-", "-"]
