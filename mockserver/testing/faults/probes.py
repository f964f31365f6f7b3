"""What a program is put through, one at a time: a fault at a position, or an error."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mockserver.core.call import Json
from mockserver.core.errors import ConfigError, Mistake, Place
from mockserver.core.faults import POSITIONS, options
from mockserver.delivery.faults import FAULTS
from mockserver.engine.answer_faults import ANSWER_FAULTS
from mockserver.engine.rules import Rule
from mockserver.positions import Document
from mockserver.server.live import compiled

Stated = str | int | Mapping[str, Any]  # cut, "cut@after_tokens=3", "error=429", {"cut": {"after_tokens": 3}}


@dataclass(frozen=True, slots=True)
class Probe:
    """A fault (or `error`) under a name, what a rule's `then` says of it, and the rule; intact has none.

    `at` is its place among all.
    """

    name: str
    kind: str
    then: Mapping[str, Json]
    rule: Rule | None = None
    at: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """Which probes there are to be; nothing said: the usual ones.

    `positions` take the place of the usual ones, for the faults that can have them. Each probe befalls so many `times`
    calls (None: all) of those that are as `when` says.
    """

    faults: Sequence[Stated] = ()
    positions: Sequence[str | Mapping[str, Any]] = ()
    errors: Sequence[Stated] | None = None
    retry_after: float | str | None = 1
    times: int | None = 1
    when: Mapping[str, Json] | None = None

    def probes(self, place: Place) -> tuple[Probe, ...]:
        """First the one without a fault, then the errors, then the faults. Raises ConfigError for what stands there."""
        usual = not self.faults and self.errors is None
        errors = ERRORS if usual else self.errors or ()
        faults = self.faults if self.faults or not usual else tuple(USUAL)
        try:
            made = [*map(self._error, errors), *(probe for stated in faults for probe in self._spread(stated))]
        except ValueError as error:
            raise ConfigError(Mistake(str(error), place)) from None
        unique = {probe.name: probe for probe in made}
        return (INTACT, *self._ruled(tuple(unique.values()), place))

    def _ruled(self, probes: Sequence[Probe], place: Place) -> Iterator[Probe]:
        beside = {"when": dict(self.when or {}), **({} if self.times is None else {"times": self.times})}
        rules = [{"name": probe.name, **beside, "then": probe.then} for probe in probes]
        ready = compiled((Document.at({"rules": rules}, place),), None)
        pairs = enumerate(zip(probes, ready, strict=True), 1)
        return (replace(probe, rule=rule, at=at) for at, (probe, rule) in pairs)

    def _error(self, stated: Stated) -> Probe:
        """An error, with Retry-After where that goes with it."""
        if isinstance(stated, Mapping):
            return Probe(f"error={stated.get('status', stated.get('reason', '?'))}", "error", {"error": dict(stated)})
        said = _scalar(str(stated).removeprefix("error="))
        later = {"retry_after": self.retry_after} if said in _LATER and self.retry_after is not None else {}
        return Probe(f"error={said}", "error", {"error": said, **later})

    def _spread(self, stated: Stated) -> Iterator[Probe]:
        """A fault as it is stated, or at each of its positions where none is."""
        if isinstance(stated, int) or str(stated).startswith("error="):
            yield self._error(stated)
            return
        name, table = _read(stated)
        if table or name not in _ALL:
            yield _fault(name, table)
            return
        places = [place for place in map(_place, self.positions) if _takes(name, place)]
        for usual in places or USUAL.get(name, ({},)):
            yield _fault(name, usual)


def _fault(name: str, table: Mapping[str, Json]) -> Probe:
    told = ",".join(key if value is True else f"{key}={value}" for key, value in table.items())
    return Probe(f"{name}@{told}" if told else name, name, {"faults": [{name: dict(table)} if table else name]})


def _read(stated: str | Mapping[str, Any]) -> tuple[str, Mapping[str, Json]]:
    """The name of a fault and its table. Raises ValueError."""
    if isinstance(stated, str):
        name, _, rest = stated.partition("@")
        return name.strip(), dict(map(_option, rest.split(","))) if rest else {}
    if isinstance(stated, Mapping) and len(stated) == 1:
        ((name, table),) = stated.items()
        if isinstance(name, str) and isinstance(table, Mapping):
            return name, table
    raise ValueError(f'a fault is a name, "cut@after_tokens=3" or {{"cut": {{"after_tokens": 3}}}}, not {stated!r}')


def _option(text: str) -> tuple[str, Json]:
    key, equals, value = text.partition("=")
    return key.strip(), _scalar(value) if equals else True


def _place(stated: str | Mapping[str, Any]) -> Mapping[str, Json]:
    return dict([_option(stated)]) if isinstance(stated, str) else stated


def _takes(name: str, place: Mapping[str, Json]) -> bool:
    """Whether a fault can befall an answer there; what is no position at all is let pass, for the rule to refuse."""
    told = next((each.among for each in options(_ALL[name]) if each.kind == "position"), ())
    return all(key in told or (key not in POSITIONS and told) for key in place)


def _scalar(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text.strip()


INTACT = Probe("intact", "intact", {})
ERRORS = (429, 500, 503)
_LATER = (429, "rate_limit")  # what comes with Retry-After
_ALL: Mapping[str, Any] = {**FAULTS, **ANSWER_FAULTS}

# The usual faults, each where it tells most. What no network and no provider does (events twice or in another order) is
# not among them.
USUAL: Mapping[str, Sequence[Mapping[str, Json]]] = {
    "stall": ({"at_start": True}, {"after_tokens": 1}),
    "disconnect": ({"at_start": True}, {"after_tokens": 1}),
    "reset": ({"at_start": True}, {"after_tokens": 1}),
    "cut": ({"after_tokens": 1}, {"before_done": True}, {"in_tool_arguments": True}),
    "empty_body": ({},),
    "error_event": ({"after_tokens": 1},),
    "malformed_json": ({"after_tokens": 1},),
    "wrong_content_type": ({},),
    "wrong_content_length": ({},),
    "slow": ({"bytes_per_second": 10_000},),
    "keepalive": ({},),
    "crlf": ({},),
    "split_frame": ({},),
    "split_utf8": ({},),
    "join_frames": ({},),
    "missing_field": ({},),
    "drop_usage": ({},),
    "bad_tool_arguments": ({},),
    "unknown_tool": ({},),
}
