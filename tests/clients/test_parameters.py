"""Every parameter that the clients offer is understood, in every dialect that they speak."""

import inspect
from typing import Any

import pytest
from azure.ai.inference import ChatCompletionsClient
from azure.ai.inference.models import JsonSchemaFormat, UserMessage
from azure.core.credentials import AzureKeyCredential
from openai import OpenAI
from openai.types.chat.completion_create_params import CompletionCreateParamsBase

from tests.clients.asked import MODEL, TIME, say
from tests.kit.served import Served

# A value for each parameter, and what it needs beside it.
OPENAI: dict[str, tuple[Any, dict[str, Any]]] = {
    "audio": ({"format": "wav", "voice": "alloy"}, {"modalities": ["text", "audio"]}),
    "frequency_penalty": (0.5, {}),
    "function_call": ("auto", {"functions": [{"name": "f"}]}),
    "functions": ([{"name": "f", "parameters": {"type": "object"}}], {}),
    "logit_bias": ({"50256": -100}, {}),
    "logprobs": (True, {}),
    "max_completion_tokens": (50, {}),
    "max_tokens": (50, {}),
    "metadata": ({"run": "7"}, {}),
    "modalities": (["text"], {}),
    "moderation": ({"model": "omni-moderation-latest"}, {}),
    "n": (1, {}),
    "parallel_tool_calls": (True, {"tools": [TIME]}),
    "prediction": ({"type": "content", "content": "Hello!"}, {}),
    "presence_penalty": (-2.0, {}),
    "prompt_cache_key": ("k", {}),
    "prompt_cache_options": ({"mode": "explicit"}, {}),
    "prompt_cache_retention": ("24h", {}),
    "reasoning_effort": ("low", {}),
    "response_format": ({"type": "text"}, {}),
    "safety_identifier": ("s", {}),
    "seed": (-5, {}),
    "service_tier": ("auto", {}),
    "stop": (["\n\n", "END"], {}),
    "store": (True, {}),
    "stream_options": ({"include_usage": True, "include_obfuscation": False}, {"stream": True}),
    "temperature": (0.0, {}),
    "tool_choice": ("auto", {"tools": [TIME]}),
    "tools": ([TIME], {}),
    "top_logprobs": (3, {"logprobs": True}),
    "top_p": (0.1, {}),
    "user": ("u", {}),
    "verbosity": ("low", {}),
    "web_search_options": ({"search_context_size": "low"}, {}),
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
@pytest.mark.parametrize("name", OPENAI)
def test_openai(client: OpenAI, server: Served, dialect: str, name: str) -> None:
    value, beside = OPENAI[name]
    own = client.with_options(base_url=server.base(dialect))
    answer = own.chat.completions.create(model=MODEL, messages=say("hello"), **beside, **{name: value})

    chunks = list(answer) if "stream" in beside else [answer]
    assert chunks[0].choices[0].index == 0


def test_none_of_openai_is_left_out() -> None:
    assert OPENAI.keys() == CompletionCreateParamsBase.__annotations__.keys() - {"messages", "model"}


@pytest.mark.parametrize("name", AZURE)
def test_azure(server: Served, name: str) -> None:
    beside = {"tools": [TIME]} if name == "tool_choice" else {}
    with ChatCompletionsClient(server.base("azure"), AzureKeyCredential("k"), retry_total=0) as client:
        answer = client.complete(messages=[UserMessage("hello")], **beside, **{name: AZURE[name]})

    assert answer.choices[0].message.content == "Hello! How can I help you today?"


def test_none_of_azure_is_left_out() -> None:
    parameters = inspect.signature(ChatCompletionsClient.__init__).parameters.values()
    kept = {parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY}

    assert AZURE.keys() == kept
