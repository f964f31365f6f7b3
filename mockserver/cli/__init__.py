"""The command line: `mockserver COMMAND`."""

import atexit
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NamedTuple

import click
from click.exceptions import NoArgsIsHelpError

from mockserver import __version__
from mockserver.config.errors import MockserverError
from mockserver.config.source import suggest


class LazyCommand(NamedTuple):
    """The module of a command, which has a function `NAME_command`, and its help."""

    module: str
    help: str


class LazyGroup(click.Group):
    """Commands whose modules, all in one `package`, are imported when they are called: this keeps the start quick."""

    def __init__(self, *args: Any, table: Mapping[str, LazyCommand], package: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self.table = table
        self.package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module = import_module(f"{self.package}.{self.table[cmd_name].module}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.table and not args[0].startswith("-"):
            alike = _ALIKE.get(args[0].lower(), ())
            meant = next((command for command in alike if command.split()[0] in self.table), None)
            hint = f'; did you mean "{meant}"?' if meant else suggest(args[0], self.table)
            raise click.UsageError(f'unknown command "{args[0]}"{hint}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in self.table.items()])


# The commands that do what other programs call so; the first that a group has is meant.
_ALIKE: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("lint", "validate", "verify", "check", "test"), ("check", "verify")),
    **dict.fromkeys(("start", "up", "server", "dev"), ("serve",)),
    **dict.fromkeys(("record", "proxy"), ("serve --record new_episodes --cassette NAME",)),
    **dict.fromkeys(("replay", "play"), ("serve --cassette NAME",)),
    **dict.fromkeys(("ls", "all"), ("list",)),
    **dict.fromkeys(("cat", "view", "print", "get"), ("show",)),
    **dict.fromkeys(("rm", "delete", "remove", "clean"), ("prune",)),
    **dict.fromkeys(("update", "rerecord", "re-record"), ("refresh",)),
    "redact": ("scrub",),
    **dict.fromkeys(("new", "create", "setup"), ("init",)),
    **dict.fromkeys(("chat", "query", "send", "curl"), ("ask",)),
    **dict.fromkeys(("cassettes", "recordings"), ("cassette",)),
    **dict.fromkeys(("exec", "agent"), ("run",)),
    "why": ("explain",),
}


def resume_collection() -> None:
    """Collect garbage again, in a command that goes on; what it has imported is never searched."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


COMMANDS: Mapping[str, LazyCommand] = {
    "serve": LazyCommand("serve", "Start a server; stop it with Ctrl-C."),
    "run": LazyCommand("run", "Run a program against a server of its own, and report its calls."),
    "env": LazyCommand("env", "Print the variables with which a coding agent reaches a running server."),
    "faults": LazyCommand("faults", "Run a program once per fault, and show how it copes."),
    "check": LazyCommand(
        "rules_file",
        "Find mistakes in rules files, unreachable rules, and rules that depend on the order of calls.",
    ),
    "explain": LazyCommand("ask", "Show which rule answers a request, and why the others do not."),
    "ask": LazyCommand("ask", "Send one request without a server, and print the answer."),
    "mcp": LazyCommand("mcp", "Serve an MCP server on standard input and output; record, copy and configure servers."),
    "schema": LazyCommand("rules_file", "Print the JSON Schema of rules files, for editors."),
    "cassette": LazyCommand("cassette", "Manage recordings: list, show, verify, import, export, ..."),
    "init": LazyCommand("rules_file", "Write a commented rules.yaml to start from."),
}


@click.command(
    cls=LazyGroup, table=COMMANDS, package=__name__, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="mockserver")
def commands() -> None:
    """A deterministic mock server for LLM APIs: offline, free and instant."""


def _choose_encoding(stream: TextIOWrapper) -> str | None:
    """Return UTF-8 for files and pipes of Windows, whose own encoding the commands that read them do not know."""
    is_free = sys.platform == "win32" and not stream.isatty() and "PYTHONIOENCODING" not in os.environ
    return "utf-8" if is_free else None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. A mistake of the user is a line on stderr, or two with how it is called, and exit code 2."""
    if arguments is None:  # run as a program: what it imports stays, so the collector never looks at it
        gc.disable()
        atexit.register(gc.freeze)
        for stream in sys.stdout, sys.stderr:
            if isinstance(stream, TextIOWrapper) and stream.errors != "backslashreplace":
                with suppress(OSError):  # a pipe may have taken the place of a file
                    stream.reconfigure(encoding=_choose_encoding(stream), errors="backslashreplace")
        if not {"run", "faults"} & set(sys.argv[1:2]):  # they start programs, which inherit the environment
            os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # else it searches all installed packages for some
    try:
        code = commands.main(args=arguments, prog_name="mockserver", standalone_mode=False)
    except NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        _fail(error.format_message() + _advise(error), _show_usage(error))
    except click.ClickException as error:
        _fail(error.format_message())
    except MockserverError as error:
        first = error.mistakes[0]
        more = len(error.mistakes) - 1
        all_are = "; mockserver check shows them all" if first.place else ""  # else it is not in a file
        _fail(f"{first}" + (f"  (and {more} more{all_are})" if more else ""))
    except OSError as error:  # such as a full disk behind standard output
        _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)


def _advise(error: click.UsageError) -> str:
    """Say what to do with words that belong elsewhere: rules files, the rest of a text, the number of an episode."""
    if isinstance(error, click.BadOptionUsage) and "does not take a value" in error.message:
        name = error.option_name.removeprefix("--").removeprefix("no-")
        return f" Write --{name} or --no-{name}."
    if error.ctx is None:
        return ""
    command = error.ctx.command
    rules = next((each for each in command.params if each.name == "rules"), None)
    if isinstance(rules, click.Argument) and getattr(error, "option_name", "") in ("-r", "--rules"):
        return " Name rules files without it, as arguments."
    if "unexpected extra" not in error.message:
        return ""
    if isinstance(rules, click.Option) and ".yaml" in error.message:
        return ". Rules files follow -r."
    taken = [each.make_metavar(error.ctx) for each in command.params if isinstance(each, click.Argument)]
    return _SURPLUS.get(" ".join(taken), "")


# What to do with several words, by the arguments that a command takes.
_SURPLUS = {
    "TEXT": ". Put a text of several words in quotes.",
    "NAME[#N]": ". The number of an episode follows the name: weather#3.",
}


def _show_usage(error: click.UsageError) -> str:
    """Return how a command is called, with the options that it needs; empty where the message says what to write."""
    is_wrong_value = isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter)
    if error.ctx is None or is_wrong_value:
        return ""
    call = error.ctx.command_path
    for each in error.ctx.command.params:
        if isinstance(each, click.Option) and each.required:
            call += f" {each.opts[0]} {each.make_metavar(error.ctx)}"
    pieces = " ".join(error.ctx.command.collect_usage_pieces(error.ctx))
    return f"Usage: {call} {pieces}  ({error.ctx.command_path} --help explains it)"


def _fail(message: str, usage: str = "") -> None:
    click.echo("mockserver: " + " ".join(map(str.strip, message.splitlines())), err=True)
    if usage:
        click.echo(usage, err=True)
    sys.exit(2)
