"""Coverage as a value: every rule, step, branch and fault, where it stands and how often it was used."""

from collections.abc import Iterable
from dataclasses import dataclass

KINDS = {"rule": "rules", "step": "steps", "branch": "branches", "fault": "faults"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule, or a step, branch or fault of one: `path` says which, `rule` in which line its rule begins.

    `name` is that of the rule or of the fault, `text` the line as it stood there.
    """

    kind: str
    line: int
    column: int
    name: str
    hits: int
    path: str = ""
    text: str = ""
    rule: int = 0

    @property
    def label(self) -> str:
        """What it is, in few words: `rule weather`, `steps[1]`, `faults[0] cut`."""
        return " ".join(part for part in (self.path or self.kind, self.name) if part)


@dataclass(frozen=True, slots=True)
class Sum:
    """How many there are of something, and how many of them were used."""

    used: int
    all: int

    @property
    def percent(self) -> int:
        """Rounded down: 100 means all."""
        return 100 * self.used // self.all if self.all else 100


@dataclass(frozen=True, slots=True)
class File:
    """A file with its entries in order; `name` is how people know it, `declared`: it is a test's, not a rules file."""

    path: str
    name: str
    declared: bool
    entries: tuple[Entry, ...]

    @property
    def unused(self) -> tuple[Entry, ...]:
        """What was never used, without the parts of rules that never were themselves."""
        idle = {entry.rule for entry in self.entries if entry.kind == "rule" and not entry.hits}
        return tuple(each for each in self.entries if not each.hits and (each.kind == "rule" or each.rule not in idle))


@dataclass(frozen=True, slots=True)
class Coverage:
    """Files in order of their paths, those of tests behind the rules files."""

    files: tuple[File, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Those of all files."""
        return tuple(entry for file in self.files for entry in file.entries)

    @property
    def unused_rules(self) -> tuple[tuple[File, Entry], ...]:
        """The rules of rules files that were never used; those that tests declare are not among them."""
        return tuple(
            (file, entry) for file in self.files if not file.declared for entry in file.unused if entry.kind == "rule"
        )


def summed(entries: Iterable[Entry], kind: str | None = None) -> Sum:
    """Entries of one kind, or of all, summed up."""
    counted = [entry for entry in entries if kind in (None, entry.kind)]
    return Sum(sum(bool(entry.hits) for entry in counted), len(counted))
