"""The general laws of a chat's answer, plain and streamed: what every dialect keeps, and what its clients rely on.

A law is a function that asserts. It knows no dialect: what differs stands in the schemas, whose `properties` also
give the order of the keys.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import jsonschema_rs

from tests.kit.local import Answered

Json = Any
SCHEMAS = Path(__file__).parent / "schemas"
_SSE = re.compile(rb"(?:data: [^\r\n]+\n\n)+")
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
        """What comes before the first chunk, with an empty head; None where nothing does."""
        return self.sent[0] if self.sent[0]["object"] == "" else None

    @property
    def chunks(self) -> list[Json]:
        """Every frame between preamble and terminator."""
        return self.sent if self.preamble is None else self.sent[1:]

    @property
    def steps(self) -> Iterator[Json]:
        """The choice of every chunk that has one."""
        return (choice for chunk in self.chunks for choice in chunk["choices"])

    def of_each_choice(self) -> Mapping[int, list[Json]]:
        """The steps by index of their choice."""
        found: dict[int, list[Json]] = {}
        for step in self.steps:
            found.setdefault(step["index"], []).append(step)
        return found


# --- laws of a stream


def frames_are_strict(stream: Stream) -> None:
    assert _SSE.fullmatch(stream.body), "each event is `data: `, one line and an empty line, LF only"
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


def the_role_is_told_once(stream: Stream) -> None:
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
        assert finished == [len(steps) - 1], "the last step of a choice, and no other, tells why it ended"
        assert steps[-1]["delta"] == {}


STREAM_LAWS: tuple[Callable[[Stream], None], ...] = (
    frames_are_strict,
    done_comes_last_and_once,
    the_head_never_changes,
    a_chunk_has_one_choice,
    choices_appear_in_order,
    the_role_is_told_once,
    nothing_empty_is_said,
    calls_are_named_once,
    every_choice_ends_once,
)


# --- laws of a plain answer


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


PLAIN_LAWS: tuple[Callable[[Answered], None], ...] = (
    a_body_is_one_line,
    choices_stand_in_order,
    calls_have_ids_of_their_own,
    a_call_is_why_it_ended,
    usage_adds_up,
)


# --- what both say


def joined(stream: Stream) -> list[Json]:
    """What a client that adds the deltas up ends with: one message, with why it ended, for each choice."""
    return [_joined(steps) for _, steps in sorted(stream.of_each_choice().items())]


def told(answered: Answered) -> list[Json]:
    """The same of a plain answer."""
    return [_told(choice) for choice in answered.json["choices"]]


def _joined(steps: Sequence[Json]) -> Json:
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
    told = [step["delta"]["function_call"] for step in steps if "function_call" in step["delta"]]
    assert ["name" in fragment for fragment in told] == [at == 0 for at in range(len(told))]
    arguments = "".join(fragment["arguments"] for fragment in told)
    return {"function_call": {**told[0], "arguments": arguments}} if told else {}


def _told(choice: Json) -> Json:
    message = choice["message"]
    said = {key: message.get(key) or "" for key in _SPOKEN}
    function = {key: message[key] for key in ("function_call",) if key in message}
    return {**said, "tool_calls": message.get("tool_calls", []), **function, "finish_reason": choice["finish_reason"]}


def _fragments(steps: Sequence[Json]) -> Iterator[Json]:
    return (fragment for step in steps for fragment in step["delta"].get("tool_calls", ()))


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
    schema = json.loads((SCHEMAS / f"{dialect}.json").read_text())
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
