"""Choices that a conversation decides: the worker that acts next, or the end once all have answered; a listed name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Tool
from mockserver.core.json import Json, try_parse
from mockserver.core.lazy import lazy_pattern
from mockserver.model.arguments.evidence import alike
from mockserver.model.choosing import HANDOFF, find_best, find_tool_requests
from mockserver.model.orders import find_options
from mockserver.model.vocabulary import RULING, excerpt, folded, parts, vocabulary


class WorkerReply(Struct, frozen=True):
    """What a worker said; "" for one that nobody knows."""

    worker: str
    text: str


class Listed(Struct, frozen=True):
    """A list of names in a text, and the words that say what it lists."""

    about: tuple[str, ...]
    names: list[str]


def choose_values(call: Call, schema: Json, about: str = "") -> dict[str, Json]:
    """Return the values of an object's properties that choose from a list; `about` describes the object."""
    root: Mapping[str, Json] = schema if isinstance(schema, Mapping) else {}
    found: dict[str, Json] = {}
    for name, inner in islice(_properties_of(root).items(), _MOST_PROPERTIES):
        options = [*dict.fromkeys(islice(_options(inner, root), _MOST_OPTIONS))]
        ends = [option for option in options if _is_end(option, parts(name))]
        if ends and len(options) > len(ends):
            found[name] = _choose_next(call, [option for option in options if option not in ends], ends[0])
        elif len(options) > 1 and _hints(call, options) and (fitting := choose_name(call.last_user, options, call)):
            found[name] = fitting
        elif not options and isinstance(inner, Mapping) and inner.get("type") == "string":
            if names := _names_for(name, str(inner.get("description") or ""), about, call):
                found[name] = choose_name(call.last_user, names, call) or names[0]
        elif (within := _properties_of(_referred(inner, root))).keys() == {"reason", "answer"}:
            answer = _answer_of_ledger(call, name, within["answer"], root)
            found |= {} if answer is None else {name: answer}
    return found


def find_colleague(call: Call, tool: Tool) -> dict[str, Json]:
    """Return who a request is for, as an argument of a tool that hands it over; none where it is for nobody."""
    properties = _properties_of(tool.parameters) if HANDOFF.match(tool.name) else {}
    for name, inner in islice(properties.items(), _MOST_PROPERTIES):
        names = [*dict.fromkeys(islice(_options(inner, tool.parameters), _MOST_OPTIONS))]
        names = names or [each for listed in _rosters(call) if _is_about(name, listed) for each in listed.names]
        if names and (fitting := choose_name(call.last_user, names, call)) is not None:
            return {name: fitting}
    return {}


def choose_name(text: str, names: Sequence[str], call: Call) -> str | None:
    """Return the name that a text says first, or else the one that fits it best; None where none fits at all."""
    said = {word: at for at, word in reversed([*enumerate(parts(excerpt(text, _LONGEST_REQUEST)))])}
    own = {name: [word for word in parts(name) if word not in _GENERIC] for name in names}
    places = {
        name: min((at for word, at in said.items() for part in own[name] if alike(word, part)), default=-1)
        for name in names
    }
    if named := [name for name in names if places[name] >= 0]:
        return min(named, key=places.__getitem__)
    hints = _hints(call, names)
    found = find_best(text, [Tool(name, hints.get(name, "")) for name in names], {})
    return None if found is None else found.name


def choose_speaker(call: Call) -> str | None:
    """Return the next of the roles that a prompt lists: the one addressed, or who did not speak yet."""
    ruling = (each for each in call.messages if each.role in RULING or each.text == call.last_user)
    orders = dict.fromkeys(excerpt(each.text) for each in (*call.messages[-1:], *ruling))
    order, names = next(((text, names) for text in orders if (names := _roles(text))), ("", []))
    ending = [name for name in names if _is_end(name, ("next",))]
    workers = [name for name in names if name not in ending]
    if not workers:
        return None
    quoted = _quoted(order, workers)
    asked = any(each.text != order for each in call.messages if each.role == "user") or quoted
    messages = [each for each in call.messages if each.text != order or each.role in RULING or not asked]
    call = replace(call, messages=(*messages, *quoted))
    if ending:
        return _choose_next(call, workers, ending[0])
    request, replies = _conversation(call, workers, "")
    if not replies:
        return choose_name(request, workers, call) or workers[0]
    head = replies[-1].text.partition("\n\n")[0]
    others = [name for name in workers if name != replies[-1].worker]
    addressed = [name for name in others if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", head)]
    turns = {reply.worker: at for at, reply in enumerate(replies)}
    return next(iter((*addressed, *(name for name in workers if name not in turns))), None) or min(
        workers, key=turns.__getitem__
    )


def _choose_next(call: Call, workers: Sequence[str], end: str) -> str:
    """The next of the workers that a request is for, who did not reply yet; then the end."""
    request, replies = _conversation(call, workers, end)
    hints = _hints(call, workers)
    tools = [Tool(worker, hints.get(worker, "")) for worker in workers]
    asked = [*dict.fromkeys(each.tool.name for each in find_tool_requests(request, tools, {}))]
    wanted = asked or [choose_name(request, workers, call) or workers[0]]
    left = [worker for worker in wanted if worker not in {reply.worker for reply in replies}]
    strangers = sum(reply.worker not in wanted for reply in replies)
    return next(iter(left[strangers:]), end)


def _answer_of_ledger(call: Call, name: str, asked: Json, root: Mapping[str, Json]) -> Json:
    """The answer to one question about a team's progress, with the reason; None where its name says nothing of it."""
    listed = _SELECT_FROM.search(call.last_user)
    workers = re.split(r",\s*", listed[1]) if listed else [*_options(asked, root)]
    request, replies = _conversation(replace(call, messages=call.messages[:-1]), workers, "")
    stated = re.search(r"(?i)\brequest:\s*([^\n]+)", call.last_user)
    request, words, replied = stated[1] if stated else request, {*parts(name)}, any(each.worker for each in replies)
    value: Json = None
    if words & _ROUTING:
        value = (choose_name(request, workers, call) or workers[0]) if workers else None
    elif words & {"instruction", "question"}:
        value = request
    elif isinstance(asked, Mapping) and asked.get("type") == "boolean":
        known = {**dict.fromkeys(_ACHIEVED, replied), "progress": True, "loop": False, "stuck": False}
        value = next((known[word] for word in known if word in words), None)
    reason = "The team has answered." if replied else "Nobody has answered yet."
    return None if value is None else {"reason": reason, "answer": value}


def _conversation(call: Call, workers: Sequence[str], end: str) -> tuple[str, list[WorkerReply]]:
    """The last request of the user, and what workers replied to it."""
    request, replies, asked = "", list[WorkerReply](), ""
    for message in call.messages[-_MOST_MESSAGES:]:
        if message.role in RULING:
            continue
        decision = _decision(message, workers)
        worker = _author(message, workers) or asked
        if decision:
            asked = decision
        elif worker or message.role != "user" or (message.name and request):
            replies += [WorkerReply(worker, message.text)] if message.text or message.role == "tool" else []
            asked = ""
        elif not (end and request and re.search(rf"(?<!\w){re.escape(end)}(?!\w)", message.text)):  # who acts next?
            is_transcript = _TRANSCRIPT.search(message.text) is not None
            request, *quoted = _LINE_OF_SPEAKER.split(excerpt(message.text)) if is_transcript else [message.text]
            replies = [WorkerReply(name, line) for line in quoted if (name := _introduced(line, workers))]
    return request, replies


def _decision(message: Message, workers: Sequence[str]) -> str:
    """The worker that an earlier answer of the supervisor itself chose."""
    if message.role != "assistant":
        return ""
    said = [try_parse(made.arguments) for made in message.tool_calls] or [try_parse(message.text, message.text.strip())]
    values = (value for each in said for value in (each.values() if isinstance(each, Mapping) else [each]))
    return next((value for value in values if isinstance(value, str) and value in workers), "")


def _author(message: Message, workers: Sequence[str]) -> str:
    known = {worker.lower(): worker for worker in workers}
    return known.get((message.name or "").lower()) or _introduced(message.text, workers)


def _introduced(text: str, workers: Sequence[str]) -> str:
    """The worker whose name introduces a text: `[coder] …`, `**coder**: …`."""
    begins = text[:_LONGEST_NAME].lstrip("*[<# \n").lower()
    found = (worker for worker in workers if begins.startswith(worker.lower()))
    return next((worker for worker in found if _INTRODUCED.match(begins[len(worker) :])), "")


def _quoted(order: str, workers: Sequence[str]) -> list[Message]:
    """The transcript that an order quotes, as messages with names."""
    names = "|".join(map(re.escape, (*workers, "user")))
    pieces = re.split(rf"(?im)^[ \t]{{0,9}}[\[*#]{{0,3}}({names})[\]*]{{0,3}}[ \t]{{0,9}}(?::|said\b)", order)
    known = {name.lower(): name for name in workers}
    said = [WorkerReply(known.get(who.lower(), ""), text) for who, text in zip(pieces[1::2], pieces[2::2], strict=True)]
    if {each.worker for each in said[: len(workers)]} == {*workers}:
        said = said[len(workers) :]  # those say what each is for
    return [Message("user", each.text, name=each.worker or None) for each in said]


def _roles(text: str) -> list[str]:
    """The roles that a text has to choose from: those after "select the next role", or with an end such as FINISH."""
    asks, end = _TURN.search(folded(text[-_LONGEST_REQUEST:])) is not None, _END.search(text)
    if not (asks or end):
        return []
    named = find_options(text)[0]
    names = [name for name in named if not _ANY_NAME.fullmatch(name)]
    if len(names) < min(2, len(named)) or not names or (end and not any(_is_end(name, ("next",)) for name in names)):
        listed = next((each.names for each in _lists(text)), [])
        joined = _BEFORE_END.search(text) or _BRACKETED.search(text)
        workers = [name for name in names if not _is_end(name, ("next",))]
        names = listed or (names if workers else re.split(r",? or |, ?", joined[1]) if joined else named)
        ending = [end[0]] if end else []
        names = [*dict.fromkeys((*names, *ending))] if (asks or len(names) < len(named) + len(listed)) and names else []
    return names


def _names_for(name: str, described: str, about: str, call: Call) -> list[str]:
    """The names that a property can have: those quoted or listed where it is described, or listed for it elsewhere."""
    quoted = [*dict.fromkeys(_QUOTED_OPTION.findall(described))]
    own = (names for names in (quoted, *(each.names for each in _lists(described))) if len(names) > 1)
    if (names := next(own, None)) is not None:
        return names
    listed = (*_lists(about), *_lists(_instructions(call)), *_rosters(call))
    return next((each.names for each in listed if _is_about(name, each)), [])


def _is_about(name: str, listed: Listed) -> bool:
    """Whether a list holds what a property of this name takes: workers for a `worker_id`."""
    words = [word for word in parts(name) if word not in ("name", "id", "to")]
    return any(alike(word, noun) for word in words for noun in listed.about)


def _instructions(call: Call) -> str:
    return "\n".join(each.text for each in call.messages if each.role in RULING)


def _rosters(call: Call) -> Iterator[Listed]:
    """The elements of instructions that have ids: `<member id="writer">`."""
    rules = excerpt(_instructions(call))
    found: dict[str, list[str]] = {}
    for element, name in _WITH_ID.findall(rules) if "<" in rules else ():
        found.setdefault(element, []).append(name)
    yield from (Listed(parts(element), names) for element, names in found.items() if len(names) > 1)


def _lists(text: str) -> Iterator[Listed]:
    """The lists of names in a text: "one of the following coworkers: Researcher, Writer"."""
    for cue in _CUE.finditer(excerpt(text)):
        plain = re.sub(r"\s*\([^()\n]*\)", "", cue["list"])
        listed = re.split(r"\s*(?:,|\||/|\n\s*[-*•]|\bor\b|\band\b)\s*", plain)
        names = [each.strip(" \n-*•\"'`[]().").partition(":")[0] for each in listed]
        names = [each for each in names if each and len(each) < _LONGEST_NAME]
        if len(names) > 1:
            yield Listed(parts(cue["noun"] or ""), names)


def _hints(call: Call, names: Sequence[str]) -> dict[str, str]:
    """What instructions say of names: `- coder: writes code`."""
    rules = excerpt("\n".join(each.text for each in call.messages if each.role in RULING or each is call.messages[0]))
    found = ((name, re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w){_SAYS}", rules)) for name in names)
    return {name: hint[1] for name, hint in found if hint}


def _properties_of(schema: Json) -> Mapping[str, Json]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _referred(schema: Json, root: Mapping[str, Json]) -> Json:
    found = _DEFINITION.fullmatch(str(schema.get("$ref", ""))) if isinstance(schema, Mapping) else None
    definitions = root.get(found[1]) if found else None
    return definitions.get(found[2]) if found and isinstance(definitions, Mapping) else schema


def _options(schema: Json, root: Mapping[str, Json], levels: int = 4) -> Iterator[str]:
    """The texts that a schema lists, also in alternatives and behind a reference to a definition."""
    if not isinstance(schema, Mapping) or not levels:
        return
    listed = schema.get("enum")
    yield from (each for each in listed if isinstance(each, str)) if isinstance(listed, list) else ()
    yield from (schema["const"],) if isinstance(schema.get("const"), str) else ()
    inner = [_referred(schema, root)] if "$ref" in schema else []
    for keyword in ("anyOf", "oneOf", "allOf"):
        inner += schema[keyword] if isinstance(schema.get(keyword), list) else []
    for each in inner[:_MOST_OPTIONS]:
        yield from _options(each, root, levels - 1)


def _is_end(option: str, name: Sequence[str]) -> bool:
    """Whether an option ends the work: FINISH, __end__; done or stop only if the property chooses what is next."""
    said = parts(option)
    if not said or not _ENDING.issuperset(said) or _ENDING_ONLY.isdisjoint(said):
        return False
    return option.isupper() or option.startswith("_") or not _ROUTING.isdisjoint(name)


_MOST_PROPERTIES, _MOST_OPTIONS, _MOST_MESSAGES = 50, 50, 200
_LONGEST_NAME, _LONGEST_REQUEST = 60, 1_500  # characters
_DEFINITION = lazy_pattern(r"#/(\$defs|definitions)/([^/]{1,200})")
_SELECT_FROM = lazy_pattern(r"(?i)\b(?:select|choose) from:? *[\[(]?([^)\]\n]{1,400})")
_QUOTED_OPTION = lazy_pattern(r"(?<!\w)['\"`](\w[\w-]{0,30})['\"`](?!\w)")
_ENDING_ONLY = vocabulary(
    "finish finished end done stop complete completed terminate exit final finalize quit conclude"
)
_ENDING = _ENDING_ONLY | vocabulary("task answer work all the now workflow conversation")
_ROUTING = vocabulary("next route router goto agent worker speaker node step action member tool decision delegate role")
_ACHIEVED = ("satisfied", "complete", "completed", "done", "finished", "solved", "resolved", "answered")
_GENERIC = vocabulary("agent worker expert specialist tool team node senior junior assistant call the")
_TURN = lazy_pattern(
    r"\b(?:next|which|who|select|choose|pick)\b[^.\n]{0,40}\b(?:roles?|speakers?|agents?|workers?|participants?"
    r"|members?|experts?|specialists?|assistants?|team|departments?|speaks?)\b|\b(?:(?:only|with)|the) (?:the|a"
    r"|one) (?:\w+ )?name\b|\b(?:roles?|speakers?|agents?|workers?|who)\b[^.\n]{0,20}\b(?:next|name)\b"
)
_ANY_NAME = lazy_pattern(
    r"(?i)(?:an?|the|one|its|their)?\s?(?:\w+ )?(?:name|worker|agent|role|member|speaker)s?(?: (?:to|who|that)\b.*)?"
)
_ANY_END = r"\b(?:FINISH(?:ED)?|END|DONE|TERMINATE|STOP|__end__)\b"
_END = lazy_pattern(_ANY_END)
_BRACKETED = lazy_pattern(r"\[((?:[\w-]+, ?)+[\w-]+)\]")
_BEFORE_END = lazy_pattern(rf"((?:(?!next\b)[\w-]+, ?)*[\w-]+),? or {_ANY_END}")
_WITH_ID = lazy_pattern(r"<(\w{1,30}) (?:id|name)=[\"']([\w-]{1,60})[\"']")
_SAYS = (
    r"[\"'`*)]{0,4}\s{0,3}(?:[:—–(]|name=[^<>\n]{0,80}>|-\s|\bis\b|\bfor\b|\bwho\b|\bthat\b"
    r"|[\w ]{0,20}\bdescription:)\s*([^\n]{3,300})"
)
_INTRODUCED = lazy_pattern(r"[\]\"'*> )]{0,4}(?::|\n|>|\]|—| says)|\]")
_TRANSCRIPT = lazy_pattern(r"(?im)^\W{0,4}(?:user|human|request|task|customer)\W{0,4}:")
_LINE_OF_SPEAKER = lazy_pattern(r"\n(?=\W{0,4}[A-Za-z][\w -]{0,40}\W{0,4}:)")
_CUE = lazy_pattern(
    r"(?i)\b(?P<noun>(?:one of|following|available|these|choose from|valid|possible)\b[^:.\n,]{0,40}|workers|agents"
    r"|roles|members|participants|experts|team|departments|specialists|assistants|coworkers"
    r"|who goes next)\b(?:[^:.\n,]{0,20}:|\s+(?:are|is|among|from)\b:?)[ \t]*\[?(?P<list>(?:\s*\n\s*[-*•][^\n]{1,200})"
    r"{2,20}|[^.\n;]{3,400})"
)
