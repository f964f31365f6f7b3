"""The conversation as it is meant: without what clients wrap around the user's words, and with quoted calls read."""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise, takewhile, zip_longest

from msgspec.structs import replace

from mockserver.core.call import Call, Message, ToolCall
from mockserver.core.json import compact
from mockserver.core.lazy import compile_lazily
from mockserver.model.listed_options import list_options
from mockserver.model.shapes import asks_for_json, read_loosely
from mockserver.model.vocabulary import RULING, cut_excerpt, read_english, split_words


def unwrap(call: Call) -> Call:
    """Return the call with what its user said: the client's last words, not the context that it adds in tags.

    Calls and results that messages only quote, as clients without tools do, become calls and results.
    """
    said = tuple(map(_unwrap, call.messages))
    if said != call.messages:
        said = tuple(message for message in said if message.role != "user" or message.text or message.parts)
        if any(message.role == "user" for message in said):
            call = replace(call, messages=said)
    kept = tuple([last for before, last in pairwise((Message("user"), *call.messages)) if not _urges(before, last)])
    if len(kept) < len(call.messages):
        call = replace(call, messages=kept)
    *before, last = call.messages or (Message("user"),)
    points_back = last.role == "user" and _FORMAT_REQUEST.fullmatch(last.text.strip())
    if points_back and any(message.role == "user" for message in before):
        call = replace(call, messages=tuple(before))  # their values are put in the format, not those of the order
    if before and last.role == "user" and _ANSWER_LABEL.fullmatch(last.text) and before[-1].role in RULING:
        call = replace(call, messages=(*before[:-1], replace(before[-1], role="user")))  # it says all but the answer
    if call.tools and call.tool_choice.mode == "auto":
        kept = call.messages
        while len(kept) > 1 and _is_nudge(*kept[-2:]):
            kept = kept[:-1]
        if kept != call.messages:
            call = replace(call, messages=kept, tool_choice=replace(call.tool_choice, mode="required"))
    call = _set_case_apart(call)
    if any(message.text.startswith(_TELLING) for message in call.messages):
        openings = _OPENINGS if call.tools else {"user": _OPENINGS["user"][:1]}
        call = replace(call, messages=tuple(_read_acts(call.messages, openings)))
    return call


def _set_case_apart(call: Call) -> Call:
    """Return the call with what the user only orders as a message of the system, and the case of it as the user's."""
    at = len(call.messages) - len(call.since_user) - 1
    if at < 0:
        return call
    before, last = call.messages[:at], call.messages[at]
    text = cut_excerpt(last.text)
    earlier = [*takewhile(lambda each: each.role == "user", reversed(before))]
    if earlier and (_only_shows_json(text) or _only_lists_options(text)):
        before, case = before[:-1], earlier[0].text
    else:
        before = tuple(
            replace(each, role="system") if each in earlier and asks_for_json(each.text) else each for each in before
        )
        is_filled_in = bool(call.tools) or call.options.schema is not None
        # A chat without either may be told what to say of what is set apart.
        case = find_material(text) if is_filled_in or asks_for_json(text) else text
        if case == text and is_filled_in:
            case = cut_examples(text)
    told = () if case == text else (Message("system", last.text),)
    return replace(call, messages=(*before, *told, replace(last, text=case) if told else last, *call.since_user))


def _only_shows_json(text: str) -> bool:
    """Return whether a message only shows which JSON is wanted."""
    return asks_for_json(text) and text.rstrip().endswith(("}", "```")) and text.find("{") < _LONGEST_NUDGE


def _only_lists_options(text: str) -> bool:
    """Return whether a message only orders to choose one of the options that it lists."""
    listed = list_options(text)[:1] if "?" not in text else ()
    return any(len(text) - (each.end - each.start) < _LONGEST_NUDGE for each in listed)


def find_material(text: str) -> str:
    """Return what instructions set apart to be worked on; else all of the text."""
    found = next(filter(None, (pattern.search(text) for pattern in _MATERIALS)), None)
    return text if found is None else found["said"].rstrip()


def cut_examples(text: str) -> str:
    """Return the case that a prompt ends with behind examples: `Q: ...`, and `A:` without an answer; else all of it."""
    label = _LAST_LABEL.search(text)
    shown = re.compile(rf"(?i)\n(?:example )?{re.escape(label[1])}:").finditer(text, 0, label.start()) if label else ()
    last = max((each.end() for each in shown), default=0)
    if label is None or not last:
        return text
    case = _CASE.search(text, last, label.start())
    start = case.start() if case else text.rfind("\n\n", last, label.start())
    return text if start < 0 else text[start : label.start()].strip("#=*~- \n")


def _is_nudge(before: Message, last: Message) -> bool:
    """Return whether a message only keeps an agent going that answered without a call, or complains about that."""
    if last.role != "user" or last.parts or before.role not in ("user", "assistant") or before.tool_calls:
        return False
    asked = split_words(re.split(r"[.!?\n]", last.text.strip(), maxsplit=1)[0][:_LONGEST_NUDGE])
    goes_on = bool(asked) and {*read_english("going_on", "formats")}.issuperset(asked)
    return (goes_on and before.role == "assistant") or _MISSES_CALL.search(last.text) is not None


def _urges(before: Message, last: Message) -> bool:
    """Return whether a message behind a tool's result only says what to do with it: to answer, or to go on."""
    follows = last.role == "user" and before.role == "tool" and not last.parts
    return follows and len(last.text) < _LONGEST_URGE and _ON_RESULT.search(last.text) is not None


def _unwrap(message: Message) -> Message:
    text = message.text
    if message.role != "user" or not ("<" in text or "[INST]" in text or text[:1] in ('"', "“")):
        return message
    if turns := [*_TURN_OF_TEMPLATE.finditer(text[-_LONGEST_TRANSCRIPT:])]:
        return replace(message, text=_SYSTEM_OF_TEMPLATE.sub("", turns[-1]["said"]).strip())
    kept = list[str]()
    at = 0
    for found in _CONTEXT.finditer(text):
        end = text.find(f"</{found['tag']}>", found.end())
        if end < 0:
            break
        if found.start() >= at:
            kept.append(text[at : found.start()])
            at = end + len(found["tag"]) + 3
    text = "".join((*kept, text[at:])).strip() if at else text
    if request := _REQUEST.fullmatch(text):
        text = request["said"]
    if quoted := _QUOTED.fullmatch(text):
        text = quoted[1]
    return message if text == message.text else replace(message, text=text)


def _read_acts(messages: Sequence[Message], openings: Mapping[str, tuple[str, ...]]) -> Iterator[Message]:
    """Yield what messages that open so tell that was called, and what came of it, as calls and results.

    `For context: [planner] called tool `search` with parameters: {'query': 'tides'}` is a transcript of other agents
    (Google's ADK); `Calling tools: [{'id': ...}]` and `Observation: ...` are the own calls of one (smolagents).
    """
    made: tuple[ToolCall, ...] = ()
    for message in messages:
        tells = message.text.startswith(openings.get(message.role, ()))
        found = [*_ACT.finditer(message.text[:_LONGEST_TRANSCRIPT])] if tells else []
        if not found:
            yield message
        for act, following in zip_longest(found, found[1:]):
            text = _MARKERS.sub("", message.text[act.end() : following.start() if following else None]).strip()
            if act["listed"]:
                made = _read_calls(text)
                yield Message("assistant", tool_calls=made) if made else message
            elif act["seen"]:
                yield Message("tool", text, tool_call_id=made[-1].id) if made else message
            elif act["made"]:
                arguments = "{}"
                with suppress(ValueError, SyntaxError, MemoryError, RecursionError):  # it is not as Python writes it
                    arguments = compact(ast.literal_eval(text))
                yield Message("assistant", tool_calls=(ToolCall(f"quoted_{act['made']}", act["made"], arguments),))
            elif act["of"]:
                yield Message("tool", text, tool_call_id=f"quoted_{act['of']}", name=act["of"])
            else:
                yield Message("assistant", text)


def _read_calls(text: str) -> tuple[ToolCall, ...]:
    found = read_loosely(text, 0)
    listed = found.value if found and isinstance(found.value, list) else []
    made = list[ToolCall]()
    for quoted, function in ((each, each.get("function")) for each in listed if isinstance(each, Mapping)):
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            given = function.get("arguments", {})
            arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            made.append(ToolCall(str(quoted.get("id", "")), function["name"], arguments))
    return tuple(made)


_QUOTED = compile_lazily(r"\s*[\"“]([^\"“”\n]{1,2000})[\"”]\s*")  # a prompt in the quotes of a command line
_CONTEXT = compile_lazily(
    r"(?i)<(?P<tag>(?:system|session|environment|user|workspace|editor|project|ide|additional|conversation)"
    r"[-_](?:reminder|context|info|information|details|instructions|state|data)|env|instructions|attachments)>"
)
_REQUEST = compile_lazily(
    r"(?is)\s*<(?P<tag>task|user_?(?:query|request|message|input|prompt)|request|prompt)>\s*(?P<said>.{1,20000}?)"
    r"\s*</(?P=tag)>\s*"
)
_TURN_OF_TEMPLATE = compile_lazily(  # what the user says in a prompt that is written out for a model, as Llama's is
    r"(?s)(?:<\|start_header_id\|>user<\|end_header_id\|>|<\|im_start\|>user\n|<start_of_turn>user\n|<\|user\|>|\[INST\])"
    r"(?P<said>.*?)(?:<\|(?:eot_id|im_end|end|assistant)\|>|<end_of_turn>|\[/INST\]|\Z)"
)
_SYSTEM_OF_TEMPLATE = compile_lazily(r"(?s)<<SYS>>.*?<</SYS>>")
_FORMAT_REQUEST = compile_lazily(  # You must format the previous response as structured output.
    r"(?i)(?:<\w{1,20}>)?[^.!?\n]{0,40}\b(?:format|restate|convert|structure|extract|reflect on)\b[^.!?\n]{0,40}"
    r"\b(?:previous|preceding|above|last|original)\s(?:response|answer|message|text|output|conversation|question)\b"
    r"[^.!?\n]{0,80}[.!]?(?:\s+(?:respond|answer)\b[^.!?\n]{0,80}[.!]?)?(?:</\w{1,20}>)?"
)
_ANSWER_LABEL = compile_lazily(r"\s{0,9}(?:\w{1,20} ){0,2}\w{1,20}:\s{0,9}")
_LONGEST_NUDGE = 200  # characters
_LONGEST_URGE = 400
_ON_RESULT = compile_lazily(  # Analyze the tool result. If requirements are met, provide the Final Answer.
    r"(?is)\b(?:tool|function)(?:'s)?\s(?:call\s)?(?:results?|outputs?|responses?)\b.*\b(?:(?:final|an|the|your)\sanswer"
    r"|next\s(?:tool|step)|continue|proceed)\b"
)
_LAST_LABEL = compile_lazily(r"\n([A-Za-z][\w ]{0,30}):\s*\Z")
_CASE = compile_lazily(  # a label, and what it is, behind a line that separates
    r"\n(?:[ \t]*+|[#=*~-]{3}[^\n]*+)\n(?=[A-Za-z][\w ]{0,30}:\s?\S)"
)
_SOURCE = (
    r"(?i:input|source|text|document|passage|article|transcript|content|email|review|current_message|real data"
    r"|conversation|messages?|quer(?:y|ies)|question)"
)
_MATERIALS = (  # to be read for values, by how it is set apart: by a label, in tags, between rules, at the end
    compile_lazily(r"(?s)\A\s*+(?:Current )?Task: (?P<said>\S.{0,8000}?)\n\n(?=This is the expected criteria)"),
    compile_lazily(rf"(?s)<(?P<tag>(?:{_SOURCE}[_ ]?){{1,2}})>\s*+(?P<said>\S.{{0,8000}}?)</(?P=tag)>"),
    compile_lazily(
        rf"(?s)\n(?P<mark><<|={{2,20}}|-{{1,20}}|#{{1,4}})[ \t]?(?:\w{{3,8}} )?{_SOURCE}[ \t]?[>=#-]{{0,20}}[ \t]*+\n"
        r"\s*+(?P<said>\S.{0,8000}?)(?=\n(?P=mark)[ \t]?\w|\Z)"
    ),
    compile_lazily(r"(?s):[ \t]*+\s\s?(?P<rule>[=~*_#]{6,80})\n\s*+(?P<said>\S.{0,8000}?)\n(?P=rule)"),
    compile_lazily(rf"(?s)(?:\A|\n)(?:{_SOURCE} ?){{1,2}}:[ \t]*+\n\s*+(?P<said>[^\s\"'`].{{0,8000}})\Z"),
    compile_lazily(r"(?s)[:\n]\s{0,9}(?P<quotes>\"{3}|'{3})\s*+(?P<said>\S.{0,8000}?)(?P=quotes)"),
)
_MISSES_CALL = compile_lazily(  # You did not use a tool in your previous response!
    r"(?i)\bno (?:tool|function)[ _]calls?\b|\b(?:did not|didn't|failed to|does not|must)\b.{0,30}?"
    r"\b(?:use|call|include|contain|make|have)\b.{0,30}?\b(?:tool|function)\b|\bfix the errors? and try again\b"
)
# How messages begin that tell of calls.
_OPENINGS = {"user": ("For context:", "Observation:"), "assistant": ("Calling tools:",)}
_TELLING = (*_OPENINGS["user"], *_OPENINGS["assistant"])
_LONGEST_TRANSCRIPT = 100_000
_ACT = compile_lazily(
    r"\[[\w -]{1,80}\] (?:called tool `(?P<made>[^`\n]{1,128})` with parameters:|"
    r"`(?P<of>[^`\n]{1,128})` tool returned result:|said:)|\A(?:(?P<listed>Calling tools)|(?P<seen>Observation)):"
)
_MARKERS = compile_lazily(r"<<<(?:BEGIN|END)_\w{1,60}>>>")
