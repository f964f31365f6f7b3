"""What an assertion wants of a call, in the words of a rule's `when`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mockserver.core.call import Call, Json
from mockserver.core.errors import ConfigError, Mistake
from mockserver.core.exchange import Finding
from mockserver.engine.when.conditions import Condition
from mockserver.engine.when.matchers import compile_when
from mockserver.positions import Path
from mockserver.testing.options import table
from mockserver.testing.places import caller

__tracebackhide__ = True  # pytest shows the line of the test instead


@dataclass(frozen=True, slots=True)
class Wanted:
    """A condition, and how it was written."""

    condition: Condition
    when: Mapping[str, Any]

    def fits(self, call: Call | None) -> bool:
        """Whether a call is so; one that was not read is not."""
        return call is not None and self.condition.holds(call) is not None

    def findings(self, call: Call) -> tuple[Finding, ...]:
        """What of it holds for a call, and what does not."""
        return self.condition.findings(call)


def wanted(when: Mapping[str, Any]) -> Wanted:
    """The condition that keywords state. Raises ConfigError with the line of the test that they stand in."""
    spec: dict[str, Json] = table(when)
    mistakes = list[Mistake]()

    def report(message: str, path: Path) -> None:
        mistakes.append(Mistake(message, caller()))

    condition = compile_when(spec, report)
    if mistakes:
        raise ConfigError(*mistakes)
    return Wanted(condition, spec)
