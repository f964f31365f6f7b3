"""Code that a user writes to be run, with the tool that runs it, and tool calls that a conversation quotes as text.

Questions about code are no order to run it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from mockserver.core.call import Call, Message, Tool, ToolCall
from mockserver.core.json import Json
from mockserver.model.arguments.described import read
from mockserver.model.tools.offers import properties_of
from mockserver.model.vocabulary import stem, vocabulary, words

_CALLING, _OBSERVED = "Calling tools:", "Observation:"


def with_quoted_calls(call: Call) -> Call:
    """Return the call, with tool calls and observations that its messages quote as calls and results."""
    if not call.tools or not any(map(_observes, call.messages)):
        return call
    return replace(call, messages=tuple(_parsed(call.messages)))


def _observes(message: Message) -> bool:
    return message.role == "user" and message.text.startswith(_OBSERVED)


def _parsed(messages: Sequence[Message]) -> Iterator[Message]:
    before: tuple[ToolCall, ...] = ()
    for message, following in zip_longest(messages, messages[1:]):
        made = _quoted(message) if following is not None and _observes(following) else ()
        if made:
            yield Message("assistant", tool_calls=made)
        elif before:
            yield Message("tool", message.text.removeprefix(_OBSERVED).strip(), tool_call_id=before[-1].id)
        else:
            yield message
        before = made


def _quoted(message: Message) -> tuple[ToolCall, ...]:
    if message.role != "assistant" or not message.text.startswith(_CALLING):
        return ()
    opening = message.text.find("[")
    found = None if opening < 0 else read(message.text, opening)
    listed = found[0] if found and isinstance(found[0], list) else []
    return tuple(made for each in listed if (made := _call(each)) is not None)


def _call(quoted: Json) -> ToolCall | None:
    function = quoted.get("function") if isinstance(quoted, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return None
    arguments = function.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(quoted.get("id", "")), function["name"], text)


def code_runner(text: str, tools: Sequence[Tool]) -> Tool | None:
    """Return the tool that runs the code of a text which only asks to run it; None for any other text."""
    kind = _kind(text[:_LONGEST])
    if kind is None:
        return None
    wanted = frozenset(map(stem, kind.split()))
    score, at = max(((_fitness(tool, wanted), -at) for at, tool in enumerate(tools)), default=(0, 0))
    return tools[-at] if score > 0 else None


def _kind(text: str) -> str | None:
    """The words for the kind of code; None where there is none, or the text says more than to run it."""
    spans = [found[1] or found[2] for found in _SPAN.finditer(text)]
    kind = next((words for begin, words in _KINDS if begin.match(spans[0] if spans else text)), None)
    if not spans:
        return kind
    fence = _FENCED.search(text)
    named = _LANGUAGES.get(fence[1].lower()) if fence else None
    return (named or kind or "command") if _RUN.fullmatch(_SPAN.sub(" ", text)) else None


def _fitness(tool: Tool, wanted: frozenset[str]) -> int:
    """How many words of a tool are about that kind of code; 0 for one that takes no code."""
    takes = {stem(word) for name, schema in properties_of(tool).items() if _takes_text(schema) for word in words(name)}
    if tool.kind != "custom" and takes.isdisjoint(map(stem, _NAMES_OF_CODE)):
        return 0
    named = wanted.intersection(map(stem, words(tool.name)))
    about = wanted.intersection(map(stem, words(tool.description[:_LONGEST_DESCRIPTION])))
    return 3 * len(named) + 2 * len(wanted & takes) + len(about) + 1


def _takes_text(schema: object) -> bool:
    return isinstance(schema, dict) and schema.get("type", "string") == "string" and "enum" not in schema


_LONGEST, _LONGEST_DESCRIPTION = 4_000, 900  # characters of a text, of a description
_NAMES_OF_CODE = vocabulary("sql query command cmd code script source program statement shell bash input python")
_SPAN = re.compile(r"```\w*[ \t]*\n?([^`]+)```|`([^`\n]+)`")
_FENCED = re.compile(r"```(\w+)[ \t]*\n")
# What may surround code to run: at most the order to run it.
_RUN = re.compile(
    r"[\s.!:]*(?:(?:please|can|could|you|now|just|kindly|hey|hi|and|then)[\s,]+){0,5}"
    r"(?:(?:run|execute|exec|eval(?:uate)?|try|do|query|launch|start|invoke|issue|type|call|perform|show\s+me)\b"
    r"(?:\s+(?:the|this|that|following|a|an|my|sql|query|command|code|snippet|script|program|statement|python|shell|bash|"
    r"in|on|against|for|me|terminal|database|db|it|please|as|is|using|with)\b){0,8})?"
    r"(?:[\s.!?:,]|please|for\s+me|thanks?|thank\s+you|and\s+(?:show|tell|give)\s+me\s+(?:the\s+)?(?:output|results?)){0,9}",
    re.IGNORECASE,
)
_SQL = (
    r"\s*(?:SELECT\s[\s\S]{1,2000}?\sFROM\s|(?i:select\s+(?:distinct\s+)?[^\s,]{1,80}(?:\s*,\s*[^\s,]{1,80}){0,40}\s+from\s+\w"
    r"|insert\s+into\s|update\s+\S{1,80}\s+set\s|delete\s+from\s|"
    r"(?:create|alter|drop)\s+(?:table|index|view|database)\s|with\s+\w{1,60}\s+as\s*\(|explain\s+select\s|pragma\s|"
    r"show\s+(?:tables|databases)\b))"
)
_SHELL = (
    r"\s*(?:\$\s+\S|\./\S|sudo\s+\S"
    r"|(?:git|npm|yarn|pnpm|pip3?|cargo|docker|docker-compose|kubectl|terraform|helm|apt|apt-get|brew|systemctl|go|poetry|uv|"
    r"conda|gh|aws|gcloud|az|mvn|gradle|dotnet|rails)\s+(?:-{1,2}\w|(?:status|log|diff|add|commit|push|pull|clone|checkout|"
    r"branch|merge|rebase|install|test|run|build|start|stop|ps|images|get|describe|apply|init|plan|list|update|upgrade|"
    r"exec|logs|fetch|reset|show|tag|stash|publish|ci|restart|uninstall|up|down|sync|freeze|version|config|remote)\b)"
    r"|(?:ls|pwd|whoami|df|du|ps|uname|env|htop|ifconfig|uptime|hostname)(?:\s+[-/.~*]\S*){0,6}\s*$"
    r"|(?:npx|python3?|node|java|curl|wget|ssh|scp|rsync|chmod|chown|mkdir|rmdir|touch|cat|head|tail|grep|awk|sed|tar|cd|cp|"
    r"mv|rm|ping|pytest|bash|sh|psql|export|find|ansible|unzip)\s+(?:-{1,2}\w|[\w*~$]*[./~=*]\S*)"
    r"|echo\s+[\"'$]|make\s+(?:test|build|clean|install|all|lint|check|run|deploy|help|fmt|release|docs)\s*$)"
)
_PYTHON = (
    r"\s*(?:print\(|import\s+\w+\s*(?:\n|$|;|as\s)|from\s+\w+\s+import\s|def\s+\w+\("
    r"|for\s+\w+\s+in\s[^\n]{1,200}:\s*\n)"
)
_SCRIPT = r"\s*(?:console\.log\(|const\s+\w+\s*=|let\s+\w+\s*=|function\s+\w*\()"
_KINDS = (
    (re.compile(_SQL), "sql database query statement postgres mysql sqlite"),
    (re.compile(_SHELL), "shell bash terminal command cmd"),
    (re.compile(_PYTHON), "python script interpreter"),
    (re.compile(_SCRIPT), "javascript js node script"),
)
_LANGUAGES = {
    **dict.fromkeys(("sql", "mysql", "postgres", "postgresql", "sqlite", "psql"), _KINDS[0][1]),
    **dict.fromkeys(("sh", "bash", "shell", "zsh", "console", "powershell"), _KINDS[1][1]),
    **dict.fromkeys(("python", "py", "python3"), _KINDS[2][1]),
    **dict.fromkeys(("javascript", "js", "typescript", "ts"), _KINDS[3][1]),
}
