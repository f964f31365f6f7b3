"""What several commands share: the rules files they read, and a flag for every setting."""

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

REPEATED = ("upstream", "scrub", "allow_secrets")  # settings whose flag may stand several times, for one more each

rules_argument = click.argument("rules", nargs=-1, type=click.Path(path_type=Path))
rules_option = click.option(
    "--rules", "-r", multiple=True, type=click.Path(path_type=Path), help=f"A rules file; repeatable [{DEFAULT_RULES}]."
)


def setting_flags(*names: str) -> Callable[[Command], Command]:
    """A flag for each of these settings, with the setting's own description as its help."""

    def add(command: Command) -> Command:
        for name in reversed(names):
            command = _flag(name)(command)
        return command

    return add


def _flag(name: str) -> Callable[[Command], Command]:
    field = Settings.model_fields[name]
    spelled = name.replace("_", "-")
    is_switch = field.annotation in (bool, bool | None)
    switch = f"--{spelled}/--no-{spelled}" if is_switch else f"--{spelled}"
    kind: dict[str, Any] = {"type": bool} if is_switch else {"type": str, "metavar": _words(field.annotation) or "…"}
    if name in REPEATED:
        kind |= {"multiple": True, "callback": _given}
    return click.option(switch, name, default=None, help=field.description, **kind)


def _given(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> Json:
    """What was given once as it is, what was given several times as a list; nothing as None."""
    return values[0] if len(values) == 1 else list(values) or None


def _words(annotation: Any) -> str:
    """The words that a flag takes, where it takes a few."""
    return "|".join(get_args(annotation)) if get_origin(annotation) is Literal else ""


def sources(rules: tuple[Path, ...], flags: Mapping[str, Json]) -> Sources:
    """The named files, else `rules.yaml` of this folder if there is one; flags that were not given fall away."""
    files = rules or ((DEFAULT_RULES,) if DEFAULT_RULES.exists() else ())
    given = {name: value for name, value in flags.items() if value is not None}
    return Sources(files, given, os.environ)


def text_of(path: str) -> str:
    """A file's text, `-` being standard input. Raises ConfigError."""
    try:
        with click.open_file(path, encoding="utf-8") as file:
            return str(file.read())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"{path}: cannot be read: {reason}") from error
