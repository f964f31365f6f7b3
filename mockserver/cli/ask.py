"""`mockserver ask`: one request, printed."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import click
from pydantic_core import from_json, to_json

from mockserver.cli.options import rules_option, setting_flags, sources
from mockserver.cli.request import planned, put
from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.http import Reply
from mockserver.core.json import Json
from mockserver.core.plan import (
    Answer,
    Embeddings,
    Failure,
    Forward,
    Item,
    Moderations,
    Outcome,
    Part,
    Raw,
    Reasoning,
    Refusal,
    Text,
    ToolUse,
)
from mockserver.delivery.script import sse
from mockserver.server.explain import BODIES, RequestFile, usual_path, with_faults
from mockserver.server.live import start


@click.command()
@click.argument("text")
@click.option(
    "--operation", type=click.Choice(tuple(BODIES)), default="chat", show_default=True, help="The operation to call."
)
@click.option("--model", default="gpt-4o", show_default=True, help="The model to request.")
@rules_option
@click.option("--json", "as_json", is_flag=True, help="Print the whole response body.")
@click.option("--stream", is_flag=True, help="Stream the answer, and print its frames.")
@setting_flags("dialect", "unmatched", "seed", "cassette", "cassettes")
def command(  # size: click gives each flag a parameter
    text: str, operation: str, model: str, rules: tuple[Path, ...], as_json: bool, stream: bool, **flags: Json
) -> None:
    """Send TEXT as a user message, prompt or input, and print the answer.

    The source of the answer goes to stderr.
    """
    live = start(sources(rules, flags))
    body = {"model": model, **BODIES[operation](text), **({"stream": True} if stream else {})}
    handler, reached = put(RequestFile(usual_path(live.settings.dialect, operation), body), live)
    if as_json or stream:
        prepared = asyncio.run(handler.respond(reached.http))
        click.echo(_wire(prepared.reply))
        click.echo(f"({prepared.plan.source}{with_faults(prepared.plan.faults)})", err=True)
        return
    call = reached.call(strict=live.settings.strict)
    plan = planned(call, live)
    if isinstance(plan.outcome, Failure):
        reply = handler.dialect.fail(reached.http, plan.outcome, call)
        click.echo(f"error {reply.status}: {reply.body.decode()}")
    else:
        click.echo("\n".join(_shown(plan.outcome, call)))
    click.echo(f"({plan.source}{with_faults(plan.faults)})", err=True)


def _wire(reply: Reply) -> str:
    """A JSON body indented; anything else as it goes out."""
    body = reply.body if reply.frames is None else b"".join(map(sse, reply.frames))
    if ("content-type", "application/json") in reply.headers:
        body = to_json(from_json(body), indent=2)
    return body.decode("utf-8", "backslashreplace").rstrip("\n")


def _shown(outcome: Outcome, call: Call) -> Iterator[str]:
    match outcome:
        case Raw():
            yield _wire(Reply(outcome.status, outcome.headers, outcome.body, outcome.frames))
        case Recorded():
            yield _wire(Reply(outcome.status, outcome.headers, outcome.bytes))
        case Forward():
            yield "(the provider's own server would be asked; `mockserver serve` does so)"
        case Answer():
            yield from map(_part, outcome.choices[0].parts)
            if outcome.broken is not None and call.operation == "responses":
                yield f"(breaks off) {outcome.broken.code}: {outcome.broken.message}"
        case Embeddings(vectors=(vector, *_)):
            yield f"[{', '.join(f'{number:g}' for number in vector[:_NUMBERS])}{', …' * (len(vector) > _NUMBERS)}]"
        case Moderations(results=(judgement, *_)):
            yield "flagged: " + (", ".join(sorted(judgement.flagged)) or "nothing")


def _part(part: Part) -> str:
    match part:
        case Text():
            return part.text
        case Reasoning():
            return f"(thinks) {part.text}"
        case Refusal():
            return f"(refuses) {part.text}"
        case ToolUse():
            return f"{part.call.name}({part.call.arguments})"
        case Item():
            return f"({part.kind}) {to_json(part.body).decode()}"


_NUMBERS = 8  # of a vector; the rest is shown by --json
