"""What OpenAI's published schema allows is accepted; what it forbids stands in `test_openai_words.py`."""

from collections.abc import Callable
from typing import Any

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

from mockserver.dialects._chat.models import CHAT_FIELDS

USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.fixture
def openai(speak: Callable[[str], Any]) -> Any:
    return speak("openai")


ACCEPTED: list[dict[str, Any]] = [
    {"temperature": 2, "top_p": 0, "frequency_penalty": -2, "presence_penalty": 2.0, "n": 128},
    {"logprobs": True, "top_logprobs": 20, "logit_bias": {"1": 100, "2": -100, "3": 5.0}},
    {"stop": ["a", "b", "c", "d"]},
    {"stop": ""},
    {"stream": False, "stream_options": None},
    {"stream": True, "stream_options": {"include_usage": None, "include_obfuscation": False}},
    {
        "tools": [
            {
                "type": "custom",
                "custom": {"name": "x", "format": {"type": "grammar", "grammar": {"definition": "", "syntax": "lark"}}},
            }
        ]
    },
    {"tools": [{"type": "custom", "custom": {"name": "x y", "format": {"type": "text"}}}]},
    {"tools": [TOOL], "tool_choice": "auto"},
    {"tool_choice": "none"},
    {"tool_choice": "auto"},
    {"max_tokens": 0},
    {"max_completion_tokens": -1},
    {"metadata": {"k" * 64: "v" * 512}},
    {"modalities": ["text", "audio"], "audio": {"voice": {"id": "v"}, "format": "mp3"}},
    {"prediction": {"type": "content", "content": [{"type": "text", "text": "x"}]}},
    {"reasoning_effort": "xhigh", "verbosity": "low", "service_tier": "priority", "store": True},
    {"web_search_options": {}, "moderation": {"model": "x"}, "prompt_cache_options": {"mode": "explicit"}},
    {"prompt_cache_key": "k", "prompt_cache_retention": "24h", "safety_identifier": "s", "user": "u"},
    {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "file", "file": {"file_id": "f"}},
                    {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
                    {
                        "type": "image_url",
                        "image_url": {"url": "x", "detail": "high"},
                        "prompt_cache_breakpoint": {"mode": "explicit"},
                    },
                ],
            }
        ]
    },
    {
        "messages": [
            {"role": "assistant", "tool_calls": [{"id": "x", "type": "custom", "custom": {"name": "c", "input": ""}}]}
        ]
    },
    {"messages": [{"role": "assistant", "content": None, "refusal": "no", "tool_calls": None}]},
    {"messages": [{"role": "tool", "content": [{"type": "text", "text": "x"}], "tool_call_id": "x"}]},
    {"messages": [USER | {"name": "Ann", "never_heard_of": 1}], "never_heard_of": {"a": [None]}},
]


@pytest.mark.parametrize("fields", ACCEPTED)
def test_accepted(openai: Any, fields: dict[str, Any]) -> None:
    body = {"model": "gpt-x", "messages": [USER], **fields}
    assert openai.parse(fields).raw == body


@pytest.mark.parametrize("field", sorted(CHAT_FIELDS - {"model", "messages"}))
def test_every_optional_field_may_be_null(openai: Any, field: str) -> None:
    assert openai.parse({field: None}).fingerprint == openai.parse({}).fingerprint


def test_every_field_of_the_official_client_is_known() -> None:
    official = set(CompletionCreateParamsNonStreaming.__annotations__)
    assert official - CHAT_FIELDS == set()
