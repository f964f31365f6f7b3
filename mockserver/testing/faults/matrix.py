"""What a fault matrix is told: by a marker, or on the command line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from mockserver.core.errors import ConfigError, Mistake, Place
from mockserver.positions import did_you_mean
from mockserver.reports.faults import BAD, OUTCOMES
from mockserver.testing.faults.judging import Standard
from mockserver.testing.faults.probes import Choice, Probe, Stated
from mockserver.testing.options import table
from mockserver.units import seconds

LIMIT = 10.0  # seconds
Wanted = str | type[BaseException]


class Options(TypedDict, total=False):
    """What can be said of a matrix beside its faults. One alone may stand for a list of one."""

    positions: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
    errors: Stated | Sequence[Stated] | None
    retry_after: float | str | None
    times: int | None
    when: Mapping[str, Any] | None
    limit: float | str
    expect: Mapping[str | int, Wanted | Sequence[Wanted]]
    allow: str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The probes, how many seconds each run may take, and what is held against a program."""

    probes: tuple[Probe, ...]
    limit: float
    standard: Standard

    @classmethod
    def of(cls, place: Place, *faults: Stated, **options: Unpack[Options]) -> "Matrix":
        """The matrix that is stated at a place. Raises MockserverError with what is wrong there."""
        stated: dict[str, Any] = {**options}
        unknown = next((name for name in stated if name not in Options.__annotations__), None)
        if unknown is not None:
            hint = did_you_mean(unknown, Options.__annotations__)
            raise ConfigError(Mistake(f'a fault matrix has no option "{unknown}"{hint}', place))
        limit, allow = stated.pop("limit", None), _listed(stated.pop("allow", None) or ())
        stated |= {name: _listed(stated[name]) for name in ("positions", "errors") if stated.get(name) is not None}
        try:
            expect, when = (_table(name, stated.pop(name, None)) for name in ("expect", "when"))
            probes = Choice(faults, when=None if when is None else table(when), **stated).probes(place)
            held = Standard(_expected(expect or {}, probes), _allowed(allow))
            return cls(probes, LIMIT if limit is None else _limit(limit), held)
        except ValueError as error:
            raise ConfigError(Mistake(str(error), place)) from None


def _table(name: str, stated: Any) -> Mapping[Any, Any] | None:
    if stated is None or isinstance(stated, Mapping):
        return stated
    raise ValueError(f"{name} is a table, not {stated!r}")


def _limit(stated: float | str) -> float:
    if limit := seconds(stated):
        return limit
    raise ValueError("limit: a run takes longer than 0 s")


def _expected(stated: Mapping[Any, Any], probes: Sequence[Probe]) -> Mapping[str, tuple[str, ...]]:
    """What is expected, by the name of a probe or of its fault."""
    known, found = {name for probe in probes for name in (probe.name, probe.kind)}, {}
    for key, wanted in stated.items():
        name = f"error={key}" if f"error={key}" in known else str(key)
        if name not in known:
            raise ValueError(f'expect: the matrix has no fault "{name}"{did_you_mean(name, known)}')
        found[name] = tuple(map(_name, _listed(wanted)))
        for each in found[name]:
            if each.islower() and each not in OUTCOMES:  # names of errors begin with a capital
                raise ValueError(f'expect: there is no outcome "{each}"{did_you_mean(each, OUTCOMES)}')
    return found


def _name(wanted: Any) -> str:
    if isinstance(wanted, str | type):
        return wanted if isinstance(wanted, str) else wanted.__name__
    raise ValueError(f"expect: an outcome or an error is wanted, not {wanted!r}")


def _allowed(words: Sequence[str]) -> tuple[str, ...]:
    for word in words:
        if word not in BAD:
            raise ValueError(f'allow: "{word}" is not among what is bad: {", ".join(BAD)}')
    return tuple(words)


def _listed(stated: Any) -> Sequence[Any]:
    alone = isinstance(stated, str | Mapping) or not isinstance(stated, Iterable)
    return [stated] if alone else list(stated)
