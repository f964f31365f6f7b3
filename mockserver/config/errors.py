"""Errors in what the user wrote: what is wrong, where, and what to do next."""

import errno
from collections.abc import Mapping

from msgspec import Struct


class SourceLocation(Struct, frozen=True):
    """A place in a file: 1-based line and column, and the text of that line."""

    file: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


class Mistake(Struct, frozen=True):
    """One mistake, and its place if it is in a file."""

    message: str
    place: SourceLocation | None = None

    def __str__(self) -> str:
        if self.place is None:
            return self.message
        shown = self.place.text.strip()
        return f"{self.place}: {self.message}" + (f"  [{shown}]" if shown else "")

    def render(self) -> str:
        """Return the message, the line of the file below it, and a caret under the column."""
        if self.place is None or not self.place.text:
            return str(self)
        gutter = f"{self.place.line:>5} | "
        caret = " " * (len(gutter) - 2) + "| " + " " * (self.place.column - 1) + "^"
        return f"{self.place}: {self.message}\n{gutter}{self.place.text}\n{caret}"


class MockserverError(Exception):
    """An error that the user can fix; `mistakes` lists everything that was found."""

    def __init__(self, *mistakes: Mistake | str) -> None:
        self.mistakes = tuple(Mistake(m) if isinstance(m, str) else m for m in mistakes)
        super().__init__("\n".join(str(m) for m in self.mistakes))


class ConfigError(MockserverError):
    """An invalid setting, flag or environment variable."""


def explain_extra(name: str) -> str:
    """Say how an extra of this distribution is installed."""
    return f'install the extra "{name}": pip install "mockserver-llm[{name}]", in a checkout ".[{name}]"'


def explain_file_error(path: object, doing: str, error: OSError, *, missing: str = "check its path") -> str:
    """Say that a file cannot be `read` or `written`, why, and what to do; `missing` is the latter if there is none."""
    if error.errno == errno.ENOENT:
        advice = missing if doing == "read" else "create its folder first"
    else:
        advice = _ADVICE.get(error.errno or 0, "")
    return f"{path or repr(str(path))}: cannot be {doing}: {error.strerror or error}" + (advice and f"; {advice}")


_ADVICE: Mapping[int, str] = {
    errno.EISDIR: "name a file in this folder",
    errno.ENOTDIR: "name a folder that is none of its files",
    errno.EACCES: "change its permissions, or name another file",
    errno.ENOSPC: "make room on the disk",
}


class RuleError(MockserverError):
    """A rules file that cannot be loaded, or a rule that fails while it is matched."""


class CassetteError(MockserverError):
    """A cassette that cannot be read or written, or an invalid name of one."""
