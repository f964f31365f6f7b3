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
from mockserver.model.choosing import HANDOFF, find_option, find_tool_requests
from mockserver.model.orders import find_options
from mockserver.model.vocabulary import RULING, excerpt, folded, parts, vocabulary


class Listed(Struct, frozen=True):
    """A list of names in a text, and the words that say what it lists."""

    about: tuple[str, ...]
    names: Sequence[str]


def choose_values(call: Call, schema: Json, about: str = "") -> dict[str, Json]:
    """Return the values of an object's properties that choose from a list; `about` describes the object."""
    root: Mapping[str, Json] = schema if isinstance(schema, Mapping) else {}
    found: dict[str, Json] = {}
    for name, inner in islice(_properties_of(root).items(), _MOST_PROPERTIES):
        options = [*dict.fromkeys(islice(_list_options(inner, root), _MOST_OPTIONS))]
        ends = [option for option in options if _is_end(option, parts(name))]
        best: str | None = None
        if ends and len(options) > len(ends):
            best = _choose_next(call, [option for option in options if option not in ends], ends[0])
        elif len(options) > 1 and (_find_hints(call, options) or not _is_named(call.last_user, options)):
            best = choose_name(call.last_user, options, call) if "default" not in inner else None
        elif not options and isinstance(inner, Mapping) and inner.get("type") == "string":
            names = _find_names(call, name, str(inner.get("description") or ""), about)
            best = (choose_name(call.last_user, names, call) or names[0]) if names else None
        found |= {name: best} if best else {}
    return found


def _is_named(text: str, options: Sequence[str]) -> bool:
    said = {*parts(excerpt(text, _LONGEST_REQUEST))}
    return any(said.issuperset(parts(option)) for option in options)


def find_colleague(call: Call, tool: Tool) -> dict[str, Json]:
    """Return who a request is for, and what it is, for a tool that hands it over; nothing where it is for nobody."""
    properties = _properties_of(tool.parameters) if HANDOFF.match(tool.name) else {}
    for name, inner in islice(properties.items(), _MOST_PROPERTIES):
        names = [*dict.fromkeys(islice(_list_options(inner, tool.parameters), _MOST_OPTIONS))]
        names = names or [*_find_names(call, name, "", tool.description)]
        if names and (fitting := choose_name(call.last_user, names, call)) is not None:
            tasks = [each for each in properties if each != name and not _TASKS.isdisjoint(parts(each))]
            return {name: fitting, **dict.fromkeys(tasks[:1], call.last_user)}
    return {}


def choose_name(text: str, names: Sequence[str], call: Call) -> str | None:
    """Return the name that a text says first, or else the one that fits it best; None where none fits at all."""
    said = parts(excerpt(text, _LONGEST_REQUEST))
    for word in said:
        for name in names:
            if any(alike(word, part) for part in parts(name) if part not in _GENERIC):
                return name
    return find_option(text, dict.fromkeys(names, "") | _find_hints(call, names))


def choose_speaker(call: Call) -> str | None:
    """Return the next of the roles that a prompt lists: the one addressed, or who did not speak yet."""
    ruling = (each for each in call.messages if each.role in RULING or each.text == call.last_user)
    orders = dict.fromkeys(excerpt(each.text) for each in (*call.messages[-1:], *ruling))
    order, names = next(((text, names) for text in orders if (names := _list_roles(text))), ("", []))
    ending = [name for name in names if _is_end(name, ("next",))]
    workers = [name for name in names if name not in ending]
    if not workers:
        return None
    quoted = _USER.search(order)
    others = [each for each in call.messages if each.text != order and each.role not in RULING]
    own = [Message("user", order[quoted.start() :])] if quoted else []
    asked = [each for each in call.messages if each.text == order and each.role == "user"]
    call = replace(call, messages=(*call.messages[:1], *others, *(own or (asked if not others else ()))))
    if ending:
        return _choose_next(call, workers, ending[0])
    request, replies = _read_conversation(call, workers, "")
    if not replies:
        return choose_name(request, workers, call) or workers[0]
    last, text = replies[-1]
    head = text.partition("\n\n")[0]
    turns = {worker: at for at, (worker, _) in enumerate(replies)}
    addressed = [name for name in workers if name != last and _names(head, name)]
    return next(iter((*addressed, *(name for name in workers if name not in turns))), None) or min(
        workers, key=turns.__getitem__
    )


def _choose_next(call: Call, workers: Sequence[str], end: str) -> str:
    """The next of the workers that a request is for, who did not reply yet; then the end."""
    request, replies = _read_conversation(call, workers, end)
    hints = _find_hints(call, workers)
    tools = [Tool(worker, hints.get(worker, "")) for worker in workers]
    asked = [*dict.fromkeys(each.tool.name for each in find_tool_requests(request, tools, {}))]
    wanted = asked or [choose_name(request, workers, call) or workers[0]]
    replied = [worker for worker, _ in replies]
    left = [worker for worker in wanted if worker not in replied]
    strangers = sum(worker not in wanted for worker in replied)
    return next(iter(left[strangers:]), end)


def _read_conversation(call: Call, workers: Sequence[str], end: str) -> tuple[str, list[tuple[str, str]]]:
    """The last request of the user, and who replied what to it since; "" for somebody whom nobody knows."""
    known = {worker.lower(): worker for worker in workers}
    speakers = re.compile(rf"(?im)^\W{{0,4}}({'|'.join(map(re.escape, (*workers, *_USERS)))})\W{{0,3}}(?::|\]|\n|> |$)")
    request, replies, chosen = "", list[tuple[str, str]](), ""
    for message in call.messages[-_MOST_MESSAGES:]:
        if message.role in RULING:
            continue
        if decided := _find_decision(message, workers):
            chosen = decided
            continue
        before, *quoted = speakers.split(excerpt(message.text))
        author = message.name or ("" if message.role == "user" else "assistant")
        turns = [(author, before)] if before.strip() or not quoted else []
        for who, text in (*turns, *zip(quoted[::2], quoted[1::2], strict=True)):
            worker = known.get(who.lower(), "") or chosen
            if worker or (who.lower() not in ("", *_USERS) and (request or not message.name)):
                replies += [(worker, text)] if text.strip() or message.role == "tool" else []
                chosen = ""
            elif not (end and request and _names(text, end)):  # who acts next?
                request, replies = text, []
    return request, replies


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _find_decision(message: Message, workers: Sequence[str]) -> str:
    """The worker that an earlier answer of the supervisor itself chose."""
    if message.role != "assistant":
        return ""
    said = [try_parse(made.arguments) for made in message.tool_calls] or [try_parse(message.text, message.text.strip())]
    values = (value for each in said for value in (each.values() if isinstance(each, Mapping) else [each]))
    return next((value for value in values if isinstance(value, str) and value in workers), "")


def _list_roles(text: str) -> list[str]:
    """The roles that a text has to choose from: those after "select the next role", or with an end such as FINISH."""
    asks, end = _TURN.search(folded(text[-_LONGEST_REQUEST:])) is not None, _END.search(text)
    if not (asks or end):
        return []
    named = [name for name in find_options(text)[0] if not _ANY_NAME.fullmatch(name)]
    listed = next((each.names for each in _lists(text)), [])
    workers = [name for name in named if not _is_end(name, ("next",))]
    if end and end[0] not in named:
        workers = [*listed] or workers
    workers = workers or [*listed]
    return [*dict.fromkeys((*workers, *([end[0]] if end else [])))] if workers and (asks or listed) else []


def _find_names(call: Call, name: str, described: str, about: str) -> Sequence[str]:
    """The names that a property can have: those quoted or listed where it is described, or listed for it elsewhere."""
    quoted = [*dict.fromkeys(_QUOTED_OPTION.findall(described))]
    if len(quoted) > 1:
        return quoted
    words = [word for word in parts(name) if word not in ("name", "id", "to")]  # workers for a `worker_id`
    own = (each.names for each in _lists(described))
    listed = (*_lists(about), *_lists(_join_rules(call)), *_rosters(call))
    fitting = (each.names for each in listed if any(alike(word, noun) for word in words for noun in each.about))
    return next(own, None) or next(fitting, [])


def _join_rules(call: Call) -> str:
    return excerpt("\n".join(each.text for each in call.messages if each.role in RULING or each is call.messages[0]))


def _rosters(call: Call) -> Iterator[Listed]:
    """The elements of instructions that have ids: `<member id="writer">`."""
    found: dict[str, list[str]] = {}
    for element, name in _WITH_ID.findall(_join_rules(call)):
        found.setdefault(element, []).append(name)
    yield from (Listed(parts(element), names) for element, names in found.items() if len(names) > 1)


def _lists(text: str) -> Iterator[Listed]:
    """The lists of names in a text: "one of the following coworkers: Researcher, Writer"."""
    for cue in _CUE.finditer(excerpt(text)):
        plain = re.sub(r"\s*\([^()\n]*\)", "", cue["list"])
        listed = re.split(r"\s*(?:,|\||/|\n\s*[-*•]|\bor\b|\band\b)\s*", plain)
        names = [each.strip(" \n-*•\"'`[]().").partition(":")[0] for each in listed]
        names = [each for each in names if each and len(each) < _LONGEST_NAME]
        if len(names) > 1 or cue["noun"].lower().startswith("one of the following"):
            yield Listed(parts(cue["noun"]), names)


def _find_hints(call: Call, names: Sequence[str]) -> dict[str, str]:
    """What instructions say of names: `- coder: writes code`."""
    rules = _join_rules(call)
    found = ((name, re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w){_SAYS}", rules)) for name in names)
    return {name: hint[1] for name, hint in found if hint}


def _properties_of(schema: Json) -> Mapping[str, Json]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _list_options(schema: Json, root: Mapping[str, Json], levels: int = 4) -> Iterator[str]:
    """The texts that a schema lists, also in alternatives and behind a reference to a definition."""
    if not isinstance(schema, Mapping) or not levels:
        return
    enum = schema.get("enum")
    listed = [*(enum if isinstance(enum, list) else ()), schema.get("const")]
    yield from (each for each in listed if isinstance(each, str))
    reference = str(schema.get("$ref", "")).rpartition("/")[2]
    inner = [root[key][reference] for key in ("$defs", "definitions") if reference in root.get(key, ())]
    for keyword in ("anyOf", "oneOf", "allOf"):
        inner += schema[keyword] if isinstance(schema.get(keyword), list) else []
    for each in inner[:_MOST_OPTIONS]:
        yield from _list_options(each, root, levels - 1)


def _is_end(option: str, name: Sequence[str]) -> bool:
    """Whether an option ends the work: FINISH, __end__; done or stop only if the property chooses what is next."""
    said = parts(option)
    if not said or not _ENDING.issuperset(said) or _ENDING_ONLY.isdisjoint(said):
        return False
    return option.isupper() or option.startswith("_") or not _ROUTING.isdisjoint(name)


_MOST_PROPERTIES, _MOST_OPTIONS, _MOST_MESSAGES = 50, 50, 200
_LONGEST_NAME, _LONGEST_REQUEST = 60, 1_500  # characters
_QUOTED_OPTION = lazy_pattern(r"(?<!\w)['\"`](\w[\w-]{0,30})['\"`](?!\w)")
_ENDING_ONLY = vocabulary(
    "finish finished end done stop complete completed terminate exit final finalize quit conclude"
)
_ENDING = _ENDING_ONLY | vocabulary("task answer work all the now workflow conversation")
_ROUTING = vocabulary("next route router goto agent worker speaker node step action member tool decision delegate role")
_TASKS = vocabulary("task request question")
_GENERIC = vocabulary("agent worker expert specialist tool team node senior junior assistant call the")
_USERS = ("user", "human", "request", "task", "customer")
_USER = lazy_pattern(rf"(?im)^\W{{0,4}}(?:{'|'.join(_USERS)})\W{{0,4}}:")
_TURN = lazy_pattern(
    r"\b(?:next|which|who|select|choose|pick)\b[^.\n]{0,40}\b(?:roles?|speakers?|agents?|workers?|participants?"
    r"|members?|experts?|specialists?|team|departments?|speaks?)\b|\b(?:(?:only|with)|the) (?:the|a"
    r"|one) (?:\w+ )?name\b|\b(?:roles?|speakers?|agents?|workers?|who)\b[^.\n]{0,20}\b(?:next|name)\b"
)
_ANY_NAME = lazy_pattern(
    r"(?i)(?:an?|the|one|its|their)?\s?(?:\w+ )?(?:name|worker|agent|role|member|speaker)s?(?: .*)?"
)
_END = lazy_pattern(r"\b(?:FINISH(?:ED)?|END|DONE|TERMINATE|STOP|__end__)\b")
_WITH_ID = lazy_pattern(r"<(\w{1,30}) (?:id|name)=[\"']([\w-]{1,60})[\"']")
_SAYS = (
    r"[\"'`*)]{0,4}\s{0,3}(?:[:—–(]|name=[^<>\n]{0,80}>|-\s|\bis\b|\bfor\b|\bwho\b|\bthat\b"
    r"|[\w ]{0,20}\bdescription:)\s*([^\n]{3,300})"
)
_CUE = lazy_pattern(
    r"(?i)\b(?P<noun>(?:one of|following|available|these|choose from|valid|possible)\b[^:.\n,]{0,40}|workers|agents"
    r"|roles|members|participants|experts|team|departments|specialists|assistants|coworkers|who goes next)\b"
    r"(?:[^:.\n,]{0,20}:|\s+(?:are|is|among|from)\b:?)[ \t]*\[?(?P<list>(?:\s*\n\s*[-*•][^\n]{1,200}){2,20}"
    r"|[^.\n;]{3,400})"
)
