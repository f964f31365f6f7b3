"""`mockserver env`: the variables with which a coding agent reaches a server that is running already."""

import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click

from mockserver.config.errors import ConfigError
from mockserver.config.settings import Settings
from mockserver.core.text import count_noun
from mockserver.server.agents import AGENTS, find_agent
from mockserver.server.client_environment import make_environment

Variables = Mapping[str, str | None]  # None: one to unset


def _write_shell(variables: Variables) -> Iterator[str]:
    unset = [name for name, value in variables.items() if value is None]
    if unset:
        yield f"unset {' '.join(unset)}"
    yield from (f"export {name}={shlex.quote(value)}" for name, value in variables.items() if value is not None)


def _write_dotenv(variables: Variables) -> Iterator[str]:
    yield from (f"{name}={value}" for name, value in variables.items() if value is not None)


def _write_json(variables: Variables) -> Iterator[str]:
    yield json.dumps(variables, indent=2)


FORMATS: Mapping[str, Callable[[Variables], Iterator[str]]] = {
    "shell": _write_shell,
    "dotenv": _write_dotenv,
    "json": _write_json,
}


@click.command(name="env")
@click.option("--for", "name", required=True, metavar="|".join(AGENTS), help="The coding agent.")
@click.option(
    "--address", default="http://127.0.0.1:8000", show_default=True, metavar="URL", help="The address of the server."
)
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="FOLDER",
    help="The folder for the agent's own files; created if it is missing.",
)
@click.option(
    "--format", "written", type=click.Choice(tuple(FORMATS)), default="shell", show_default=True, help="What to print."
)
def env_command(name: str, address: str, home: Path, written: str) -> None:
    """Print the variables with which a coding agent reaches a server that is running, and write its files.

    `dotenv` cannot unset variables; it is what GitHub's $GITHUB_ENV takes, too.

    \b
    eval "$(mockserver env --for codex --home .codex-home)"
    """
    agent = find_agent(name)
    before = dict(os.environ)
    if not address.startswith(("http://", "https://")):
        raise ConfigError(f"--address takes a URL such as http://127.0.0.1:8000, not {address!r}")
    address = address.rstrip("/")
    led = {**before, **make_environment(address, Settings(), before)}
    settled = agent.set_up(home.absolute(), address=f"{address}/ns/{agent.name}", environ=led)
    lost = [variable for variable in agent.unset if variable in before]
    found: dict[str, str | None] = {**dict.fromkeys(lost)}
    found |= {variable: settled[variable] for variable in (*agent.variables, "NO_PROXY", "no_proxy")}
    for line in FORMATS[written](found):
        click.echo(line)
    click.echo(f"wrote {count_noun(len(agent.files), 'file')} to {home}", err=True)
