"""Texts for a terminal: on one line, whole, and never raw."""

import json

from msgspec.structs import replace

from mockserver.cli.cassette.describe import (
    describe_episode,
    format_day,
    indent_block,
    shorten_line,
    summarize_episode,
)
from mockserver.core.episode import Recorded
from mockserver.server.recording.recorded_calls import parse_episode
from tests.kit.episodes import chat, episode
from tests.kit.local import local


def test_lines_and_blocks() -> None:
    assert shorten_line("a\nb\x1b é" + "x" * 10, 8) == "a\\nb\\u001b éx…"
    assert list(indent_block("a\nb\x1b", "  ")) == ["  a", "  b\\u001b"]
    assert format_day(0) == "1970-01-01"


def test_several_choices_and_items_and_errors() -> None:
    choices = chat("a", {"choices": [{"text": "b"}, {"refusal": "c"}]}, n=2)
    told = list(describe_episode("x#1", choices, parse_episode(choices)))
    assert told[told.index("  choice 1") + 1 :][:2] == ["  refusal: c", "  finish: stop"]
    rules = {"rules": [{"then": {"items": [{"type": "web_search_call", "query": "q"}], "text": "b"}}]}
    searched = episode(local(json.dumps(rules)), "/openai/v1/responses", {"model": "gpt-5", "input": "a"})
    assert any(
        row.startswith("  (web_search_call) {") for row in describe_episode("x#1", searched, parse_episode(searched))
    )
    busy = chat("a", {"error": {"status": 503, "message": "No\nroom"}})
    assert list(describe_episode("x#1", busy, parse_episode(busy)))[-2:] == ["  error: No", "    room"]
    assert summarize_episode("x#1", busy).startswith("x#1  openai chat gpt-4o -> 503: error ")


def test_an_error_that_is_a_word_among_others_is_told_by_these() -> None:
    body = b'{"code": "content_filter", "error": "Bad Request", "message": "No."}'
    tripped = replace(chat("a", {"error": 400}), reply=Recorded(400, (), body))
    assert summarize_episode("x#1", tripped).endswith(" -> 400: error content_filter No.")
    bare = replace(tripped, reply=Recorded(400, (), b'{"error": "Bad Request"}'))
    assert summarize_episode("x#1", bare).endswith(" -> 400: error Bad Request")
