"""`mockserver check`, `init` and `schema`: find mistakes in rules files, start one, describe them to editors.

Slow imports are inside the commands that need them, so that `init` starts at once.
"""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mockserver.config.errors import ConfigError, MockserverError, explain_file_error

if TYPE_CHECKING:
    from mockserver.config.settings import Settings
    from mockserver.rules.load import Rule
    from mockserver.server.sources import Sources


@click.command(name="check")
@click.argument("rules", nargs=-1, type=click.Path(path_type=Path))
def check_command(rules: tuple[Path, ...]) -> None:
    """Check RULES (default: rules.yaml). The exit code is 2 if there is a mistake or no file, else 0."""
    from mockserver.cli.options import find_sources
    from mockserver.core.text import count_noun
    from mockserver.rules.lint.remarks import find_unserved, find_without_upstream, review
    from mockserver.rules.load import load_servers
    from mockserver.server.unreachable_rules import find_unreachable

    given = find_sources(rules, {})
    if not given.files:
        raise ConfigError(
            "nothing to check: there is no rules.yaml here; name a file, or create one with: mockserver init"
        )
    try:
        settings, loaded = _check_files(given)
    except MockserverError as error:
        for mistake in error.mistakes:
            click.echo(mistake.render(), err=True)
        sys.exit(2)
    remarks = [*review(loaded), *find_unreachable(loaded, settings.dialect)]
    remarks += find_unserved(loaded, load_servers(given.read_documents()))
    remarks += find_without_upstream(loaded, settings.upstream)
    for remark in remarks:
        click.echo(remark.line)
    checked = ", ".join(map(str, given.files))
    click.echo(f"{checked}: {count_noun(len(loaded), 'rule')}, no mistakes, {count_noun(len(remarks), 'remark')}")


def _check_files(given: "Sources") -> "tuple[Settings, Sequence[Rule]]":
    """Return the settings and the rules of files. Raises MockserverError."""
    loaded = given.load()
    if loaded.uses_cassettes:
        from mockserver.server.compose import start  # a third of the time that this command takes otherwise

        live = start(given)
        return live.settings, live.engine.rules
    if loaded.errors.found:
        raise loaded.errors.merged
    return loaded.settings, loaded.rules


@click.command(name="init")
@click.argument("path", type=click.Path(path_type=Path), default=Path("rules.yaml"))
def init_command(path: Path) -> None:
    """Write a commented rules file to PATH (default: rules.yaml; - for standard output), unless it exists."""
    starter = Path(__file__).with_name("starter.yaml").read_bytes()
    if str(path) == "-":
        click.echo(starter, nl=False)
        return
    try:
        with path.open("xb") as file:
            file.write(starter)
    except FileExistsError as error:
        raise ConfigError(f"{path} already exists; choose another name: mockserver init other.yaml") from error
    except OSError as error:
        with suppress(OSError):
            path.unlink()  # what a full disk has left would stop the next try
        raise ConfigError(explain_file_error(path, "written", error)) from error
    click.echo(f"wrote {path}; try it: mockserver serve {path}")


@click.command(name="schema")
def schema_command() -> None:
    """Print the JSON Schema of rules files: `mockserver schema > rules.schema.json`."""
    from mockserver.delivery.faults import FAULTS
    from mockserver.dialects import discover
    from mockserver.dialects._mcp import DIALECT as MCP
    from mockserver.rules.json_schema import make_rules_schema

    click.echo(json.dumps(make_rules_schema(FAULTS, (*discover(), MCP.name)), indent=2))
