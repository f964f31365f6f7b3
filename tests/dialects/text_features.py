"""What a text completion can do, as data, in the manner of `features.py`, from which it takes what rules answer."""

from collections.abc import Mapping
from typing import Any

from tests.dialects.features import FEATURES, Feature

Json = Any

TEXT_URLS = {
    "openai": "/openai/v1/completions",
    "azure_openai": "/azure-openai/openai/v1/completions",
    "fireworks": "/fireworks/inference/v1/completions",
}
PROMPT = "Say something about the sea."
_SEA = "The sea is wide, deep and never quite still."
_SUFFIXED = frozenset({"openai", "azure_openai"})
_FIREWORKS = frozenset({"fireworks"})


def text_request(name: str, *, stream: bool = False, usage: bool = False) -> dict[str, Json]:
    """The body that asks for a feature or a failure."""
    added = TEXT_FEATURES[name].body if name in TEXT_FEATURES else {}
    body: dict[str, Json] = {"model": name, "prompt": PROMPT, **added}
    if stream:
        body["stream"] = True
    if usage:
        body["stream_options"] = {"include_usage": True}
    return body


def _as_in_chat(*names: str) -> dict[str, Feature]:
    """Features that a chat asks for in the same words."""
    return {name: FEATURES[name] for name in names}


TEXT_FEATURES: Mapping[str, Feature] = {
    **_as_in_chat("text", "empty-text", "odd-text", "words", "characters", "sized", "pieces", "reasoning", "json"),
    **_as_in_chat("n", "fewer-choices-than-n", "stop", "stops", "stop-at-once"),
    **_as_in_chat("max-tokens", "max-tokens-of-n", "max-tokens-of-pieces", "max-tokens-of-reasoning"),
    **_as_in_chat("finish", "usage", "resolved-model", "headers"),
    **_as_in_chat("filtered", "filtered-at-once", "filtered-material", "annotated"),
    **_as_in_chat("echo", "prose", "lorem", "template", "one-of", "generated", "generated-n", "generated-short"),
    "choices": Feature({"choices": [{"text": "A short one."}, {"text": _SEA}]}, {"n": 2}),
    "prompt-of-tokens": Feature({"text": _SEA}, {"prompt": [791, 9581, 374]}),
    "prompts": Feature({"text": "{{ last_user }} Yes."}, {"prompt": ["One", "Two", "Three"]}),
    "prompts-of-tokens": Feature({"text": _SEA}, {"prompt": [[791, 9581], [374]]}),
    "prompts-times-n": Feature({"text": _SEA}, {"prompt": ["One", "Two"], "n": 2}),
    "repeated": Feature({"text": _SEA}, {"echo": True}),
    "repeated-prompts": Feature({"text": _SEA}, {"echo": True, "prompt": ["One", "Two words"]}),
    "repeated-alone": Feature({"text": _SEA}, {"echo": True, "max_tokens": 0}),
    "repeated-with-logprobs": Feature({"text": _SEA}, {"echo": True, "logprobs": 2}),
    "repeated-of-nothing": Feature({"text": _SEA}, {"prompt": "", "echo": True, "logprobs": 1}),
    "repeated-in-characters": Feature({"text": "Œuvre 🌊", "chunks": "char"}, {"echo": True, "logprobs": 2}),
    "repeated-with-filter": Feature(FEATURES["filtered"].then, {"echo": True, "logprobs": 1}, needs="content_filter"),
    "repeated-in-part": Feature({"text": _SEA}, {"echo_last": 2, "logprobs": 1}, only=_FIREWORKS),
    "logprobs": Feature({"text": _SEA}, {"logprobs": 2}),
    "logprobs-alone": Feature({"text": _SEA}, {"logprobs": 0}),
    "logprobs-in-words": Feature({"text": _SEA, "chunks": "word"}, {"logprobs": 1}),
    "logprobs-in-characters": Feature({"text": "Œuvre 🌊", "chunks": "char"}, {"logprobs": 1}),
    "logprobs-of-n": Feature({"text": _SEA}, {"logprobs": 1, "n": 2, "prompt": ["One", "Two"]}),
    "logprobs-stated": Feature({"text": "Yes.", "logprobs": [-0.25]}, {"logprobs": 1}),
    "logprobs-unasked": Feature({"text": _SEA, "logprobs": [-0.5]}),
    "logprobs-of-a-refusal": Feature({"refusal": "I can't help with that."}, {"logprobs": 1}),
    "logprobs-of-parts": Feature({"parts": [{"text": "One. "}, {"text": "Two."}]}, {"logprobs": 1}),
    "logprobs-after-reasoning": Feature({"reasoning": "The user wants the sea.", "text": _SEA}, {"logprobs": 1}),
    "logprobs-of-odd-text": Feature(FEATURES["odd-text"].then, {"logprobs": 1}),
    "logprobs-and-stop": Feature({"text": _SEA}, {"stop": [", deep"], "logprobs": 1}),
    "tool-call": Feature({"tool_calls": [{"name": "look", "arguments": {}}]}),
    "top-logprobs-win": Feature({"text": _SEA}, {"logprobs": 1, "top_logprobs": 3}, only=_FIREWORKS),
    "repeated-as-content": Feature({"text": _SEA}, {"logprobs": True, "echo": True}, only=_FIREWORKS),
    "repeated-in-part-of-all": Feature({"text": _SEA}, {"echo_last": 99, "logprobs": 1}, only=_FIREWORKS),
    "logprobs-as-content": Feature({"text": _SEA}, {"logprobs": True, "top_logprobs": 2}, only=_FIREWORKS),
    "token-ids-of-words": Feature(
        {"text": _SEA, "chunks": "word"}, {"return_token_ids": True, "echo": True, "n": 2}, only=_FIREWORKS
    ),
    "token-ids-of-nothing": Feature({"text": ""}, {"return_token_ids": True}, only=_FIREWORKS),
    "raw-output-and-more": Feature(
        {"text": _SEA}, {"raw_output": True, "logprobs": True, "echo": True}, only=_FIREWORKS
    ),
    "perf-metrics": Feature(
        {"text": _SEA}, {"perf_metrics_in_response": True, "prediction": " The sea"}, only=_FIREWORKS
    ),
    "ignore-eos": Feature(body={"ignore_eos": True, "max_tokens": 200}, only=_FIREWORKS),
    "json-object": Feature(body={"response_format": {"type": "json_object"}, "logprobs": 1}, only=_FIREWORKS),
    "token-ids": Feature({"text": _SEA}, {"return_token_ids": True, "logprobs": 1}, only=_FIREWORKS),
    "raw-output": Feature({"text": _SEA}, {"raw_output": True}, only=_FIREWORKS),
    "suffix": Feature({"text": _SEA}, {"suffix": "The end."}, only=_SUFFIXED),
    "best-of-as-many": Feature({"text": _SEA}, {"n": 1, "best_of": 1}, only=_SUFFIXED),
    "generated-with-logprobs": Feature(body={"logprobs": 1, "max_tokens": 3}),
    "generated-prompts": Feature(body={"prompt": ["One", "Two"]}),
}
