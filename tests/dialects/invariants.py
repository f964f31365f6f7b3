"""What holds of every answer, plain and streamed, whatever the dialect, and what its clients rely on.

An invariant is a function that asserts. It knows no dialect: what differs is in the schemas, whose `properties` also
give the order of the keys.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema_rs

from tests.kit.local import Answered

Json = Any
ENDINGS = ("response.completed", "response.incomplete", "response.failed")
_SCHEMAS = Path(__file__).parent / "schemas"
_FRAMES = re.compile(rb"(?:data: [^\r\n]+\n\n)+")
_EVENTS = re.compile(rb"(?:event: [a-z_.]+\ndata: \{[^\r\n]+\n\n)+")
_SPOKEN = ("content", "refusal", "reasoning_content")


@dataclass(frozen=True)
class Stream:
    """The bytes of a streamed answer, and what they say."""

    body: bytes

    @cached_property
    def sent(self) -> list[Json]:
        """Every frame but the terminator, parsed."""
        frames = self.body.removesuffix(b"\n\n").split(b"\n\n")
        return [json.loads(frame.removeprefix(b"data: ")) for frame in frames if frame != b"data: [DONE]"]

    @property
    def preamble(self) -> Json:
        return self.sent[0] if self.sent[0]["object"] == "" else None

    @property
    def chunks(self) -> list[Json]:
        return self.sent if self.preamble is None else self.sent[1:]

    @property
    def steps(self) -> Iterator[Json]:
        return (choice for chunk in self.chunks for choice in chunk["choices"])

    def of_each_choice(self) -> Mapping[int, list[Json]]:
        found: dict[int, list[Json]] = {}
        for step in self.steps:
            found.setdefault(step["index"], []).append(step)
        return found


# --- streams of chats and texts


def frames_are_strict(stream: Stream) -> None:
    assert _FRAMES.fullmatch(stream.body), "each event is `data: `, one line and an empty line, LF only"
    stream.body.decode("utf-8")


def done_comes_last_and_once(stream: Stream) -> None:
    assert stream.body.endswith(b"\n\ndata: [DONE]\n\n")
    assert stream.body.count(b"data: [DONE]\n") == 1


def the_head_never_changes(stream: Stream) -> None:
    for key in ("id", "object", "created", "model"):
        assert len({json.dumps(chunk[key]) for chunk in stream.chunks}) == 1, key


def a_chunk_has_one_choice(stream: Stream) -> None:
    without = [at for at, chunk in enumerate(stream.chunks) if len(chunk["choices"]) != 1]
    last = len(stream.chunks) - 1
    assert without in ([], [last]), "only the chunk with the usage, the last one, may have no choice"
    if without:
        assert stream.chunks[last]["usage"] is not None


def choices_appear_in_order(stream: Stream) -> None:
    assert list(stream.of_each_choice()) == list(range(len(stream.of_each_choice())))


def the_role_comes_once(stream: Stream) -> None:
    for steps in stream.of_each_choice().values():
        roles = [step["delta"]["role"] for step in steps if "role" in step["delta"]]
        first = next(step["delta"] for step in steps if step["delta"])
        assert roles == ["assistant"]
        assert "role" in first, "nothing is said before the role"


def nothing_empty_is_said(stream: Stream) -> None:
    for steps in stream.of_each_choice().values():
        for step in steps:
            said = [step["delta"][key] for key in _SPOKEN if key in step["delta"]]
            assert "role" in step["delta"] or "" not in said, step
            assert "role" in step["delta"] or None not in said, step


def calls_are_named_once(stream: Stream) -> None:
    for steps in stream.of_each_choice().values():
        reached = -1
        for fragment in _fragments(steps):
            body = fragment.get("function") or fragment.get("custom")
            if fragment["index"] > reached:  # the first fragment of the next call
                assert fragment["index"] == reached + 1
                assert fragment["id"]
                assert fragment["type"] in fragment
                assert body["name"]
                reached += 1
            else:
                assert fragment["index"] == reached, "a call starts only after the one before is complete"
                assert not {"id", "name"} & {*fragment, *body}
                assert body.get("arguments", body.get("input")) != ""


def every_choice_ends_once(stream: Stream) -> None:
    for steps in stream.of_each_choice().values():
        finished = [at for at, step in enumerate(steps) if step["finish_reason"] is not None]
        assert finished == [len(steps) - 1], "the last step of a choice, and no other, says why it ended"
        assert not steps[-1].get("delta")


CHAT_STREAM: tuple[Callable[[Stream], None], ...] = (
    frames_are_strict,
    done_comes_last_and_once,
    the_head_never_changes,
    a_chunk_has_one_choice,
    choices_appear_in_order,
    the_role_comes_once,
    nothing_empty_is_said,
    calls_are_named_once,
    every_choice_ends_once,
)


def only_the_end_says_nothing(stream: Stream) -> None:
    for steps in stream.of_each_choice().values():
        assert all(step["text"] for step in steps[:-1])


TEXT_STREAM: tuple[Callable[[Stream], None], ...] = (
    frames_are_strict,
    done_comes_last_and_once,
    the_head_never_changes,
    a_chunk_has_one_choice,
    choices_appear_in_order,
    only_the_end_says_nothing,
    every_choice_ends_once,
)


# --- plain chats and texts


def a_body_is_one_line(answered: Answered) -> None:
    assert answered.headers["content-type"] == "application/json"
    assert answered.headers["content-length"] == str(len(answered.body))
    assert b"\n" not in answered.body
    assert b'": ' not in answered.body.replace(b'\\"', b""), "JSON is compact"


def choices_stand_in_order(answered: Answered) -> None:
    assert [choice["index"] for choice in answered.json["choices"]] == list(range(len(answered.json["choices"])))


def calls_have_ids_of_their_own(answered: Answered) -> None:
    ids = [call["id"] for choice in answered.json["choices"] for call in choice["message"].get("tool_calls", ())]
    assert len(set(ids)) == len(ids)


def a_call_is_why_it_ended(answered: Answered) -> None:
    for choice in answered.json["choices"]:
        for key, reason in (("tool_calls", "tool_calls"), ("function_call", "function_call")):
            calls = key in choice["message"]
            assert calls or choice["finish_reason"] != reason
            assert not calls or choice["finish_reason"] in (reason, "length", "content_filter")


def usage_adds_up(answered: Answered) -> None:
    usage = answered.json["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    if details := usage.get("completion_tokens_details"):
        assert details["reasoning_tokens"] <= usage["completion_tokens"]
        assert usage["prompt_tokens_details"]["cached_tokens"] <= usage["prompt_tokens"]


CHAT_PLAIN: tuple[Callable[[Answered], None], ...] = (
    a_body_is_one_line,
    choices_stand_in_order,
    calls_have_ids_of_their_own,
    a_call_is_why_it_ended,
    usage_adds_up,
)


def log_probabilities_agree_with_the_text(answered: Answered) -> None:
    for choice in answered.json["choices"]:
        if choice["logprobs"] is not None:
            tokens = list(entries(choice["logprobs"]))
            assert choice["text"].endswith("".join(token["token"] for token in tokens))
            for token in tokens:
                end = token["at"] + len(token["token"])
                assert choice["text"][token["at"] : end] == token["token"], "an offset points at its token"


def log_probabilities_are_probabilities(answered: Answered) -> None:
    for choice in answered.json["choices"]:
        for token in entries(choice["logprobs"] or {"content": []}):
            weighed = token["top"]
            assert token["logprob"] is None or token["logprob"] <= 0
            assert list(weighed.values()) == sorted(weighed.values(), reverse=True)
            assert sum(map(math.exp, weighed.values())) <= 1.000001
            assert not weighed or weighed[token["token"]] == token["logprob"]


TEXT_PLAIN: tuple[Callable[[Answered], None], ...] = (
    a_body_is_one_line,
    choices_stand_in_order,
    usage_adds_up,
    log_probabilities_agree_with_the_text,
    log_probabilities_are_probabilities,
)


# --- what stream and plain answer both say


def joined_messages(stream: Stream) -> list[Json]:
    """What a client that adds the deltas up ends with: one message, with why it ended, for each choice."""
    return [_joined_message(steps) for _, steps in sorted(stream.of_each_choice().items())]


def plain_messages(answered: Answered) -> list[Json]:
    return [_plain_message(choice) for choice in answered.json["choices"]]


def _joined_message(steps: Sequence[Json]) -> Json:
    said = {key: "".join(step["delta"].get(key) or "" for step in steps) for key in _SPOKEN}
    calls: list[Json] = []
    for fragment in _fragments(steps):
        kind, key = ("custom", "input") if "custom" in fragment else ("function", "arguments")
        if fragment["index"] == len(calls):
            calls.append({"id": fragment["id"], "type": fragment["type"], kind: {**fragment[kind]}})
        else:
            calls[fragment["index"]][kind][key] += fragment[kind][key]
    return {**said, "tool_calls": calls, **_function(steps), "finish_reason": steps[-1]["finish_reason"]}


def _function(steps: Sequence[Json]) -> Json:
    """The one call of a function as they were before there were tools."""
    parts = [step["delta"]["function_call"] for step in steps if "function_call" in step["delta"]]
    assert ["name" in fragment for fragment in parts] == [at == 0 for at in range(len(parts))]
    arguments = "".join(fragment["arguments"] for fragment in parts)
    return {"function_call": {**parts[0], "arguments": arguments}} if parts else {}


def _plain_message(choice: Json) -> Json:
    message = choice["message"]
    said = {key: message.get(key) or "" for key in _SPOKEN}
    function = {key: message[key] for key in ("function_call",) if key in message}
    return {**said, "tool_calls": message.get("tool_calls", []), **function, "finish_reason": choice["finish_reason"]}


def _fragments(steps: Sequence[Json]) -> Iterator[Json]:
    return (fragment for step in steps for fragment in step["delta"].get("tool_calls", ()))


def joined_texts(stream: Stream) -> list[Json]:
    """What a client that adds the steps of each choice up ends with."""
    return [_joined_text(steps) for _, steps in sorted(stream.of_each_choice().items())]


def plain_texts(answered: Answered) -> list[Json]:
    return [_joined_text([choice]) for choice in answered.json["choices"]]


def _joined_text(steps: Sequence[Json]) -> Json:
    weighed = [list(entries(step["logprobs"])) for step in steps if step.get("logprobs")]
    return {
        "text": "".join(step["text"] for step in steps),
        "finish_reason": steps[-1]["finish_reason"],
        "logprobs": list(chain.from_iterable(weighed)),
        "prompt_token_ids": [step["prompt_token_ids"] for step in steps if "prompt_token_ids" in step],
        "token_ids": list(chain.from_iterable(step.get("token_ids") or () for step in steps)),
        "raw_output": steps[-1].get("raw_output"),
        "content_filter_results": steps[-1].get("content_filter_results"),
    }


def entries(block: Mapping[str, Json]) -> Iterator[Json]:
    """The tokens of a block of log probabilities, whichever of the two forms it has."""
    if "content" in block:
        for one in block["content"]:
            weighed = {top["token"]: top["logprob"] for top in one["top_logprobs"]}
            yield {"token": one["token"], "logprob": one["logprob"], "top": weighed, "at": one["text_offset"]}
        return
    columns = (block["tokens"], block["token_logprobs"], block["top_logprobs"] or [None] * len(block["tokens"]))
    for token, logprob, top, at in zip(*columns, block["text_offset"], strict=True):
        yield {"token": token, "logprob": logprob, "top": top or {}, "at": at}


# --- streamed responses


@dataclass(frozen=True)
class Events:
    body: bytes

    @cached_property
    def parsed(self) -> list[Json]:
        return [json.loads(frame.partition(b"\ndata: ")[2]) for frame in self.body.removesuffix(b"\n\n").split(b"\n\n")]

    @property
    def final(self) -> Json:
        return self.parsed[-1]["response"]

    @property
    def broke_off(self) -> bool:
        """Whether it ends before what it was about to say is whole."""
        return self.parsed[-1]["type"] in ("response.failed", "error")

    def of(self, *kinds: str) -> list[Json]:
        return [event for event in self.parsed if event["type"] in kinds]


def frames_name_their_events(events: Events) -> None:
    assert _EVENTS.fullmatch(events.body), "each event is `event: `, its kind, `data: `, one line and an empty line"
    for frame, event in zip(events.body.split(b"\n\n"), events.parsed, strict=False):
        assert frame.startswith(f"event: {event['type']}\n".encode())


def numbers_have_no_gap(events: Events) -> None:
    assert [event["sequence_number"] for event in events.parsed] == list(range(len(events.parsed)))


def it_is_created_and_ends_once(events: Events) -> None:
    kinds = [event["type"] for event in events.parsed]
    assert kinds[0] == "response.created"
    assert kinds[-1] in (*ENDINGS, "error")
    assert sum(kind in (*ENDINGS, "error") for kind in kinds) == 1
    assert kinds.count("response.created") == kinds.count("response.in_progress") == 1


def the_beginning_holds_nothing_yet(events: Events) -> None:
    for event in events.of("response.created", "response.in_progress"):
        response = event["response"]
        assert (response["status"], response["output"], response["usage"]) == ("in_progress", [], None)
        assert response["error"] is None


def one_item_is_open_at_a_time(events: Events) -> None:
    at, open_id = -1, None
    for event in events.parsed:
        if event["type"] == "response.output_item.added":
            assert open_id is None, "an item opens only after the one before is done"
            assert event["output_index"] == at + 1
            at, open_id = event["output_index"], event["item"].get("id")
        elif event["type"] == "response.output_item.done":
            assert (event["output_index"], event["item"].get("id")) == (at, open_id)
            open_id = None
        elif "output_index" in event:
            assert event["output_index"] == at
            assert event.get("item_id", open_id) == open_id, "events of a shell have no id"
    assert open_id is None or events.broke_off


def one_part_is_open_at_a_time(events: Events) -> None:
    open_part = None
    for event in events.parsed:
        place = (event.get("output_index"), event.get("content_index"))
        match event["type"]:
            case "response.content_part.added":
                assert open_part is None
                open_part = place
            case "response.content_part.done":
                assert open_part == place
                open_part = None
            case "response.output_text.delta" | "response.output_text.done" | "response.refusal.delta":
                assert open_part == place
    assert open_part is None or events.broke_off


def deltas_join_to_what_is_done(events: Events) -> None:
    said: dict[tuple[Json, ...], str] = {}
    for event in events.parsed:
        kind, _, last = event["type"].rpartition(".")
        place = (kind, *(event.get(key) for key in ("output_index", "content_index", "summary_index", "command_index")))
        if last == "delta" and kind in _WHOLE:
            assert event["delta"], "a delta says something"
            said[place] = said.get(place, "") + event["delta"]
        elif last == "done" and kind in _WHOLE:
            assert said.pop(place, "") == event[_WHOLE[kind]]
    assert said == {} or events.broke_off


def done_items_are_the_output(events: Events) -> None:
    if not events.broke_off:
        assert [event["item"] for event in events.of("response.output_item.done")] == events.final["output"]


def weighed_deltas_are_the_texts(events: Events) -> None:
    if events.parsed[-1]["type"] == "error":
        return
    deltas: dict[tuple[int, int], list[Json]] = {}
    for event in events.of("response.output_text.delta"):
        deltas.setdefault((event["output_index"], event["content_index"]), []).extend(event.get("logprobs") or ())
    for (index, part), weighed in deltas.items():
        whole = events.final["output"][index]["content"][part].get("logprobs") or []
        assert [(one["token"], one["logprob"]) for one in weighed] == [(one["token"], one["logprob"]) for one in whole]


RESPONSE_STREAM: tuple[Callable[[Events], None], ...] = (
    frames_name_their_events,
    numbers_have_no_gap,
    it_is_created_and_ends_once,
    the_beginning_holds_nothing_yet,
    one_item_is_open_at_a_time,
    one_part_is_open_at_a_time,
    deltas_join_to_what_is_done,
    done_items_are_the_output,
    weighed_deltas_are_the_texts,
)


# --- plain responses


def ids_are_its_own(answered: Answered) -> None:
    found = [item["id"] for item in answered.json["output"] if "id" in item]
    assert len(set(found)) == len(found)
    calls = [item["call_id"] for item in answered.json["output"] if "call_id" in item and "output" not in item]
    assert len(set(calls)) == len(calls)
    assert answered.json["id"] not in found


def the_status_is_explained(answered: Answered) -> None:
    response = answered.json
    assert response["status"] in ("completed", "incomplete", "failed")
    assert (response["incomplete_details"] is not None) == (response["status"] == "incomplete")
    assert (response["error"] is not None) == (response["status"] == "failed")


def tokens_add_up(answered: Answered) -> None:
    usage = answered.json["usage"]
    if usage is not None:
        assert usage["input_tokens"] + usage["output_tokens"] == usage["total_tokens"]
        assert usage["output_tokens_details"]["reasoning_tokens"] <= usage["output_tokens"]


def texts_are_weighed_token_by_token(answered: Answered) -> None:
    for part in _texts(answered.json):
        for one in part.get("logprobs") or ():
            assert list(one["token"].encode()) == one["bytes"]
            tops = [top["logprob"] for top in one["top_logprobs"]]
            assert tops == sorted(tops, reverse=True)
            assert sum(map(math.exp, tops)) <= 1.000001
            assert not tops or one["token"] in [top["token"] for top in one["top_logprobs"]]
        if part.get("logprobs"):
            assert "".join(one["token"] for one in part["logprobs"]) == part["text"]


RESPONSE_PLAIN: tuple[Callable[[Answered], None], ...] = (
    a_body_is_one_line,
    ids_are_its_own,
    the_status_is_explained,
    tokens_add_up,
    texts_are_weighed_token_by_token,
)


def _texts(response: Json) -> Iterator[Json]:
    contents = chain.from_iterable(item.get("content") or () for item in response["output"])
    return (part for part in contents if part["type"] == "output_text")


# What the whole of some deltas stands under in the event that ends them.
_WHOLE: Mapping[str, str] = {
    "response.output_text": "text",
    "response.refusal": "refusal",
    "response.function_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
    "response.reasoning_text": "text",
    "response.reasoning_summary_text": "text",
    "response.mcp_call_arguments": "arguments",
    "response.code_interpreter_call_code": "code",
    "response.shell_call_command": "command",
}


# --- shapes


def has_shape(value: Json, dialect: str, name: str) -> None:
    """The object fits the provider's schema, and its keys stand in the schema's order."""
    schema, validator = _schema(dialect, name)
    found = [f"{'/'.join(map(str, error.instance_path))}: {error.message}" for error in validator.iter_errors(value)]
    assert not found, f"{dialect} {name}: {found}\n{value}"
    wrong = list(_out_of_order(value, {"$ref": f"#/$defs/{name}"}, schema))
    assert not wrong, f"{dialect} {name}: keys out of order: {wrong}"


@cache
def _schema(dialect: str, name: str) -> tuple[Json, jsonschema_rs.Validator]:
    schema = json.loads((_SCHEMAS / f"{dialect}.json").read_text())
    return schema, jsonschema_rs.validator_for({**schema, "$ref": f"#/$defs/{name}"})


def _out_of_order(value: Json, schema: Json, root: Json) -> Iterator[list[str]]:
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "oneOf" in schema and isinstance(value, dict):
        fitting = [one for one in schema["oneOf"] if jsonschema_rs.is_valid({**root, **one}, value)]
        yield from _out_of_order(value, fitting[0], root)
    elif isinstance(value, dict) and "properties" in schema:
        known = [key for key in schema["properties"] if key in value]
        if known != [key for key in value if key in known]:
            yield list(value)
        for key in known:
            yield from _out_of_order(value[key], schema["properties"][key], root)
    elif isinstance(value, list) and "items" in schema:
        for item in value:
            yield from _out_of_order(item, schema["items"], root)
