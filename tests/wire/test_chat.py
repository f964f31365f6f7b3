"""ChatCompletion in several layouts, its filter results and annotations."""

from dataclasses import replace

from mockserver.core.call import ToolCall
from mockserver.core.plan import Answer, Choice, Logprob, Part, Reasoning, Refusal, Text, ToolUse, Usage, Verdict
from mockserver.wire.chat import ChatLayout, chat_usage, completion
from mockserver.wire.content_filter import completion_filter, prompt_filter

PLAIN = ChatLayout(
    completion=("id", "object", "created", "model", "choices", "usage"),
    choice=("index", "message", "finish_reason"),
    message=("role", "content", "tool_calls"),
    chunk=("id", "object", "created", "model", "choices"),
    chunk_choice=("index", "delta", "finish_reason"),
)


def said(*parts: Part, layout: ChatLayout = PLAIN) -> dict[str, object]:
    body = completion(answer(Choice(parts)), layout)
    message: dict[str, object] = body["choices"][0]["message"]
    return message


def answer(*choices: Choice) -> Answer:
    return Answer("0123456789" * 7, 7, "m", choices, Usage(3, 2, 1, 1), "abc", (Verdict("hate", "low"),))


def test_keys_stand_in_the_order_of_the_layout() -> None:
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
    calls = ToolUse(ToolCall("call_1", "f", "{}")), ToolUse(ToolCall("call_2", "sql", "SELECT", kind="custom"))
    assert said(calls[0], Text("a"), calls[1]) == {
        "role": "assistant",
        "content": "a",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "call_2", "type": "custom", "custom": {"name": "sql", "input": "SELECT"}},
        ],
    }
    assert "tool_calls" not in said(Text("a"))


def test_a_refusal_without_a_place_of_its_own_is_content() -> None:
    assert said(Refusal("No")) == {"role": "assistant", "content": "No"}
    layout = replace(PLAIN, message=("role", "content", "refusal"))
    assert said(Refusal("No"), layout=layout) == {"role": "assistant", "content": None, "refusal": "No"}


def test_reasoning_only_where_it_is_shown() -> None:
    assert said(Reasoning("Hm"), Text("a")) == {"role": "assistant", "content": "a"}
    layout = replace(PLAIN, message=("role", "reasoning_content", "content"))
    assert said(Reasoning("Hm"), Text("a"), layout=layout)["reasoning_content"] == "Hm"
    assert "reasoning_content" not in said(Text("a"), layout=layout)


def test_annotations_of_all_texts_nest_a_citation_under_its_type() -> None:
    layout = replace(PLAIN, message=("annotations",))
    cited = {"url": "u", "title": "t", "start_index": 0, "end_index": 1}
    nested = {"type": "url_citation", "url_citation": cited}
    others: list[dict[str, object]] = [{"type": "file_citation", "file_id": "f"}, {"type": 5}, {"n": 1}]
    texts = Text("a", annotations=({"type": "url_citation", **cited}, nested)), Text("b", annotations=tuple(others))
    assert said(*texts, layout=layout) == {"annotations": [nested, nested, *others]}


def test_optional_keys_only_when_they_say_something() -> None:
    layout = replace(PLAIN, choice=("index", "logprobs"), optional=frozenset({"logprobs", "annotations"}))
    assert completion(answer(Choice((Text("a"),))), layout)["choices"] == [{"index": 0}]
    weighed = Choice((Text("a"),), logprobs=(Logprob("a", -1.0),))
    assert completion(answer(weighed), layout)["choices"][0]["logprobs"]["refusal"] is None
    assert completion(answer(Choice(())), replace(layout, optional=frozenset()))["choices"][0]["logprobs"] is None


def test_filter_results_where_they_are_shown() -> None:
    layout = replace(PLAIN, completion=("prompt_filter_results", "choices"), choice=("content_filter_results",))
    body = completion(answer(Choice((), safety=(Verdict("sexual", "high", filtered=True),))), layout)
    assert body["prompt_filter_results"][0]["content_filter_results"]["hate"]["severity"] == "low"
    assert body["choices"][0]["content_filter_results"]["sexual"] == {"filtered": True, "severity": "high"}


def test_fingerprint_and_what_the_request_adds() -> None:
    layout = replace(PLAIN, completion=("service_tier", "system_fingerprint"))
    assert completion(answer(), layout, {"service_tier": "flex", "other": 1}) == {
        "service_tier": "flex",
        "system_fingerprint": None,
    }
    assert completion(answer(), replace(layout, system_fingerprint=True)) == {"system_fingerprint": "fp_abc"}


def test_usage() -> None:
    assert chat_usage(Usage(3, 2), PLAIN) == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    layout = replace(PLAIN, usage=("completion_tokens_details", "prompt_tokens_details"))
    block = chat_usage(Usage(3, 2, 1, 1), layout)
    assert list(block) == ["completion_tokens_details", "prompt_tokens_details"]
    assert (
        block["completion_tokens_details"]["reasoning_tokens"],
        block["prompt_tokens_details"]["cached_tokens"],
    ) == (1, 1)


SAFE = {"filtered": False, "severity": "safe"}
UNSEEN = {"detected": False, "filtered": False}


def test_all_is_safe_that_is_not_named() -> None:
    harms = {"hate": SAFE, "self_harm": SAFE, "sexual": SAFE, "violence": SAFE}
    completion = completion_filter(())
    assert completion == {**harms, "protected_material_code": UNSEEN, "protected_material_text": UNSEEN}
    prompt = prompt_filter(())
    assert prompt == {"prompt_index": 0, "content_filter_results": {**harms, "jailbreak": UNSEEN}}


def test_each_side_shows_its_own_detections() -> None:
    safety = (
        Verdict("violence", "medium"),
        Verdict("jailbreak", detected=True, filtered=True),
        Verdict("protected_material_text", detected=True),
    )
    completion = completion_filter(safety)
    assert completion["violence"] == {"filtered": False, "severity": "medium"}
    assert completion["protected_material_text"] == {"detected": True, "filtered": False}
    assert "jailbreak" not in completion
    prompt = prompt_filter(safety)["content_filter_results"]
    assert prompt["jailbreak"] == {"detected": True, "filtered": True}
    assert "protected_material_text" not in prompt
