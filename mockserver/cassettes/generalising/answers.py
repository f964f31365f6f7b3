"""What a recorded answer says, as the `then` of a rule."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.cassettes.generalising.asked import Then
from mockserver.cassettes.told import Part, Said, Told, Used
from mockserver.cassettes.told.told import rows, table
from mockserver.core.json_text import Json, compact, parsed


class UnfitError(ValueError):
    """An answer that no rule can give; says why."""


def then(told: Told, retry_after: str = "") -> Then:
    """What a rule has to say. Raises UnfitError."""
    if told.status >= 400:
        return _error(told, retry_after)
    if not told.whole:
        raise UnfitError("its stream breaks off")
    if not told.choices:
        raise UnfitError("its answer says nothing that a rule could")
    if len(told.choices) > 1:
        said: dict[str, Json] = {"choices": [_said(choice) for choice in told.choices]}
    else:
        said = _said(told.choices[0])
    if noted := _severities(told.prompt_filters):
        said["annotate"] = {"prompt": noted, **said.get("annotate", {})}
    if told.broken:
        said["failed"] = _failed(told.error)
    if not said:
        said["text"] = ""
    return said


def literal(text: str) -> str:
    """A text as a template that gives it: what would open a tag is given as text."""
    return _OPENS.sub('{{ "{" }}', text)


def _said(choice: Said) -> dict[str, Json]:
    kinds = [part.kind for part in choice.parts]
    plain = kinds == sorted(kinds, key=_ORDER.index) and not _twice(kinds)
    made: dict[str, Json] = _flat(choice) if plain else {"parts": [_part(part) for part in choice.parts]}
    if not made:
        made["text"] = ""
    if choice.annotations and "text" in kinds:
        made["annotations"] = _escaped(list(choice.annotations))
    tripped = _trip(choice.filters)
    if tripped:
        made["content_filter"] = {"on": "completion", **tripped}
    elif choice.finish not in ("", "tool_calls" if choice.calls else "stop"):
        made["finish"] = _finish(choice.finish)
    if noted := _severities(choice.filters, besides=tripped.get("category")):
        made["annotate"] = {"completion": noted}
    return made


def _finish(reason: str) -> str:
    """The reason as rules have it. Raises UnfitError."""
    if reason not in _FINISHES:
        raise UnfitError(f"it ends for a reason that no rule gives: {reason}")
    return _FINISHES[reason]


def _twice(kinds: Sequence[str]) -> bool:
    return any(kinds.count(kind) > 1 for kind in ("reasoning", "text", "refusal")) or {"text", "refusal"} <= {*kinds}


def _flat(choice: Said) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for part in choice.parts:
        match part.kind:
            case "call":
                made.setdefault("tool_calls", []).append(_call(part.used))
            case "item":
                made.setdefault("items", []).append(_item(part.item))
            case kind:
                made[kind] = literal(part.text)
    return made


def _part(part: Part) -> Mapping[str, Json]:
    match part.kind:
        case "call":
            return {"tool_call": _call(part.used)}
        case "item":
            return {"item": _item(part.item)}
    return {part.kind: literal(part.text)}


def _call(used: Used | None) -> Mapping[str, Json]:
    """A call; its arguments as a table where that is written to the same text again."""
    if used is None or not used.name:
        raise UnfitError("it calls a tool without a name")
    if used.custom:
        return {"name": used.name, "input": literal(used.text)}
    given = parsed(used.text)
    if isinstance(given, dict) and compact(given) == used.text:
        return {"name": used.name, "arguments": _escaped(given)}
    return {"name": used.name, "arguments": literal(used.text)}


def _item(item: Mapping[str, Json] | None) -> Mapping[str, Json]:
    """One of the provider's own tools, without what is made anew."""
    kept = {key: value for key, value in (item or {}).items() if key not in _MADE and value is not None}
    return {**_escaped(kept)}


def _escaped(value: Json) -> Any:
    match value:
        case str():
            return literal(value)
        case Mapping():
            return {key: _escaped(inner) for key, inner in value.items()}
        case list():
            return [_escaped(inner) for inner in value]
    return value


def _error(told: Told, retry_after: str) -> Then:
    """An error by its parts; one whose envelope has no such parts byte by byte."""
    said = told.error
    if isinstance(said, Mapping) and (tripped := _tripped_prompt(said)):
        return {"content_filter": {"on": "prompt", **tripped}}
    if not isinstance(said, Mapping) or not isinstance(said.get("message"), str):
        waits = {"headers": {"retry-after": retry_after}} if retry_after else {}
        return {"raw": {"status": told.status, **waits, "body": told.body}}
    error: dict[str, Json] = {"status": told.status, "message": literal(said["message"])}
    error |= {key: said[key] for key in ("type", "param") if isinstance(said.get(key), str)}
    if isinstance(said.get("code"), str | int):
        error["code"] = said["code"]
    return {"error": error, **({"retry_after": f"{retry_after}s"} if _SECONDS.fullmatch(retry_after) else {})}


def _failed(error: Json) -> Json:
    if not isinstance(error, Mapping):
        return True
    said = {key: error[key] for key in ("code", "message") if isinstance(error.get(key), str) and error[key]}
    return {**said, "message": literal(said["message"])} if "message" in said else said or True


def _tripped_prompt(error: Mapping[str, Json]) -> dict[str, Json]:
    """What tripped on the prompt, where Azure OpenAI tells it and where Skytells does."""
    inner, told = table(error.get("innererror")), rows(table(error.get("details")).get("prompt_filter_results"))
    return _trip(table(inner.get("content_filter_result"))) or _trip(
        table(told[0].get("content_filter_results")) if told else None
    )


def _trip(filters: Mapping[str, Json] | None) -> dict[str, Json]:
    """The first category that a filter tripped on."""
    for category, seen in (filters or {}).items():
        if isinstance(seen, Mapping) and seen.get("filtered") is True and category in _HARMS + _DETECTIONS:
            severity = {"severity": seen["severity"]} if seen.get("severity") in ("low", "medium", "high") else {}
            return {"category": category, **severity}
    return {}


def _severities(filters: Mapping[str, Json] | None, besides: Json = None) -> dict[str, Json]:
    """What filters saw without tripping."""
    noted: dict[str, Json] = {}
    for category, seen in (filters or {}).items():
        if not isinstance(seen, Mapping) or category == besides:
            continue
        if category in _HARMS and seen.get("severity") in ("low", "medium", "high"):
            noted[category] = seen["severity"]
        elif category in _DETECTIONS and seen.get("detected") is True:
            noted[category] = True
    return noted


_ORDER = ("reasoning", "item", "text", "refusal", "call")  # in which a rule's keys come out
_FINISHES = {
    **{reason: reason for reason in ("stop", "length", "tool_calls", "content_filter", "function_call")},
    "error": "content_filter",  # as Fireworks' completions call it
}
_MADE = frozenset(("id", "call_id", "container_id", "status", "created_by", "pending_safety_checks"))
_HARMS = ("hate", "self_harm", "sexual", "violence")
_DETECTIONS = ("jailbreak", "protected_material_text", "protected_material_code")
_OPENS = re.compile(r"\{(?=[{%#])")
_SECONDS = re.compile(r"\d{1,6}(?:\.\d{1,3})?")
