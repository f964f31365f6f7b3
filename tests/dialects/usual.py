"""Replies written as what differs from the usual one of their dialect and kind, which `usual.yaml` holds."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

USUAL: Mapping[str, Mapping[str, Any]] = yaml.load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)
ABSENT = "$absent"
_COUNTED = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))


def whole(dialect: str, reply: Mapping[str, Any]) -> dict[str, Any]:
    """A reply of a case as it comes: status, headers, and json or frames."""
    found = {"status": 200, **reply}
    for kind, usual in USUAL.get(dialect, {}).items():
        if kind in found:
            found["json"] = filled(found.pop(kind), usual)
    return found


def shortened(dialect: str, reply: Mapping[str, Any]) -> dict[str, Any]:
    """The shortest way to write a whole reply."""
    rest = {key: value for key, value in reply.items() if (key, value) != ("status", 200)}
    ways = [rest]
    if "json" in rest:
        body = rest.pop("json")
        kinds = USUAL.get(dialect, {}).items()
        ways = [{**rest, "json": body}, *({**rest, kind: difference(body, usual)} for kind, usual in kinds)]
    exact = [way for way in ways if json.dumps(whole(dialect, way)) == json.dumps(reply)]
    return min(exact, key=lambda way: len(json.dumps(way)))


def filled(changed: Any, usual: Any) -> Any:
    """The value that differs so from the usual one."""
    if _has_elements(usual) and isinstance(changed, list):
        return [filled(value, _element(usual, value)) for value in changed]
    if isinstance(usual, dict) and "total_tokens" in usual and isinstance(changed, str) and changed != ABSENT:
        counts = dict(zip(("prompt", "completion"), map(int, changed.split(" + ")), strict=True))
        changed = {key: counts[one] for one, keys in zip(counts, _COUNTED, strict=True) for key in keys if key in usual}
        changed["total_tokens"] = sum(counts.values())
    if not isinstance(usual, dict) or not isinstance(changed, dict):
        return changed
    values = {key: filled(changed[key], one) if key in changed else _default(one) for key, one in usual.items()}
    values |= {key: value for key, value in changed.items() if key not in usual}
    return {key: value for key, value in values.items() if value != ABSENT}


def difference(value: Any, usual: Any) -> Any:
    """How a value differs from the usual one, as `filled` reads it."""
    if _has_elements(usual) and isinstance(value, list):
        return [_of_element(element, _element(usual, element), usual) for element in value]
    if not isinstance(value, dict) or not isinstance(usual, dict):
        return value
    if "total_tokens" in usual:
        counts = (next((value[key] for key in keys if key in value), 0) for keys in _COUNTED)
        if filled(short := " + ".join(map(str, counts)), usual) == value:
            return short
    usually = {key: _default(one) for key, one in usual.items()}
    changed = {key: difference(one, usual.get(key)) for key, one in value.items() if usually.get(key, ABSENT) != one}
    return changed | {key: ABSENT for key, one in usual.items() if key not in value and one != ABSENT}


def _default(usual: Any) -> Any:
    """What a difference need not say: of a list, its first element."""
    return filled([{}] if _has_elements(usual) else {} if isinstance(usual, dict) else usual, usual)


def _has_elements(usual: Any) -> bool:
    return isinstance(usual, list) and bool(usual) and isinstance(usual[0], dict)


def _of_element(value: Any, one: Any, usual: list[Any]) -> Any:
    changed = difference(value, one)
    return changed if one is None or one is usual[0] else {"type": value["type"], **changed}


def _element(usual: list[Any], value: Any) -> Any:
    """The usual element of the type of a value; the first has no type, or needs none."""
    kind = value.get("type") if isinstance(value, dict) else None
    return next((one for one in usual if one.get("type") == kind), None if kind else usual[0])
