"""What is said after tools have been called: each result in the order of the calls, its values as they came.

Knows conversations and JSON, no wire shape.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice

from mockserver.core.call import Call, Message, ToolCall
from mockserver.core.json import Json, parsed
from mockserver.model.prose.language import ENGLISH, language_of
from mockserver.model.vocabulary import vocabulary


def told(call: Call) -> str | None:
    """A text made of the results since the user spoke last; None where there are none."""
    asked = _calls(call)
    results = tuple(found for found in _results(call) if not _is_handover(asked, found))
    if not results:
        return None
    english = language_of(call.last_user) == ENGLISH
    said = [
        _said(asked.get(result.tool_call_id or "") or _unknown(result), result, english) for result in results[:_MOST]
    ]
    if len(results) > _MOST:
        said.append(f"({len(results) - _MOST} more)")
    said = list(dict.fromkeys(said))
    return ("\n\n" if any("\n" in sentence for sentence in said) else " ").join(said)


def texts(call: Call) -> tuple[str, ...]:
    """The texts of the results since the user spoke last."""
    return tuple(result.text[:_LONGEST_RESULT] for result in _results(call)[:_MOST])


def _results(call: Call) -> tuple[Message, ...]:
    return tuple(message for message in call.since_user if message.role in ("tool", "function"))


def _is_handover(asked: Mapping[str, ToolCall], result: Message) -> bool:
    """Whether a result only says that another agent speaks now, which is nothing to tell."""
    made = asked.get(result.tool_call_id or "")
    return _HANDOVER.match(made.name if made is not None else result.name or "") is not None


def _calls(call: Call) -> Mapping[str, ToolCall]:
    return {made.id: made for message in call.messages for made in message.tool_calls}


def _unknown(result: Message) -> ToolCall:
    return ToolCall("", result.name or "", "")


def _said(asked: ToolCall, result: Message, english: bool) -> str:
    """One result as a sentence, or as a text of its own where it is long."""
    text = result.text[:_LONGEST_RESULT]
    found = parsed(text, text)
    name = asked.name or "the tool"
    if (flaw := _flaw(found)) is not None:
        return _ended(f"{name} failed: {flaw}" if english else f"{name}: {flaw}")
    if found == "" and result.parts and english:
        return _SEEN if name.startswith("computer") else f"{name} gave back an image."
    if found in ("", None, [], {}):
        return f"{name} returned nothing." if english else f"{name}: –"
    if english and isinstance(found, Mapping) and all(_is_well(key, value) for key, value in found.items()):
        return _ended(f"Done: {' '.join(_words_of(name))}{_given(asked)}")
    values = _told_values(asked)
    about = _about(asked, english)
    if isinstance(found, str) and (len(found) > _LONGEST_LINE or "\n" in found.strip()):
        return f"{about}:\n\n{_cut(found.strip(), _LONGEST_TEXT)}"
    said = _spoken(found, values if isinstance(found, Mapping) else ())
    return _ended(f"{about}: {_cut(said, _LONGEST_TEXT)}")


def _about(asked: ToolCall, english: bool) -> str:
    """What a call was for: the words of its tool, and its arguments."""
    words = _words_of(asked.name)
    if not english:
        return " ".join((*words, *(f"({told})" for told in _told_values(asked)[:1]))) or "–"
    verb = words[0] if words else ""
    subject = words[1:] if verb in _VERBS and len(words) > 1 else words
    given = _given(asked)
    if verb in _SEARCHING and not (subject[-1:] or [""])[0].endswith("s"):
        return f"The results{given}"
    if subject == words:
        return f"The result of {asked.name or 'the tool'}{given}"
    return f"The {' '.join(subject)}{given}"


def _given(asked: ToolCall) -> str:
    """The first arguments, each after the preposition that its name wants."""
    said, before = "", "and"
    for key, value in islice(_arguments(asked).items(), 2):
        if _short(value):
            preposition = _PREPOSITIONS.get((_words_of(key) or [""])[-1], "for")
            said += f" {'and' if preposition == before else preposition}".rstrip() + f" {_scalar(value)}"
            before = preposition
    return said


def _told_values(asked: ToolCall) -> tuple[str, ...]:
    """The arguments that a sentence names already."""
    return tuple(_scalar(value) for value in islice(_arguments(asked).values(), 2) if _short(value))


def _arguments(asked: ToolCall) -> Mapping[str, Json]:
    found = parsed(asked.arguments)
    return found if isinstance(found, Mapping) else {}


def _short(value: Json) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST_ARGUMENT and "\n" not in value
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_well(key: str, value: Json) -> bool:
    """Whether a member of an object says that all went well, and nothing else."""
    return (key in _WELL and value is True) or (key in ("status", "result") and value in _WELL)


def _flaw(found: Json) -> str | None:
    """What went wrong, where a result says that something did."""
    if isinstance(found, Mapping):
        wrong = next((found[key] for key in _WRONG if found.get(key)), None)
        failed = any(found.get(key) is False for key in ("ok", "success")) or found.get("status") in _FAILED
        if wrong is None and not failed:
            return None
        return _spoken(wrong if wrong is not None and not isinstance(wrong, bool) else found)
    return _cut(found.strip(), _LONGEST_TEXT) if isinstance(found, str) and _COMPLAINT.match(found.lstrip()) else None


def _spoken(value: Json, told: tuple[str, ...] = ()) -> str:
    """A value in words: names and values of an object, the items of a list."""
    leaves = list(islice(_leaves(value, told), _MOST_LEAVES + 1))
    more = ["and more"] if len(leaves) > _MOST_LEAVES else []
    return ", ".join([*leaves[:_MOST_LEAVES], *more]) or _scalar(value)


def _leaves(value: Json, told: tuple[str, ...], level: int = 0) -> Iterator[str]:
    if level > _DEEPEST:
        yield "…"
    elif isinstance(value, Mapping):
        yield from _named(value, told, level)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            inner = list(islice(_leaves(item, (), level + 1), _MOST_LEAVES))
            mark = f"({at + 1}) " if isinstance(item, Mapping) and len(value) > 1 else ""
            yield mark + ", ".join(inner)
    else:
        yield _scalar(value)


def _named(value: Mapping[str, Json], told: tuple[str, ...], level: int) -> Iterator[str]:
    """The members of an object, a unit beside the number before it; not those that the sentence names already."""
    items = [(key, inner) for key, inner in value.items() if _scalar_text(inner) not in told or len(value) == 1]
    for at, (key, inner) in enumerate(items):
        name = " ".join(_words_of(key)) or key
        if isinstance(inner, Mapping | list):
            yield f"{name}: " + (", ".join(islice(_leaves(inner, (), level + 1), _MOST_LEAVES)) or "none")
        elif not (at and key.lower() in _UNITS and _is_number(items[at - 1][1])):
            unit = items[at + 1] if at + 1 < len(items) and items[at + 1][0].lower() in _UNITS else None
            yield f"{name} {_scalar(inner)}" + (f" {_scalar(unit[1])}" if unit and _is_number(inner) else "")


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _scalar_text(value: Json) -> str | None:
    return None if isinstance(value, Mapping | list) else _scalar(value)


def _scalar(value: Json) -> str:
    match value:
        case True:
            return "yes"
        case False:
            return "no"
        case None:
            return "none"
        case str():
            return _cut(" ".join(value.split()), _LONGEST_LINE)
        case int() | float():
            return json.dumps(value)
    return ""


def _words_of(name: str) -> list[str]:
    """The words of an identifier, in snake, kebab or camel case."""
    return [word if word.isupper() else word.lower() for word in _WORD.findall(name[:_LONGEST_ARGUMENT])]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rstrip() + "…"


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "。", "！", "？", "।")) else text + "."


_MOST = 16
_MOST_LEAVES = 24
_DEEPEST = 4
_LONGEST_ARGUMENT = 60
_LONGEST_LINE = 300
_LONGEST_TEXT = 2000
_LONGEST_RESULT = 100_000
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W0-9_A-Za-z]+")
_WRONG = ("error", "errors", "exception")
_WELL = (
    "ok",
    "success",
    "done",
    "succeeded",
    "completed",
    "complete",
    "sent",
    "saved",
    "created",
    "deleted",
    "updated",
)
_FAILED = ("error", "failed", "failure")
_COMPLAINT = re.compile(r"(?i)(?:error|exception|traceback|failed|failure|fatal|\w{1,40}(?:error|exception)\b)")
_UNITS = frozenset({"unit", "units", "currency"})
_VERBS = vocabulary(
    "get fetch search lookup look find list read query retrieve check show load describe compute calculate"
)
_SEARCHING = vocabulary("search lookup look find query")
_SEEN = "Done: I have gone through the steps on the screen."
_HANDOVER = re.compile(r"(?i)\A(?:transfer|hand_?(?:off|over)|delegate|escalate|switch)_?(?:back_?)?to(?:_|[A-Z])")
_PREPOSITIONS = {
    **dict.fromkeys(("path", "file", "filename", "filepath", "url"), ""),
    **dict.fromkeys(("city", "location", "place", "country", "region", "town", "state", "area"), "in"),
    **dict.fromkeys(("date", "day", "weekday"), "on"),
    **dict.fromkeys(("time", "hour"), "at"),
    **dict.fromkeys(("from", "origin", "source", "start"), "from"),
    **dict.fromkeys(("to", "destination", "target", "recipient"), "to"),
}
