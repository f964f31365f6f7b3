"""`mockserver ask` and `explain`: answer one request in this process, without a socket."""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
from pydantic_core import from_json, to_json

from mockserver.cli.options import add_setting_flags, find_sources, read_text, rules_argument, rules_option
from mockserver.config.settings import Settings
from mockserver.core.action import Write
from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.event_stream import PRELUDE, describe_message, is_prelude, read_message, split_messages
from mockserver.core.http import Reply, is_stream_type
from mockserver.core.json import Json
from mockserver.core.plan import (
    Answer,
    Artifact,
    Failure,
    Forward,
    Item,
    Outcome,
    Part,
    Raw,
    Reasoning,
    Refusal,
    Text,
    ToolUse,
)
from mockserver.core.text import format_size
from mockserver.delivery.script import AT_ONCE, make_script
from mockserver.dialects import discover_all
from mockserver.engine.planning import plan_call
from mockserver.server.compose import start
from mockserver.server.explain import (
    BODIES,
    describe_faults,
    explain_call,
    find_target,
    make_usual_request,
    read_request,
)
from mockserver.server.masking import find_request_secrets

_USUAL_MODEL = "gpt-4o"


@click.command(name="ask")
@click.argument("text")
@click.option(
    "--operation", type=click.Choice(tuple(BODIES)), default="chat", show_default=True, help="The operation to call."
)
@click.option("--model", default=None, help="The model to request [gpt-4o, or the first of the dialect].")
@rules_option
@click.option("--json", "as_json", is_flag=True, help="Print the whole response body.")
@click.option("--stream", is_flag=True, help="Stream the answer, and print its frames.")
@add_setting_flags("dialect", "unmatched", "validation", "seed", "cassette", "cassettes")
def ask_command(
    text: str, operation: str, model: str | None, rules: tuple[Path, ...], as_json: bool, stream: bool, **flags: Json
) -> int:
    """Send TEXT as a user message, prompt or input, and print the answer.

    The source of the answer goes to stderr. The exit code is 1 if the answer is an error.
    """
    live = start(find_sources(rules, flags))
    live.settings = live.settings.model_copy(update={"keys": None, "limits": Settings().limits})  # nobody else asks
    dialect = live.settings.dialect
    text = _decode_argument(text)
    if model is None:
        models = discover_all()[dialect].models
        model = _USUAL_MODEL if _USUAL_MODEL in models else models[0]
    target = find_target(make_usual_request(dialect, operation, model=model, text=text, stream=stream), live.routes)
    remark = ""
    if as_json or stream:
        from mockserver.server.respond import Responder  # slow: Starlette

        responder = Responder(live, target.endpoint)
        response = asyncio.run(responder.respond(responder.admit(target.http)))
        plan = response.plan
        output = _write_reply(response.reply) if response.forwarded is None else _FORWARDED
        status = response.reply.status
        if stream and 200 <= status < 300 and not is_stream_type(_find_media_type(response.reply)):
            remark = "; not as a stream"
    else:
        call = target.parse_call(live.settings)
        plan = asyncio.run(plan_call(live.engine, call))
        if isinstance(plan.outcome, Failure):
            reply = target.endpoint.dialect.fail(target.http, plan.outcome, call)
            said = "error" if reply.status >= 400 else "refused"
            output = f"{said} {reply.status}: {reply.body.decode()}"
            status = reply.status
        else:
            output = _write_outcome(plan.outcome, call)
            status = getattr(plan.outcome, "status", 200)
    if isinstance(output, bytes) and sys.stdout.isatty():
        output = f"({format_size(len(output))} that are no text; to keep them, append > FILE to the command)"
    click.echo(output, nl=isinstance(output, str))
    click.echo(f"({plan.source}{remark}{describe_faults(plan.faults)})", err=True)
    return int(status >= 400)


def _decode_argument(argument: str) -> str:
    """Decode as UTF-8 what the locale of the terminal, such as plain C, cannot represent."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return os.fsencode(argument).decode("utf-8", "replace")
    return argument


def _write_reply(reply: Reply) -> str | bytes:
    """Return what a reply sends, as people read it: JSON indented, and each message of a binary stream on a line.

    What is no text stays bytes, for a file or another program.
    """
    body = b"".join([action.data for action in make_script(reply, AT_ONCE) if isinstance(action, Write)])
    media = _find_media_type(reply)
    if is_prelude(body[:PRELUDE]):
        return "\n".join(map(_write_message, split_messages(body)))
    if "json" in media and not is_stream_type(media):
        with suppress(ValueError):  # a rule may state any bytes
            body = to_json(from_json(body), indent=2)
    try:
        return body if b"\0" in body else body.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        return body


def _find_media_type(reply: Reply) -> str:
    return next((value for name, value in reply.headers if name == "content-type"), "")


def _write_message(data: bytes) -> str:
    message = read_message(data)
    if message is None:
        return f"({format_size(len(data))} that are no message)"
    return f"{message.name} {describe_message(message)}"


def _write_outcome(outcome: Outcome, call: Call) -> str | bytes:
    match outcome:
        case Raw():
            return _write_reply(Reply(outcome.status, outcome.headers, outcome.body, outcome.frames))
        case Recorded():
            return _write_reply(outcome.reply)
        case Forward():
            return _FORWARDED
        case Answer():
            return "\n".join(_write_answer(outcome, call))
        case _:
            assert isinstance(outcome, Artifact), "no other outcome is made for what can be asked"
            return outcome.show()


def _write_answer(answer: Answer, call: Call) -> Iterator[str]:
    choice = answer.choices[0]
    yield from map(_write_part, choice.parts)
    if choice.finish not in _PLAIN_FINISHES:
        yield f"(finish: {choice.finish})"
    if answer.broken is not None and call.operation == "responses":
        yield f"(breaks off) {answer.broken.code}: {answer.broken.message}"


_FORWARDED = "(`mockserver serve` would forward this request to the provider)"
_PLAIN_FINISHES = ("stop", "tool_calls", "function_call", "STOP", "end_turn", "tool_use")


def _write_part(part: Part) -> str:
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


@click.command(name="explain")
@click.argument("request_file", metavar="REQUEST.json", type=str)
@rules_argument
@click.option("--path", default=None, metavar="PATH", help="The path of the request [depends on its body].")
@add_setting_flags("dialect", "unmatched", "validation", "cassette", "cassettes")
def explain_command(request_file: str, rules: tuple[Path, ...], path: str | None, **flags: Json) -> None:
    """Show which of RULES (default: rules.yaml) answers REQUEST.json (`-` reads standard input).

    The file contains a request body, or {method, path, headers, body}. Without a path, a body with a `prompt` goes to
    completions, one with an `input` to responses or what its model is for, any other to chat. Counters are as for a
    first call.
    """
    live = start(find_sources(rules, flags))
    shown = "standard input" if request_file == "-" else request_file
    described = read_request(read_text(request_file), shown, dialect=live.settings.dialect, path=path)
    target = find_target(described, live.routes, stubs=live.engine.rule_set.stubs)
    call = target.parse_call(live.settings)
    click.echo(find_request_secrets(target.http).mask_text(asyncio.run(explain_call(live.engine, call)).text))
