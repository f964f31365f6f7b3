"""Footprints: how many calls each test makes, of how many tokens, as a file of the repository keeps them.

No text of a prompt is kept unless that is asked for: it may be secret, and its size is what counts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from mockserver.cassettes.formats import parse_response
from mockserver.cassettes.parsed_response import read_usage
from mockserver.cassettes.yaml_text import Flow, write_yaml
from mockserver.config.errors import ConfigError, MockserverError
from mockserver.config.source import read
from mockserver.core.call import Call, Message, declare_tools
from mockserver.core.episode import Recorded
from mockserver.core.json import Json, compact
from mockserver.core.json_diff import find_differences
from mockserver.core.plan import Usage
from mockserver.core.text import align_columns, count_noun, join_to_line, limit_lines
from mockserver.kinds.wire_formats import find_format
from mockserver.reports.calls import ReceivedCall, list_requests

VERSION = 1  # of the file
HEAD = """\
# Calls and tokens of each test, kept by mockserver. To accept changes: pytest --mockserver-footprint-update
"""
_FIRST_ERROR = 400  # status
_MAX_CHANGED = 10  # calls that are shown
_MAX_LINES = 40  # lines of the difference of a text that are shown


class CallFootprint(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a call sends and gets, in tokens. Those of tools, and cached ones, are part of the prompt's.

    `parts` has the tokens of the messages of each role, and of each tool; `texts`, if they are kept, what they say.
    `error` is the status of a failed call.
    """

    request: str  # dialect and operation
    model: str = ""
    error: int = 0
    messages: int = 0
    prompt: int = 0
    tools: int = 0
    cached: int = 0
    completion: int = 0
    parts: dict[str, int] = {}
    texts: dict[str, str] = {}

    @property
    def name(self) -> str:
        failed = f"-> {self.error}" if self.error else ""
        return join_to_line(" ".join(filter(None, (self.request, self.model, failed))))

    @property
    def order(self) -> tuple[object, ...]:
        """Its place in the list of a test: concurrent calls arrive in any order."""
        sent = tuple(self.parts.items()), tuple(self.texts.items())
        return self.request, self.model, self.error, self.prompt, self.completion, self.messages, sent


Footprint = Sequence[CallFootprint]  # of a test
Footprints = Mapping[str, Footprint]  # by the ids of tests


class Total(Struct, frozen=True):
    """The calls and tokens of one test, or of many."""

    calls: int
    prompt: int
    tools: int
    cached: int
    completion: int

    @classmethod
    def add_up(cls, calls: Footprint) -> "Total":
        """Add up calls."""
        return cls(
            calls=len(calls),
            prompt=sum(call.prompt for call in calls),
            tools=sum(call.tools for call in calls),
            cached=sum(call.cached for call in calls),
            completion=sum(call.completion for call in calls),
        )

    def __str__(self) -> str:
        parts = f"{self.tools} of tools, {self.cached} cached"
        completion = count_noun(self.completion, "completion token")
        return f"{count_noun(self.calls, 'call')}, {count_noun(self.prompt, 'prompt token')} ({parts}), {completion}"


def measure_calls(calls: Iterable[ReceivedCall], *, with_texts: bool = False) -> tuple[CallFootprint, ...]:
    """Measure the calls to models, and the requests of batches, in an order that does not depend on their arrival."""
    found = [
        _measure_request(asked, call, with_texts=with_texts)
        for call in calls
        for asked in list_requests(call)
        if asked.mcp is None and (asked.messages or asked.prompts or asked.documents)
    ]
    return tuple(sorted(found, key=lambda each: each.order))


def _measure_request(asked: Call, call: ReceivedCall, *, with_texts: bool) -> CallFootprint:
    is_whole = asked is call.asked  # else it is one of a batch, which is answered later
    usage = _find_usage(call) if is_whole else None
    parts = dict(_weigh_parts(asked))
    return CallFootprint(
        request=f"{asked.dialect} {asked.operation}",
        model=asked.model,
        error=call.status if is_whole and call.status >= _FIRST_ERROR else 0,
        messages=len(asked.messages),
        prompt=asked.prompt_tokens if usage is None else usage.prompt,
        tools=asked.prompt_tokens - replace(asked, tools=()).prompt_tokens,
        cached=0 if usage is None else usage.cached,
        completion=0 if usage is None else usage.completion,
        parts=parts,
        texts={name: call.secrets.mask_text(text) for name, text in _list_texts(asked)} if with_texts else {},
    )


def _find_usage(call: ReceivedCall) -> Usage | None:
    """Return the tokens that the answer states, also one from a cassette or a provider."""
    if call.usage is not None or call.asked is None or call.status >= _FIRST_ERROR:
        return call.usage
    pieces = tuple(call.row.sent)
    reply = Recorded(call.status, body=call.reply, frames=pieces if call.row.streams else None)
    counts = parse_response(reply, find_format(call.dialect, call.operation, call.path)).usage
    return read_usage(counts) if counts else None


def _weigh_parts(asked: Call) -> Iterator[tuple[str, int]]:
    count = asked.tokenizer.count
    if asked.prompts:
        yield "prompt", sum(prompt.count(asked.tokenizer) for prompt in asked.prompts)
    else:
        bare = replace(asked, messages=(), documents=(), tools=())
        for role, messages in _group_by_role(asked).items():
            yield role, replace(bare, messages=tuple(messages)).prompt_tokens - bare.prompt_tokens
    if asked.documents:
        yield "documents", sum(map(count, asked.documents))
    for tool in asked.tools:
        yield f"tool {tool.full_name}", count(declare_tools((tool,))) - count(declare_tools(()))


def _list_texts(asked: Call) -> Iterator[tuple[str, str]]:
    if asked.prompts:
        yield "prompt", "\n".join(prompt.text for prompt in asked.prompts)
    else:
        for role, messages in _group_by_role(asked).items():
            yield role, "\n".join(line for message in messages for line in _list_lines(message))
    if asked.documents:
        yield "documents", "\n".join(asked.documents)
    for tool in asked.tools:
        yield f"tool {tool.full_name}", declare_tools((tool,))


def _list_lines(message: Message) -> Iterator[str]:
    if message.text:
        yield message.text
    yield from (f"{used.name}({used.arguments})" for used in message.tool_calls)


def _group_by_role(asked: Call) -> Mapping[str, Sequence[Message]]:
    roles = defaultdict[str, list[Message]](list)
    for message in asked.messages:
        roles[message.role].append(message)
    return roles


# The file.


class _TestEntry(Struct, forbid_unknown_fields=True):
    calls: list[CallFootprint]
    total: Json = None  # for people: it follows from the calls


class _File(Struct, forbid_unknown_fields=True):
    version: Literal[1]
    tests: dict[str, _TestEntry] | None = None


def write_footprints(tests: Footprints) -> str:
    """Return the file: sorted by the tests' ids, a line for each fact, the same for equal footprints."""
    entries: dict[str, Json] = {name: _make_entry(calls) for name, calls in sorted(tests.items()) if calls}
    return HEAD + "\n".join(write_yaml({"version": Flow(VERSION), "tests": entries})) + "\n"


def _make_entry(calls: Footprint) -> Json:
    total = ", ".join(f"{name}: {count}" for name, count in asdict(Total.add_up(calls)).items())
    return {"total": Flow(f"{{{total}}}"), "calls": [msgspec.to_builtins(call) for call in calls]}


def read_footprints(text: str, file: str) -> dict[str, Footprint]:
    """Read a file. Raises MockserverError with the place of what is wrong."""
    try:
        found = msgspec.convert(read(text, file).data, _File)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{file}: not a footprint file: {error}; restore it, or {_UPDATE}") from None
    except MockserverError as error:
        raise ConfigError(*error.mistakes) from None
    return {name: tuple(entry.calls) for name, entry in (found.tests or {}).items()}


_UPDATE = "write it anew with --mockserver-footprint-update"


# Comparing.


class Growth(Struct, frozen=True):
    """A measure that grew by more than is allowed."""

    measure: str
    before: int
    after: int

    def __str__(self) -> str:
        share = f" (+{(self.after - self.before) / self.before:.0%})" if self.before else ""
        return f"{self.measure} {self.before} -> {self.after}{share}"


def find_growth(before: Footprint, after: Footprint, allowed: float) -> tuple[Growth, ...]:
    """Return what grew by more than a share (0.1: a tenth). A prompt of which less is cached grows, too."""
    one = Total.add_up(before)
    other = Total.add_up(after)
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in ("calls", "prompt", "tools", "completion")}
    if one.cached > other.cached:
        pairs["uncached prompt"] = one.prompt - one.cached, other.prompt - other.cached
    return tuple(Growth(name, *pair) for name, pair in pairs.items() if pair[1] > pair[0] * (1 + allowed))


def describe_changes(before: Footprint, after: Footprint) -> Iterator[str]:
    """Describe each call that changed: what it sends more, and less."""
    changes = [list(_describe_change(*pair)) for pair in pair_calls(before, after)]
    for lines in changes[:_MAX_CHANGED]:
        yield from lines
    if len(changes) > _MAX_CHANGED:
        yield f"... and {count_noun(len(changes) - _MAX_CHANGED, 'call')} more"


def pair_calls(before: Footprint, after: Footprint) -> Iterator[tuple[CallFootprint | None, CallFootprint | None]]:
    """Pair the calls that differ, first those of one name; None on the side where there is no counterpart."""
    left = _subtract(before, after)
    right = _subtract(after, before)
    for name in dict.fromkeys(call.name for call in left):
        ones = [call for call in left if call.name == name]
        others = [call for call in right if call.name == name]
        for one, other in zip(ones, others, strict=False):
            left.remove(one)
            right.remove(other)
            yield one, other
    yield from zip_longest(left, right)


def _subtract(calls: Footprint, others: Footprint) -> list[CallFootprint]:
    left = list[CallFootprint]()
    known = Counter(map(_freeze, others))
    for call in calls:
        if known[_freeze(call)]:
            known[_freeze(call)] -= 1
        else:
            left.append(call)
    return left


def _freeze(call: CallFootprint) -> str:
    return compact(msgspec.to_builtins(call))


def _describe_change(one: CallFootprint | None, other: CallFootprint | None) -> Iterator[str]:
    if one is None or other is None:
        sign, call = ("+", other) if one is None else ("-", one)
        assert call is not None  # one of a pair is there
        yield f"{sign} {call.name}: {Total.add_up([call])}"
        yield from (f"    {name}: {tokens}" for name, tokens in call.parts.items())
        return
    yield f"  {other.name}: prompt {one.prompt} -> {other.prompt}"
    for found in find_differences(asdict(one), asdict(other)):
        kept = found.path[0]
        step = join_to_line(str(found.path[-1]))
        if kept == "texts":
            yield from _describe_text(step, str(found.one), str(found.other)) if found.kind == "changed" else ()
        elif kept == "prompt":  # in the line above
            continue
        elif found.kind == "changed":
            yield f"    {step}: {found.one} -> {found.other}"
        else:
            sign, value = ("+", found.other) if found.kind == "added" else ("-", found.one)
            yield f"  {sign} {step}: {value}"


def _describe_text(part: str, one: str, other: str) -> Iterator[str]:
    lines = list(unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=1))[2:]
    yield f"    text of {part}:"
    yield from (f"      {join_to_line(line)}" for line in limit_lines(lines, _MAX_LINES))


# Prices.


class Price(Struct, frozen=True, forbid_unknown_fields=True):
    """What a million tokens cost; cached ones as much as the rest of the prompt unless stated."""

    prompt: float
    completion: float = 0.0
    cached: float | None = None

    def compute_cost(self, call: CallFootprint) -> float:
        """Return what a call costs; providers do not charge for failed ones."""
        if call.error:
            return 0.0
        cached = self.prompt if self.cached is None else self.cached
        fresh = call.prompt - call.cached
        return (fresh * self.prompt + call.cached * cached + call.completion * self.completion) / 1e6


Prices = Mapping[str, Price]  # by the names of models, with * as wildcard; the first that fits counts


def parse_prices(lines: Iterable[str]) -> dict[str, Price]:
    """Parse lines such as `gpt-4o*: prompt 2.50, cached 1.25, completion 10`. Raises ConfigError."""
    return dict(map(_parse_price, lines))


def _parse_price(line: str) -> tuple[str, Price]:
    model, _, text = line.rpartition(":")
    words = [part.split() for part in text.split(",")]
    try:
        return model.strip(), msgspec.convert({name: float(price) for name, price in words}, Price)
    except ValueError:
        example = "gpt-4o*: prompt 2.50, cached 1.25, completion 10"
        raise ConfigError(f"{line!r} is not a price; write prices per million tokens as {example}") from None


def find_unpriced(calls: Footprint, prices: Prices) -> Sequence[str]:
    """Return the models of calls that have no price."""
    return sorted({call.model for call in calls if _find_price(call, prices) is None})


def _find_price(call: CallFootprint, prices: Prices) -> Price | None:
    return next((price for name, price in prices.items() if fnmatchcase(call.model, name)), None)


def compute_cost(calls: Footprint, prices: Prices) -> float:
    """Return what calls cost, as far as their models have prices."""
    found = ((call, _find_price(call, prices)) for call in calls)
    return sum(price.compute_cost(call) for call, price in found if price is not None)


def write_totals(rows: Mapping[str, Footprint], prices: Prices) -> Iterator[str]:
    """Return a table with a row of totals for each name; with prices, also what they cost."""
    cells = [("", *Total.__struct_fields__, *(("cost",) if prices else ()))]
    for name, calls in rows.items():
        cost = (f"{compute_cost(calls, prices):.6f}",) if prices else ()
        cells.append((name, *map(str, asdict(Total.add_up(calls)).values()), *cost))
    yield from align_columns(cells, right=range(1, len(cells[0])))
