"""Why no episode of a cassette answers a request: the nearest one, what differs from it, and what may be done."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from heapq import nsmallest

from mockserver.cassettes.differences import Difference, differences, lines, plain, shown
from mockserver.cassettes.library import Entry, Library
from mockserver.cassettes.matching import SAID, STREAM, Traits, view
from mockserver.cassettes.varying import varying
from mockserver.core.call import Call

_POOL = 16  # episodes that are read again, and compared field by field


def missed(library: Library, call: Call) -> str:
    """The report for people. Quick traits say which few episodes are looked at in full."""
    entries = library.entries
    if not entries:
        there = "only requests that their dialects refuse" if library.unread else "none"
        return f"no episode of {library.file} answers this request: it holds {there}; to {_RECORD}"
    wanted = library.traits(call)
    pool = nsmallest(_POOL, entries, key=lambda entry: (entry.traits.distance(wanted), entry.number))
    if all(entry.traits.operation != wanted.operation for entry in pool):
        held = ", ".join(dict.fromkeys(f"{entry.traits.dialect} {entry.traits.operation}" for entry in entries))
        return (
            f"no episode of {library.file} answers this request: it holds none of {wanted.dialect} {wanted.operation}, "
            f"only of {held}; to {_RECORD}"
        )
    alike = (entry for entry in pool if entry.traits.operation == wanted.operation)
    compared = [(entry, _found(library, entry, call, wanted)) for entry in alike]
    entry, found = min(compared, key=lambda each: (*_weight(each[0].traits, wanted, each[1]), each[0].number))
    return "\n".join(_told(library, entry, found))


def summary(library: Library, entry: Entry) -> str:
    """An episode in a line: `chat.yaml#3, recorded 2026-11-22: openai chat gpt-4o "What is the weather in Oslo?"`."""
    episode, call = entry.episode, library.read(entry.episode)
    said = "" if call is None else call.last_user
    when = f", recorded {datetime.fromtimestamp(episode.at, UTC):%Y-%m-%d}" if episode.at else ""
    about = (episode.dialect, episode.operation, plain(episode.model), said and shown(said))
    return f"{library.file}#{entry.number}{when}: {' '.join(filter(None, about))}"


def _told(library: Library, entry: Entry, found: Sequence[Difference]) -> Iterator[str]:
    yield f"no episode of {library.file} answers this request; the nearest:"
    yield f"  {summary(library, entry)}"
    yield from (f"    {line}" for line in lines(found))
    yield _advice(library, found)


def _found(library: Library, entry: Entry, call: Call, wanted: Traits) -> tuple[Difference, ...]:
    """All that differs: what is asked for and whether it is streamed, then field by field."""
    recorded = library.read(entry.episode)
    found = () if recorded is None else differences(view(recorded, library.match), view(call, library.match))
    if entry.traits.stream != wanted.stream:
        found = (Difference(STREAM, STREAM, _STREAMED[entry.traits.stream], _STREAMED[wanted.stream]), *found)
    if entry.traits.dialect != wanted.dialect:
        found = (Difference(_SPOKEN, _SPOKEN, entry.traits.dialect, wanted.dialect), *found)
    return found


def _weight(one: Traits, other: Traits, found: Sequence[Difference]) -> tuple[float, float]:
    """How far an episode is: by how much of it differs, then by how many places."""
    return one.distance(other), len(found)


def _advice(library: Library, found: Sequence[Difference]) -> str:
    """What may be done about it."""
    fields = tuple(dict.fromkeys(each.field for each in found))
    if fields == (STREAM,):
        name = library.file.removesuffix(".yaml")
        return f"one does not answer the other; `mockserver cassette rules {name}` makes rules that answer both"
    if fields and all(name in SAID for name in fields) and (pattern := _changing(found)):
        name = library.file.removesuffix(".yaml")
        return (
            f"if that changes with every run, leave it out: set scrub: [{{regex: '{pattern}'}}], and have it done to "
            f"what was recorded by `mockserver cassette scrub {name}`; to {_RECORD}"
        )
    also = tuple(name for name in fields if name in library.match.also)  # compared because somebody said so
    rest = tuple(name for name in fields if name not in also)
    if not fields or any(name in _TELLING for name in rest):
        return f"to {_RECORD}"
    taken = (f"take {_listed(also)} out of match: {{also: [...]}}",) if also else ()
    ignored = (f"set match: {{ignore: [{_listed(rest)}]}}",) if rest else ()
    return f"to ignore it, {' and '.join((*taken, *ignored))}; to {_RECORD}"


def _changing(found: Sequence[Difference]) -> str | None:
    """What finds the numbers, dates and ids in which alone the texts differ."""
    patterns = [_varying(each.recorded or "", each.asked or "") for each in found]
    told = dict.fromkeys(pattern for pattern in patterns if pattern)
    return "|".join(told) if all(patterns) else None


def _varying(one: str, other: str) -> str | None:
    """The same of two texts as they are shown: where these are cut or escaped, nobody knows what would find them."""
    pattern = None if any(sign in one + other for sign in ("\\", "…")) else varying(one, other)
    return pattern if pattern and re.sub(pattern, "", one) == re.sub(pattern, "", other) else None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(plain, names))


_RECORD = "record it, start with --record new_episodes"
_STREAMED = {True: "as a stream", False: "plain"}
_SPOKEN = "dialect"
# Fields that say too much of a request to be ignored.
_TELLING = frozenset(
    (*SAID, STREAM, _SPOKEN, "model", "tools", "tool_choice", "instructions", "response_format", "text")
)
