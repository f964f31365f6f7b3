"""What a call asked, in a few lines, and what rules found in it: without its credentials."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from mockserver.cassettes.masking import Secrets
from mockserver.core.call import Call, Message
from mockserver.core.exchange import Finding
from mockserver.core.secrets import is_secret_header, mask
from mockserver.engine import tool_results
from mockserver.engine.nearest import MOST_LINES, closeness, lines, plain, shown
from mockserver.reports.came import brief
from mockserver.reports.spans import held

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
    told += [plain(call.response_format)] if call.response_format != "text" else []
    told += [f"goes on from {brief(call.previous, secrets)}"] if call.previous is not None else []
    yield secrets.text(", ".join(told))
    messages = call.messages
    skipped = len(messages) - FIRST - LAST
    for at, message in enumerate(messages):
        if skipped <= 1 or at < FIRST or at >= FIRST + skipped:
            yield from _message(call, message, secrets)
        elif at == FIRST:
            yield f"  ... {skipped} more messages"


def findings(found: Iterable[Finding], secrets: Secrets) -> Iterator[str]:
    """What holds of a rule and what does not, with the place where it does not; of very many the misses first."""
    every = tuple(found)
    if len(every) > MOST_LINES:
        every = tuple(sorted(every, key=lambda finding: finding.ok))
    for finding in every[:MOST_LINES]:
        yield from lines((_masked(finding),)) if is_secret(finding) else held(_cleaned(finding, secrets))
    if len(every) > MOST_LINES:
        yield f"... and {len(every) - MOST_LINES} more"


def ranked(found: Iterable[tuple[T, Sequence[Finding]]]) -> list[tuple[T, Sequence[Finding]]]:
    """What was held against a condition, with what was found of each: those that come nearest, the best one first."""
    pool = sorted(found, key=lambda each: _misses(each[1]))[:_POOL]
    return sorted(pool, key=lambda each: (_misses(each[1]), -closeness(each[1])))


def _misses(found: Sequence[Finding]) -> int:
    return sum(not finding.ok for finding in found)


def is_secret(finding: Finding) -> bool:
    """Whether the field that it is about is a credential itself."""
    return finding.field == "key" or is_secret_header(finding.field.removeprefix("header."))


def _masked(finding: Finding) -> Finding:
    """A finding of a field that is a credential itself."""
    wanted, there = (mask(each) if isinstance(each, str) else each for each in (finding.expected, finding.actual))
    return replace(finding, expected=wanted if isinstance(wanted, str | bool) else "...", actual=there)


def _cleaned(finding: Finding, secrets: Secrets) -> Finding:
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
    role = plain(message.role)
    if message.role == "tool" and message is call.messages[-1]:
        result = tool_results.last(call)
        role = f"{role} {plain(str(result['name']))}" if result is not None and result["name"] else role
    if message.text or not (message.tool_calls or message.parts):
        yield f"  {role}: {shown(secrets.text(message.text[:_LONGEST]))}"
    if message.parts:
        yield f"  {role}: {_names(str(part.get('type', 'part')) for part in message.parts)}"
    for used in message.tool_calls[:MOST_NAMES]:
        yield f"  {role} calls {brief(used.name, secrets)}({brief(used.arguments, secrets)})"


def _names(names: Iterable[str]) -> str:
    every = [plain(name[:80]) for name in names]
    more = f" and {len(every) - MOST_NAMES} more" if len(every) > MOST_NAMES else ""
    return ", ".join(every[:MOST_NAMES]) + more
