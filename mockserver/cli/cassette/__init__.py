"""`mockserver cassette COMMAND`: what was recorded, looked at and looked after. Each command is a file here."""

from collections.abc import Mapping

import click

from mockserver.cli.lazy import Lazy

COMMANDS: Mapping[str, str] = {
    "list": "List cassettes, or the episodes of some.",
    "show": "Show an episode: what was asked, and what came.",
    "verify": "Find what is doubtful: bytes, shape, age, models, leaks, use.",
    "scrub": "Take out of a cassette what the settings say, and what looks like a secret.",
    "rules": "Turn episodes into rules.",
    "import": "Take over recordings of vcrpy, HAR files, and the journal of a server.",
    "export": "Write a cassette as HAR.",
    "prune": "Remove episodes that are old, were not played, or have these numbers.",
}


@click.command(cls=Lazy, table=COMMANDS, package=__name__)
def command() -> None:
    """Cassettes: list, show, verify, scrub, turn into rules, import, export and prune what was recorded.

    A cassette is a file of the folder --cassettes, called by its name without `.yaml`; `chat#3` is its third episode.

    \b
    mockserver run --record once --cassette chat --upstream openai=https://api.openai.com/v1 -- pytest
    mockserver cassette show chat#3
    mockserver cassette verify --max-age 90d
    """
