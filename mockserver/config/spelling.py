"""How settings are written where they are given: a message names a setting, the edge that its reader uses spells it."""

import json
from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from mockserver.core.json import Json


class Spelling(Protocol):
    """How those who started a server give it settings."""

    def name(self, setting: str) -> str:
        """Return what a setting is called, such as `--seed`."""

    def write(self, setting: str, value: Json) -> str:
        """Return a setting with a value, such as `--record once`, to be set or added."""


class _Flags(Struct, frozen=True):
    """The command line's: `--record once`, `--upstream openai=URL`, `--no-reload`."""

    def name(self, setting: str) -> str:
        return "--" + setting.replace("_", "-")

    def write(self, setting: str, value: Json) -> str:
        if isinstance(value, bool):
            return self.name(setting if value else f"no_{setting}")
        return " ".join(f"{self.name(setting)} {text}" for text in list_texts(value))


class _Keywords(Struct, frozen=True):
    """Python's: `record="once"`, `upstream={"openai": "URL"}`, `reload=False`."""

    def name(self, setting: str) -> str:
        return setting

    def write(self, setting: str, value: Json) -> str:
        return f"{setting}={value if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)}"


class ControlSpelling(Struct, frozen=True):
    """The control API's: a call chooses a cassette with `"record": "once"`; all else is set where the server starts."""

    server: Spelling

    def name(self, setting: str) -> str:
        return self.server.name(setting)

    def write(self, setting: str, value: Json) -> str:
        key = _CHOICE.get(setting)
        return self.server.write(setting, value) if key is None else f'"{key}": {json.dumps(value)}'


_CHOICE = {"cassette": "name", "record": "record"}  # keys of the body of PUT /api/cassette, by setting


def list_texts(value: Json) -> Sequence[str]:
    """Return the texts that stand for a value on a command line: `openai=URL` for each entry of a table."""
    if isinstance(value, Mapping):
        return [f"{name}={each}" for name, each in value.items()]
    return list(map(str, value)) if isinstance(value, list) else [str(value)]


FLAGS: Spelling = _Flags()
KEYWORDS: Spelling = _Keywords()
