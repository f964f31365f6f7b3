"""What several commands share: a flag for every setting, and the rules files that they read."""

import os
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import click

from mockserver.config.errors import ConfigError, explain_file_error
from mockserver.config.settings import Settings
from mockserver.config.source import read_to_end
from mockserver.core.json import Json
from mockserver.server.sources import Sources

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT_RULES = Path("rules.yaml")

REPEATED = ("upstream", "scrub", "allow_secrets")  # settings whose flag is repeatable

# The sections of --help for commands that take every setting.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Server": (
        "host", "port", "tls_cert", "tls_key", "workers", "reload", "log", "cors", "allowed_hosts", "control_token",
        "inspector", "inspector_writes", "source_headers", "sockets",
    ),
    "Answers": (
        "unmatched", "lint", "seed", "clock", "ids", "tokenizer", "timing", "profiles", "background_polls",
        "webhook_url", "webhook_secret",
    ),
    "Provider": ("dialect", "hosts", "models", "known_models", "keys", "limits", "validation", "replay"),
    "Record and replay": (
        "cassette", "cassettes", "record", "record_errors", "upstream", "upstream_timeout",
        "match", "scrub", "allow_secrets", "replay_speed",
    ),
    "Memory": (
        "state", "stored_answers", "stored_bytes", "stored_files", "journal_calls", "journal_bytes",
        "max_body", "max_upload", "max_unsent",
    ),
}  # fmt: skip


class GroupedCommand(click.Command):
    """A command whose --help lists its own options first, then the settings in groups."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse a value of a flag that has none, where it would be taken for a rules file."""
        if any(isinstance(each, click.Argument) and each.name == "rules" for each in self.params):
            plain = [each for each in self.params if isinstance(each, click.Option) and each.is_flag]
            flags = {flag for option in plain for flag in (*option.opts, *option.secondary_opts)}
            for flag, word in pairwise(args):
                if flag in flags and word[:1] != "-" and not Path(word).suffix and not Path(word).exists():
                    raise click.BadOptionUsage(flag, f"Option '{flag}' does not take a value, such as {word!r}.", ctx)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        records = {each.name: each.get_help_record(ctx) for each in options}
        grouped = {name for names in GROUPS.values() for name in names}
        for title, names in {"Options": [name for name in records if name not in grouped], **GROUPS}.items():
            with formatter.section(title):
                formatter.write_dl([record for name in names if (record := records.get(name))])


_MEGA = 10**6

rules_argument = click.argument("rules", nargs=-1, type=click.Path(path_type=Path))
rules_option = click.option(
    "--rules", "-r", multiple=True, type=click.Path(path_type=Path), help=f"A rules file; repeatable [{DEFAULT_RULES}]."
)


def add_setting_flags(*names: str) -> Callable[[Command], Command]:
    """Return a flag for each of these settings, with the setting's description as its help."""

    def add(command: Command) -> Command:
        for name in reversed(names):
            command = _make_flag(name)(command)
        return command

    return add


def _make_flag(name: str) -> Callable[[Command], Command]:
    field = Settings.model_fields[name]
    spelled = name.replace("_", "-")
    if field.annotation in (bool, bool | None):
        return click.option(f"--{spelled}/--no-{spelled}", name, default=None, help=_describe(name), type=bool)
    choices = "|".join(dict.fromkeys(_find_choices(field.annotation))) or "…"
    more: dict[str, Any] = {"multiple": True, "callback": _unpack_one} if name in REPEATED else {}
    return click.option(f"--{spelled}", name, default=None, help=_describe(name), type=str, metavar=choices, **more)


def _describe(name: str) -> str:
    """Return the description of a setting with its default, unless it says that itself."""
    field = Settings.model_fields[name]
    default = field.json_schema_extra["default"] if isinstance(field.json_schema_extra, dict) else field.default
    if isinstance(default, bool):
        default = ("" if default else "no-") + name.replace("_", "-")
    elif isinstance(default, int) and default >= _MEGA:
        default = f"{default // _MEGA}MB"
    described = field.description or ""
    return f"{described} [{default}]" if isinstance(default, str | int | float) else described


def _find_choices(annotation: Any) -> tuple[str, ...]:
    """Return the words that a setting takes, if it takes only some; often a table too."""
    arguments = get_args(annotation)
    return (
        arguments if get_origin(annotation) is Literal else tuple(w for each in arguments for w in _find_choices(each))
    )


def _unpack_one(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> Json:
    return values[0] if len(values) == 1 else list(values) or None


def find_sources(rules: tuple[Path, ...], flags: Mapping[str, Json]) -> Sources:
    """Return the named files, else `rules.yaml` of the current folder if it exists, and the flags that were given."""
    files = rules or ((DEFAULT_RULES,) if DEFAULT_RULES.exists() else ())
    given = {name: value for name, value in flags.items() if value is not None}
    return Sources(files, given, os.environ)


def find_server_sources(rules: tuple[Path, ...], flags: Mapping[str, Json]) -> Sources:
    """Return what `find_sources` does, for a server on a free local port, whatever address the files name."""
    given = {name: value for name, value in flags.items() if value is not None}
    return find_sources(rules, {"host": "127.0.0.1", "port": 0, **given})


def read_text(path: str) -> str:
    """Return the text of a file, or of standard input for `-`. Raises ConfigError."""
    try:
        with click.open_file(path, "rb") as file:
            return read_to_end(file).decode("utf-8-sig")  # some editors of Windows begin with a mark
    except OSError as error:
        missing = "name a file with a request, or - for standard input"
        raise ConfigError(explain_file_error(path, "read", error, missing=missing)) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: cannot be read: it is not UTF-8 text; save it as UTF-8") from error
