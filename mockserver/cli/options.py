"""What several commands share: a flag for every setting, and the rules files that they read."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import click

from mockserver.config.errors import ConfigError
from mockserver.config.settings import Settings
from mockserver.core.json import Json
from mockserver.server.live import Sources

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT_RULES = Path("rules.yaml")

REPEATED = ("upstream", "scrub", "allow_secrets")  # settings whose flag is repeatable

rules_argument = click.argument("rules", nargs=-1, type=click.Path(path_type=Path))
rules_option = click.option(
    "--rules", "-r", multiple=True, type=click.Path(path_type=Path), help=f"A rules file; repeatable [{DEFAULT_RULES}]."
)


def setting_flags(*names: str) -> Callable[[Command], Command]:
    """A flag for each of these settings, with the setting's description as its help."""

    def add(command: Command) -> Command:
        for name in reversed(names):
            command = _flag(name)(command)
        return command

    return add


def _flag(name: str) -> Callable[[Command], Command]:
    field = Settings.model_fields[name]
    spelled = name.replace("_", "-")
    if field.annotation in (bool, bool | None):
        return click.option(f"--{spelled}/--no-{spelled}", name, default=None, help=field.description, type=bool)
    choices = "|".join(get_args(field.annotation)) if get_origin(field.annotation) is Literal else "…"
    more: dict[str, Any] = {"multiple": True, "callback": _one_or_several} if name in REPEATED else {}
    return click.option(f"--{spelled}", name, default=None, help=field.description, type=str, metavar=choices, **more)


def _one_or_several(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> Json:
    return values[0] if len(values) == 1 else list(values) or None


def sources(rules: tuple[Path, ...], flags: Mapping[str, Json]) -> Sources:
    """The named files, else `rules.yaml` of the current folder if it exists, and the flags that were given."""
    files = rules or ((DEFAULT_RULES,) if DEFAULT_RULES.exists() else ())
    given = {name: value for name, value in flags.items() if value is not None}
    return Sources(files, given, os.environ)


def server_sources(rules: tuple[Path, ...], flags: Mapping[str, Json]) -> Sources:
    """The same for a server on a free local port, whatever address the files name: a server may be running there."""
    given = {name: value for name, value in flags.items() if value is not None}
    return sources(rules, {"host": "127.0.0.1", "port": 0, **given})


def text_of(path: str) -> str:
    try:
        with click.open_file(path, encoding="utf-8") as file:
            return str(file.read())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"{path}: cannot be read: {reason}") from error
