"""ChatCompletion in several styles."""

from dataclasses import replace

from mockserver.core.call import ToolCall
from mockserver.core.plan import Answer, Choice, Logprob, Part, Reasoning, Refusal, Text, ToolUse, Usage, Verdict
from mockserver.wire.chat import ChatLayout, chat_usage, completion, pick, tool_call

PLAIN = ChatLayout(
    completion=("id", "object", "created", "model", "choices", "usage"),
    choice=("index", "message", "finish_reason"),
    message=("role", "content", "tool_calls"),
    chunk=("id", "object", "created", "model", "choices"),
    chunk_choice=("index", "delta", "finish_reason"),
)


def said(*parts: Part, style: ChatLayout = PLAIN) -> dict[str, object]:
    body = completion(answer(Choice(parts)), style)
    message: dict[str, object] = body["choices"][0]["message"]
    return message


def answer(*choices: Choice) -> Answer:
    return Answer("0123456789" * 7, 7, "m", choices, Usage(3, 2, 1, 1), "abc", (Verdict("hate", "low"),))


def test_keys_stand_in_the_order_of_the_style() -> None:
    body = completion(answer(Choice((Text("Hi"),))), PLAIN)
    assert list(body) == list(PLAIN.completion)
    assert list(body["choices"][0]) == list(PLAIN.choice)
    turned = replace(PLAIN, completion=tuple(reversed(PLAIN.completion)))
    assert list(completion(answer(), turned)) == list(turned.completion)


def test_several_choices() -> None:
    body = completion(answer(Choice((Text("a"),)), Choice((Text("b"),), finish="length")), PLAIN)
    shown = [(choice["index"], choice["message"]["content"], choice["finish_reason"]) for choice in body["choices"]]
    assert shown == [(0, "a", "stop"), (1, "b", "length")]


def test_texts_are_joined() -> None:
    assert said(Text("a"), Text("b")) == {"role": "assistant", "content": "ab"}
    assert said(Text(""))["content"] == ""
    assert said()["content"] is None


def test_calls_come_after_the_content() -> None:
    call = ToolCall("call_1", "f", "{}")
    assert said(ToolUse(call), Text("a")) == {"role": "assistant", "content": "a", "tool_calls": [tool_call(call)]}
    assert "tool_calls" not in said(Text("a"))


def test_custom_calls() -> None:
    assert tool_call(ToolCall("call_1", "sql", "SELECT", kind="custom")) == {
        "id": "call_1",
        "type": "custom",
        "custom": {"name": "sql", "input": "SELECT"},
    }


def test_a_refusal_without_a_place_of_its_own_is_content() -> None:
    assert said(Refusal("No")) == {"role": "assistant", "content": "No"}
    style = replace(PLAIN, message=("role", "content", "refusal"))
    assert said(Refusal("No"), style=style) == {"role": "assistant", "content": None, "refusal": "No"}


def test_reasoning_only_where_it_is_shown() -> None:
    assert said(Reasoning("Hm"), Text("a")) == {"role": "assistant", "content": "a"}
    style = replace(PLAIN, message=("role", "reasoning_content", "content"))
    assert said(Reasoning("Hm"), Text("a"), style=style)["reasoning_content"] == "Hm"
    assert "reasoning_content" not in said(Text("a"), style=style)


def test_annotations_of_all_texts() -> None:
    style = replace(PLAIN, message=("annotations",))
    assert said(Text("a", annotations=({"n": 1},)), Text("b", annotations=({"n": 2},)), style=style) == {
        "annotations": [{"n": 1}, {"n": 2}]
    }


def test_optional_keys_only_when_they_say_something() -> None:
    style = replace(PLAIN, choice=("index", "logprobs"), optional=frozenset({"logprobs", "annotations"}))
    assert completion(answer(Choice((Text("a"),))), style)["choices"] == [{"index": 0}]
    weighed = Choice((Text("a"),), logprobs=(Logprob("a", -1.0),))
    assert completion(answer(weighed), style)["choices"][0]["logprobs"]["refusal"] is None
    assert completion(answer(Choice(())), replace(style, optional=frozenset()))["choices"][0]["logprobs"] is None


def test_filter_results_where_they_are_shown() -> None:
    style = replace(PLAIN, completion=("prompt_filter_results", "choices"), choice=("content_filter_results",))
    body = completion(answer(Choice((), safety=(Verdict("sexual", "high", filtered=True),))), style)
    assert body["prompt_filter_results"][0]["content_filter_results"]["hate"]["severity"] == "low"
    assert body["choices"][0]["content_filter_results"]["sexual"] == {"filtered": True, "severity": "high"}


def test_fingerprint_and_what_the_request_adds() -> None:
    style = replace(PLAIN, completion=("service_tier", "system_fingerprint"))
    assert completion(answer(), style, {"service_tier": "flex", "other": 1}) == {
        "service_tier": "flex",
        "system_fingerprint": None,
    }
    assert completion(answer(), replace(style, system_fingerprint=True)) == {"system_fingerprint": "fp_abc"}


def test_usage() -> None:
    assert chat_usage(Usage(3, 2), PLAIN) == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    style = replace(PLAIN, usage=("completion_tokens_details", "prompt_tokens_details"))
    block = chat_usage(Usage(3, 2, 1, 1), style)
    assert list(block) == ["completion_tokens_details", "prompt_tokens_details"]
    assert (
        block["completion_tokens_details"]["reasoning_tokens"],
        block["prompt_tokens_details"]["cached_tokens"],
    ) == (1, 1)


def test_pick() -> None:
    assert list(pick({"a": 1, "b": 2, "c": 3}, ("c", "x", "a"))) == ["c", "a"]
