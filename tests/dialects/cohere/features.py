"""Requests of Cohere, each for something else that it can do; the bodies of a chat serve v2 and v1 alike."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.dialects.features import Feature

Json = Any
NEW, OLD = "/cohere/v2/chat", "/cohere/v1/chat"
HI = {
    "messages": [{"role": "user", "content": "How is the weather in Oslo?"}],
    "message": "How is the weather in Oslo?",
}
_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather", "parameters": _CITY}}
_OLD_TOOL = {
    "name": "get_weather",
    "description": "The weather",
    "parameter_definitions": {"city": {"type": "str", "required": True}, "days": {"type": "List[int]"}},
}
_CALL = {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}
_DOCUMENT = {"type": "document", "document": {"data": {"sky": "clear"}}}
_IMAGE = {"type": "image_url", "image_url": {"url": "https://a.test/b.png"}}
_SEA = "The sea is wide and deep."
_CITATION = {"text": "wide", "sources": [{"type": "document", "id": "doc:0", "document": {"id": "doc:0", "text": "a"}}]}
FEATURES: Mapping[str, Feature] = {
    "text": Feature({"text": _SEA}),
    "empty": Feature({"text": ""}),
    "words": Feature({"text": _SEA, "chunks": "word"}),
    "pieces": Feature({"text": _SEA, "chunks": ["The", " sea", " is wide and deep."]}),
    "odd text": Feature({"text": 'Œuvre "🌊"\n\\ \u2028'}),
    "thinking": Feature({"reasoning": "They ask.", "text": _SEA}, {"thinking": {"type": "enabled"}}),
    "parts": Feature({"parts": [{"reasoning": "One."}, {"text": "Two. "}, {"text": "Three."}]}),
    "refusal": Feature({"refusal": "I can't."}),
    "citations": Feature({"text": _SEA, "annotations": [_CITATION]}),
    "documents": Feature(body={"documents": ["It rains in Oslo.", {"id": "a", "data": {"title": "T", "text": "No."}}]}),
    "call": Feature({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}, {"tools": [TOOL]}),
    "calls": Feature({"text": "I look.", "tool_calls": [{"name": "get_weather"}] * 2}, {"tools": [TOOL]}),
    "custom call": Feature({"tool_calls": [{"name": "note", "input": "the sea"}]}),
    "call after thinking": Feature(
        {"reasoning": "I look.", "tool_calls": [{"name": "get_weather"}]},
        {"tools": [TOOL], "thinking": {"type": "enabled", "token_budget": 9}},
    ),
    "generated call": Feature(body={"tools": [TOOL], "tool_choice": "REQUIRED"}),
    "result": Feature(
        body={
            "tools": [TOOL],
            "messages": [
                *HI["messages"],
                {"role": "assistant", "tool_plan": "I look.", "tool_calls": [_CALL]},
                {"role": "tool", "tool_call_id": "a", "content": [_DOCUMENT]},
            ],
        }
    ),
    "image": Feature(body={"messages": [{"role": "user", "content": [{"type": "text", "text": "Look"}, _IMAGE]}]}),
    "logprobs": Feature({"text": _SEA, "chunks": "word"}, {"logprobs": True}),
    "stop": Feature({"text": _SEA}, {"stop_sequences": [" and"]}),
    "cut": Feature({"text": _SEA}, {"max_tokens": 3}),
    "object": Feature(body={"response_format": {"type": "json_object"}}),
    "schema": Feature(body={"response_format": {"type": "json_object", "json_schema": _CITY}}),
    "filtered": Feature({"text": _SEA, "content_filter": {"on": "completion", "after_tokens": 2}}),
    "generated": Feature(),
    "nulls": Feature(body=dict.fromkeys(("tools", "documents", "response_format", "temperature", "stop_sequences"))),
}
OLD_FEATURES: Mapping[str, Json] = {
    "history": {"chat_history": [{"role": "USER", "message": "a"}, {"role": "CHATBOT", "message": "b"}]},
    "tools": {"tools": [_OLD_TOOL]},
    "results": {
        "tools": [_OLD_TOOL],
        "tool_results": [
            {"call": {"name": "get_weather", "parameters": {"city": "Oslo"}}, "outputs": [{"sky": "clear"}]}
        ],
    },
    "documents": {"documents": [{"title": "T", "snippet": "It rains in Oslo."}], "preamble": "Be brief."},
}
OTHERS: Mapping[str, tuple[Json, ...]] = {
    "completions": ({"prompt": "Once"}, {"prompt": "Once", "num_generations": 2, "max_tokens": 3, "stream": True}),
    "embeddings": (
        {"model": "embed-v4.0", "input_type": "search_query", "texts": ["the sea", "a street"], "output_dimension": 8},
        {"model": "m", "input_type": "image", "images": ["data:image/png;base64,AA=="], "embedding_types": ["int8"]},
    ),
    "rerank": (
        {"model": "rerank-v3.5", "query": "the sea", "documents": ["a street", "the sea"], "top_n": 1},
        {"model": "m", "query": "the sea", "documents": ["a", "b"], "return_documents": True},
    ),
    "tokenize": ({"model": "m", "text": "The sea"},),
    "detokenize": ({"model": "m", "tokens": [310939249775]},),
    "info": ({},),
}


# The same by path.
PATHS: Mapping[str, tuple[Json, ...]] = {
    "/v1/generate": OTHERS["completions"],
    **dict.fromkeys(("/v1/embed", "/v2/embed"), OTHERS["embeddings"]),
    **dict.fromkeys(("/v1/rerank", "/v2/rerank"), OTHERS["rerank"]),
    **{f"/v1/{name}": OTHERS[name] for name in ("tokenize", "detokenize")},
}


def request(name: str, *, stream: bool = False) -> Json:
    """The body of a v2 chat, whose model is the feature's name, as rules match it."""
    return {"model": name, "stream": stream, **HI, **FEATURES[name].body}


def bodies(operation: str) -> Iterator[Json]:
    """Bodies that an operation answers, in both versions."""
    if operation != "chat":
        yield from OTHERS[operation]
        return
    for stream in (False, True):
        yield from (request(name, stream=stream) for name, feature in FEATURES.items() if "tools" not in feature.body)
