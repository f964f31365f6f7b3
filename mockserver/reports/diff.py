"""Where a request differs from a condition: a caret under the different characters, missing elements, JSON paths."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, TypeVar
from unicodedata import category, east_asian_width

from msgspec.structs import replace

from mockserver.core.call import Call, Message, find_last_tool_result
from mockserver.core.json import map_texts
from mockserver.core.json_diff import Pairs, find_differences, pair_items, pair_names
from mockserver.core.text import count_shared_ends, join_to_line, limit_lines, show_value
from mockserver.reports.calls import mask_line
from mockserver.rules.match.conditions import ConditionResult
from mockserver.rules.match.predicates import PREDICATES, Lens, is_part_of, is_same, split_pieces
from mockserver.rules.nearest import MAX_LINES, measure_closeness, render_results

if TYPE_CHECKING:
    from mockserver.cassettes.redaction.shown_secrets import Secrets

MAX_TEXT = 60  # characters of a text in a comparison
CONTEXT = 20  # characters before the first difference, if a text is cut
MAX_PATHS = 4
MAX_NAMES = 5
FIRST = 1  # messages shown of a long conversation
LAST = 4
_MIN_SHARED = 3  # characters that two texts must share for a caret to help
_MAX_LOOSENED = 100_000  # characters of a text that is compared again without case and space
_MAX_PASSAGE = 200  # characters of a passage
_MAX_SEARCHED = 5_000  # characters of the text searched for it
_MAX_SCANNED = 2_000  # characters of a text that are searched for credentials
_POOL = 24  # calls whose texts are compared in detail
_EMOJI = "\ufe0f"

T = TypeVar("T")


def explain_result(result: ConditionResult) -> Iterator[str]:
    """Yield a result in lines: one if it holds; for a miss also where the two differ."""
    if result.ok:
        yield from render_results((result,))
        return
    expected = result.expected
    actual = result.actual
    if isinstance(actual, str) and (span := find_span(result)) is not None:
        yield from _mark_span(result, str(expected), text=actual, span=span)
    elif isinstance(actual, list | tuple | Mapping) and (parts := list(_explain_parts(result))):
        [told] = render_results((result,))
        yield told if isinstance(actual, Mapping) else f"{told}; {', '.join(parts)}"
        yield from (f"      {part}" for part in parts if isinstance(actual, Mapping))
    else:
        yield from render_results((result,))
    if options := " and ".join(f"{name}: true" for name in find_loosening(result)):
        yield f"      it would match with {options}"


def find_loosening(result: ConditionResult) -> tuple[str, ...]:
    """Return the options with which a miss would match: `ignore_case`, `ignore_space`, both, or none."""
    predicate = PREDICATES.get(result.predicate)
    if result.ok or predicate is None or not predicate.textual or result.predicate == "regex":
        return ()
    if result.actual is None or (isinstance(result.actual, str) and len(result.actual) > _MAX_LOOSENED):
        return ()
    for more in (("ignore_case",), ("ignore_space",), ("ignore_case", "ignore_space")):
        if not set(more) & set(result.ignoring):
            lens = _make_lens((*result.ignoring, *more))
            if predicate.build(result.expected, lens)(result.actual):
                return more
    return ()


def find_span(result: ConditionResult) -> range | None:
    """Return which characters of a text make a condition fail (none if some are missing); None if too few are alike."""
    wanted = result.expected
    text = result.actual
    find = _DIFFERENCES.get(result.predicate)
    if find is None or not isinstance(text, str):
        return None
    seen = _make_lens(result.ignoring)
    if isinstance(wanted, list | tuple):
        wanted = next((piece for piece in wanted if isinstance(piece, str) and seen(piece) not in seen(text)), None)
    if not isinstance(wanted, str):
        return None
    return find(_lower(wanted), _lower(text)) if "ignore_case" in result.ignoring else find(wanted, text)


def _lower(text: str) -> str:
    """Return a text in lower case, of the same length: some letters become two in lower case."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(letter.lower()[0] for letter in text)


def _compare_whole(wanted: str, text: str) -> range | None:
    front, back = count_shared_ends(wanted, text)
    alike = front + back >= min(_MIN_SHARED, len(wanted))
    return range(front, len(text) - back) if alike and wanted else None


def _compare_beginning(wanted: str, text: str) -> range | None:
    return _compare_whole(wanted, text[: len(wanted)])


def _compare_end(wanted: str, text: str) -> range | None:
    begin = max(0, len(text) - len(wanted))
    found = _compare_whole(wanted, text[begin:])
    return None if found is None else range(begin + found.start, begin + found.stop)


def _compare_pattern(wanted: str, text: str) -> range | None:
    first, *rest = split_pieces(wanted)
    if not rest:
        return _compare_whole(first, text)
    if not text.startswith(first):
        return _compare_beginning(first, text)
    at = len(first)
    for piece in rest[:-1]:
        found = text.find(piece, at)
        if found < 0:
            return _compare_passage(piece, text, at)
        at = found + len(piece)
    return None if text.endswith(rest[-1]) else _compare_end(rest[-1], text) or _compare_passage(rest[-1], text, at)


def _compare_passage(wanted: str, text: str, start: int = 0) -> range | None:
    """Return what differs in the part of a text that is most similar to a passage."""
    wanted = wanted[:_MAX_PASSAGE]
    text = text[start : start + _MAX_SEARCHED]
    found = SequenceMatcher(None, wanted, text, autojunk=False).find_longest_match()
    if found.size < max(_MIN_SHARED, len(wanted) // 3):
        return None
    begin = max(0, found.b - found.a - _MIN_SHARED)
    end = found.b - found.a + len(wanted) + _MIN_SHARED
    codes = SequenceMatcher(None, wanted, text[begin:end], autojunk=False).get_opcodes()
    codes = [code for at, code in enumerate(codes) if code[0] != "insert" or 0 < at < len(codes) - 1]
    apart = [code for code in codes if code[0] != "equal"]
    if not apart:
        return None
    first = apart[0][3]
    last = apart[-1][4]
    return range(start + begin + first, start + begin + last)


def _mark_span(result: ConditionResult, wanted: str, text: str, span: range) -> Iterator[str]:
    """Yield two texts, one above the other, with carets under the characters that differ."""
    head = f"MISS  {join_to_line(result.field)} {result.predicate} "
    yield head + (_cut_text(wanted, span.start)[0] if isinstance(result.expected, str) else show_value(result.expected))
    cut, begun = _cut_text(text, span.start)
    yield f"{'      got':<{len(head)}}{cut}"
    skipped = _measure_width(_escape(text[begun : span.start])) + bool(begun) + 1
    marked = _measure_width(_escape(text[span.start : min(span.stop, begun + MAX_TEXT)]))
    yield " " * (len(head) + skipped) + "^" * max(1, marked)


def _cut_text(text: str, at: int) -> tuple[str, int]:
    """Return a text in quotes, cut around a place, and where the cut begins."""
    begun = 0 if len(text) <= MAX_TEXT or at <= MAX_TEXT - CONTEXT else at - CONTEXT
    after = "…" if begun + MAX_TEXT < len(text) else ""
    return f'"{"…" * bool(begun)}{_escape(text[begun : begun + MAX_TEXT])}{after}"', begun


def _escape(text: str) -> str:
    return join_to_line(json.dumps(text, ensure_ascii=False)[1:-1])


def _measure_width(text: str) -> int:
    # A mark combines with the character before it; the emoji selector adds a column.
    seen = (letter for letter in text if letter == _EMOJI or category(letter) not in ("Mn", "Me"))
    return sum(1 + (east_asian_width(letter) in "WF") for letter in seen)


def _explain_parts(result: ConditionResult) -> Iterator[str]:
    expected = result.expected
    actual = result.actual
    if result.predicate == "length" and isinstance(actual, Sequence | Mapping):
        yield f"its length is {len(actual)}"
    elif result.predicate == "includes" or (isinstance(expected, list | tuple) and isinstance(actual, list | tuple)):
        yield from _explain_lists(result)
    elif result.predicate in ("equals", "subset"):
        yield from limit_lines(list(_explain_paths(expected, actual, whole=result.predicate == "equals")), MAX_PATHS)


def _explain_lists(result: ConditionResult) -> Iterator[str]:
    wanted = result.expected if isinstance(result.expected, list | tuple) else (result.expected,)
    there = result.actual if isinstance(result.actual, list | tuple) else ()
    fits = _make_element_test(result)
    missing = [one for one in wanted if not any(fits(one, each) for each in there)]
    extra = [each for each in there if not any(fits(one, each) for one in wanted)]
    if missing:
        yield f"missing {', '.join(map(show_value, missing[:MAX_PATHS]))}"
    if extra and result.predicate == "equals":
        yield f"unexpected {', '.join(map(show_value, extra[:MAX_PATHS]))}"
    if result.predicate == "equals" and not missing and not extra:
        yield "in a different order" if len(wanted) == len(there) else "with duplicates"


def _make_element_test(result: ConditionResult) -> Callable[[object, object], object]:
    if result.predicate == "includes":
        return lambda wanted, each: PREDICATES["includes"].build(wanted, _make_lens(result.ignoring))([each])
    return is_part_of if result.predicate == "subset" else is_same


def _explain_paths(wanted: object, actual: object, *, whole: bool) -> Iterator[str]:
    """Yield where a value is not as wanted: in all of it, or (not `whole`) in what is wanted of it."""
    for found in find_differences(wanted, actual, pair=_pair_whole if whole else _pair_tables, equal=_EQUAL[whole]):
        where = join_to_line(found.where)
        if found.kind == "changed":
            yield f"{where or 'it'} is {show_value(found.other)}, not {show_value(found.one)}"
        elif found.kind == "removed":
            yield f"missing {where}"
        elif whole:
            yield f"unexpected {where}"


def _pair_tables(wanted: object, actual: object) -> Pairs | None:
    return pair_names(wanted, actual) if isinstance(wanted, Mapping) and isinstance(actual, Mapping) else None


def _pair_whole(wanted: object, actual: object) -> Pairs | None:
    """Pair tables, and lists of one length: in others one item more would move all that follow."""
    if isinstance(wanted, list | tuple) and isinstance(actual, list | tuple) and len(wanted) != len(actual):
        return None
    return pair_items(wanted, actual)


_EQUAL = {True: is_same, False: is_part_of}


def _make_lens(ignoring: Sequence[str]) -> Lens:
    return Lens(fold="ignore_case" in ignoring, squeeze="ignore_space" in ignoring)


def describe_request(call: Call, secrets: "Secrets") -> Iterator[str]:
    """Yield a request: provider, operation, model, then the conversation; a long one is cut in the middle."""
    told = [f"{call.dialect} {call.operation} {mask_line(call.model, secrets)}".rstrip()]
    told += ["streamed"] if call.stream else []
    told += [f"tools {_join_names(tool.name for tool in call.tools)}"] if call.tools else []
    told += [join_to_line(call.options.response_format)] if call.options.response_format != "text" else []
    told += (
        [f"continues {mask_line(call.previous_response_id, secrets)}"] if call.previous_response_id is not None else []
    )
    yield secrets.mask_text(", ".join(told))
    messages = call.messages
    skipped = len(messages) - FIRST - LAST
    for at, message in enumerate(messages):
        if skipped <= 1 or at < FIRST or at >= FIRST + skipped:
            yield from _describe_message(call, message, secrets)
        elif at == FIRST:
            yield f"  ... {skipped} more messages"


def explain_conditions(found: Iterable[ConditionResult], secrets: "Secrets") -> Iterator[str]:
    """Yield the conditions that hold and those that do not, with what differs; of very many the misses first."""
    every = tuple(found)
    if len(every) > MAX_LINES:
        every = tuple(sorted(every, key=lambda result: result.ok))
    for result in every[:MAX_LINES]:
        yield from (
            render_results((_hide_secret(result),))
            if is_secret(result)
            else explain_result(_redact_result(result, secrets))
        )
    if len(every) > MAX_LINES:
        yield f"... and {len(every) - MAX_LINES} more"


def sort_by_closeness(
    found: Iterable[tuple[T, Sequence[ConditionResult]]],
) -> list[tuple[T, Sequence[ConditionResult]]]:
    """Return what was compared with a condition, each with its results: the nearest ones, the best first."""
    pool = sorted(found, key=lambda each: _count_failed(each[1]))[:_POOL]
    return sorted(pool, key=lambda each: (_count_failed(each[1]), -measure_closeness(each[1])))


def _count_failed(found: Sequence[ConditionResult]) -> int:
    return sum(not result.ok for result in found)


def is_secret(result: ConditionResult) -> bool:
    from mockserver.cassettes.redaction.credential_fields import is_secret_header  # slow: a hundred patterns

    return result.field == "key" or is_secret_header(result.field.removeprefix("header."))


def _hide_secret(result: ConditionResult) -> ConditionResult:
    from mockserver.cassettes.redaction.credential_fields import mask

    wanted, there = (mask(each) if isinstance(each, str) else each for each in (result.expected, result.actual))
    return replace(result, expected=wanted if isinstance(wanted, str | bool) else "...", actual=there)


def _redact_result(result: ConditionResult, secrets: "Secrets") -> ConditionResult:
    expected, actual = (map_texts(value, secrets.mask_text) for value in (result.expected, result.actual))
    return replace(result, expected=expected, actual=actual)


def _describe_message(call: Call, message: Message, secrets: "Secrets") -> Iterator[str]:
    role = join_to_line(message.role)
    if message.role == "tool" and message is call.last_turn:
        result = find_last_tool_result(call)
        role = f"{role} {join_to_line(str(result['name']))}" if result is not None and result["name"] else role
    if message.text or not (message.tool_calls or message.parts):
        yield f"  {role}: {show_value(secrets.mask_text(message.text[:_MAX_SCANNED]))}"
    if message.parts:
        yield f"  {role}: {_join_names(str(part.get('type', 'part')) for part in message.parts)}"
    for used in message.tool_calls[:MAX_NAMES]:
        yield f"  {role} calls {mask_line(used.name, secrets)}({mask_line(used.arguments, secrets)})"


def _join_names(names: Iterable[str]) -> str:
    every = [join_to_line(name[:80]) for name in names]
    more = f" and {len(every) - MAX_NAMES} more" if len(every) > MAX_NAMES else ""
    return ", ".join(every[:MAX_NAMES]) + more


_DIFFERENCES: Mapping[str, Callable[[str, str], range | None]] = {
    "equals": _compare_whole,
    "glob": _compare_pattern,
    "starts_with": _compare_beginning,
    "ends_with": _compare_end,
    "contains": _compare_passage,
}
