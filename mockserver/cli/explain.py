"""`mockserver explain`: which rule answers a request, and why each other does not."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from mockserver.cli.options import rules_argument, setting_flags, sources, text_of
from mockserver.cli.request import parsed, planned, put, read_request
from mockserver.core.call import Call, Json
from mockserver.core.errors import RuleError
from mockserver.engine.engine import START, attempt_told
from mockserver.engine.nearest import lines, shown
from mockserver.engine.prompts import counted, singles
from mockserver.engine.rules import Rule
from mockserver.server.live import start


@click.command()
@click.argument("request_file", metavar="REQUEST.json", type=str)
@rules_argument
@click.option("--path", default=None, metavar="PATH", help="Where the request goes [told by its body].")
@setting_flags("dialect", "unmatched")
def command(request_file: str, rules: tuple[Path, ...], path: str | None, **flags: Json) -> None:
    """Explain how RULES (rules.yaml of this folder) treat REQUEST.json (`-` reads standard input).

    The file holds the body of a request, or {method, path, headers, body}. A body goes to the chat of the dialect, one
    with a `prompt` to completions, one with an `input` to responses, embeddings or moderations, unless --path says
    otherwise. Counters stand as for a first call.
    """
    live = start(sources(rules, flags))
    described = read_request(text_of(request_file), request_file, live.settings.dialect, path)
    _, operation, http = put(described, live)
    call = parsed(operation, http, live)
    plan = planned(call, live)
    why = f": {plan.outcome}" if plan.source == "invalid" else ""
    click.echo(f"answered by: {plan.source}{why}" + (f"  (at {http.path})" if operation.name != "chat" else ""))
    call = counted(call, live.engine.policy.tokenizer(call.model))
    call = replace(call, attempt=attempt_told(call) or 1)
    if len(call.prompts) < 2:
        _explain(call, live.engine.rules)
        return
    for at, single in enumerate(singles(call)):
        click.echo(f"\nprompt {at}: {shown(single.last_user)}")
        _explain(single, live.engine.rules)


def _explain(call: Call, rules: Sequence[Rule]) -> None:
    for rule in rules:
        click.echo(f'\n{rule.where} "{rule.name}" {_verdict(rule, call)}')
        for line in (*lines(rule.when.findings(call)), *_counters(rule)):
            click.echo(f"  {line}")


def _counters(rule: Rule) -> Iterator[str]:
    """What else must hold for rules that count, told as for a first call."""
    if rule.state is not None:
        yield f'ok    state "{START}"' if rule.state.is_ == START else f'MISS  state "{rule.state.is_}": got "{START}"'
    if rule.times is not None:
        yield f"ok    times {rule.times}: got 1"


def _verdict(rule: Rule, call: Call) -> str:
    try:
        elsewhere = rule.state is not None and rule.state.is_ != START
        return "does not hold" if elsewhere or rule.when.holds(call) is None else "holds"
    except RuleError as error:
        return f"fails: {error}"
