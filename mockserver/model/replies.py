"""What a model would say to a request that wants more than prose: a call of a tool, or an answer in some format."""

from collections.abc import Mapping
from contextlib import suppress

from msgspec.structs import replace

from mockserver.core.call import Call, Tool
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.plan import Failure, Part, Text, ToolUse
from mockserver.core.seed import Seed
from mockserver.model import Generator
from mockserver.model.arguments import mentions
from mockserver.model.named_fields import answer_in_fields
from mockserver.model.prose.choices import decided
from mockserver.model.prose.closing import closing
from mockserver.model.prose.form import Request, finished, shaped
from mockserver.model.prose.formats import in_format
from mockserver.model.prose.generators import (
    less_reasoning,
    reasoning,
    separator_after_prompt,
    text_on,
    topic_of,
)
from mockserver.model.prose.orders import orders_nothing, plain_orders
from mockserver.model.prose.passages import citation, facts, passage, prose_on, results_text
from mockserver.model.prose.topic import ENGLISH
from mockserver.model.structured import enum, json, ordered, schema
from mockserver.model.text_agents import TextAgent, text_agent
from mockserver.model.tools import (
    tool_use,
    tool_uses,
    waits,
    with_earlier_results,
    with_quoted_calls,
    without_reminders,
)
from mockserver.model.tools.choosing import properties_of
from mockserver.model.tools.decisions import next_speaker
from mockserver.model.vocabulary import excerpt


def answered(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Call a fitting tool, or answer in the requested format, or as the prompt orders."""
    call = without_reminders(call)
    if (fields := answer_in_fields(call, seed)) is not None:
        return fields
    if (agent := text_agent(call)) is not None:
        with suppress(Failure):  # what the prompt says of a tool's arguments is no schema after all
            return DraftChoice((Text(_of_agent(agent, seed, options)),))
    call = with_quoted_calls(call)
    thoughts = reasoning(call, seed)
    remaining = less_reasoning(call, thoughts)
    uses = tool_uses(remaining, seed)
    if any(map(waits, uses)):
        return DraftChoice((*thoughts, *uses))
    if (quoted := citation(call)) is not None:
        return DraftChoice((*thoughts, *uses, quoted))
    answer = _OF_FORMAT.get(call.options.response_format, reply)(with_earlier_results(remaining, seed), seed, options)
    return DraftChoice((*thoughts, *uses, *(_continued(part, call.options.prefill) for part in answer.parts)))


def _continued(part: Part, prefill: str) -> Part:
    begins = prefill and isinstance(part, Text) and part.text.startswith(prefill.strip())
    return replace(part, text=part.text[len(prefill.strip()) :]) if begins and isinstance(part, Text) else part


def _of_agent(agent: TextAgent, seed: Seed, options: Mapping[str, Json]) -> str:
    if made := [use.call for use in tool_uses(agent.call, seed) if isinstance(use, ToolUse)]:
        return agent.step(made)
    return agent.final(
        "\n".join(part.text for part in reply(agent.call, seed, options).parts if isinstance(part, Text))
    )


def reply(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """JSON of the shape that the prompt describes, a text on what the tools returned, or the text that it orders."""
    if not options and orders_nothing(call):
        about, rng = topic_of(call), seed.stream("prose")
        is_english = about.language == ENGLISH  # and no word of another language orders anything
        if is_english or in_format(Request(about.text, excerpt(call.system), about), rng) is None:
            return prose_on(about, call, rng)
    if (ordered_json := ordered(call, seed, options)) is not None:
        return ordered_json
    if (speaker := next_speaker(call)) is not None:
        return DraftChoice((Text(speaker),))
    text, rules = (plain_orders(excerpt(said)) for said in (call.last_user, call.system))
    if (word := decided(text, rules, results_text(call))) is not None:
        return DraftChoice((Text(word),))
    end = closing(call)
    return DraftChoice((Text(end.of(_in_form(end.call, seed, options))),))


def _in_form(call: Call, seed: Seed, options: Mapping[str, Json]) -> str:
    about, rng = topic_of(call), seed.stream("prose")
    results = results_text(call)
    if "tokens" in options or call.options.ignore_eos:
        return results or separator_after_prompt(call) + text_on(about, call, rng, options)[0]
    known = facts(call) if results else ()
    asked = Request(plain_orders(about.text), plain_orders(excerpt(call.system)), about, known, results or "")
    answer = in_format(asked, rng)
    if answer is None and results is None and (results := passage(call, about)) is not None:
        asked = replace(asked, found=results)
    answer = answer or shaped(asked, rng) or results or text_on(about, call, rng, options)[0]
    return separator_after_prompt(call) + finished(answer, asked, rng)


def arguments(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """A call of the tool that `options["tool"]` names, with arguments that its parameters allow.

    After `options["before"]` calls of it, it takes the next of the values that the prompt lists.
    """
    tool, before = call.tool(options["tool"], options.get("namespace", "")), options.get("before", 0)
    tool, lenient = tool or Tool(options["tool"]), call.options.lenient_schema
    said = mentions(call.last_user)
    if not before:
        return DraftChoice((tool_use(tool, said, seed, lenient=lenient),))
    listed = said.sets(properties_of(tool))
    said = listed[before % len(listed)] if listed else said
    return DraftChoice((tool_use(tool, said, seed.branch(str(before)), lenient=lenient),))


_OF_FORMAT: Mapping[str, Generator] = {"json_schema": schema, "json_object": json, "enum": enum}
