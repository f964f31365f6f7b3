"""Variables of the environment that are set for a while, and put back as they were."""

import os
from collections.abc import Mapping


class Environs:
    """What stood in the environment before; `restore` puts it back, but for what somebody else has changed since."""

    def __init__(self) -> None:
        self._before: dict[str, str | None] = {}
        self._put: dict[str, str] = {}

    def put(self, variables: Mapping[str, str]) -> None:
        """Set these."""
        for name, value in variables.items():
            self._before.setdefault(name, os.environ.get(name))
            os.environ[name] = self._put[name] = value

    def restore(self) -> None:
        """Put back what stood there."""
        for name, value in self._before.items():
            if os.environ.get(name) != self._put[name]:
                continue
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        self._before.clear()
        self._put.clear()
