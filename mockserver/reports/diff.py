"""Where a miss parts from what was wanted: a caret under the letters that differ, what is missing of a list, a path."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TypeVar
from unicodedata import category, east_asian_width

from mockserver.cassettes.redaction.find import is_secret_header, mask
from mockserver.cassettes.redaction.redact import Secrets
from mockserver.core import tool_results
from mockserver.core.call import Call, Message
from mockserver.core.exchange import ConditionResult
from mockserver.core.text import one_line, shown
from mockserver.reports.calls import brief
from mockserver.rules.match.predicates import PREDICATES, Lens, part_of, pieces, same
from mockserver.rules.nearest import MOST_LINES, closeness, lines

WIDE = 60  # letters of a text beside another one
AROUND = 20  # letters before the first one that differs, where a text is cut
MOST_PATHS = 4
_ALIKE = 3  # letters that two texts must share before a caret tells anything
_BLURRED = 100_000  # letters of a text that are looked at anew without case and space
_SOUGHT, _SEARCHED = 200, 5_000  # letters of a passage, and of the text in which something like it is looked for


@dataclass(frozen=True, slots=True)
class Span:
    """Where a text differs from the one that was wanted: `size` letters from `at`, or none, where some are missing."""

    at: int
    size: int


def held(finding: ConditionResult) -> Iterator[str]:
    """A finding in lines: one if it holds, and of a miss also where the two part."""
    if finding.ok:
        yield from lines((finding,))
        return
    expected, actual = finding.expected, finding.actual
    if isinstance(actual, str) and (span := span_of(finding)) is not None:
        yield from _beside(finding, str(expected), actual, span)
    elif isinstance(actual, list | tuple | Mapping) and (parts := list(_parts(finding))):
        [told] = lines((finding,))
        yield told if isinstance(actual, Mapping) else f"{told}; {', '.join(parts)}"
        yield from (f"      {part}" for part in parts if isinstance(actual, Mapping))
    else:
        yield from lines((finding,))
    if hints := " and ".join(_hints(finding)):
        yield f"      it would hold with {hints}"


def blurred(finding: ConditionResult) -> tuple[str, ...]:
    """What has to be ignored besides for a miss to hold: `ignore_case`, `ignore_space`, both, or nothing helps."""
    predicate = PREDICATES.get(finding.predicate)
    if finding.ok or predicate is None or not predicate.textual or finding.predicate == "regex":
        return ()
    if finding.actual is None or (isinstance(finding.actual, str) and len(finding.actual) > _BLURRED):
        return ()
    for more in (("ignore_case",), ("ignore_space",), ("ignore_case", "ignore_space")):
        if not set(more) & set(finding.ignoring):
            lens = _lens((*finding.ignoring, *more))
            if predicate.build(finding.expected, lens)(finding.actual):
                return more
    return ()


def span_of(finding: ConditionResult) -> Span | None:
    """Which letters of a text keep a condition from holding; None where the two have too little in common."""
    wanted, text, find = finding.expected, finding.actual, _SPANS.get(finding.predicate)
    if find is None or not isinstance(text, str):
        return None
    seen = _lens(finding.ignoring)
    if isinstance(wanted, list | tuple):
        wanted = next((piece for piece in wanted if isinstance(piece, str) and seen(piece) not in seen(text)), None)
    if not isinstance(wanted, str):
        return None
    return find(_small(wanted), _small(text)) if "ignore_case" in finding.ignoring else find(wanted, text)


def _small(text: str) -> str:
    """A text in small letters, as many as there were: where one becomes two the others stand where they stood."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(letter.lower()[0] for letter in text)


def _whole(wanted: str, text: str) -> Span | None:
    """Where a text is not the one that is wanted."""
    front = _shared(wanted, text)
    back = _shared(wanted[front:][::-1], text[front:][::-1])
    alike = front + back >= min(_ALIKE, len(wanted))
    return Span(front, len(text) - front - back) if alike and wanted else None


def _beginning(wanted: str, text: str) -> Span | None:
    front = _shared(wanted, text)
    return Span(front, min(1, len(text) - front)) if front >= _ALIKE else None


def _end(wanted: str, text: str) -> Span | None:
    back = _shared(wanted[::-1], text[::-1])
    return Span(max(0, len(text) - back - 1), min(1, len(text) - back)) if back >= _ALIKE else None


def _pattern(wanted: str, text: str) -> Span | None:
    """Where a pattern goes no further."""
    first, *rest = pieces(wanted)
    if not rest:
        return _whole(first, text)
    if not text.startswith(first):
        return _beginning(first, text)
    at = len(first)
    for piece in rest[:-1]:
        found = text.find(piece, at)
        if found < 0:
            return _passage(piece, text, at)
        at = found + len(piece)
    return None if text.endswith(rest[-1]) else _end(rest[-1], text) or _passage(rest[-1], text, at)


def _passage(wanted: str, text: str, start: int = 0) -> Span | None:
    """What comes nearest to a passage that does not stand in a text: the letters of it that differ."""
    wanted, text = wanted[:_SOUGHT], text[start : start + _SEARCHED]
    found = SequenceMatcher(None, wanted, text, autojunk=False).find_longest_match()
    if found.size < max(_ALIKE, len(wanted) // 3):
        return None
    begin = max(0, found.b - found.a - _ALIKE)
    end = found.b - found.a + len(wanted) + _ALIKE
    codes = SequenceMatcher(None, wanted, text[begin:end], autojunk=False).get_opcodes()
    codes = [code for at, code in enumerate(codes) if code[0] != "insert" or 0 < at < len(codes) - 1]
    apart = [code for code in codes if code[0] != "equal"]
    if not apart:
        return None
    first, last = apart[0][3], apart[-1][4]
    return Span(start + begin + first, last - first)


def _beside(finding: ConditionResult, wanted: str, text: str, span: Span) -> Iterator[str]:
    """Two texts, one above the other, and below them a caret under each letter that differs."""
    head = f"MISS  {one_line(finding.field)} {finding.predicate} "
    yield head + (_cut(wanted, span.at)[0] if isinstance(finding.expected, str) else shown(finding.expected))
    told, begun = _cut(text, span.at)
    yield f"{'      got':<{len(head)}}{told}"
    skipped = _width(_escaped(text[begun : span.at])) + bool(begun) + 1
    marked = _width(_escaped(text[span.at : min(span.at + span.size, begun + WIDE)]))
    yield " " * (len(head) + skipped) + "^" * max(1, marked)


def _cut(text: str, at: int) -> tuple[str, int]:
    """A text around a place, in quotes, and where it begins."""
    begun = 0 if len(text) <= WIDE or at <= WIDE - AROUND else at - AROUND
    after = "…" if begun + WIDE < len(text) else ""
    return f'"{"…" * bool(begun)}{_escaped(text[begun : begun + WIDE])}{after}"', begun


def _escaped(text: str) -> str:
    return one_line(json.dumps(text, ensure_ascii=False)[1:-1])


def _width(text: str) -> int:
    """How many columns a text takes."""
    return sum(0 if _is_mark(letter) else 1 + (east_asian_width(letter) in "WF") for letter in text)


def _is_mark(letter: str) -> bool:
    """Whether a letter stands on the one before it; the one that makes a sign an emoji gives it a second column."""
    return category(letter) in ("Mn", "Me") and letter != _EMOJI


def _parts(finding: ConditionResult) -> Iterator[str]:
    """What of a list or a table is missing, what is too much, and what is another."""
    expected, actual = finding.expected, finding.actual
    if finding.predicate == "length" and isinstance(actual, Sequence | Mapping):
        yield f"its length is {len(actual)}"
    elif finding.predicate == "includes" or (isinstance(expected, list | tuple) and isinstance(actual, list | tuple)):
        yield from _of_lists(finding)
    elif finding.predicate in ("equals", "subset"):
        found = list(_paths(expected, actual, "", whole=finding.predicate == "equals"))
        yield from found[:MOST_PATHS]
        if len(found) > MOST_PATHS:
            yield f"... and {len(found) - MOST_PATHS} more"


def _of_lists(finding: ConditionResult) -> Iterator[str]:
    wanted = finding.expected if isinstance(finding.expected, list | tuple) else (finding.expected,)
    there = finding.actual if isinstance(finding.actual, list | tuple) else ()
    fits = _element(finding)
    missing = [one for one in wanted if not any(fits(one, each) for each in there)]
    extra = [each for each in there if not any(fits(one, each) for one in wanted)]
    if missing:
        yield f"missing {', '.join(map(shown, missing[:MOST_PATHS]))}"
    if extra and finding.predicate == "equals":
        yield f"besides {', '.join(map(shown, extra[:MOST_PATHS]))}"
    if finding.predicate == "equals" and not missing and not extra:
        yield "in another order" if len(wanted) == len(there) else "some more than once"


def _element(finding: ConditionResult) -> Callable[[object, object], object]:
    """Whether an element is the one that is wanted."""
    if finding.predicate == "includes":
        return lambda wanted, each: PREDICATES["includes"].build(wanted, _lens(finding.ignoring))([each])
    return part_of if finding.predicate == "subset" else same


def _paths(wanted: object, actual: object, path: str, *, whole: bool) -> Iterator[str]:
    """Each path below which two values differ; `whole`: nothing may stand there besides."""
    if isinstance(wanted, Mapping) and isinstance(actual, Mapping):
        for name in wanted:
            inner = f"{path}.{one_line(str(name))}".lstrip(".")
            if name not in actual:
                yield f"missing {inner}"
            else:
                yield from _paths(wanted[name], actual[name], inner, whole=whole)
        if whole:
            yield from (
                f"besides {f'{path}.{one_line(str(name))}'.lstrip('.')}" for name in actual if name not in wanted
            )
    elif isinstance(wanted, list | tuple) and isinstance(actual, list | tuple) and len(wanted) == len(actual) and whole:
        for at, (one, other) in enumerate(zip(wanted, actual, strict=True)):
            yield from _paths(one, other, f"{path}[{at}]", whole=whole)
    elif not (same(wanted, actual) if whole else part_of(wanted, actual)):
        yield f"{path or 'it'} is {shown(actual)}, not {shown(wanted)}"


def _hints(finding: ConditionResult) -> Iterator[str]:
    yield from (f"{name}: true" for name in blurred(finding))


def _lens(ignoring: Sequence[str]) -> Lens:
    return Lens(fold="ignore_case" in ignoring, squeeze="ignore_space" in ignoring)


def _shared(one: str, other: str) -> int:
    """How many letters two texts begin with alike: by halves, as both may be huge."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


_EMOJI = "\ufe0f"
_SPANS: Mapping[str, Callable[[str, str], Span | None]] = {
    "equals": _whole,
    "glob": _pattern,
    "starts_with": _beginning,
    "ends_with": _end,
    "contains": _passage,
}


FIRST, LAST = 1, 4  # messages that are told of a long conversation
MOST_NAMES = 5
_POOL = 24  # whose texts are compared
_LONGEST = 2_000  # letters of a text that are looked at for credentials

T = TypeVar("T")


def asked(call: Call, secrets: Secrets) -> Iterator[str]:
    """Who was asked for what, then the conversation; a long one is cut in the middle."""
    told = [f"{call.dialect} {call.operation} {brief(call.model, secrets)}".rstrip()]
    told += ["streamed"] if call.stream else []
    told += [f"tools {_names(tool.name for tool in call.tools)}"] if call.tools else []
    told += [one_line(call.response_format)] if call.response_format != "text" else []
    told += [f"goes on from {brief(call.previous, secrets)}"] if call.previous is not None else []
    yield secrets.text(", ".join(told))
    messages = call.messages
    skipped = len(messages) - FIRST - LAST
    for at, message in enumerate(messages):
        if skipped <= 1 or at < FIRST or at >= FIRST + skipped:
            yield from _message(call, message, secrets)
        elif at == FIRST:
            yield f"  ... {skipped} more messages"


def findings(found: Iterable[ConditionResult], secrets: Secrets) -> Iterator[str]:
    """What holds of a rule and what does not, with the place where it does not; of very many the misses first."""
    every = tuple(found)
    if len(every) > MOST_LINES:
        every = tuple(sorted(every, key=lambda finding: finding.ok))
    for finding in every[:MOST_LINES]:
        yield from lines((_masked(finding),)) if is_secret(finding) else held(_cleaned(finding, secrets))
    if len(every) > MOST_LINES:
        yield f"... and {len(every) - MOST_LINES} more"


def ranked(found: Iterable[tuple[T, Sequence[ConditionResult]]]) -> list[tuple[T, Sequence[ConditionResult]]]:
    """What was held against a condition, with what was found of each: those that come nearest, the best one first."""
    pool = sorted(found, key=lambda each: _misses(each[1]))[:_POOL]
    return sorted(pool, key=lambda each: (_misses(each[1]), -closeness(each[1])))


def _misses(found: Sequence[ConditionResult]) -> int:
    return sum(not finding.ok for finding in found)


def is_secret(finding: ConditionResult) -> bool:
    """Whether the field that it is about is a credential itself."""
    return finding.field == "key" or is_secret_header(finding.field.removeprefix("header."))


def _masked(finding: ConditionResult) -> ConditionResult:
    """A finding of a field that is a credential itself."""
    wanted, there = (mask(each) if isinstance(each, str) else each for each in (finding.expected, finding.actual))
    return replace(finding, expected=wanted if isinstance(wanted, str | bool) else "...", actual=there)


def _cleaned(finding: ConditionResult, secrets: Secrets) -> ConditionResult:
    return replace(finding, expected=_clean(finding.expected, secrets), actual=_clean(finding.actual, secrets))


def _clean(value: object, secrets: Secrets) -> object:
    match value:
        case str():
            return secrets.text(value)
        case Mapping():
            return {name: _clean(inner, secrets) for name, inner in value.items()}
        case list() | tuple():
            return [_clean(inner, secrets) for inner in value]
    return value


def _message(call: Call, message: Message, secrets: Secrets) -> Iterator[str]:
    role = one_line(message.role)
    if message.role == "tool" and message is call.messages[-1]:
        result = tool_results.last(call)
        role = f"{role} {one_line(str(result['name']))}" if result is not None and result["name"] else role
    if message.text or not (message.tool_calls or message.parts):
        yield f"  {role}: {shown(secrets.text(message.text[:_LONGEST]))}"
    if message.parts:
        yield f"  {role}: {_names(str(part.get('type', 'part')) for part in message.parts)}"
    for used in message.tool_calls[:MOST_NAMES]:
        yield f"  {role} calls {brief(used.name, secrets)}({brief(used.arguments, secrets)})"


def _names(names: Iterable[str]) -> str:
    every = [one_line(name[:80]) for name in names]
    more = f" and {len(every) - MOST_NAMES} more" if len(every) > MOST_NAMES else ""
    return ", ".join(every[:MOST_NAMES]) + more
