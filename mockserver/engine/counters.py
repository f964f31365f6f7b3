"""What is counted in a namespace: the calls of rules, scenarios, faults, and the attempts of clients."""

import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct, field

from mockserver.core.call import Call
from mockserver.core.http import find_first_values
from mockserver.core.row import Row
from mockserver.core.state import Counters, name_times_counter
from mockserver.rules.load import Rule

ATTEMPT = "attempt "  # prefix of counter names
MAX_AHEAD = 100  # rules that count and are matched before any of them is counted


def name_attempts_counter(call: Call) -> str:
    """Return the counter of attempts of a call."""
    return f"{ATTEMPT}{call.fingerprint} {call.stream}"


def name_fault_counter(rule: str, label: str) -> str:
    """Return the counter of a fault with `times`; its label is its path in the rule."""
    return f"fault {rule} {label}"


def name_ids_counter(call: Call) -> str:
    """Return the counter that makes the ids of equal calls unique."""
    return f"ids {call.fingerprint}"


def name_episodes_counter(cassette: str, key: str) -> str:
    """Return the counter of replays for a request that a cassette answers several times."""
    return f"episodes {cassette} {key}"


def select_counters(rule: str, names: Iterable[str]) -> Iterator[str]:
    """Yield those of the names that are counters of a rule or of its faults."""
    own = name_times_counter(rule)
    faults = name_fault_counter(rule, "then/")
    return (name for name in names if name == own or name.startswith(faults))


class ScenarioState(Struct):
    """The scenario of a namespace, as one request sees it: changes take effect with the next request."""

    namespace: str
    counters: Counters
    _found: str | None = None  # the state before this request changed it
    _verdicts: deque[bool] = field(default_factory=deque)  # on the rules that are asked about next

    async def allows(self, rule: Rule, following: Iterable[Rule]) -> bool:
        """Return whether the next rule that counts may answer, which is counted then.

        It is tried in one step with those `following`, up to the first that may answer: they are asked about in turn.
        """
        if not self._verdicts:
            rules = [rule, *islice(following, MAX_AHEAD - 1)]
            at = await self.find_open(rules)
            self._verdicts.extend([False] * len(rules) if at is None else [*[False] * at, True])
        return self._verdicts.popleft()

    async def find_open(self, rules: Sequence[Rule]) -> int | None:
        """Return the index of the first rule that may answer, by `times` and `state`; count those that are tried."""
        preconditions = [rule.precondition for rule in rules]
        index = await self.counters.open(self.namespace, preconditions, self._found)
        if index is not None and preconditions[index].becomes is not None:
            self._found = preconditions[index].state
        return index


RETRIES = "x-stainless-retry-count"  # OpenAI's clients send the number of retries
_RETRIES = RETRIES.encode()
_AWS_ATTEMPT = b"amz-sdk-request"  # AWS's clients send `attempt=2; max=3`
_STATED = re.compile(rb"attempt=([0-9]{1,3})(?![0-9])")


async def count_attempt(call: Call, counters: Counters) -> int:
    """Return which attempt a call is, from 1: by its client's retry header, else by counting calls that are equal."""
    stated = _read_stated(call.http.header_values)
    return await counters.count(call.http.namespace, name_attempts_counter(call)) if stated is None else stated


def find_next_attempt(call: Call, entries: Mapping[str, str]) -> int:
    """Return which attempt a call would be, without counting it."""
    stated = _read_stated(call.http.header_values)
    return int(entries.get(name_attempts_counter(call), 0)) + 1 if stated is None else stated


class ClientAttempt(NamedTuple):
    """Which attempt a call is, from 1, and the number of the call that was the first, if there is one before it."""

    number: int = 1
    first: int | None = None


class Attempts:
    """Finds which attempt each call of a journal is, by its client's retry header or the equal requests before it."""

    def __init__(self) -> None:
        self._forget()

    def update(self, rows: Sequence[Row]) -> None:
        """Count the calls that are new; all of them if calls were deleted, or a request is complete only now."""
        late = any(_is_complete(row) for row in self._incomplete)
        if late or not rows or rows[0].seq > self._last or len(self._counts) > 4 * len(rows) + 1_000:
            self._forget()
        for row in rows[bisect_right(rows, self._last, key=attrgetter("seq")) :]:
            self._count(row)

    def _forget(self) -> None:
        self.found: dict[int, ClientAttempt] = {}  # by the number of the call
        self._counts = Counter[int]()
        self._firsts = dict[int, int]()
        self._last = 0
        self._incomplete = list[Row]()

    def _count(self, row: Row) -> None:
        self._last = row.seq
        same = hash((row.namespace, row.method, row.path, row.query, row.body))
        self._counts[same] += 1
        attempt = read_attempt(row) or self._counts[same]
        if attempt == 1:
            self._firsts[same] = row.seq
        self.found[row.seq] = ClientAttempt(attempt, self._firsts.get(same) if attempt > 1 else None)
        if not _is_complete(row):
            self._incomplete.append(row)


def _is_complete(row: Row) -> bool:
    return bool(row.ended or row.received) or row.asked is not None


def read_attempt(row: Row) -> int | None:
    """Return which attempt a call is by its client's retry header, or None."""
    return _read_stated(find_first_values(row.headers))


def _read_stated(fields: Mapping[bytes, bytes]) -> int | None:
    """Return the attempt that the headers of a request state, or None."""
    if (retries := fields.get(_RETRIES)) is not None:
        return parse_attempt(retries.decode("latin-1"))
    found = _STATED.search(fields[_AWS_ATTEMPT]) if _AWS_ATTEMPT in fields else None
    return int(found[1]) if found else None


def parse_attempt(retries: str | None) -> int | None:
    """Return the attempt for a number of retries, as clients state that; None if it is not a number."""
    return int(retries) + 1 if retries is not None and retries.isdecimal() and len(retries) < 4 else None
