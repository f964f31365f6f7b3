"""Faults one by one and in pairs, each befalling one kind of answer and put to one operation of one dialect."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from mockserver.core.action import counts, options
from mockserver.delivery.faults import FAULTS
from mockserver.dialects import discover

Stated = Mapping[str, Any]
Fault = tuple[str, Stated]

PAIRS = 90  # each in both orders
BREAKING = frozenset({"disconnect", "reset", "wrong_content_length"})  # faults that are about HTTP itself

_HELLO = "Weather in Oslo? naïve"
_FUNCTION = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
_CHAT: Stated = {
    "model": "gpt-4o",
    "messages": [{"role": "user", "content": _HELLO}],
    "tools": [{"type": "function", "function": _FUNCTION}],
}
_RESPONSE: Stated = {"model": "gpt-4o", "input": _HELLO, "tools": [{"type": "function", **_FUNCTION}]}
_INPUT: Stated = {"model": "m", "input": ["a", "b"]}
_PREVIEW, _DEPLOYED = "?api-version=2024-05-01-preview", "?api-version=2024-06-01"
# Paths below the mounts of a dialect, and what is sent there; nothing: it is looked up.
OPERATIONS: Mapping[tuple[str, str], tuple[str, Stated | None]] = {
    **{(dialect, "chat"): ("/chat/completions", _CHAT) for dialect in ("openai", "skytells", "crazyrouter", "tzafon")},
    ("fireworks", "chat"): ("/chat/completions", {**_CHAT, "n": 2}),
    ("azure", "chat"): ("/chat/completions" + _PREVIEW, _CHAT),
    ("azure_openai", "chat"): ("/openai/deployments/gpt-4o/chat/completions" + _DEPLOYED, {**_CHAT, "n": 2}),
    ("openai", "completions"): ("/completions", {"model": "gpt-4o", "prompt": ["hi", "ho"]}),
    ("fireworks", "completions"): ("/completions", {"model": "m", "prompt": "hi"}),
    ("azure_openai", "completions"): ("/openai/deployments/gpt-4o/completions" + _DEPLOYED, {"prompt": "hi", "n": 2}),
    ("openai", "responses"): ("/responses", _RESPONSE),
    ("tzafon", "responses"): ("/responses", _RESPONSE),
    ("azure_openai", "responses"): ("/openai/v1/responses", _RESPONSE),
    ("openai", "embeddings"): ("/embeddings", _INPUT),
    ("azure", "embeddings"): ("/embeddings" + _PREVIEW, {"input": ["a", "b"]}),
    ("azure_openai", "embeddings"): ("/openai/deployments/m/embeddings" + _DEPLOYED, {"input": "a"}),
    ("openai", "moderations"): ("/moderations", {"input": ["a", "b"]}),
    **{(dialect, "models"): ("/models", None) for dialect in ("openai", "skytells", "crazyrouter", "fireworks")},
    ("tzafon", "models"): ("/models", None),
    ("azure", "info"): ("/info" + _PREVIEW, None),
    ("azure_openai", "models"): ("/openai/v1/models", None),
}
ANSWERS: Mapping[str, Stated] = {
    "generated": {},
    "text": {"text": "One two: naïve."},
    "calls": {"tool_calls": [{"name": "get_weather", "arguments": {"city": city}} for city in ("Oslo", "Bø")]},
    "empty call": {"tool_calls": [{"name": "get_weather", "arguments": {}}]},
    "error": {"error": 503},
    "raw": {"raw": {"body": "naïve"}},
    "raw frames": {"raw": {"frames": ['data: {"id": 1}\n\n', "", "naïve"]}},
    "no content": {"raw": {"status": 204}},
}
_CALLING = ("generated", "calls", "empty call")
_ANYWHERE = ("generated", "error", "raw", "raw frames", "no content")
_OF_TEXT = ("chat", "completions", "responses")


@dataclass(frozen=True)
class Case:
    """One request, and what befalls its answer."""

    number: int
    faults: tuple[Fault, ...]
    answer: str
    dialect: str
    operation: str
    stream: bool
    timed: bool

    @property
    def rule(self) -> Stated:
        """The rule that answers it."""
        faults = [{name: stated} if stated else name for name, stated in self.faults]
        timing = {"timing": {"first_token": "2ms", "per_token": "1ms", "jitter": "50%"}} if self.timed else {}
        when = {"header.x-case": {"equals": str(self.number)}, "operation": self.operation}
        return {"when": when, "then": {**ANSWERS[self.answer], **timing, "faults": faults}}

    @property
    def request(self) -> tuple[str, str, Stated | None]:
        """Method, path and body."""
        path, body = OPERATIONS[self.dialect, self.operation]
        path = discover()[self.dialect].mounts[0] + path
        if body is None:
            return ("HEAD" if self.stream else "GET"), path, None
        return "POST", path, {**body, "stream": True} if self.stream and self.operation in _OF_TEXT else body

    @property
    def breaks(self) -> bool:
        """Whether the connection may end with it."""
        return any(name in BREAKING for name, _ in self.faults)


def cases() -> tuple[Case, ...]:
    """Every fault at every position by itself, some pairs, drawn by a fixed seed, in both orders; and each to HEAD."""
    random, variants = Random(5), tuple(_variants())
    chosen: list[tuple[Fault, ...]] = [(fault,) for fault in variants]
    for _ in range(PAIRS):
        one, other = random.sample(variants, 2)
        chosen += [(one, other), (other, one)]
    put = [_put(number, faults, random) for number, faults in enumerate(chosen)]
    stated = [(name, each) for name in FAULTS for each in _STATED.get(name, ({},))]
    looked_up = [
        Case(number, (fault,), "generated", "openai", "models", stream=True, timed=False)
        for number, fault in enumerate(stated, start=len(put))
    ]
    return (*put, *looked_up)


def rules(chosen: tuple[Case, ...]) -> str:
    """A rules file for the cases."""
    return json.dumps({"version": 1, "rules": [case.rule for case in chosen]})


def _variants() -> Iterator[Fault]:
    """Each fault at each position that it can have."""
    for name, fault in FAULTS.items():
        places = next((each.among for each in options(fault) if each.kind == "position"), ())
        for stated in _STATED.get(name, ({},)):
            yield name, stated
            for place in places:
                yield from ((name, {**stated, place: count}) for count in ((0, 3) if counts(place) else (True,)))
    yield from (("bad_tool_arguments", {"how": how}) for how in ("truncated", "trailing_comma", "wrong_types", "empty"))
    yield "unknown_tool", {}


def _put(number: int, faults: tuple[Fault, ...], random: Random) -> Case:
    dialect, operation = random.choice(tuple(OPERATIONS))
    answers = ANSWERS if operation in _OF_TEXT else _ANYWHERE
    if operation == "completions":
        answers = ("text", *_ANYWHERE)
    if any(name in _ON_CALLS or "in_tool_arguments" in stated for name, stated in faults):
        answers = tuple(answer for answer in answers if answer in _CALLING)
    answer = random.choice(tuple(answers))
    return Case(number, faults, answer, dialect, operation, random.random() < 0.6, random.random() < 0.3)


_ON_CALLS = ("bad_tool_arguments", "unknown_tool")
# What is said of faults: nothing takes long.
_STATED: Mapping[str, tuple[Stated, ...]] = {
    "stall": ({"for": "20ms"},),
    "slow": ({"bytes_per_second": 100_000},),
    "keepalive": ({}, {"every": "1ms"}),
    "split_frame": ({"pause": "1ms"},),
    "split_utf8": ({"pause": "1ms"},),
    "join_frames": ({}, {"count": 1000}),
    "wrong_content_length": ({"by": 10}, {"by": -10}, {"by": -100_000}, {"by": 5, "for": "20ms"}),
    "error_event": ({}, {"reason": "rate_limit"}),
    "missing_field": ({"field": "/choices/*/delta"}, {"field": "/id"}),
}
