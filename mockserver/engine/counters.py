"""What is counted in a namespace, and what each counter is called in its store. Who counts goes by these names.

Knows nothing of when anything is counted.
"""

from collections.abc import Iterable, Iterator

from mockserver.core.call import Call

STATE = "state"  # where the scenario stands; the one value that is no number
TIMES, ATTEMPT = "times ", "attempt "  # what names of counters begin with


def times(rule: str) -> str:
    """How often a rule has answered that does so `times` often."""
    return TIMES + rule


def attempts(call: Call) -> str:
    """How often a call of this meaning has come."""
    return f"{ATTEMPT}{call.fingerprint} {call.stream}"


def befallen(rule: str, label: str) -> str:
    """How many calls a fault of a rule has befallen that does so `times` often; its label is its path in the rule."""
    return f"fault {rule} {label}"


def ids(call: Call) -> str:
    """How many answers a call of this meaning got, where no two may have the same id."""
    return f"ids {call.fingerprint}"


def episodes(cassette: str, key: str) -> str:
    """How often a request of this key has been answered by a cassette that holds several answers to it."""
    return f"episodes {cassette} {key}"


def of_rule(rule: str, names: Iterable[str]) -> Iterator[str]:
    """Those of the names that count something of this rule."""
    own, faults = times(rule), befallen(rule, "then/")
    return (name for name in names if name == own or name.startswith(faults))
