"""Every parameter that the clients offer is accepted, in every dialect that they speak."""

import inspect
from typing import Any

import pytest
from azure.ai.inference import ChatCompletionsClient
from azure.ai.inference.models import JsonSchemaFormat, UserMessage
from azure.core.credentials import AzureKeyCredential
from openai import OpenAI
from openai.types.chat.completion_create_params import CompletionCreateParamsBase

from tests.clients.payloads import MODEL, TIME, say
from tests.kit.served import Served

OPENAI: dict[str, Any] = {
    "audio": {"format": "wav", "voice": "alloy"},
    "frequency_penalty": 0.5,
    "function_call": "auto",
    "functions": [{"name": "f", "parameters": {"type": "object"}}],
    "logit_bias": {"50256": -100},
    "logprobs": True,
    "max_completion_tokens": 50,
    "max_tokens": 50,
    "metadata": {"run": "7"},
    "modalities": ["text", "audio"],
    "moderation": {"model": "omni-moderation-latest"},
    "n": 1,
    "parallel_tool_calls": True,
    "prediction": {"type": "content", "content": "Hello!"},
    "presence_penalty": -2.0,
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "explicit"},
    "prompt_cache_retention": "24h",
    "reasoning_effort": "low",
    "response_format": {"type": "text"},
    "safety_identifier": "s",
    "seed": -5,
    "service_tier": "auto",
    "stop": ["\n\n", "END"],
    "store": True,
    "stream_options": {"include_usage": True, "include_obfuscation": False},
    "temperature": 0.0,
    "tool_choice": "auto",
    "tools": [TIME],
    "top_logprobs": 3,
    "top_p": 0.1,
    "user": "u",
    "verbosity": "low",
    "web_search_options": {"search_context_size": "low"},
}
NEEDED: dict[str, dict[str, Any]] = {  # what some parameters do not come without
    "function_call": {"functions": OPENAI["functions"]},
    "parallel_tool_calls": {"tools": [TIME]},
    "stream_options": {"stream": True},
    "tool_choice": {"tools": [TIME]},
    "top_logprobs": {"logprobs": True},
}
AZURE: dict[str, Any] = {
    "frequency_penalty": 0.5,
    "max_tokens": 50,
    "model": "Phi-4",
    "model_extras": {"n": 1},
    "presence_penalty": -0.5,
    "response_format": JsonSchemaFormat(name="person", schema={"type": "object"}),
    "seed": 5,
    "stop": ["END"],
    "temperature": 0.0,
    "tool_choice": "auto",
    "tools": [TIME],
    "top_p": 0.1,
}


@pytest.mark.parametrize("dialect", ["openai", "crazyrouter", "skytells"])
def test_openai(client: OpenAI, server: Served, dialect: str) -> None:
    chats = client.with_options(base_url=server.base(dialect)).chat.completions
    for name, value in OPENAI.items():
        needed = NEEDED.get(name, {})
        answer: Any = chats.create(model=MODEL, messages=say("hello"), **needed, **{name: value})
        first = list(answer)[0] if "stream" in needed else answer  # noqa: RUF015  # all of it is read
        assert first.choices[0].index == 0, name


def test_azure(server: Served) -> None:
    with ChatCompletionsClient(server.base("azure"), AzureKeyCredential("k"), retry_total=0) as client:
        answer = client.complete(messages=[UserMessage("hello")], **AZURE)

    assert answer.choices[0].message.content == "Hello! How can I help you today?"


def test_no_parameter_is_left_out() -> None:
    assert OPENAI.keys() == CompletionCreateParamsBase.__annotations__.keys() - {"messages", "model"}
    azure = inspect.signature(ChatCompletionsClient.__init__).parameters.values()
    assert AZURE.keys() == {parameter.name for parameter in azure if parameter.kind is inspect.Parameter.KEYWORD_ONLY}
