"""Tables of what programs call: the control API, the command line, the plugin of pytest, the classes of `testing`."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from mockserver.cli import COMMANDS, commands
from mockserver.config.settings import Settings
from mockserver.core.http import CONTROL
from mockserver.pytest_plugin import pytest_addoption
from mockserver.pytest_plugin.configuration import MARK_KEYS
from mockserver.reports.calls import ReceivedCall
from mockserver.server.control import calls
from mockserver.testing import Declared, MockServer
from mockserver.testing.assertions import Assertions
from tests.kit import control_types, openapi


def write_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _list_routes() -> str:
    """Return every request of the control API, with a star if it can be for all namespaces, too."""
    return write_table(
        ("request", "what it does", "query (`?`) and keys of the body"), map(_describe_route, openapi.routes())
    )


def _describe_route(route: openapi.Route) -> Sequence[str]:
    path = route.path.removeprefix("/api/") if route.path.startswith("/api/") else CONTROL + route.path
    request = f"`{route.method} {path}`{' *' if route.takes_all else ''}"
    taken = [f"`?{name}`: {words}" for name, words in openapi.describe_query(route).items() if name != "namespace"]
    if route.view is calls.list_calls:
        taken = ["[filters](#see-the-retries)"]
    return request, route.words, "; ".join([*taken, *openapi.describe_body(route)])


def _list_filters() -> str:
    route = next(route for route in openapi.routes() if route.view is calls.list_calls)
    rows = [(f"`{name}`", words) for name, words in openapi.describe_query(route).items() if name != "namespace"]
    return write_table(("parameter", "which calls, or what of them"), rows)


def _make_field_table(struct: type[Any]) -> Callable[[], str]:
    """Return what writes the described fields of an answer of the control API."""
    return lambda: write_table(("field", "contents"), openapi.list_described_fields(struct))


def _list_commands() -> str:
    """Return the commands, each with its options other than settings."""
    rows = []
    for name, (_, about) in COMMANDS.items():
        command = _find_command(commands, name)
        below = getattr(command, "table", {})
        rows.append((f"`{name}`", about, ", ".join(_list_own_options(command))))
        rows += [
            (f"`{name} {each}`", why, ", ".join(_list_own_options(_find_command(command, each))))
            for each, (_, why) in below.items()
        ]
    return write_table(("command", "what it does", "options besides settings"), rows)


def _find_command(group: Any, name: str) -> click.Command:
    found = group.get_command(click.Context(group), name)
    assert isinstance(found, click.Command)
    return found


def _list_own_options(command: click.Command) -> Iterator[str]:
    own = [each for each in command.params if isinstance(each, click.Option) and each.name not in Settings.model_fields]
    for option in own:
        if option.name != "rules":
            words = " ".join((option.help or "").rstrip(".").split())
            yield f"`{max(option.opts, key=len)}`: {words[:1].lower()}{words[1:]}"


class _PytestOptions:
    """Takes what the plugin adds to pytest's parser."""

    def __init__(self) -> None:
        self.rows: dict[str, list[str]] = {}  # flag, ini key, words

    def getgroup(self, *_: str) -> "_PytestOptions":
        return self

    def addoption(self, flag: str, **how: Any) -> None:
        self._row(flag[2:].replace("-", "_"), how["help"])[0] = f"`{flag}`"

    def addini(self, name: str, words: str, **_: Any) -> None:
        self._row(name, words)[1] = f"`{name}`"

    def _row(self, name: str, words: str) -> list[str]:
        return self.rows.setdefault(name.removeprefix("mockserver_"), ["", "", words])


def _list_pytest_options() -> str:
    """Return what the plugin takes: keys of the mark, options of the command line, keys of the ini file."""
    found = _PytestOptions()
    pytest_addoption(found)  # type: ignore[arg-type]
    for key in MARK_KEYS:
        if key in found.rows or key not in Settings.model_fields or key in _MARKED_ONLY:
            found.rows.setdefault(key, ["", "", _MARKED_ONLY.get(key, "")])
    rows = [(f"`{name}`" if name in MARK_KEYS else "", *row) for name, row in found.rows.items()]
    settings = ", ".join(f"`{key}`" for key in MARK_KEYS if key not in found.rows)
    listed = write_table(("key of the mark", "command line", "ini file", "meaning"), rows)
    return f"{listed}\n\nThe mark also takes these [settings](settings.md): {settings}."


_MARKED_ONLY: Mapping[str, str] = {
    "max_calls": "how many calls a test may make before it is stopped, so that no agent runs forever (default: 10000)",
    "verify": "false: unmatched calls, rules that fail, `times` and budgets do not fail the test",
    "cassette": "a cassette's name; None: no cassette",
    "timing": "true: answers take the time that rules and settings define; or a table or"
    " [profile](faults.md#streaming-and-timing) for all answers",
}


def _make_member_table(*classes: type[Any], without: Collection[str] = ()) -> Callable[[], str]:
    """Return what writes the public methods and properties of classes, each with its docstring."""

    def write() -> str:
        found = {name: member for each in classes[::-1] for name, member in vars(each).items() if name not in without}
        public = {name: member for name, member in found.items() if not name.startswith("_")}
        rows = [
            (f"`{name}{_write_parameters(member)}`", _read_docstring(member))
            for name, member in public.items()
            if _is_member(member)
        ]
        return write_table(("", "meaning"), rows)

    return write


def _is_member(member: Any) -> bool:
    return isinstance(member, property | classmethod) or inspect.isfunction(member)


def _read_docstring(member: Any) -> str:
    return " ".join((inspect.getdoc(member) or "").split())


def _write_parameters(method: Any) -> str:
    """Return the parameters of a method without `self` and types; nothing for a property."""
    if isinstance(method, property):
        return ""
    shown = []
    for each in list(inspect.signature(method).parameters.values())[1:]:
        shown.append(str(each.replace(annotation=each.empty)))
    return f"({', '.join(shown)})"


INTERFACES: Mapping[str, Callable[[], str]] = {
    "call": _make_field_table(control_types.CallDetail),
    "commands": _list_commands,
    "declared": _make_member_table(Declared, without=("where",)),
    "filters": _list_filters,
    "pytest-options": _list_pytest_options,
    "received": _make_member_table(ReceivedCall, without=("unparsed", "rules", "secrets")),
    "routes": _list_routes,
    "server": _make_member_table(MockServer, Assertions),
}
