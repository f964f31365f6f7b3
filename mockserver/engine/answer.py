"""Turns a draft into an answer: applies what the request asks for (`n`, stop, length, log probabilities).

Knows neither who wrote the draft nor how the answer will look on the wire.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import astuple, replace

from mockserver.core.call import Call, IdShape, Message, Options, has_namespaces
from mockserver.core.draft import ArtifactDraft, Draft, DraftChoice, PlainChoices
from mockserver.core.episode import Recorded
from mockserver.core.json import Json
from mockserver.core.lazy import LazySequence, lazy_property, remember
from mockserver.core.plan import (
    OWN_FINISHES,
    Answer,
    Artifact,
    Choice,
    Failure,
    Forward,
    Item,
    Logprob,
    Outcome,
    Part,
    Plan,
    Raw,
    Reasoning,
    Refusal,
    Safety,
    Text,
    ToolUse,
    Usage,
    WebhookEvent,
    count_tokens,
    find_tokens,
    find_words,
)
from mockserver.core.seed import Seed, WallClock
from mockserver.core.tokens import APPROX, Chunks, Tokenizer, end_tokens
from mockserver.engine.offload import LONG
from mockserver.kinds import ARTIFACTS
from mockserver.kinds.images import paint_item
from mockserver.kinds.kind import Origins
from mockserver.model import GENERATORS
from mockserver.model.logprobs import draw_logprobs

T = TypeVar("T")
Parts = tuple[Part, ...]
Written = Text | Reasoning | Refusal | ToolUse  # parts written token by token

ALONE = (Failure, Raw, Recorded, Forward)  # one of these for any prompt answers the whole call
_PAINTED = "image_generation_call"
_EVENT_IDS = IdShape("evt_", 32, "hex")
# Ids of hosted tool items: their prefixes, and how many letters and digits follow.
_ITEM_IDS = {"call_id": ("call_", 24), "container_id": ("cntr_", 48)}


class Author(Struct, frozen=True, dict=True):
    """What ids and timestamps come from: seed and clock."""

    seed: Seed
    clock: WallClock

    @lazy_property
    def drawer(self) -> Callable[[IdShape, str], Callable[[str], str]]:
        """The function that makes a drawer of ids: for a shape and a purpose, from the identity of an answer."""
        return remember(64)(self._make_drawer)

    @lazy_property
    def system_fingerprint(self) -> Callable[[str], str]:
        """The function that draws the fingerprint of a model's system, by its name."""
        return remember(64)(partial(self.seed.draw_hex, 10, "system fingerprint"))

    def make_event(self, dialect: str, kind: str, *, about: str, created: int) -> WebhookEvent:
        """Return the event that tells webhooks about the object of an id; `created` is in seconds since 1970."""
        name = self.drawer(_EVENT_IDS, "event")(f"{kind} {about}")
        return WebhookEvent(dialect, name, created=created, kind=kind, about=about)

    def _make_drawer(self, shape: IdShape, purpose: str) -> Callable[[str], str]:
        return self.seed.make_drawer(shape.prefix, shape.alphabet, shape.length, purpose)


def answer(call: Call, draft: Draft, author: Author, mark: str = "") -> Answer:
    """Turn a draft into the answer to a call. `mark` makes its ids unique; without one, they follow the call."""
    identity = call.fingerprint + mark
    plain = draft.plain
    made = None if plain is None else _use_plain(call, plain, author, identity)
    if made is None:
        made = _limit_choices(call, draft, author, identity)
    usage = Usage(call.prompt_tokens, made.tokens, made.reasoning_tokens)
    return Answer(
        call.id or author.drawer(call.ids, "id")(identity),
        author.clock.now(),
        draft.model or call.model,
        made.choices,
        replace(usage, **draft.usage) if draft.usage else usage,
        system_fingerprint=author.system_fingerprint(call.model),
        stated_fingerprint=draft.system_fingerprint,
        prompt_safety=draft.prompt_safety,
        headers=draft.headers,
        broken=draft.broken,
        tokenizer=call.tokenizer,
        written=made.tokens,
        mcp=draft.mcp,
    )


class _WeighedChoices(Struct, frozen=True):
    """The choices of an answer, and how many tokens they have."""

    choices: tuple[Choice, ...]
    tokens: int
    reasoning_tokens: int = 0


def _use_plain(call: Call, plain: PlainChoices, author: Author, identity: str) -> _WeighedChoices | None:
    """Return choices as they are, but for the ids of their tool calls; None if a call wants them otherwise."""
    options = call.options
    if options.stop or options.echo or options.logprobs is not None:
        return None
    if plain.calls and not _takes_calls(call, plain.calls):
        return None
    choices = plain.choices
    counts = plain.tokens
    if len(choices) != options.n:
        choices = _repeat(choices, options.n)
        counts = _repeat(counts, options.n)
    tokens = sum(counts) if call.tokenizer is APPROX else _count_words(choices, call.tokenizer)
    if options.max_tokens is not None and tokens > options.max_tokens:
        return None
    if plain.calls:
        choices = _sign(choices, author.drawer(call.tool_call_ids, "tool call"), identity)
    return _WeighedChoices(choices, tokens)


def _count_words(choices: Iterable[Choice], tokenizer: Tokenizer) -> int:
    return sum([tokenizer.count(find_words(part)) for choice in choices for part in choice.parts])


def _sign(choices: Iterable[Choice], draw: Callable[[str], str], identity: str) -> tuple[Choice, ...]:
    return tuple([choice.sign(draw, f"{identity}\0{at}") for at, choice in enumerate(choices)])


def _repeat(values: tuple[T, ...], n: int) -> tuple[T, ...]:
    """Return `n` values, one for each choice; if there are fewer, the last is repeated."""
    return (*values[:n], *values[-1:] * (n - len(values)))


def _takes_calls(call: Call, most: int) -> bool:
    """Return whether a call takes choices as they are, but for ids, if one of them has up to `most` tool calls."""
    options = call.options
    if options.bare_functions or call.prompts or (most > 1 and not options.parallel_tool_calls):
        return False
    return not has_namespaces(call.tools)


def _limit_choices(call: Call, draft: Draft, author: Author, identity: str) -> _WeighedChoices:
    """Return the choices within the limits of a request."""
    choices: list[Choice] = []
    written = 0
    thought = 0
    for each in _repeat(draft.choices, call.options.n):
        limited = _limit(call, each)
        choices.append(_make_choice(call, limited, author, f"{identity}\0{len(choices)}"))
        written += limited.tokens
        for part in limited.parts:
            if type(part) is Reasoning:
                thought += count_tokens(part, call.tokenizer)
    return _WeighedChoices(tuple(choices), written, thought)


class _Limited(Struct, frozen=True):
    """A choice within the request's limits, its finish reason and its token count."""

    draft: DraftChoice
    parts: Parts
    finish: str
    tokens: int
    stop: str = ""

    @property
    def safety(self) -> Safety:
        """The verdicts of filters; a filter that would have cut later has filtered nothing."""
        tripped = self.finish == "content_filter"
        return self.draft.safety if tripped else tuple([seen for seen in self.draft.safety if not seen.filtered])


def _make_choice(call: Call, limited: _Limited, author: Author, identity: str) -> Choice:
    draft = limited.draft
    parts = limited.parts
    is_text = _is_one_text(parts)
    if not is_text:
        parts = _complete(call, parts, author, identity)
    echo = find_echo(call) if call.options.echo else ()
    asked = call.options.logprobs is not None or draft.logprobs
    weighed = _make_logprobs(call, draft, echo, limited.parts, author.seed) if asked else None
    finish = draft.finish or limited.finish
    stop = "" if draft.finish else limited.stop
    if finish not in call.finishes:
        finish = OWN_FINISHES.get(finish, finish)
    safety = limited.safety if draft.safety else ()
    made = Choice(parts, finish, safety, weighed, "".join(echo) if echo else "", stop)
    return made if is_text else made.sign(author.drawer(call.tool_call_ids, "tool call"), identity)


def _is_one_text(parts: Parts) -> bool:
    """Return whether parts are one text, as in most answers, so that nothing needs an id."""
    return len(parts) == 1 and type(parts[0]) is Text


def _complete(call: Call, parts: Parts, author: Author, identity: str) -> Parts:
    """Return the parts, hosted tools with their ids and tool calls with the names of their tools."""
    is_spaced = has_namespaces(call.tools)
    completed: list[Part] = []
    for part in parts:
        if type(part) is ToolUse:
            if is_spaced:
                part = _find_namespace(part, call)
        elif type(part) is Item:
            part = _sign_item(part, author.seed, f"{identity}\0{len(completed)}")
            if part.kind == _PAINTED and part.body.get("result") == "":
                part = _paint(part, call, author.seed)
        completed.append(part)
    return tuple(completed)


def find_echo(call: Call) -> tuple[str, ...]:
    """Return the tokens of the prompt that an answer repeats in front."""
    return (
        call.prompts[0].find_tokens(call.tokenizer)[-call.options.echo :] if call.options.echo and call.prompts else ()
    )


def _limit(call: Call, draft: DraftChoice) -> _Limited:
    """Return a choice within what the call asks for: its calls, stop sequences and number of tokens."""
    options = call.options
    tokenizer = call.tokenizer
    is_text = _is_one_text(draft.parts)
    is_free = options.parallel_tool_calls and options.max_tool_calls is None and not options.bare_functions
    whole = draft.parts if is_text or (is_free and not call.prompts) else _keep_allowed(call, draft.parts)
    stopped = _stop_parts(whole, options.stop) if options.stop else _Stopped(whole)
    parts = stopped.parts
    tokens = weigh_parts(parts, tokenizer)
    finish = "stop"
    trip = draft.filter_after
    most = options.max_tokens
    if trip is not None and not (parts != whole and tokens <= trip) and (most is None or most >= min(trip, tokens)):
        parts = _shorten_parts(parts, trip, tokenizer)
        finish = "content_filter"
        tokens = min(trip, tokens)
    elif most is not None and tokens > most:
        parts = _shorten_parts(parts, most, tokenizer)
        finish = "length"
        tokens = most
    if finish == "stop" and not is_text and ToolUse in map(type, parts):
        finish = "function_call" if options.bare_functions else "tool_calls"
    return _Limited(draft, parts, finish, tokens, stopped.at if finish == "stop" else "")


def _keep_allowed(call: Call, parts: Parts) -> Parts:
    """Return the parts in the form and number that the call allows."""
    options = call.options
    if call.prompts:  # in a text completion a refusal is plain text
        parts = tuple([Text(part.text, part.chunks) if isinstance(part, Refusal) else part for part in parts])
    if options.max_tool_calls is not None:
        parts = _keep_few_items(parts, options.max_tool_calls)
    if not options.parallel_tool_calls:
        parts = _keep_one_call(parts)
    return tuple(map(_make_bare, parts)) if options.bare_functions else parts


def _make_bare(part: Part) -> Part:
    """Return the part for the legacy `functions` API."""
    return replace(part, call=replace(part.call, kind="bare")) if isinstance(part, ToolUse) else part


def _keep_one_call(parts: Parts) -> Parts:
    calls = [at for at, part in enumerate(parts) if isinstance(part, ToolUse)]
    return tuple(part for at, part in enumerate(parts) if at not in calls[1:])


def _keep_few_items(parts: Parts, most: int) -> Parts:
    items = [at for at, part in enumerate(parts) if isinstance(part, Item)]
    return tuple(part for at, part in enumerate(parts) if at not in items[max(most, 0) :])


class _Stopped(Struct, frozen=True):
    """The parts up to a stop sequence, and which it is."""

    parts: Parts
    at: str = ""


def _stop_parts(parts: Parts, stops: tuple[str, ...]) -> _Stopped:
    """Cut the parts at the first stop sequence, which may span several parts."""
    text = "".join(part.text for part in parts if isinstance(part, Text))
    found = [(place, stop) for stop in stops if stop and (place := text.find(stop)) >= 0]
    if not found:
        return _Stopped(parts)
    left, stop = min(found, key=itemgetter(0))
    kept = list[Part]()
    for part in parts:
        if isinstance(part, Text):
            if left < len(part.text):
                return _Stopped((*kept, _keep_first_characters(part, left)), stop)
            left -= len(part.text)
        kept.append(part)
    return _Stopped(tuple(kept), stop)


def _shorten_parts(parts: Parts, most: int, tokenizer: Tokenizer) -> Parts:
    kept: list[Part] = []
    for part in parts:
        tokens = find_tokens(part, tokenizer)
        if len(tokens) > most:
            if most or not kept:
                kept.append(_keep_first_tokens(part, tokens[:most]))
            break
        kept.append(part)
        most -= len(tokens)
    return tuple(kept)


def _keep_first_tokens(part: Part, tokens: tuple[str, ...]) -> Part:
    """Return the part with its first tokens, which are kept: splitting the text again might give others."""
    if isinstance(part, Item):
        return part
    shown = end_tokens(tokens)
    chunks = _trim_chunks(part.chunks, sum(map(len, tokens)))
    if shown is not tokens and isinstance(chunks, tuple):
        chunks = (*chunks, shown[-1])
    return replace(_replace_text(part, "".join(shown), chunks), tokens=shown)


def _keep_first_characters(part: Part, length: int) -> Part:
    if isinstance(part, Item):
        return part
    return _replace_text(part, find_words(part)[:length], _trim_chunks(part.chunks, length))


def _replace_text(part: Written, text: str, chunks: Chunks) -> Written:
    if isinstance(part, ToolUse):
        return replace(part, call=replace(part.call, arguments=text), chunks=chunks)
    return replace(part, text=text, chunks=chunks)


def _trim_chunks(chunks: Chunks, length: int) -> Chunks:
    """Cut an exact list of pieces to a total length; other kinds of chunks are unchanged."""
    if not isinstance(chunks, tuple):
        return chunks
    kept: list[str] = []
    for piece in chunks:
        if length <= 0:
            break
        kept.append(piece[:length])
        length -= len(piece)
    return tuple(kept)


def weigh_parts(parts: Iterable[Part], tokenizer: Tokenizer) -> int:
    """Return how many tokens parts have."""
    return sum([count_tokens(part, tokenizer) for part in parts])


def _find_namespace(part: ToolUse, call: Call) -> ToolUse:
    """Return a tool call with name and namespace of its tool, if no namespace is stated and only one tool is meant."""
    if part.call.namespace:
        return part
    found = call.find_tools(part.call.name)
    if len(found) != 1:
        return part
    return replace(part, call=replace(part.call, name=found[0].name, namespace=found[0].namespace))


def _sign_item(item: Item, seed: Seed, identity: str) -> Item:
    missing = [key for key in _ITEM_IDS if item.body.get(key) == ""]
    if not missing or item.kind.endswith("_output"):  # its id is that of the call before it
        return item
    ids = {key: _ITEM_IDS[key][0] + seed.draw_alnum(_ITEM_IDS[key][1], key, identity) for key in missing}
    return replace(item, body={**item.body, **ids})


def _paint(item: Item, call: Call, seed: Seed) -> Item:
    tool = next((tool.options for tool in call.tools if tool.kind == "image_generation"), None)
    return replace(item, body=paint_item(item.body, tool, call.last_user, seed))


def _make_logprobs(
    call: Call, draft: DraftChoice, echo: tuple[str, ...], parts: Parts, seed: Seed
) -> Sequence[Logprob]:
    if _is_one_text(parts):
        text = find_words(parts[0])
        tokens = find_tokens(parts[0], call.tokenizer)
    else:
        texts = [part for part in parts if type(part) is Text]
        text = "".join([part.text for part in texts])
        # of each part by itself: some formats separate them
        tokens = tuple([token for part in texts for token in find_tokens(part, call.tokenizer)])
    count = len(echo) + len(tokens)
    make = partial(_make_each_logprob, call, draft, echo, tokens, text, seed)
    if call.options.n * count * (1 + (call.options.logprobs or 0)) <= LONG:
        return tuple(make())
    return LazySequence(make, count, (*echo, *tokens))


def _make_each_logprob(
    call: Call, draft: DraftChoice, echo: tuple[str, ...], tokens: tuple[str, ...], text: str, seed: Seed
) -> Iterator[Logprob]:
    """Return log probabilities of the echoed prompt, then of the text and its tokens: the rule's own, then seeded."""
    rng = seed.stream("logprobs", call.fingerprint, text)
    found = draw_logprobs(tokens, rng, call.options.logprobs or 0, call.tokenizer)
    if draft.logprobs:
        found = chain(map(_state_logprob, draft.logprobs, found), found)  # takes none of the second in vain
    return chain(_echo_logprobs(call, echo, seed), found) if echo else found


def _state_logprob(stated: float, logprob: Logprob) -> Logprob:
    return replace(logprob, logprob=stated, top=())


def _echo_logprobs(call: Call, echo: tuple[str, ...], seed: Seed) -> Iterator[Logprob]:
    """Return log probabilities of the echoed prompt: independent of how much of it is repeated."""
    tokens = call.prompts[0].find_tokens(call.tokenizer)
    rng = seed.stream("logprobs", "echo", *tokens)
    found = draw_logprobs(tokens, rng, call.options.logprobs or 0, call.tokenizer)
    return islice(found, len(tokens) - len(echo), None)


def join_outcomes(outcomes: Sequence[Outcome]) -> Outcome:
    """Join the outcomes of several prompts: their choices in order, and the tokens of all."""
    first = outcomes[0]
    if isinstance(first, Answer):
        answers = [outcome for outcome in outcomes if isinstance(outcome, Answer)]
        usage = Usage(*(sum(counts) for counts in zip(*(astuple(each.usage) for each in answers), strict=True)))
        choices = tuple(choice for each in answers for choice in each.choices)
        return replace(first, choices=choices, usage=usage, written=sum(each.weight for each in answers))
    if isinstance(first, Artifact):
        return first.join(outcomes[1:])
    return first


def use_tokenizer(call: Call, tokenizer: Tokenizer) -> Call:
    """Return the call with this tokenizer; prompts given as token ids are decoded."""
    if tokenizer is call.tokenizer:
        return call
    call = replace(call, tokenizer=tokenizer)
    if all(prompt.numbers is None for prompt in call.prompts):
        return call
    texts = ["".join(prompt.find_tokens(tokenizer)) for prompt in call.prompts]
    return replace(
        call,
        prompts=tuple(replace(prompt, text=text) for prompt, text in zip(call.prompts, texts, strict=True)),
        messages=tuple(replace(message, text=text) for message, text in zip(call.messages, texts, strict=True)),
        meaning={**call.meaning, _find_prompt_field(call): texts[0] if len(texts) == 1 else texts},
    )


def _find_prompt_field(call: Call) -> str:
    """Return the name of the field that holds the prompts."""
    return "prompt" if "prompt" in call.meaning else "input"


def split_prompts(call: Call) -> Iterator[Call]:
    """Yield a call for each prompt of a call, as if it had come alone."""
    for prompt, message in zip(call.prompts, call.messages, strict=True):
        meaning = {**call.meaning, _find_prompt_field(call): prompt.text}
        if message.parts:
            meaning["images"] = [dict(part) for part in message.parts]
        yield replace(call, prompts=(prompt,), messages=(message,), meaning=meaning)


def join_plans(plans: Sequence[Plan]) -> Plan:
    """Join the plans of all prompts, in order; the first failure wins."""
    alone = next((plan for plan in plans if isinstance(plan.outcome, ALONE)), None)
    if alone is not None:
        return alone
    first = plans[0]
    # There is one reply, so only one rule's faults apply.
    faults = next((plan.faults for plan in plans if plan.faults), ())
    outcome = join_outcomes([plan.outcome for plan in plans])
    return attribute_plan(replace(first, outcome=outcome, faults=faults), plans)


def attribute_plan(plan: Plan, parts: Sequence[Plan]) -> Plan:
    """Return a plan with the sources, rules and remarks of its parts."""
    return replace(
        plan,
        source=", ".join(dict.fromkeys(part.source for part in parts)) or plan.source,
        modified_by=tuple(dict.fromkeys(rule for part in parts for rule in part.modified_by)),
        trace=tuple(dict.fromkeys(path for part in parts for path in part.trace)),
        remarks=tuple(dict.fromkeys(remark for part in parts for remark in part.remarks)),
    )


def finish_artifact(call: Call, draft: ArtifactDraft, author: Author, mark: str = "") -> Artifact:
    """Turn a draft into the artifact of its operation's kind; `mark` as for an answer."""

    def draw_id() -> str:
        return author.drawer(call.ids, "id")(call.fingerprint + mark)

    def fill(schema: Json, text: str) -> str:
        options = Options(schema=schema, lenient_schema=True)
        asked = replace(call, operation="chat", messages=(Message("user", text),), options=options)
        (part,) = GENERATORS["schema"](asked, author.seed, {}).parts
        return find_words(part)

    origins = Origins(author.seed, author.clock.now(), draw_id, fill)
    return ARTIFACTS[call.operation].finish(call, draft, origins)
