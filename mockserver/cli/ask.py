"""`mockserver ask`: one request, printed."""

import asyncio
from pathlib import Path

import click
from pydantic_core import from_json, to_json

from mockserver.cli.options import DEFAULT_RULES, setting_flags, sources
from mockserver.cli.request import Described, chat_path, parsed, put
from mockserver.core.call import Json
from mockserver.core.plan import Answer, Failure, Outcome, Part, Reasoning, Refusal, Text, ToolUse
from mockserver.delivery.script import sse
from mockserver.server.live import start


@click.command()
@click.argument("text")
@click.option("--model", default="gpt-4o", show_default=True, help="The model to ask for.")
@click.option("--rules", "-r", multiple=True, type=click.Path(path_type=Path), help=f"Rules files [{DEFAULT_RULES}].")
@click.option("--json", "as_json", is_flag=True, help="Print the whole body as it goes over the wire.")
@click.option("--stream", is_flag=True, help="Print the frames of a streamed answer.")
@setting_flags("dialect", "unmatched", "seed")
def command(text: str, model: str, rules: tuple[Path, ...], as_json: bool, stream: bool, **flags: Json) -> None:
    """Ask TEXT as the user of a new conversation; where the answer came from is told on stderr."""
    live = start(sources(rules, flags))
    body = {"model": model, "messages": [{"role": "user", "content": text}], **({"stream": True} if stream else {})}
    endpoint, operation, http = put(Described(chat_path(live.settings.dialect), body), live)
    if as_json or stream:
        served = asyncio.run(endpoint.handle(http))
        frames = served.reply.frames
        wire = b"".join(map(sse, frames)) if frames is not None else to_json(from_json(served.reply.body), indent=2)
        click.echo(wire.decode().rstrip("\n"))
        click.echo(f"({served.source})", err=True)
        return
    plan = asyncio.run(live.engine.plan(parsed(operation, http, live)))
    click.echo(_shown(plan.outcome))
    click.echo(f"({plan.source})", err=True)


def _shown(outcome: Outcome) -> str:
    if isinstance(outcome, Answer):
        return "\n".join(_part(part) for part in outcome.choices[0].parts)
    if isinstance(outcome, Failure):
        return f"error {outcome.status or outcome.reason}: {outcome.message or outcome.reason}"
    return repr(outcome)


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
