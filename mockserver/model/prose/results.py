"""The text after tool calls: each result in the order of the calls, with its values unchanged."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice

from mockserver.core.call import Call, Message, ToolCall
from mockserver.core.json import Json, parsed
from mockserver.model.prose.language import ENGLISH, language_of
from mockserver.model.vocabulary import vocabulary


def results_text(call: Call) -> str | None:
    """Return a text made of the results since the last user message, or None if there are none."""
    calls = {made.id: made for message in call.messages for made in message.tool_calls}
    pairs = [
        (calls.get(result.tool_call_id or "") or ToolCall("", result.name or "", ""), result)
        for result in _results(call)
    ]
    pairs = [(made, result) for made, result in pairs if not _HANDOVER.match(made.name)]
    if not pairs:
        return None
    english = language_of(call.last_user) == ENGLISH
    sentences = [_sentence(made, result, english) for made, result in pairs[:_MAX_RESULTS]]
    if len(pairs) > _MAX_RESULTS:
        sentences.append(f"({len(pairs) - _MAX_RESULTS} more)")
    sentences = list(dict.fromkeys(sentences))
    return ("\n\n" if any("\n" in sentence for sentence in sentences) else " ").join(sentences)


def result_texts(call: Call) -> tuple[str, ...]:
    """Return the raw texts of the results since the last user message."""
    return tuple(result.text[:_MAX_RESULT] for result in _results(call)[:_MAX_RESULTS])


def _results(call: Call) -> tuple[Message, ...]:
    return tuple(message for message in call.since_user if message.role in ("tool", "function"))


def _sentence(made: ToolCall, result: Message, english: bool) -> str:
    """One result as a sentence, or as a text of its own if it is long."""
    text = result.text[:_MAX_RESULT]
    value, name = parsed(text, text), made.name or "the tool"
    if (error := _error(value)) is not None:
        return _ended(f"{name} failed: {error}" if english else f"{name}: {error}")
    if value == "" and result.parts and english:
        return _SEEN if name.startswith("computer") else f"{name} gave back an image."
    if value in ("", None, [], {}):
        return f"{name} returned nothing." if english else f"{name}: –"
    if english and isinstance(value, Mapping) and all(_is_success(key, inner) for key, inner in value.items()):
        return _ended(f"Done: {' '.join(_words_of(name))}{_with_arguments(made)}")
    subject = _subject(made, english)
    if isinstance(value, str) and (len(value) > _MAX_LINE or "\n" in value.strip()):
        return f"{subject}:\n\n{_cut(value.strip(), _MAX_TEXT)}"
    return _ended(f"{subject}: {_cut(_spoken(value, _shown_arguments(made)), _MAX_TEXT)}")


def _subject(made: ToolCall, english: bool) -> str:
    """What a call was for: the words of its tool, and its arguments."""
    words = _words_of(made.name)
    if not english:
        return " ".join((*words, *(f"({value})" for value in _shown_arguments(made)[:1]))) or "–"
    verb, *rest = words or [""]
    noun = rest if verb in _VERBS and rest else words
    if verb in _SEARCHING and not (noun[-1:] or [""])[0].endswith("s"):
        return f"The results{_with_arguments(made)}"
    if noun == words:
        return f"The result of {made.name or 'the tool'}{_with_arguments(made)}"
    return f"The {' '.join(noun)}{_with_arguments(made)}"


def _with_arguments(made: ToolCall) -> str:
    """The first arguments, each after the preposition that fits its name."""
    text, before = "", "and"
    for key, value in islice(_arguments(made).items(), 2):
        if _is_short(value):
            preposition = _PREPOSITIONS.get((_words_of(key) or [""])[-1], "for")
            text += f" {'and' if preposition == before else preposition}".rstrip() + f" {_scalar(value)}"
            before = preposition
    return text


def _shown_arguments(made: ToolCall) -> tuple[str, ...]:
    return tuple(_scalar(value) for value in islice(_arguments(made).values(), 2) if _is_short(value))


def _arguments(made: ToolCall) -> Mapping[str, Json]:
    value = parsed(made.arguments)
    return value if isinstance(value, Mapping) else {}


def _is_short(value: Json) -> bool:
    return 0 < len(value) <= _MAX_NAME and "\n" not in value if isinstance(value, str) else _is_number(value)


def _is_success(key: str, value: Json) -> bool:
    """Whether a member of an object says that all went well, and nothing else."""
    return (key in _WELL and value is True) or (key in ("status", "result") and value in _WELL)


def _error(value: Json) -> str | None:
    """What went wrong, if a result says that something did."""
    if not isinstance(value, Mapping):
        return _cut(value.strip(), _MAX_TEXT) if isinstance(value, str) and _COMPLAINT.match(value.lstrip()) else None
    error = next((value[key] for key in ("error", "errors", "exception") if value.get(key)), None)
    if error is not None:
        return _spoken(value if isinstance(error, bool) else error)
    failed = value.get("status") in ("error", "failed", "failure")
    return _spoken(value) if failed or any(value.get(key) is False for key in ("ok", "success")) else None


def _spoken(value: Json, shown: tuple[str, ...] = ()) -> str:
    """A value in words: the items of a list, or the names and values of an object that are not shown already."""
    leaves = list(islice(_leaves(value, shown if isinstance(value, Mapping) else ()), _MAX_LEAVES + 1))
    more = ["and more"] if len(leaves) > _MAX_LEAVES else []
    return ", ".join([*leaves[:_MAX_LEAVES], *more]) or _scalar(value)


def _leaves(value: Json, shown: tuple[str, ...] = (), depth: int = 0) -> Iterator[str]:
    if depth > 4:
        yield "…"
    elif isinstance(value, Mapping):
        yield from _members(value, shown, depth)
    elif isinstance(value, list):
        for at, item in enumerate(value, 1):
            mark = f"({at}) " if isinstance(item, Mapping) and len(value) > 1 else ""
            yield mark + _inner(item, depth)
    else:
        yield _scalar(value)


def _members(value: Mapping[str, Json], shown: tuple[str, ...], depth: int) -> Iterator[str]:
    """The members of an object as `name value`; a unit follows the number before it."""
    items = [(key, inner) for key, inner in value.items() if len(value) == 1 or not _is_shown(inner, shown)]
    for at, (key, inner) in enumerate(items):
        name = " ".join(_words_of(key)) or key
        if isinstance(inner, Mapping | list):
            yield f"{name}: {_inner(inner, depth) or 'none'}"
        elif not (at and key.lower() in _UNITS and _is_number(items[at - 1][1])):
            unit = items[at + 1] if at + 1 < len(items) and items[at + 1][0].lower() in _UNITS else None
            yield f"{name} {_scalar(inner)}" + (f" {_scalar(unit[1])}" if unit and _is_number(inner) else "")


def _inner(value: Json, depth: int) -> str:
    return ", ".join(islice(_leaves(value, depth=depth + 1), _MAX_LEAVES))


def _is_shown(value: Json, shown: tuple[str, ...]) -> bool:
    return not isinstance(value, Mapping | list) and _scalar(value) in shown


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _scalar(value: Json) -> str:
    if isinstance(value, str):
        return _cut(" ".join(value.split()), _MAX_LINE)
    if isinstance(value, Mapping | list):
        return ""
    return {True: "yes", False: "no", None: "none"}[value] if not _is_number(value) else json.dumps(value)


def _words_of(name: str) -> list[str]:
    """The words of an identifier, in snake, kebab or camel case."""
    return [word if word.isupper() else word.lower() for word in _WORD.findall(name[:_MAX_NAME])]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rstrip() + "…"


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "。", "！", "？", "।")) else text + "."


_MAX_RESULTS, _MAX_LEAVES = 16, 24
_MAX_NAME, _MAX_LINE, _MAX_TEXT, _MAX_RESULT = 60, 300, 2000, 100_000  # characters
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W0-9_A-Za-z]+")
_WELL = (
    *("ok", "success", "done", "succeeded", "completed", "complete"),
    *("sent", "saved", "created", "deleted", "updated"),
)
_COMPLAINT = re.compile(r"(?i)(?:error|exception|traceback|failed|failure|fatal|\w{1,40}(?:error|exception)\b)")
_UNITS = vocabulary("unit units currency")
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
