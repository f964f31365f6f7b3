"""`mockserver cassette COMMAND`: list, check, edit and convert recorded calls."""

from collections.abc import Mapping

import click

from mockserver.cli import Lazy

COMMANDS: Mapping[str, str] = {
    "list": "List cassettes or their episodes.",
    "show": "Show the request and answer of an episode.",
    "verify": "Find damaged, old, leaking or unused episodes.",
    "scrub": "Remove secrets, and what the settings name, from a cassette.",
    "rules": "Write rules that answer as the episodes do.",
    "import": "Import vcrpy cassettes or HAR files.",
    "export": "Export a cassette as HAR.",
    "prune": "Remove episodes by number, age or lack of use.",
}
MODULES: Mapping[str, str] = {
    **dict.fromkeys(("list", "show", "verify", "scrub", "prune"), "episodes"),
    **dict.fromkeys(("rules", "import", "export"), "convert"),
}


@click.command(cls=Lazy, table=COMMANDS, package=__name__, modules=MODULES)
def command() -> None:
    """Manage cassettes: recorded calls and their answers.

    A cassette is a file in the folder --cassettes, named without `.yaml`. `chat#3` is the third episode (recorded call)
    of `chat`.

    \b
    mockserver run --record once --cassette chat --upstream openai=https://api.openai.com/v1 -- pytest
    mockserver cassette show chat#3
    mockserver cassette verify --max-age 90d
    """
