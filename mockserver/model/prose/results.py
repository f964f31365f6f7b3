"""The text after tool calls: each result in the order of the calls, with its values unchanged."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice

from mockserver.core.call import Call, Message, ToolCall
from mockserver.core.json import Json, parsed
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
    sentences = [_sentence(made, result) for made, result in pairs[:_MAX_RESULTS]]
    if len(pairs) > _MAX_RESULTS:
        sentences.append(f"({len(pairs) - _MAX_RESULTS} more)")
    sentences = list(dict.fromkeys(sentences))
    return ("\n\n" if any("\n" in sentence for sentence in sentences) else " ").join(sentences)


def result_texts(call: Call) -> tuple[str, ...]:
    """Return the raw texts of the results since the last user message."""
    return tuple(result.text[:_MAX_RESULT] for result in _results(call)[:_MAX_RESULTS])


def _results(call: Call) -> tuple[Message, ...]:
    return tuple(message for message in call.since_user if message.role in ("tool", "function"))


def _sentence(made: ToolCall, result: Message) -> str:
    """One result as a sentence, or as a text of its own if it is long."""
    text = result.text[:_MAX_RESULT].strip()
    subject = _subject(made)
    if len(text) > _MAX_LINE and "\n" in text:
        return f"{subject}:\n\n{_cut(text)}"
    spoken = ", ".join(islice(_leaves(parsed(text, text)), _MAX_LEAVES))
    text = f"{subject}: {_cut(spoken) or ('an image' if result.parts else '–')}"
    return text if text.endswith((".", "!", "?", "…", "。", "！", "？", "।")) else text + "."


def _subject(made: ToolCall) -> str:
    """What a call was for: the words of its tool, and its short arguments."""
    verb, *rest = _WORD.findall(made.name[:_MAX_NAME]) or ["result"]
    words = " ".join(rest if rest and verb.lower() in _VERBS else (verb, *rest))
    arguments = parsed(made.arguments)
    values = islice(arguments.values(), 2) if isinstance(arguments, Mapping) else ()
    shown = [_scalar(value) for value in values if isinstance(value, str | int | float)]
    shown = [value for value in shown if 0 < len(value) <= _MAX_NAME]
    return words[:1].upper() + words[1:] + (f" ({', '.join(shown)})" if shown else "")


def _leaves(value: Json, depth: int = 0) -> Iterator[str]:
    """The plain values within a value, those of an object after their names."""
    if depth > _MAX_DEPTH:
        yield "…"
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            nested = isinstance(inner, Mapping | list)
            leaves = ", ".join(islice(_leaves(inner, depth + 1), _MAX_LEAVES)) or "none"
            yield f"{' '.join(_WORD.findall(key)) or key}{':' * nested} {leaves}"
    elif isinstance(value, list):
        for at, item in enumerate(value, 1):
            mark = f"({at}) " if isinstance(item, Mapping) and len(value) > 1 else ""
            yield mark + ", ".join(islice(_leaves(item, depth + 1), _MAX_LEAVES))
    elif value != "":
        yield _scalar(value)


def _scalar(value: Json) -> str:
    if isinstance(value, str):
        return " ".join(value[:_MAX_TEXT].split())
    return {True: "yes", False: "no", None: "none"}[value] if isinstance(value, bool | None) else json.dumps(value)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT].rstrip() + "…"


_MAX_RESULTS, _MAX_LEAVES, _MAX_DEPTH = 16, 24, 4
_MAX_NAME, _MAX_LINE, _MAX_TEXT, _MAX_RESULT = 60, 300, 2000, 100_000  # characters
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W0-9_A-Za-z]+")
_VERBS = vocabulary("get fetch search lookup look find list read query retrieve check show load")
_HANDOVER = re.compile(r"(?i)\A(?:transfer|hand_?(?:off|over)|delegate|escalate|switch)_?(?:back_?)?to(?:_|[A-Z])")
