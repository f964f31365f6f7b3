"""Which tools a model would call next, and with which arguments; none where it would answer in text.

The choice of tools is obeyed to the letter. Else the calls are those that instructions and the user ask for, without
those made before. Instructions may order tools always, never, last, or one before another. Knows no wire shape.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, takewhile

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import (
    CLIENT_RUN_TOOLS,
    Call,
    Message,
    Tool,
    ToolCall,
    list_recent_tool_calls,
    list_tool_calls,
    list_tool_results,
)
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.lazy import compile_lazily, remember
from mockserver.core.plan import Failure, Item, ToolUse
from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING, Mentions, find_mentions, find_record
from mockserver.model.choosing import (
    HANDOFF,
    MAX_DESCRIPTION,
    POINTS_BACK,
    Offers,
    ToolRequest,
    Utterance,
    blank_quotes,
    find_best,
    find_meanings,
    find_offers,
    find_tool_requests,
    is_follow_up,
    list_properties,
    list_required,
    refers_back,
)
from mockserver.model.form import WHEN_DONE, remove_form
from mockserver.model.hosted import limit_to_choice, make_hosted_use, write_free_text
from mockserver.model.listed_options import choose_values, find_colleague
from mockserver.model.operations import find_calculation
from mockserver.model.orders import find_courtesy, find_sum, write_code_values
from mockserver.model.passages import describe_results, list_result_texts
from mockserver.model.schema import generate_instance
from mockserver.model.shapes import add_stated_bounds
from mockserver.model.vocabulary import (
    RULING,
    cut_excerpt,
    find_keys,
    keep_ends,
    make_vocabulary,
    split_words,
    stem,
    weigh_word,
)


class Pair(Struct, frozen=True):
    """The first tool is called before the second, whenever the one that causes it is called."""

    first: str
    second: str
    cause: str


class Instructions(Struct):
    """Names of tools that are called in every turn, in order; never; once the work is done; and pairs of them.

    `hints` say when to call a tool; of those in `open`, some sentence names no condition.
    """

    always: list[str] = []
    never: set[str] = set()
    last: list[str] = []
    pairs: list[Pair] = []
    hints: dict[str, str] = {}
    open: set[str] = set()


def read_instructions(call: Call, tools: Sequence[Tool]) -> Instructions:
    """Return what the system prompt orders about the calls of these tools."""
    ruling = [each.text for each in call.messages if each.role in RULING][:_MOST_RULING]
    if not ruling:
        return _NONE
    texts = [keep_ends(text, _LONGEST_END, _LONGEST_END) for text in ruling]
    return _read_instructions("\n".join(texts), tuple([tool.name for tool in tools]))


@remember(32)  # a client sends the same ones with each request
def _read_instructions(text: str, names: tuple[str, ...]) -> Instructions:
    told = Instructions()
    spoken = {*split_words(text)}
    known = [name for name in names if name.lower() in text.lower() or {*split_words(name)} <= spoken][:_MOST_NAMED]
    for sentence in islice(filter(str.strip, _END.split(blank_quotes(text))), _MOST_SENTENCES):
        found = _find_named(sentence, known)
        conditional = _CONDITION.search(sentence)
        joint = _JOINT.search(sentence)
        if not conditional and (denied := _FORBIDDEN.search(sentence)):
            told.never.update(names if denied["all"] and not found else found)
        elif _HANDING_OVER.search(sentence) and WHEN_DONE.search(sentence):
            handing = ((name, verb) for name in names if (verb := HANDOFF.match(name)) and name not in told.last)
            told.last += [
                name for name, verb in handing if {*split_words(name[verb.end() :])} <= {*split_words(sentence)}
            ][:1]
        elif len(found) == 2 and joint and len(told.pairs) < _MOST_ORDERS:
            is_before = joint[0].lower() == "before"
            leads = not split_words(sentence[: joint.start()])
            first, second = found if is_before != leads else reversed(found)
            told.pairs.append(Pair(first, second, cause=second if is_before else first))
        elif not conditional and _OBLIGATION.search(sentence):
            told.always += [name for name in found if name not in told.always][: _MOST_ORDERS - len(told.always)]
        else:
            told.open.update(() if conditional else found)
            told.hints |= {name: f"{told.hints.get(name, '')} {sentence}"[:_LONGEST_HINT] for name in found}
    return told


def _find_named(sentence: str, known: Sequence[str]) -> list[str]:
    """Return the tools that a sentence names, in its order: as they are written, or by all words of a longer name."""
    if not known:
        return []
    lowered = sentence.lower()
    heard = frozenset().union(*map(find_keys, split_words(sentence)))
    is_called = _CALLING.search(sentence) is not None
    places = dict[str, int]()
    for name in known:
        told = [word for word in split_words(name) if find_keys(word)]
        written = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence, re.I) if name.lower() in lowered else None
        if written and (not name.isalpha() or (is_called and (name[0].islower() or written[0][0].isupper()))):
            places[name] = written.start()
        elif len(told) > 1 and not any(
            (find_keys(word) if weigh_word(word) < 0.5 else {stem(word)}).isdisjoint(heard) for word in told
        ):
            places[name] = lowered.find(told[0][:3])
    return sorted(places, key=places.__getitem__)


_NONE = Instructions()
_LONGEST_END = 20_000  # characters
_LONGEST_HINT = 900
_MOST_RULING = 3  # messages
_MOST_SENTENCES = 2_000
_MOST_NAMED = 100  # tools that sentences name
_MOST_ORDERS = 64  # tools that are always called
_END = compile_lazily(r"(?<=[.!?])\s+|\n+|;\s")
_FORBIDDEN = compile_lazily(
    r"(?i)\b(?:never|do\s+not|don't|must\s+not|may\s+not|cannot|should\s+not|shouldn't|avoid)\b[^.]{0,20}?"
    r"\b(?:call|use|invoke|run|using|calling)\b(?P<all>\s+(?:any|the|your|these)?\s*(?:of\s+the\s+)?(?:tools?"
    r"|functions?)"
    r"(?:\s+calls?)?\s*[.!]?\s*$)?"
)
_CONDITION = compile_lazily(
    r"(?i)\b(?:if|when|whenever|only|unless|in\s+case|where|questions?|requests?|as\s+needed|asks?|about|more\s+than|"
    r"twice|until|without)\b"
)
_JOINT = compile_lazily(
    r"(?i)\b(?:before|after)\b(?!\s+(?:you\s+|giving\s+)?(?:answer|conclu|final|finish|repl|respon|return|the\s+user))"
)
_HANDING_OVER = compile_lazily(
    r"(?i)\b(?:hand|transfer|delegate|escalate|pass|return|report|go|switch)\w*\b[^.]{0,40}?\b(?:to|back)\b"
)
_OBLIGATION = compile_lazily(
    r"(?i)\b(?:always|must|first|before|begin|start|make\s+sure|need\s+to|have\s+to|required|step\s*\d|shall"
    r"|every\s+(?:single\s+)?(?:answer|call|conversation|item|message|reply|response|step|task|time|turn|user))\b"
)
_CALLING = compile_lazily(
    r"(?i)\b(?:call|use|invoke|run|consult|query|execute|tool|function|calling|using|search|check|look)\b"
)


# Calls


_COMMANDS = make_vocabulary("command cmd")
FINISHING = compile_lazily(  # finish your work by issuing the following command: `echo DONE`
    r"(?i)\b(?:finish|submit|complete|end)\b[^`\n]{0,80}\b(?:command|issu\w+|run|running|execut\w+)\b[^`\n]{0,60}`([^`\n]{2,120})`"
)
Use = ToolUse | Item


class PendingCall(Struct, frozen=True):
    """A call to make, and the texts with its arguments; calls of one `stage` need not wait for each other."""

    tool: Tool
    said: Mentions
    stage: int = 0


def list_tool_uses(call: Call, seed: Seed) -> tuple[Use, ...]:
    """Return the calls that come next, in order; none where the model answers in text."""
    mode = call.tool_choice.mode
    offered = _list_offered(call)
    if mode not in ("auto", "required", "named") or not offered:
        return ()
    offers = find_offers(offered)
    last = _find_last_command(call, offered)
    call = remove_form(call)
    pending = () if mode == "named" else _find_rejected(call, offers) or _find_next(call, offers)
    uses = tuple(_use_pending(call, pending, seed))
    if not uses:
        fallback = ToolUse(last) if last else (_use_answering if mode == "auto" else _use_demanded)(call, offers, seed)
        uses = (fallback,) if fallback else ()
    if call.options.parallel_tool_calls:
        return uses
    return uses[: next((at for at, use in enumerate(uses, 1) if waits(use)), len(uses))]


def _find_next(call: Call, offers: Offers) -> Sequence[PendingCall]:
    """Return the calls that the user's words need next: those that compute a sum, and what else they ask for."""
    wanted = find_pending_calls(call, offers)
    calculation = find_calculation(call, offers.work.tools)
    if calculation is None:
        return wanted
    computing = [PendingCall(each.tool, NOTHING.add_stated(each.arguments)) for each in calculation.waiting]
    return [*computing, *(each for each in wanted if each.tool not in calculation.tools)]


def _find_last_command(call: Call, offered: Sequence[Tool]) -> ToolCall | None:
    """Return the call that ends the work, once some was done, with the command that instructions name for that."""
    made = list_tool_calls(call)
    takes = (
        (tool, name)
        for tool in (offered if made else ())
        for name in list_required(tool)
        if not _COMMANDS.isdisjoint(split_words(name))
    )
    tool, name = next(takes, (None, ""))
    if tool is None:
        return None
    told = (FINISHING.search(keep_ends(each.text, _LONGEST_END, _LONGEST_END)) for each in call.messages if each.text)
    found = next(filter(None, told), None)
    last = found and ToolCall("", tool.name, compact({name: found[1]}), namespace=tool.namespace)
    return None if last is None or any(have_same_meaning(old.arguments, last.arguments) for old in made) else last


def make_tool_use(tool: Tool, said: Mentions, seed: Seed, *, lenient: bool = False, prompt: str = "") -> ToolUse:
    """Return a call of one tool without an id; arguments that no text mentions are generated, as a prompt bounds them.

    Raises Failure if its schema is unusable; if `lenient`, the call then has no arguments.
    """
    if tool.kind == "custom":
        return ToolUse(
            ToolCall(
                "", tool.name, arguments=write_free_text(tool, said, seed), kind="custom", namespace=tool.namespace
            )
        )
    said = replace(said, sparse=True) if said.text else said
    drawn = seed.branch("arguments", tool.name)
    try:
        made = fill_schema(tool.parameters, drawn, said, prompt) if tool.parameters else {}
        texts = (
            [name for name in list_properties(tool) if _FOR_PEOPLE.intersection(split_words(name))] if not made else []
        )
        if texts and said.text:  # all are optional, but one is the point of the call
            made = fill_schema(tool.parameters, drawn, said.add_stated({texts[0]: said.text.strip()}))
    except Failure:
        if not lenient:
            raise
        made = {}
    return ToolUse(ToolCall("", tool.name, compact(made), namespace=tool.namespace))


def fill_schema(schema: Json, seed: Seed, said: Mentions, prompt: str = "") -> Json:
    """Return an instance of a schema, with what was said, within the bounds that descriptions and a prompt tell.

    Raises Failure if the schema is unusable.
    """
    told = add_stated_bounds(schema, prompt)
    if told is not schema:
        with suppress(Failure):  # what a description tells may contradict the schema
            return generate_instance(told, seed, said)
    return generate_instance(schema, seed, said)


def waits(use: Use) -> bool:
    """Return whether the model continues only when the client has answered; the provider runs other tools itself."""
    return isinstance(use, ToolUse) or use.kind in CLIENT_RUN_TOOLS or use.kind == "mcp_approval_request"


def add_unseen_calls(call: Call, seed: Seed) -> Call:
    """Return the call with the calls of this turn that it only refers to by ids: those that would be made again."""
    results = [each for each in call.since_user if each.tool_call_id]
    known = {made.id for message in (call.messages if results else ()) for made in message.tool_calls}
    unseen = [each for each in results if each.tool_call_id not in known]
    if not unseen or len(unseen) > _MOST_UNSEEN:
        return call
    messages = list[Message]()
    made = list[ToolCall]()
    for message in call.messages:
        if message in unseen:
            made = made or [
                use.call
                for use in list_tool_uses(replace(call, messages=(*messages,)), seed)
                if isinstance(use, ToolUse)
            ]
            found = [replace(each, id=message.tool_call_id) for each in made[:1]]
            messages += [Message("assistant", tool_calls=(each,)) for each in found]
            made = made[1:]
        messages.append(message)
    return replace(call, messages=tuple(messages))


def add_earlier_results(call: Call, seed: Seed) -> Call:
    """Return the call, with results of earlier turns after a message that asks for them again."""
    is_asked = call.last_turn is not None and call.last_turn.role == "user"
    if call.tool_choice.mode != "auto" or not list_tool_calls(call) or not is_asked:
        return call
    every = find_pending_calls(remove_form(call), find_offers(_list_offered(call)))
    pending = [each for each in every if each.tool.kind in CLIENT_KINDS]
    lenient = call.options.lenient_schema
    uses = [(each, make_tool_use(each.tool, each.said, seed, lenient=lenient)) for each in pending]
    found = [old for each, use in uses if (old := find_earlier_call(call, each, use.call))]
    if not found:
        return call
    ids = {old.id for old in found}
    results = (message for message in call.messages if message.tool_call_id in ids)
    return replace(call, messages=(*call.messages, Message("assistant", tool_calls=tuple(found)), *results))


def _list_offered(call: Call) -> tuple[Tool, ...]:
    choice = call.tool_choice
    named = (limit_to_choice(tool, choice) for tool in call.tools if choice.allows(tool))
    return tuple(tool for tool in named if tool is not None) if choice.names else call.tools


def _use_pending(call: Call, pending: Sequence[PendingCall], seed: Seed) -> Iterator[Use]:
    """Yield the calls of the first stage that waits, each once, without those that were made before."""
    made = list[ToolCall]()
    stage = None
    for at, each in enumerate(pending):
        if stage not in (None, each.stage):
            return
        use = _use(call, each, seed=seed, at=at)
        if isinstance(use, ToolUse):
            own = (old for old in made if old.name == use.call.name)
            if find_earlier_call(call, each, use.call) or any(
                have_same_meaning(old.arguments, use.call.arguments) for old in own
            ):
                continue
            made.append(use.call)
        if use is not None:
            stage = each.stage if waits(use) else stage
            yield use


def _use(call: Call, pending: PendingCall, seed: Seed, at: int = 0) -> Use | None:
    seed = seed.branch("call", str(at)) if at else seed
    if pending.tool.kind not in CLIENT_KINDS:
        return make_hosted_use(pending.tool, call, seed=seed, said=pending.said.text)
    stated = choose_values(call, pending.tool.parameters, pending.tool.description)
    context = "\n".join((*list_result_texts(call), call.system))
    stated |= write_code_values(list_properties(pending.tool), pending.said.text, context)
    said = pending.said.add_stated(stated | find_colleague(call, pending.tool))
    prompt = f"{cut_excerpt(call.system)}\n{cut_excerpt(call.last_user)}" if call.tool_choice.mode != "auto" else ""
    return make_tool_use(pending.tool, said, seed, lenient=call.options.lenient_schema, prompt=prompt)


def _use_answering(call: Call, offers: Offers, seed: Seed) -> Use | None:
    """Return a call of the tool that takes the final answer, if there is one: clients wait for it, not for a text."""
    made = {old.name for old in list_recent_tool_calls(call)}
    if not offers.answering or any(tool.name in made for tool in offers.answering) or find_courtesy(call.last_user):
        return None
    return _use(call, make_ending_call(call, _find_spoken(offers.answering, call.last_user)), seed)


def _use_demanded(call: Call, offers: Offers, seed: Seed) -> Use | None:
    """Return a call that the tool choice demands, whether or not there is anything to do; a new one if possible."""
    for tool in (_find_likeliest(call, offers), *offers.tools[:_MOST_TRIED]):
        candidates = [make_ending_call(call, tool)] if tool in offers.ending else find_calls_of(call, tool)
        made = None
        for at, pending in enumerate(candidates):
            use = _use(call, pending, seed=seed, at=at)
            if isinstance(use, Item) or (use is not None and not find_earlier_call(call, pending, use.call)):
                return use
            made = made or use
        if made is not None:
            return made
    return None


def _find_likeliest(call: Call, offers: Offers) -> Tool:
    """Return the tool for a model that has to call one.

    It is the one that fits the text best, else one that ends the turn, else a new one.
    """
    counts = Counter([old.name for old in list_recent_tool_calls(call)])
    if len(offers.tools) == 1:
        return offers.tools[0]
    if not counts and (fitting := find_best(call.last_user, offers.work)) is not None:
        return fitting
    if offers.ending:
        return _find_spoken(offers.ending[:_MOST_TRIED], call.last_user)
    return min(offers.tools, key=lambda tool: counts[tool.name])


def _find_spoken(tools: Sequence[Tool], text: str) -> Tool:
    """Return the tool of which a text says most values; the first, if it says none."""
    said = find_mentions(text)
    return max(tools, key=lambda tool: said.measure_evidence(list_properties(tool)))


_MOST_UNSEEN = 16  # calls
_MOST_TRIED = 64  # tools that are tried one by one where a call is demanded


def find_pending_calls(call: Call, offers: Offers) -> Sequence[PendingCall]:
    """Return the calls of these tools to make before the user is answered, in order.

    Each call of a tool that this turn has already counts for one of it.
    """
    ordered = read_instructions(call, offers.tools)
    work = offers.select(ordered.never, ordered.hints)
    requests = _find_wanted(call, work) or _find_fed(call.last_user, work, ordered.open)
    if ordered.always or ordered.last or ordered.pairs:
        requests = _add_ordered(requests, ordered, offers, call.last_user)
    rejected = {result.tool_call_id for result in _list_rejections(call)}
    done = Counter([made.name for made in list_recent_tool_calls(call) if made.id not in rejected])
    found = list[PendingCall]()
    stage = 0
    for at, request in enumerate(requests):
        stage += at > 0 and request.later
        every = _split_request(request)
        left = every
        if request.tool.kind in CLIENT_KINDS:  # `hosted` decides how often the provider's own tools are used
            left = every[done[request.tool.name] :]
            done[request.tool.name] -= len(every) - len(left)
        only = len(every) == 1
        found += [PendingCall(request.tool, _complete(said, call, request) if only else said, stage) for said in left]
    return found


def _list_rejections(call: Call) -> Sequence[Message]:
    """Return the results of this turn that ask to call the tool again with other arguments."""
    return [each for each in call.since_user if each.tool_call_id and _AGAIN.search(each.text[:_LONGEST_RESULT])]


def _find_rejected(call: Call, offers: Offers) -> Sequence[PendingCall]:
    """Return the last calls whose results ask for others, with what these suggest before what the user said."""
    names = {made.id: made.name for made in list_recent_tool_calls(call)}
    last = [*takewhile(lambda each: each.tool_call_id, reversed(call.messages))]
    rejected = [each for each in _list_rejections(call) if each in last]
    tools = {tool.name: tool for tool in reversed(offers.tools)}
    return [
        PendingCall(tool, find_arguments(tool, call.last_user).add_stated(_read_suggestion(result.text, tool)))
        for result in rejected
        if (tool := tools.get(names.get(result.tool_call_id or "", "")))
    ]


def _read_suggestion(text: str, tool: Tool) -> Mapping[str, Json]:
    """Return the arguments that a result suggests: did you mean Mexico City?"""
    hint = _SUGGESTED.search(text[:_LONGEST_RESULT])
    properties = list_properties(tool)
    said = find_mentions(hint["said"] if hint else "").drop_phrases()
    given, _ = said.assign(properties, lambda name, value: True, required=properties)
    return given


def find_calls_of(call: Call, tool: Tool) -> Iterator[PendingCall]:
    """Yield the calls of one tool, where all that the user said is meant for it; those not made yet come first."""
    request = ToolRequest(tool, call.last_user)
    every = _split_request(request)
    done = [made.name for made in list_recent_tool_calls(call)].count(tool.name)
    for said in (*every[done:], *every[:done]):
        yield PendingCall(tool, _complete(said, call, request) if len(every) == 1 else said)


def make_ending_call(call: Call, tool: Tool) -> PendingCall:
    """Return a call that ends the turn, with arguments from the results first, then from what the user said."""
    texts = (_write_content(call, tool), *_list_results(call, call.last_user), call.last_user)
    return PendingCall(tool, find_mentions(*filter(None, texts)))


def _find_wanted(call: Call, offers: Offers) -> Sequence[ToolRequest]:
    """Return what the user asks for, apart from ending the turn; a bare `and in Rome?` repeats an earlier request.

    Where he asks for no tool, his words are for a colleague whom they name or fit, or for a search.
    """
    text = call.last_user
    work = offers.work
    if found := find_tool_requests(text, work):
        return _add_sources(found, work, text)
    if named := [ToolRequest(tool, text) for tool in work.colleagues if find_colleague(call, tool)]:
        return named
    if is_follow_up(text):
        made = list_tool_calls(call)
        recent = list_recent_tool_calls(call)
        names = [old.name for old in reversed(made[: len(made) - len(recent)])]
        tool = next((tool for name in names for tool in work.tools if tool.name == name), None)
        spoken = tool is not None and find_mentions(text).measure_evidence(list_properties(tool)) > 0
        return (ToolRequest(tool, text),) if tool is not None and spoken else ()
    if find_courtesy(text):
        return ()
    if work.colleagues:
        others = [tool.name for tool in work.tools if tool not in work.colleagues]
        colleagues = work.select(others, find_meanings(tool.name for tool in work.colleagues))
        fitting = colleagues.find_best(Utterance(split_words(text), text), least=_FITS_COLLEAGUE)
        only_sorts = 1 < len(offers.tools) == len(work.colleagues) and not list_recent_tool_calls(call)
        if fitting or (only_sorts and not _TO_YOU.search(text)):
            return (ToolRequest(fitting or work.colleagues[0], text),)
    asked_sum = find_sum(text)
    fits = _find_searcher(text) if asked_sum is None else _computes
    return [ToolRequest(tool, asked_sum or text) for tool in islice(filter(fits, work.tools), 1)]


def _find_fed(text: str, offers: Offers, named: Collection[str]) -> Sequence[ToolRequest]:
    """Return the tool that instructions name, or the only one, if it takes in what texts say, and a text says it all.

    Such a text asks for nothing.
    """
    work = offers.work.tools
    alone = [tool.name for tool in work if len(work) == 1 and not _TAKING_IN.isdisjoint(split_words(tool.name))]
    fed = {*named, *alone}
    if not fed or "?" in text or not _ASKING.isdisjoint(split_words(text)[:1]):
        return ()
    tools = (tool for tool in work if tool.name in fed and len(list_required(tool)) > 1)
    said = find_mentions(text)

    def has_all(tool: Tool) -> bool:
        needed = list_required(tool)
        given, _ = said.assign(list_properties(tool), lambda name, value: True, required=needed)
        return needed <= given.keys()

    return [ToolRequest(tool, text) for tool in tools if has_all(tool)][:1]


def _add_sources(found: Sequence[ToolRequest], work: Offers, text: str) -> Sequence[ToolRequest]:
    """Return the requests after tools that need nothing and give what the text names for them: my current location."""
    asked = [request.tool for request in found]
    if not work.sources or not any(map(list_required, asked)):
        return found
    said = frozenset(map(stem, split_words(text)))
    named = [ToolRequest(tool, text) for tool, nouns in work.sources if nouns <= said and tool not in asked]
    return (*named, replace(found[0], later=bool(named)), *found[1:])


def _find_searcher(text: str) -> Callable[[Tool], bool]:
    """Return which tools are a search for what a text asks: the provider's own only for what is new."""
    begins = split_words(text)[:1]
    asks = ("?" in text or not (_ASKING | _LOOKING_UP).isdisjoint(begins)) and not _TO_YOU.search(text)
    is_news = _NEWS.search(text) is not None
    return lambda tool: bool(asks and _searches_anything(tool)) or (is_news and tool.kind.startswith("web_search"))


def _computes(tool: Tool) -> bool:
    return tool.kind.startswith("code_interpreter") or list_required(tool) == {"expression"}


def _searches_anything(tool: Tool) -> bool:
    needed = list_required(tool)
    takes_words = len(needed) == 1 and all(_SEARCHED.intersection(split_words(name)) for name in needed)
    said = split_words(f"{tool.name} {tool.description[:MAX_DESCRIPTION]}")
    return tool.kind == "function" and takes_words and not _SEARCHING.isdisjoint(said)


_FITS_COLLEAGUE = -0.1  # enough for a colleague: its name begins with another verb than the text
_SEARCHING = make_vocabulary(
    "search retrieve retrieval retriever lookup knowledge docs documents rag web wikipedia browse sql database"
)
_TAKING_IN = make_vocabulary("extract record save store submit log register parse classify")
_ASKING = make_vocabulary("what who whose when where which how")
_LOOKING_UP = make_vocabulary("search find lookup look google browse")
_SEARCHED = make_vocabulary("query queries question q search input keywords topic term request")
_NEWS = compile_lazily(
    r"(?i)\b(?:news|latest|current(?:ly)?|recent(?:ly)?|today|yesterday|nowadays|20[2-9]\d"
    r"|(?:this|last) (?:week|month|year))\b"
)
_TO_YOU = compile_lazily(
    r"(?i)\b(?:are|do) you\b|\b(?:what|how) (?:can|could|would|will) you\b"
    r"|\byour (?:name|job|purpose|opinion)\b|\b(?:tools?|functions?)\b|\w_\w"
)


def _add_ordered(asked: Sequence[ToolRequest], ordered: Instructions, offers: Offers, text: str) -> list[ToolRequest]:
    """Return what is asked for, with what instructions order.

    What is to come first always does, pairs are called where they are caused, and the end comes last.
    """
    known = {tool.name: tool for tool in reversed(offers.tools)}
    ending = offers.ending
    every = [known[name] for name in ordered.always]
    always = [tool for tool in every if tool not in ending]
    rest = [request for request in asked if request.tool not in always]
    wanted = [*_order_by_tool(asked, always, text), *rest]
    if always and rest:
        wanted[-len(rest)] = replace(rest[0], later=True)
    for pair in ordered.pairs:
        if any(request.tool.name == pair.cause for request in wanted):
            both = (known[pair.first], known[pair.second])
            at = next(at for at, request in enumerate(wanted) if request.tool in both)
            rest = [request for request in wanted[at:] if request.tool not in both]
            wanted = [*wanted[:at], *_order_by_tool(wanted, both, text), *rest]
    last = [*(tool for tool in every if tool in ending), *(known[name] for name in ordered.last if wanted)]
    return [*wanted, *(ToolRequest(tool, text, later=True) for tool in last)]


def _order_by_tool(asked: Sequence[ToolRequest], tools: Sequence[Tool], text: str) -> Iterator[ToolRequest]:
    """Yield the requests for each of these tools, those of one after those of another."""
    for tool in tools:
        first, *others = [request for request in asked if request.tool == tool] or [ToolRequest(tool, text)]
        yield from (replace(first, later=True), *others)


def _split_request(request: ToolRequest) -> Sequence[Mentions]:
    """Return what a request says of each call: of one for each set of values in its words, or of a single one."""
    said = find_arguments(request.tool, request.text)
    sets = said.split(list_properties(request.tool))[:_MOST_SETS]
    if len(sets) > 1:
        given = _find_stated(request.tool, said)
        needed = given.keys() & list_required(request.tool)
        has_list = any(isinstance(value, list) for value in given.values())
        if not has_list and all(needed <= _find_stated(request.tool, each).keys() for each in sets):
            return sets
    return (said,)


def _complete(said: Mentions, call: Call, request: ToolRequest) -> Mentions:
    """Add what results and earlier words of the user say, where the words of a request lack a required value."""
    users = [message.text for message in reversed(call.messages) if message.role == "user"][:_MOST_EARLIER]
    texts = [*dict.fromkeys((request.text, *_list_results(call, request.text), *users))]
    is_alone = len(texts) == 1 and not call.since_user
    if is_alone or list_required(request.tool) <= _find_stated(request.tool, said).keys():
        return said
    if refers_back(request.text):
        texts[0] = _put_result(call, request.text) + _write_content(call, request.tool)
    return find_arguments(request.tool, *dict.fromkeys(texts))


def find_arguments(tool: Tool, *texts: str) -> Mentions:
    """Return the values in texts, the most important first, but for words that only name the tool itself."""
    return find_mentions(*texts).drop_words(frozenset(split_words(tool.name)) | _TOOL)


def _put_result(call: Call, text: str) -> str:
    """Put the last result, if it is a number, where a text points back to it: divide the output by 5."""
    last = next((result["text"].strip() for result in reversed(list_tool_results(call))), "")
    return POINTS_BACK.sub(last, text, count=1) if _NUMBER.fullmatch(last) else text


def _write_content(call: Call, tool: Tool) -> str:
    """Return the results, or the answer given, as the value of the parameter that takes a text for people, if any."""
    name = next((name for name in sorted(list_required(tool)) if _FOR_PEOPLE.intersection(split_words(name))), None)
    last = call.messages[-1] if call.messages else None
    answered = last.text if last is not None and last.role == "assistant" else None  # but not as it was to be
    said = None if name is None else describe_results(call) or answered
    return "" if said is None else f'\n{name}: "{said[:_LONGEST_RESULT].translate(_UNQUOTED)}"'


def _list_results(call: Call, asked: str) -> list[str]:
    """Return the last results, the newest first; of a list of records, the one that is asked for."""
    found = [result["text"][:_LONGEST_RESULT] for result in reversed(list_tool_results(call)[-_MOST_EARLIER:])]
    return [text for result in found for text in (*find_record(result, asked), result)]


def find_earlier_call(call: Call, pending: PendingCall, made: ToolCall) -> ToolCall | None:
    """Return an earlier call with the same arguments, or one of an earlier turn with all arguments that were said.

    Handing over does not ask for a result that is known by now: of a handoff only calls of this turn count.
    """
    recent = list_recent_tool_calls(call)
    earlier = [old for old in (recent if HANDOFF.match(made.name) else list_tool_calls(call)) if old.name == made.name]
    if not earlier:
        return None
    for old in reversed(earlier):
        if have_same_meaning(old.arguments, made.arguments):
            return old
    arguments = try_parse(made.arguments)
    said = _find_stated(pending.tool, pending.said)
    given = {name: arguments[name] for name in said if name in arguments} if isinstance(arguments, dict) else {}
    for old in reversed(earlier[: len(earlier) - sum(old.name == made.name for old in recent)]):
        known = try_parse(old.arguments)
        names = given.keys() & known.keys() if isinstance(known, dict) else ()
        if (
            given
            and len(names) == len(given)
            and all(_write_canonical(known[name]) == _write_canonical(given[name]) for name in names)
        ):
            return old
    return None


def _find_stated(tool: Tool, said: Mentions) -> Mapping[str, Json]:
    given, _ = said.assign(list_properties(tool), lambda name, value: True)
    return given


def have_same_meaning(one: str, other: str) -> bool:
    """Return whether the arguments of two calls mean the same as JSON."""
    return one == other or _write_canonical(try_parse(one, one)) == _write_canonical(try_parse(other, other))


def _write_canonical(value: Json) -> str:
    """Return JSON that is equal for equal values: `1.0` is `1`, `3 * 7` is `3*7`, keys have no order."""
    whole = json.loads(
        json.dumps(value), parse_float=lambda text: int(float(text)) if float(text) % 1 == 0 else float(text)
    )
    return json.dumps(whole, sort_keys=True).replace(" ", "")


CLIENT_KINDS = ("function", "custom")  # of tools that the client runs
# Words in names of parameters whose values people read.
_FOR_PEOPLE = frozenset(
    {"body", "text", "message", "content", "note", "summary", "answer", "response", "output", "result"}
)
_TOOL = frozenset({"tool", "function"})
_AGAIN = compile_lazily(
    r"(?i)\bfix (?:the|your|these) errors?\b|\b(?:try|call(?: it| the \w+)?) again\b|\bdid you mean\b"
)
_SUGGESTED = compile_lazily(r"(?i)\b(?:did you mean|use|again with|should be|expected)\b:?\s+(?P<said>[^\n]{1,200})")
_NUMBER = compile_lazily(r"-?\d{1,15}(?:\.\d{1,15})?")
_UNQUOTED = {ord('"'): "'", ord("\n"): " "}
_MOST_SETS = 16
_MOST_EARLIER = 4
_LONGEST_RESULT = 8_000
