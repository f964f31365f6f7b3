"""`mockserver cassette COMMAND`: list, check, edit and convert recorded calls."""

from collections.abc import Mapping

import click

from mockserver.cli import LazyCommand, LazyGroup, resume_collection

COMMANDS: Mapping[str, LazyCommand] = {
    "list": LazyCommand("episodes", "List cassettes or their episodes."),
    "show": LazyCommand("episodes", "Show the request and answer of an episode."),
    "verify": LazyCommand("episodes", "Find damaged, old, leaking or unused episodes."),
    "refresh": LazyCommand("refresh", "Record old episodes again, and show what changed in meaning."),
    "scrub": LazyCommand("episodes", "Remove secrets, and what the settings name, from a cassette."),
    "rules": LazyCommand("convert", "Write rules that answer as the episodes do."),
    "import": LazyCommand("convert", "Import recordings of vcrpy, go-vcr, VCR for Ruby and others."),
    "export": LazyCommand("convert", "Export a cassette as HAR."),
    "prune": LazyCommand("episodes", "Remove episodes by number, age or lack of use."),
}


@click.command(cls=LazyGroup, table=COMMANDS, package=__name__, name="cassette")
def cassette_command() -> None:
    """Manage cassettes: recorded calls and their answers.

    A cassette is a file in the folder --cassettes, named without `.yaml`. `chat#3` is the third episode (recorded call)
    of `chat`.

    \b
    mockserver run --record once --cassette chat --upstream openai=https://api.openai.com/v1 -- pytest
    mockserver cassette show chat#3
    mockserver cassette verify --max-age 90d
    """
    resume_collection()
