"""What a model would say to a call. This page says which sources are believed before which.

1. The API's own fields: the choice of tools, the tools, the schema or kind of the answer, how the answer begins.
2. Calls that the prompt keeps in text: the notations of agents (`notations`), DSPy's fields among them.
3. Values that the prompt describes, as JSON (`shapes`: a schema before an example, an example before keys) or in a
   notation that it names instead (`forms`).
4. Phrases: whose turn it is (`team`), exact words, an option or a value (`orders`); whatever is answered takes the
   ordered form, such as a list or a length, and the last word (`form`).
5. What tools returned, and sentences of the conversation that answer the question (`passages`).
6. Prose on what the prompt is about (`prose`).

Of two sources of one kind, what the user says last is believed before the instructions, and the user's own words before
what the client wraps around them (`conversation`).
"""

from collections.abc import Callable, Mapping
from contextlib import suppress

from msgspec.structs import replace

from mockserver.core.call import Call, Tool
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.core.plan import Failure, Text
from mockserver.core.seed import Random, Seed
from mockserver.model.arguments import find_mentions, find_record
from mockserver.model.choosing import list_properties
from mockserver.model.conversation import cut_examples, find_material, unwrap
from mockserver.model.form import find_closing, find_form, finish_answer, write_list, write_summary, write_title
from mockserver.model.hosted import cite_sources
from mockserver.model.listed_options import choose_speaker, choose_values, find_endings
from mockserver.model.notations import answer_in_notation
from mockserver.model.orders import Request, compute, decide, obey, write_code_values
from mockserver.model.passages import (
    describe_results,
    find_citation,
    find_passage,
    list_facts,
    list_result_texts,
)
from mockserver.model.prose import (
    find_separator_after_prompt,
    find_topic,
    make_reasoning,
    spend_reasoning,
    write_sentences,
    write_text_on,
)
from mockserver.model.shapes import DescribedShape, asks_for_json, find_shape, remove_shown_answers
from mockserver.model.tool_uses import (
    add_earlier_results,
    add_unseen_calls,
    fill_schema,
    list_tool_uses,
    make_tool_use,
    waits,
)
from mockserver.model.vocabulary import cut_excerpt, draw_phrase, split_words

Options = Mapping[str, Json]


def reply(call: Call, seed: Seed, options: Options) -> DraftChoice:
    """Call a fitting tool, or answer in the requested format, or as the prompt orders."""
    call = unwrap(call)
    if (noted := answer_in_notation(call, seed, answer_in_words)) is not None:
        return noted
    call = add_unseen_calls(call, seed)
    thoughts = make_reasoning(call, seed)
    remaining = spend_reasoning(call, thoughts)
    uses = list_tool_uses(remaining, seed)
    if any(map(waits, uses)):
        return DraftChoice((*thoughts, *uses))
    if (quoted := find_citation(call)) is not None:
        return DraftChoice((*thoughts, *uses, quoted))
    answer = _FORMAT_WRITERS.get(call.options.response_format, answer_in_words)
    said = answer(add_earlier_results(remaining, seed), seed, options)
    if not (thoughts or uses or call.options.prefill):
        return said
    begun = call.options.prefill.strip()  # by the client
    texts = (replace(each, text=each.text.removeprefix(begun)) for each in said.parts if isinstance(each, Text))
    return DraftChoice((*thoughts, *uses, *(cite_sources(uses, each) for each in texts)))


def answer_in_words(call: Call, seed: Seed, options: Options) -> DraftChoice:
    """Answer a request that names no format: with the value that the prompt describes, by phrases, or in prose."""
    if (value := find_described_value(call, seed)) is not None:
        return value
    if (speaker := choose_speaker(call)) is not None:
        return _draft(speaker)
    if (word := decide(_read_request(call))) is not None:
        return _draft(word)
    end = find_closing(call)
    call = end.call
    asked = _read_request(call)
    rng = seed.stream("prose")
    about = asked.topic
    results = asked.found or None
    if "tokens" in options or call.options.ignore_eos or call.options.min_tokens:
        return _draft(
            results or find_separator_after_prompt(call) + write_text_on(about, call, rng=rng, options=options)[0]
        )
    answer = obey(asked, rng) or write_summary(asked) or write_title(asked)
    if answer is None and results is None and (results := find_passage(call, about)) is not None:
        asked = replace(asked, found=results)
    answer = answer or write_list(asked, rng) or results or write_text_on(about, call, rng=rng, options=options)[0]
    return _draft(end.close(find_separator_after_prompt(call) + finish_answer(answer, asked, rng)))


def _read_request(call: Call) -> Request:
    about = find_topic(call)
    results = describe_results(call)
    return Request(
        about.text,
        cut_excerpt(_find_ruling_text(call)),
        topic=about,
        facts=list_facts(call) if results else (),
        found=results or "",
        earlier=cut_excerpt("\n".join(each.text for each in call.messages[:-1] if each.role == "user")),
    )


def write_instance(call: Call, seed: Seed, options: Options) -> DraftChoice:
    """Write an instance of `options["schema"]`, or of the request's schema, as JSON text; without one, an object."""
    requested = options.get("schema", call.options.schema)
    if requested is None:
        return write_json(call, seed, options)
    try:
        return _draft(compact(_fill(requested, call, seed=seed, said=call.last_user)))
    except Failure:
        if not call.options.lenient_schema:
            raise
        return write_json(call, seed, options)


def write_option(call: Call, seed: Seed, options: Options) -> DraftChoice:
    """Write one of the values of the request's schema, bare: `red`, not `"red"`."""
    value = _fill(call.options.schema, call, seed=seed, said=call.last_user)
    return _draft(value if isinstance(value, str) else compact(value))


def write_json(call: Call, seed: Seed, options: Options) -> DraftChoice:
    """Write an object as JSON text: with the schema, shape or keys that the prompt describes, or any object."""
    found = find_shape(call.last_user, call.system, json_anyway=True)
    if found is None:
        return _draft(compact(_make_object(call, seed.stream("json"))))
    value = _fill_shape(found, call, seed)
    return _draft(compact(value if isinstance(value, Mapping) else {"items": value}))


def call_tool(call: Call, seed: Seed, options: Options) -> DraftChoice:
    """Call the tool that `options["tool"]` names, with arguments that its parameters allow.

    After `options["before"]` calls of it, it takes the next of the values that the prompt lists.
    """
    tool = call.find_tool(options["tool"], options.get("namespace", ""))
    before = options.get("before", 0)
    tool = tool or Tool(options["tool"])
    lenient = call.options.lenient_schema
    said = find_mentions(call.last_user)
    if not before:
        return DraftChoice((make_tool_use(tool, said, seed, lenient=lenient),))
    listed = said.split(list_properties(tool))
    said = listed[before % len(listed)] if listed else said
    return DraftChoice((make_tool_use(tool, said, seed.branch(str(before)), lenient=lenient),))


def find_described_value(call: Call, seed: Seed) -> DraftChoice | None:
    """Return the value that a prompt describes when the request names no format, in its notation; None if none."""
    said = call.last_user
    rules = _find_ruling_text(call)
    found = find_shape(said, rules)
    if found is None and any(map(asks_for_json, (cut_excerpt(said), cut_excerpt(rules)))):
        return write_json(call, seed, {})
    if found is None and (found := find_form(cut_excerpt(said)) or find_form(cut_excerpt(rules))):
        found = found if find_form(cut_excerpt(said)) else DescribedShape(found.schema, said, found.write)
    if found is None:
        return None
    value = _fill_shape(found, call, seed)
    return _draft(found.write(value))


def _find_ruling_text(call: Call) -> str:
    """Return the instructions that may order a form: those of an agent with tools that fill pages are a manual."""
    return "" if call.tools and len(call.system) > _LONGEST_RULES else call.system


def _fill_shape(found: DescribedShape, call: Call, seed: Seed) -> Json:
    """Return what a prompt describes; any object if that is impossible: providers refuse schemas of requests only."""
    with suppress(Failure):
        return _fill(found.schema, call, seed=seed, said=found.rest)
    return _make_object(call, seed.stream("json"))


def _fill(schema: Json, call: Call, seed: Seed, said: str) -> Json:
    prompt = f"{cut_excerpt(call.system)}\n{said}"
    said = find_material(remove_shown_answers(cut_examples(cut_excerpt(said))))
    if quoted := _QUOTED.search(said):
        said = quoted["said"]
    said = _AROUND.sub(" ", said)
    results = [text for result in list_result_texts(call) for text in (*find_record(result, said), result)]
    properties = list_properties(Tool("", parameters=schema))
    stated = choose_values(call, schema.get("items", schema) if isinstance(schema, Mapping) else schema) | _find_answer(
        call, properties, said
    )
    stated |= write_code_values(properties, said, call.system)
    if is_settled := bool(results or _DONE.search(said)):
        stated |= find_endings(schema)
    spoken = replace(find_mentions(*results, said).add_stated(stated), is_settled=is_settled)
    return fill_schema(schema, seed.branch("schema"), said=spoken, prompt=prompt)


def _find_answer(call: Call, properties: Mapping[str, Json], said: str) -> dict[str, Json]:
    """Return the value of the property that takes the answer to the user's question, if the conversation has it."""
    names = [name for name in properties if split_words(name)[-1:] in _ANSWER_NAMES]
    if not names or list_result_texts(call):
        return {}
    result = compute(said)
    found = find_passage(call, find_topic(call)) if result is None else try_parse(result, result)
    return dict.fromkeys(names[:1], found) if found is not None else {}


def _make_object(call: Call, rng: Random) -> Json:
    about = find_topic(call)
    return {
        "topic": about.subject or draw_phrase(rng, 2),
        "answer": next(write_sentences(about, rng)),
        "confidence": rng.randrange(50, 100) / 100,
        "tags": [*about.words[:3]] or [draw_phrase(rng, 1)],
    }


def _draft(text: str) -> DraftChoice:
    return DraftChoice((Text(text),))


_LONGEST_RULES = 6_000  # characters
_FORMAT_WRITERS: Mapping[str, Callable[[Call, Seed, Options], DraftChoice]] = {
    "json_schema": write_instance,
    "json_object": write_json,
    "enum": write_option,
}
_AROUND = compile_lazily(  # what a prompt quotes or asks, and who says it
    r"(?m)^(?:[Uu]ser|[Aa]ssistant|[Hh]uman|AI):\s|</?[A-Za-z][\w-]{0,30}>"
    r"|\b[Aa]nswer the (?:user'?s'? |following )?question\b[^.:?\n]{0,60}[.:]"
)
_QUOTED = compile_lazily(r"(?:[:\n]|[Ee]xtract)\s{0,9}[\"“`](?P<said>(?:[^\"“”`\s]++\s++){3,400}+[^\"“”`\s]++)[\"”`]")
_DONE = compile_lazily(  # You have currently done the follow steps:
    r"(?im)^\W{0,3}(?:results?|observations?|findings)\b[^:\n]{0,20}:\s*\S|\b(?:past|previous|completed|executed|done|finished|taken)\b[^:\n]{0,40}\b(?:steps?|tasks?|actions?)\b[^:\n]{0,20}"
    r":\s*[^\s\w]"
)
_ANSWER_NAMES = (("answer",), ("response",), ("reply",))
