"""Variables of the environment that are set for a while, and put back as they were."""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager


class Environs:
    """What stood in the environment before; `restore` puts it back, but for what somebody else has changed since."""

    def __init__(self) -> None:
        self._before: dict[str, str | None] = {}
        self._put: dict[str, str] = {}

    def put(self, variables: Mapping[str, str]) -> None:
        """Set these."""
        if self not in _AT_WORK:
            _AT_WORK.append(self)
        for name, value in variables.items():
            self._before.setdefault(name, os.environ.get(name))
            os.environ[name] = self._put[name] = value

    def restore(self) -> None:
        """Put back what stood there. If somebody else's change is undone later, it can be done again for what is left.

        monkeypatch may have found ours when it came, and puts that back when all is over.
        """
        if self in _AT_WORK:
            _AT_WORK.remove(self)
        for name in self._taken_from(os.environ):
            del self._before[name]

    def _taken_from(self, environ: MutableMapping[str, str]) -> list[str]:
        """Put back what stood there, in any environment; the names of what was ours."""
        ours = [name for name in self._before if environ.get(name) == self._put[name]]
        for name in ours:
            value = self._before[name]
            if value is None:
                del environ[name]
            else:
                environ[name] = value
        return ours


@contextmanager
def led(variables: Mapping[str, str]) -> Iterator[None]:
    """Set these as long as it lasts."""
    environs = Environs()
    environs.put(variables)
    try:
        yield
    finally:
        environs.restore()


def without_ours() -> Mapping[str, str]:
    """The environment as it is but for what is set for a while."""
    if not _AT_WORK:
        return os.environ
    environ = dict(os.environ)
    for environs in reversed(_AT_WORK):
        environs._taken_from(environ)
    return environ


_AT_WORK: list[Environs] = []  # what has been put and is not restored yet, the latest last
