"""`mockserver cassette show`: to read, or the very bytes."""

import io

import pytest

from mockserver.cli import main
from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.dialects._forms import write_form
from tests.cli.cassette.conftest import Place
from tests.kit.episodes import AT, chat, chats


def test_an_episode_to_read(place: Place) -> None:
    tools = [{"type": "function", "function": {"name": "get", "parameters": {}}}]
    place.keep("chat", chat("Two\nlines", {"text": "Sunny."}, stream=True, tools=tools, temperature=0.5))
    ran = place.run("show", "chat#1")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "chat.yaml#1: openai chat gpt-4o, recorded 2025-10-09\n"
        "POST /openai/v1/chat/completions\n"
        "  user: Two\n"
        "    lines\n"
        "  tools: get\n"
        "  with: temperature 0.5\n"
        "-> 200, 5 events, the first after 0.300 s, the last 0.340 s\n"
        "  text: Sunny.\n"
        "  finish: stop\n"
    )


def test_the_bytes_and_nothing_else(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = chats(("Hi", "Hello"), ("Hi", "é"), stream=True)
    place.keep("chat", *episodes)
    assert place.run("show", "chat", "--raw").err == ("mockserver: chat has 2 episodes: choose one, such as chat#1\n")
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", out)
    with pytest.raises(SystemExit):
        main(["cassette", "show", "chat#2", "--raw"])
    assert out.buffer.getvalue() == episodes[1].reply.bytes  # type: ignore[attr-defined]


def test_the_path_that_is_told_is_a_name(place: Place) -> None:
    place.keep("chat", *chats(("Hi", "Hello")))
    assert place.run("show", "cassettes/chat.yaml#1").out == place.run("show", "chat#1").out
    place.keep("cassettes/chat", *chats(("Hi", "Hullo")))
    assert "Hullo" in place.run("show", "cassettes/chat.yaml#1").out


def test_files_are_told_by_name_kind_and_size(place: Place) -> None:
    kind, form = write_form({"model": "whisper-1", "file": b"RIFF\xff\0"})
    spoken = Recorded(200, (("content-type", "audio/mpeg"),), bytes(range(256)))
    sent = Sent("POST", "/openai/v1/audio/transcriptions", headers=(("content-type", kind),), body=form)
    place.keep("heard", Episode("openai", "transcriptions", "whisper-1", sent, spoken, AT))
    assert place.run("show", "heard").out == (
        "heard.yaml#1: openai transcriptions whisper-1, recorded 2025-10-09\n"
        "POST /openai/v1/audio/transcriptions\n"
        "  model: whisper-1\n"
        "  file: file.wav, 6 B\n"
        "-> 200, 256 B\n"
        "  audio/mpeg, 256 B\n"
    )
