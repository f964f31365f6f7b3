"""Rules from text, and what they come to, without a server."""

from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.config.errors import RuleError
from mockserver.config.source import Document, Mistakes, raise_if_any, read
from mockserver.core.call import Call
from mockserver.core.draft import Draft, DraftChoice, RenderContext, RuleAnswer
from mockserver.core.json import Json
from mockserver.core.plan import Part, ToolUse
from mockserver.core.seed import Seed
from mockserver.delivery.faults import FAULTS
from mockserver.model import GENERATORS
from mockserver.rules.load import Rule, load
from mockserver.rules.match.conditions import Condition
from mockserver.rules.match.parse import compile_when
from mockserver.rules.templates import CompileContext, Templates
from tests.kit.calls import call

KNOWN = {
    "openai": frozenset(("refusal", "annotations", "custom_tools", "items", "failed", "embedding", "moderation")),
    "skytells": frozenset(("content_filter", "filter_annotations")),
    "azure": frozenset(("content_filter",)),
    "plain": frozenset[str](),
}


def load_rule_text(text: str, file: str = "r.yaml") -> tuple[Rule, ...]:
    return load([read(text, file)], KNOWN, faults=FAULTS, hosts=("groq", "acme"))


def compile_condition(when: Mapping[str, Any]) -> Condition:
    mistakes: list[object] = []
    condition = compile_when(when, lambda message, path: mistakes.append((path, message)))
    assert mistakes == []
    return condition


def find_rule_mistakes(text: str) -> list[str]:
    """What is wrong with a rules file, as `line:column: message`."""
    with pytest.raises(RuleError) as caught:
        load_rule_text(text)
    return [f"{m.place.line}:{m.place.column}: {m.message}" for m in caught.value.mistakes if m.place is not None]


def find_then_mistakes(then: str) -> list[str]:
    """What is wrong with a `then`, written on one line, as `column: message`; its own first column is 0."""
    found = find_rule_mistakes(f"rules:\n  - then: {then}\n")
    return [f"{int(column) - 11}:{message}" for line, column, message in (m.split(":", 2) for m in found)]


def scope(made: Call | None = None, match: Mapping[str, str] | None = None, *, seed: int = 0) -> RenderContext:
    made = made or call("hello")

    def generate(kind: str, options: Mapping[str, Json], index: int) -> DraftChoice:
        return GENERATORS[kind](made, Seed(seed).branch(kind, str(index)), options)

    return RenderContext(made, match or {}, Seed(seed), lambda call, seed: generate)


def respond(then: str, at: RenderContext | None = None) -> RuleAnswer:
    (rule,) = load_rule_text(f"rules: [{{name: a rule, then: {then}}}]")
    return rule.then.respond(at or scope())


def draft(then: str, at: RenderContext | None = None) -> Draft:
    outcome = respond(then, at).outcome
    assert isinstance(outcome, Draft)
    return outcome


def parts(then: str, at: RenderContext | None = None) -> tuple[Part, ...]:
    return draft(then, at).choices[0].parts


def text(then: str, at: RenderContext | None = None) -> str:
    """The text (or the arguments) of the last part that a `then` comes to."""
    part = parts(then, at)[-1]
    return part.call.arguments if isinstance(part, ToolUse) else part.text


def render_words(template: str, at: RenderContext | None = None, *groups: str) -> str:
    """What a template comes to, in a rule whose regular expressions have these groups."""
    document = Document.from_data({"rules": [{"then": {"text": template}}]}, "r.yaml")
    context = CompileContext(
        Mistakes(document), Templates(), "a rule", ("rules", 0, "then", "text"), groups=frozenset(groups)
    )
    compiled = context.compile_text(template)
    raise_if_any((context.mistakes,), RuleError)
    return compiled.make(at or scope())


def context(content: Any = None, *path: str | int) -> CompileContext:
    return CompileContext(Mistakes(Document.from_data(content, "r.yaml")), Templates(), "a rule", path)


def list_said(where: CompileContext) -> list[str]:
    return [mistake.message for mistake in where.mistakes.found]
