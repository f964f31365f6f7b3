"""Options that texts and schemas list, and the right one of them: a label, a worker, who acts next, the end.

All are chosen by `choose_name`: the one that is named, else the one whose name and description fit best.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product, takewhile

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Tool
from mockserver.core.json import Json, try_parse
from mockserver.core.lazy import compile_lazily, remember, remember_json
from mockserver.model.arguments.evidence import are_alike
from mockserver.model.choosing import HANDOFF, Offers, find_option, find_tool_requests, list_properties, rank_options
from mockserver.model.prose import list_content_words
from mockserver.model.vocabulary import (
    ENGLISH,
    RULING,
    cut_excerpt,
    fold,
    make_vocabulary,
    read_synonyms,
    read_truth,
    read_word_set,
    split_name,
    stem,
)


class ListedOptions(Struct, frozen=True):
    """Options that a text lists, the words that say what they are, and where they stand."""

    names: Sequence[str]
    about: tuple[str, ...]
    start: int
    end: int


@remember(64)
def list_options(text: str) -> Sequence[ListedOptions]:
    """Return the lists of options of a text: rows after words that offer a choice, and lines below such words."""
    if _MAY_LIST.search(text) is None:
        return ()
    rows = (_read_row(text, row) for pattern in (_ROW_BEHIND, _ROW) for row in pattern.finditer(text))
    lines = (_read_lines(text, each) for pattern in (_LINES, _BARE_LINES) for each in pattern.finditer(text))
    found = sorted((each for each in (*rows, *lines) if each is not None), key=lambda each: (each.start, -each.end))
    return [each for at, each in enumerate(found) if not any(each.start < other.end for other in found[:at])]


def _read_row(text: str, row: re.Match[str]) -> ListedOptions | None:
    names = [name for piece in _SEPARATOR.split(_ASIDE.sub("", row[0])) if (name := piece.strip(_AROUND))]
    lead = re.split(r"[.!?\n]", text[max(0, row.start() - _LONGEST_LEAD) : row.start()])[-1]
    told = _TOKEN.findall(lead.lower())
    is_alone = "one of the following" in lead.lower()
    if len(names) < 2 - is_alone or not all(map(_LABEL.fullmatch, names)):
        return None
    near = [*takewhile(read_word_set("option_fillers").__contains__, reversed(told))]
    head = told[-len(near) - 1] if len(near) < len(told) else ""
    after = lead.rstrip().endswith((":", "[", "(", "{"))
    offers = (
        ({read_truth(name) for name in names} == {True, False} and len(names) == 2 and lead[-1:] not in _QUOTES)
        or is_alone
        or (head in read_word_set("option_nouns") and (after or not read_word_set("option_links").isdisjoint(near)))
        or (head in read_word_set("option_orders") and (after or _CLOSED.match(text, row.end())))
        or (
            not read_word_set("option_choices").isdisjoint(told) and not read_word_set("option_joints").isdisjoint(near)
        )
        or (after and not {"who", "which"}.isdisjoint(told))
    )
    cue = next(
        (word for word in told if word in read_word_set("option_choices") | read_word_set("option_orders")), head
    )
    start = row.start() - len(lead) + max(lead.lower().rfind(cue), 0)
    return ListedOptions(names, split_name(" ".join((head, *near))), start=start, end=row.end()) if offers else None


def _read_lines(text: str, lines: re.Match[str]) -> ListedOptions | None:
    head = lines["head"][-_LONGEST_LEAD // 2 :].lower()
    if "one of" not in head and read_word_set("option_nouns").isdisjoint(_TOKEN.findall(head)):
        return None
    names = [
        re.split(r"[:(]| [-–—] ", _BULLET.sub("", line), maxsplit=1)[0].strip(_AROUND)
        for line in lines["lines"].splitlines()
    ]
    return ListedOptions(names, split_name(head), start=lines.start(), end=lines.end())


def read_numbered(text: str) -> tuple[dict[str, str], str]:
    """Return the lines of a text that are numbered, `(1) summaries`, by their numbers, and the text without them."""
    return {line[1]: line[2] for line in _NUMBERED.finditer(text)}, _NUMBERED.sub("", text)


def find_hints(names: Sequence[str], text: str) -> dict[str, str]:
    """Return what a text says of names: `- coder: writes code`."""
    small = text.lower()
    named = (name for name in names if name.lower() in small)
    found = ((name, re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w){_SAYS}", text)) for name in named)
    return {name: hint[1] for name, hint in found if hint}


def choose_name(text: str, names: Sequence[str], hints: Mapping[str, str]) -> str | None:
    """Return the name that a text says first, or else the one that fits it best; None where none fits at all."""
    vague = read_word_set("vague_roles")
    alike = read_synonyms("property_synonyms")
    parts = [(part, name) for name in names for part in split_name(name) if part not in vague]
    for word in split_name(cut_excerpt(text, _LONGEST_REQUEST)):
        for part, name in parts:
            if (word[0] == part[0] or word in alike) and are_alike(word, part):
                return name
    return find_option(text, dict.fromkeys(names, "") | {name: hint for name, hint in hints.items() if name in names})


# Options of schemas


class _Choice(Struct, frozen=True):
    """A property that takes one of some texts: its `options`, but an `end` only when the work is done.

    Without an end and options, it takes one of the `names` that a description lists, or else one of those that the
    instructions list as what it is called: workers for a `worker_id`. It `is_number` of a line that the text numbers.
    """

    name: str
    options: Sequence[str] = ()
    end: str = ""
    names: Sequence[str] = ()
    words: Sequence[str] = ()
    is_number: bool = False


@remember_json(128)
def _read_choices(schema: Json, about: str) -> Sequence[_Choice]:
    """Return the choices among the properties of an object, which `about` describes."""
    found = list[_Choice]()
    root: Mapping[str, Json] = schema if isinstance(schema, Mapping) else {}
    for name, inner in islice(_get_properties(root).items(), _MAX_OPTIONS):
        options = [*dict.fromkeys(islice(_list_values(inner, root), _MAX_OPTIONS))]
        ends = [option for option in options if _is_end(option, split_name(name))]
        if ends and len(options) > len(ends):
            found.append(_Choice(name, [option for option in options if option not in ends], end=ends[0]))
        elif len(options) > 1 and "default" not in inner:
            found.append(_Choice(name, options))
        elif not options and isinstance(inner, Mapping) and inner.get("type") == "string":
            described = str(inner.get("description") or "")
            quoted = [*dict.fromkeys(_QUOTED.findall(described))]
            meant = f"{name} {' '.join(_NAME_OF.findall(described))}"
            words = [word for word in split_name(meant) if word not in ("name", "id", "to")]
            listed = [each.names for each in list_options(cut_excerpt(described))[:1]]
            names = quoted if len(quoted) > 1 else next(iter(listed), _find_listed(words, cut_excerpt(about)))
            found.append(_Choice(name, names=names, words=words))
        elif name in ("choice", "index") and isinstance(inner, Mapping) and inner.get("type") == "integer":
            found.append(_Choice(name, is_number=True))
    return found


def choose_values(call: Call, schema: Json, about: str = "") -> dict[str, Json]:
    """Return the values of an object's properties that choose from a list; `about` describes the object."""
    choices = _read_choices(schema, about)
    rules = _join_rules(call) if choices else ""
    found: dict[str, Json] = {}
    for choice in choices:
        best: Json
        if choice.is_number:
            options, rest = read_numbered(cut_excerpt(call.last_user))
            asked = rest if (question := _ASKED.search(rest)) is None else question["what"].partition("\n\n")[0]
            best = int(next(iter((*rank_options(asked, options), *options)))) if len(options) > 1 else None
        elif choice.end:
            best = _choose_next(call, choice.options, choice.end)
        elif choice.options:
            best = _choose_option(call.last_user, choice.options, rules)
        elif names := choice.names or _find_listed(choice.words, rules):
            best = choose_name(call.last_user, names, find_hints(names, rules)) or names[0]
        else:
            best = None
        found |= {choice.name: best} if best is not None else {}
    return found


def _choose_option(text: str, options: Sequence[str], rules: str) -> str | None:
    """Return the option that fits a text, unless it says some of them itself, from which values are taken."""
    hints = find_hints(options, rules)
    others = [option for option in options if option not in hints]
    if hints and len(others) == 1 and _OTHERWISE.search(rules):
        asked = _ASKED.search(text)
        wanted = _list_stems(asked["what"] if asked else text)
        shared = {
            name: wanted & _list_stems(_OTHERWISE.split(hint.partition(".")[0])[0]) for name, hint in hints.items()
        }
        best = max(shared, key=lambda name: len(shared[name]))
        return best if shared[best] else others[0]
    said = {*split_name(cut_excerpt(text, _LONGEST_REQUEST))}
    spoken = [option for option in options if said.issuperset(split_name(option))]
    if hints or not spoken:
        return choose_name(text, options, hints)
    if len(spoken) < len(options):
        return None
    for option in options:  # they are only listed
        text = re.sub(rf"(?i)(?<!\w){re.escape(option)}(?!\w)", " ", text, count=1)
    return find_option(text, dict.fromkeys(options, ""))


def _list_stems(text: str) -> frozenset[str]:
    return frozenset(stem(word.lower()) for word in list_content_words(cut_excerpt(text, _LONGEST_REQUEST), ENGLISH))


def _find_listed(words: Sequence[str], text: str) -> Sequence[str]:
    """Return the names that a text lists as what words say."""
    listed = (*list_options(text), *_list_rosters(text))
    return next((each.names for each in listed if any(are_alike(*pair) for pair in product(words, each.about))), ())


def find_endings(schema: Json) -> dict[str, Json]:
    """Return the option that answers, of each property with options: `answer` of search and answer."""
    listed = ((name, option) for name, inner in _get_properties(schema).items() for option in _list_values(inner, {}))
    return {name: option for name, option in listed if {*split_name(option)} <= read_word_set("answers")}


def find_colleague(call: Call, tool: Tool) -> dict[str, Json]:
    """Return who a request is for, and what it is, for a tool that hands it over; nothing where it is for nobody."""
    choices = _read_choices(tool.parameters, tool.description) if HANDOFF.match(tool.name) else ()
    for choice in choices:
        rules = _join_rules(call)
        names = choice.options or choice.names or _find_listed(choice.words, rules)
        if names and (fitting := choose_name(call.last_user, names, find_hints(names, rules))) is not None:
            others = (each for each in list_properties(tool) if each != choice.name)
            tasks = [each for each in others if not _TASKS.isdisjoint(split_name(each))]
            return {choice.name: fitting, **dict.fromkeys(tasks[:1], call.last_user)}
    return {}


def _join_rules(call: Call) -> str:
    return cut_excerpt(
        "\n".join(each.text for each in call.messages if each.role in RULING or each is call.messages[0])
    )


def _list_rosters(rules: str) -> Iterator[ListedOptions]:
    """Yield the elements of instructions that have ids: `<member id="writer">`."""
    found: dict[str, list[str]] = {}
    for element, name in _WITH_ID.findall(rules):
        found.setdefault(element, []).append(name)
    yield from (
        ListedOptions(names, split_name(element), start=0, end=0) for element, names in found.items() if len(names) > 1
    )


def _get_properties(schema: Json) -> Mapping[str, Json]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _list_values(schema: Json, root: Mapping[str, Json], levels: int = 4) -> Iterator[str]:
    """Yield the texts that a schema lists, also in alternatives and behind a reference to a definition."""
    if not isinstance(schema, Mapping) or not levels:
        return
    enum = schema.get("enum")
    listed = [*(enum if isinstance(enum, list) else ()), schema.get("const")]
    yield from (each for each in listed if isinstance(each, str))
    reference = str(schema.get("$ref", "")).rpartition("/")[2]
    inner = [root[key][reference] for key in ("$defs", "definitions") if reference in root.get(key, ())]
    for keyword in ("anyOf", "oneOf", "allOf"):
        inner += schema[keyword] if isinstance(schema.get(keyword), list) else []
    for each in inner[:_MAX_OPTIONS]:
        yield from _list_values(each, root, levels - 1)


# Who acts next


def choose_speaker(call: Call) -> str | None:
    """Return the next of the roles that a prompt lists: the one addressed, or who did not speak yet."""
    ruling = (each for each in call.messages if each.role in RULING or each.text == call.last_user)
    orders = dict.fromkeys(cut_excerpt(each.text) for each in (*call.messages[-1:], *ruling))
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
        return choose_name(request, workers, find_hints(workers, _join_rules(call))) or workers[0]
    last, text = replies[-1]
    head = text.partition("\n\n")[0]
    turns = {worker: at for at, (worker, _) in enumerate(replies)}
    addressed = [name for name in workers if name != last and _names(head, name)]
    return next(iter((*addressed, *(name for name in workers if name not in turns))), None) or min(
        workers, key=turns.__getitem__
    )


def _list_roles(text: str) -> list[str]:
    """Return the roles to choose from: those after "select the next role", or with an end such as FINISH."""
    asks = _TURN.search(fold(text[-_LONGEST_REQUEST:])) is not None
    end = _END.search(text)
    if not (asks or end):
        return []
    listed = [
        [name for name in each.names if not _is_end(name, ("next",)) and not _ANY_NAME.fullmatch(name)]
        for each in list_options(text)
        if asks or not read_word_set("team").isdisjoint(each.about)
    ]
    workers = max(listed, key=len, default=[])
    return [*dict.fromkeys((*workers, *([end[0]] if end else [])))] if workers else []


def _choose_next(call: Call, workers: Sequence[str], end: str) -> str:
    """Return the next of the workers that a request is for, who did not reply yet; then the end."""
    request, replies = _read_conversation(call, workers, end)
    hints = find_hints(workers, _join_rules(call))
    tools = [Tool(worker, hints.get(worker, "")) for worker in workers]
    asked = [*dict.fromkeys(each.tool.name for each in find_tool_requests(request, Offers(tools)))]
    wanted = asked or [choose_name(request, workers, hints) or workers[0]]
    replied = [worker for worker, _ in replies]
    left = [worker for worker in wanted if worker not in replied]
    strangers = sum(worker not in wanted for worker in replied)
    return next(iter(left[strangers:]), end)


def _read_conversation(call: Call, workers: Sequence[str], end: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the last request of the user, and who replied what to it since; "" for somebody whom nobody knows."""
    known = {worker.lower(): worker for worker in workers}
    speakers = re.compile(rf"(?im)^\W{{0,4}}({'|'.join(map(re.escape, (*workers, *_USERS)))})\W{{0,3}}(?::|\]|\n|> |$)")
    request = ""
    replies = list[tuple[str, str]]()
    chosen = ""
    for message in call.messages[-_MOST_MESSAGES:]:
        if message.role in RULING:
            continue
        if decided := _find_decision(message, workers):
            chosen = decided
            continue
        before, *quoted = speakers.split(cut_excerpt(message.text))
        author = message.name or ("" if message.role == "user" else "assistant")
        turns = [(author, before)] if before.strip() or not quoted else []
        for who, text in (*turns, *zip(quoted[::2], quoted[1::2], strict=True)):
            worker = known.get(who.lower(), "") or chosen
            if worker or (who.lower() not in ("", *_USERS) and (request or not message.name)):
                replies += [(worker, text)] if text.strip() or message.role == "tool" else []
                chosen = ""
            elif not (end and request and _names(text, end)):  # who acts next?
                request = text
                replies = []
    return request, replies


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _find_decision(message: Message, workers: Sequence[str]) -> str:
    """Return the worker that an earlier answer of the supervisor itself chose."""
    if message.role != "assistant":
        return ""
    said = [try_parse(made.arguments) for made in message.tool_calls] or [try_parse(message.text, message.text.strip())]
    values = (value for each in said for value in (each.values() if isinstance(each, Mapping) else [each]))
    return next((value for value in values if isinstance(value, str) and value in workers), "")


def _is_end(option: str, name: Sequence[str]) -> bool:
    """Return whether an option ends the work: FINISH, __end__; done or stop only if the property chooses the next."""
    said = split_name(option)
    said_of_ends = read_word_set("ends") | read_word_set("around_ends")
    if not said or not said_of_ends.issuperset(said) or read_word_set("ends").isdisjoint(said):
        return False
    return option.isupper() or option.startswith("_") or not read_word_set("routing").isdisjoint(name)


_MAX_OPTIONS = 50
_MOST_MESSAGES = 200
_LONGEST_REQUEST = 1_500  # characters
_LONGEST_LEAD = 120  # characters
_QUOTES = ("'", '"', "`")  # characters
_AROUND = "\"'`“”‘’*()[]{}<>. \t-"  # characters
_WORD = r"(?:\"[^\"\n]{1,40}\"|'[^'\n]{1,40}'|[`“‘]?(?<![\w+-])[\w+-]++[`”’]?)"
_ITEM = r"[\"'`“‘]?[\w+-]{1,60}(?: [\w+-]{1,60}){0,4}(?: ?\([^()\n]{0,60}\))?[\"'`”’]?"
_OR = r"\s*,\s*(?:or\s+|and\s+)?|\s*[/|]\s*|\s+or\s+"
_ROW = compile_lazily(rf"(?i){_WORD}(?:(?:{_OR}){_WORD}){{1,30}}")
_ROW_BEHIND = compile_lazily(rf"(?i)(?<=[:\[({{])\s?[\[({{]?{_ITEM}(?:(?:{_OR}|\s+and\s+){_ITEM}){{0,30}}")
_MAY_LIST = compile_lazily(r"(?i)[,/|:\[({\n]|\sor\s")
_SEPARATOR = compile_lazily(rf"(?i){_OR}|\s+and\s+")
_ASIDE = compile_lazily(r"\([^()\n]*\)")
_LABEL = compile_lazily(r"[\w+-]{1,60}(?: [\w+-]{1,60}){0,4}")
_NUMBERED = compile_lazily(
    r"(?im)^[ \t]*(?:\[|\(|#|(?:passage|doc|document|option)s?\s)?(\d{1,3})[\].):]{1,2}(?:[ \t]+|\n(?!<))"
    r"([^\n]{1,500})$"
)
_TOKEN = compile_lazily(r"[a-z]+")
_CLOSED = compile_lazily(r"[\s.!?,)\"]*(?:$|\n|[.!?):]|\b(?:and nothing|only|for|to|based|depending)\b|in <)")
_LINES = compile_lazily(
    r"(?m)^(?P<head>[^\n]{0,400})(?::|>>)[ \t]*\n(?P<lines>(?:[ \t]*(?:[-*•]|\d{1,2}[.)])[^\n]{1,200}(?:\n|$)){2,30}"
    r"|(?:[\w-]{1,40}: [^\n]{1,200}(?:\n|$)){2,30})"
)
_BARE_LINES = compile_lazily(
    r"(?i)(?P<head>\bone of the following\b[^.:\n]{0,40})[.:][^\n]{0,200}\n\s{0,9}"
    r"(?P<lines>(?:[\w-]{1,40}[ \t]*(?:\n|\Z)){2,30})"
)
_BULLET = compile_lazily(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]*")
_QUOTED = compile_lazily(r"(?<!\w)['\"`](\w[\w-]{0,30})['\"`](?!\w)")
_NAME_OF = compile_lazily(r"\bname of (?:the |an? )?(\w{3,30})")
_OTHERWISE = compile_lazily(r"(?i)\b(?:else|otherwise|in all other cases|for (?:all|every|any)thing else)\b")
_ASKED = compile_lazily(r"(?is).*\b(?:question|query|input)\b[^:\n]{0,20}:\s*(?P<what>\S.*)")
_TASKS = make_vocabulary("task request question")
_USERS = ("user", "human", "request", "task", "customer")
_USER = compile_lazily(rf"(?im)^\W{{0,4}}(?:{'|'.join(_USERS)})\W{{0,4}}:")
_TURN = compile_lazily(
    r"\b(?:next|which|who|select|choose|pick)\b[^.\n]{0,40}\b(?:roles?|speakers?|agents?|workers?|participants?"
    r"|members?"
    r"|experts?|team|departments?|speaks?)\b|\b(?:(?:only|with)|the) (?:the|a|one) (?:\w+ )?name\b"
    r"|\b(?:roles?|speakers?|agents?|workers?|who)\b[^.\n]{0,20}\b(?:next|name)\b"
)
_ANY_NAME = compile_lazily(
    r"(?i)(?:an?|the|one|its|their)?\s?(?:\w+ )?(?:name|worker|agent|role|member|speaker)s?(?: .*)?"
)
_END = compile_lazily(r"\b(?:FINISH(?:ED)?|END|DONE|TERMINATE|STOP|__end__)\b")
_WITH_ID = compile_lazily(r"<(\w{1,30}) (?:id|name)=[\"']([\w-]{1,60})[\"']")
_SAYS = (
    r"[\"'`*)]{0,4}\s{0,3}(?:[:—–(]|name=[^<>\n]{0,80}>|-\s|\bis\b|\bfor\b|\bwho\b|\bthat\b"
    r"|[\w ]{0,20}\bdescription:)\s*([^\n]{3,300})"
)
