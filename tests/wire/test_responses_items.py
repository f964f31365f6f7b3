"""Output items: which parts share one, and what is shown of each."""

import json
from base64 import urlsafe_b64decode
from typing import Any

import pytest
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.plan import Answer, Broken, Item, Part, Reasoning, Refusal, Text
from mockserver.wire.responses import (
    ITEM_KINDS,
    OutputItem,
    ResponseLayout,
    ResponseOptions,
    list_output_items,
    make_hosted_tool_item,
)
from tests.wire.answers import CALL, EVERYTHING, ITEMS, NOTE, OPENAI, PLAIN, TZAFON, answer, used, weighed


def built(
    *parts: Part, layout: ResponseLayout = OPENAI, asked: ResponseOptions = PLAIN, **fields: Any
) -> list[OutputItem]:
    return list_output_items(answer(*parts, **fields), layout, asked)


def shown(*parts: Part, layout: ResponseLayout = OPENAI, asked: ResponseOptions = PLAIN) -> list[dict[str, Any]]:
    return [json.loads(to_json(output.body)) for output in built(*parts, layout=layout, asked=asked)]


GROUPS: dict[str, tuple[tuple[Part, ...], list[int]]] = {
    "nothing": ((), []),
    "two texts": ((Text("a"), Text("b")), [2]),
    "text and refusal": ((Text("a"), Refusal("no")), [2]),
    "apart": ((Text("a"), Text("b", apart=True), Text("c")), [1, 2]),
    "apart from nothing": ((Text("a", apart=True),), [1]),
    "around a call": ((Text("a"), CALL, Text("b"), Text("c")), [1, 1, 2]),
    "thoughts": ((Reasoning("a"), Reasoning("b"), Text("c")), [1, 1, 1]),
}


@pytest.mark.parametrize("group", GROUPS)
def test_which_parts_share_an_item(group: str) -> None:
    parts, sizes = GROUPS[group]
    found = built(*parts)
    assert [len(output.parts) for output in found] == sizes
    assert tuple(part for output in found for part in output.parts) == parts


def test_annotations_are_flat() -> None:
    nested = {"type": "url_citation", "url_citation": {key: NOTE[key] for key in NOTE if key != "type"}}
    others = ({"type": "file_citation", "file_id": "f"}, {"type": 5})
    (item,) = shown(Text("Hi", annotations=(nested, NOTE, *others)))
    assert item["content"][0]["annotations"] == [NOTE, NOTE, *others]


SUMMARIES = (
    (Reasoning("Hm"), False, None),
    (Reasoning("Hm"), True, "Hm"),
    (Reasoning("Hm", summary="In short"), False, "In short"),
    (Reasoning("Hm", summary="In short"), True, "In short"),
    (Reasoning("Hm", summary=""), True, ""),
)


@pytest.mark.parametrize(("thought", "asked", "told"), SUMMARIES)
def test_what_is_told_of_thoughts(thought: Reasoning, asked: bool, told: str | None) -> None:
    (item,) = shown(thought, asked=ResponseOptions(summary=asked))
    assert item["summary"] == ([] if told is None else [{"type": "summary_text", "text": told}])
    assert "content" not in item
    assert "encrypted_content" not in item
    (raw,) = shown(thought, layout=TZAFON, asked=ResponseOptions(summary=asked))
    assert raw["summary"] == ([] if thought.summary is None else [{"type": "summary_text", "text": thought.summary}])


def test_raw_and_sealed_thoughts() -> None:
    (item,) = shown(Reasoning("Hm"), layout=TZAFON)
    assert item["content"] == [{"type": "reasoning_text", "text": "Hm"}]
    sealed = [shown(Reasoning(text), asked=EVERYTHING)[0]["encrypted_content"] for text in ("Hm", "Hm", "Aha")]
    assert sealed[0] == sealed[1] != sealed[2]
    assert len(urlsafe_b64decode(sealed[0])) == 233
    assert sealed[0].startswith("gAAAAABl")


def test_logprobs_of_each_text() -> None:
    parts = Text("Hello there"), CALL, Text("é")
    items = [json.loads(to_json(output.body)) for output in list_output_items(weighed(*parts), OPENAI, PLAIN)]
    first, second = (item["content"][0]["logprobs"] for item in (items[0], items[2]))
    assert [logprob["token"] for logprob in first] == ["Hello", " there"]
    assert second == [
        {
            "token": "é",
            "logprob": -0.5,
            "bytes": [195, 169],
            "top_logprobs": [
                {"token": "é", "logprob": -0.5, "bytes": [195, 169]},
                {"token": "é", "logprob": -1.5, "bytes": [195, 169]},
            ],
        }
    ]


CUTS = (
    ((Text("a"), CALL), {"finish": "length"}, ["completed", "incomplete"], [False, False]),
    ((CALL, Text("a")), {"finish": "content_filter"}, ["completed", "incomplete"], [False, False]),
    ((CALL, Text("a")), {"broken": Broken()}, ["completed", "incomplete"], [False, True]),
    ((Text("a"), ITEMS[0]), {"finish": "length"}, ["completed", "completed"], [False, False]),
    ((CALL, Reasoning("a")), {"broken": Broken(event=True)}, ["completed", "incomplete"], [False, True]),
    ((Text("a"),), {"finish": "tool_calls"}, ["completed"], [False]),
)


@pytest.mark.parametrize(("parts", "fields", "statuses", "opens"), CUTS)
def test_what_a_cut_leaves(
    parts: tuple[Part, ...], fields: dict[str, Any], statuses: list[str], opens: list[bool]
) -> None:
    found = built(*parts, **fields)
    assert [output.body["status"] for output in found] == statuses
    assert [output.open for output in found] == opens


# A use of a tool, and what of it is shown to who asks for nothing more.
SHOWN: tuple[tuple[Item, dict[str, Any]], ...] = (
    (
        used("web_search_call", action={"type": "search", "query": "q", "sources": [1]}, results=[]),
        {"action": {"type": "search", "query": "q"}},
    ),
    (used("web_search_call", action={"type": "open_page", "url": "u"}), {"action": {"type": "open_page", "url": "u"}}),
    (used("web_search_call", action=None), {"action": None}),
    (used("file_search_call", results=[1]), {"queries": ["q"], "results": None}),
    (
        used("code_interpreter_call", outputs=[1], container_id="cntr_1"),
        {"code": "1", "container_id": "cntr_1", "outputs": None},
    ),
    (Item("something_new", {"a": 1, "type": "odd"}), {"a": 1}),
)


@pytest.mark.parametrize(("item", "says"), SHOWN)
def test_what_is_shown_of_a_use(item: Item, says: dict[str, Any]) -> None:
    found = make_hosted_tool_item(item, PLAIN, "0" * 32)
    assert list(found)[:3] == ["id", "type", "status"]
    assert (found["type"], found["status"]) == (item.kind, "completed")
    assert {key: found[key] for key in found if key not in ("id", "type", "status")} == says


def test_statuses_of_hosted_tools() -> None:
    assert make_hosted_tool_item(used("web_search_call", status="failed"), PLAIN, "0")["status"] == "failed"
    assert make_hosted_tool_item(used("mcp_call", error={"type": "x"}), PLAIN, "0")["status"] == "failed"
    assert "status" not in make_hosted_tool_item(used("mcp_list_tools"), PLAIN, "0")


def test_ids_of_hosted_tools() -> None:
    call, other = shown(used("shell_call"), used("shell_call_output"))
    assert call["call_id"] == other["call_id"]
    assert call["call_id"].startswith("call_")
    assert len(call["call_id"]) == 29
    assert (call["id"][:3], other["id"][:4]) == ("sh_", "sho_")
    (alone,) = shown(used("shell_call_output"))
    assert alone["call_id"]
    assert shown(used("web_search_call", id="ws_mine"))[0]["id"] == "ws_mine"
    assert shown(used("code_interpreter_call"))[0]["container_id"].startswith("cntr_")


def test_ids_follow_from_the_answer() -> None:
    parts: tuple[Part, ...] = (Text("a"), CALL, *ITEMS)
    first, again = shown(*parts), shown(*parts)
    assert first == again
    assert len({item["id"] for item in first}) == len(first)
    other: Answer = replace(answer(*parts), id="resp_other")
    assert {output.body["id"] for output in list_output_items(other, OPENAI, PLAIN)}.isdisjoint(
        item["id"] for item in first
    )


@pytest.mark.parametrize("name", ITEM_KINDS)
def test_rows_speak_of_their_own_keys(name: str) -> None:
    kind = ITEM_KINDS[name]
    assert set(kind.blank) <= {*used(name).body, "status"}
    assert all(include.startswith(f"{name}.") for include in kind.shown.values())
