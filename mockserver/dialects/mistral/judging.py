"""Mistral's moderations and classifications, of texts and of chats (https://docs.mistral.ai/api/endpoint/classifiers).

Only the last message of a chat is judged.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Message, Prompt
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, label_member, list_of, open_shape, optional, shape, text_or, union_by
from mockserver.dialects._parse import Body, read_request
from mockserver.dialects._reply import make_json_reply
from mockserver.dialects.mistral.errors import refuse, write_header_lines
from mockserver.dialects.mistral.request import MESSAGE, NAME, list_texts
from mockserver.kinds.moderations import Judgement, Moderations


def _tag_chats(value: Any) -> str:
    return "<chats>" if isinstance(value, list) and value and isinstance(value[0], list) else "<messages>"


def _tag_requests(value: Any) -> str:
    return "<an array>" if isinstance(value, list) else "<an object>"


Chat = Sequence[Body]
_Messages = list_of(MESSAGE, 1)
_Chats = list_of(_Messages, 1)
_Request = open_shape(messages=_Messages)
TEXTS = text_or("<an array>", list_of(str, 1))
JUDGE = BodyModel(shape(model=str, input=TEXTS, metadata=optional(Any)))
JUDGE_CHAT = BodyModel(
    shape(
        model=str,
        input=union_by(_tag_chats, label_member("<messages>", _Messages), label_member("<chats>", _Chats)),
    )
)
CLASSIFY_CHAT = BodyModel(
    shape(
        model=str,
        input=union_by(
            _tag_requests, label_member("<an object>", _Request), label_member("<an array>", list_of(_Request, 1))
        ),
    )
)


def make_judging_operations() -> Sequence[Operation]:
    """Return the operations on texts and on chats."""
    moderate = _make_renderer(_judge)
    classify = _make_renderer(_classify)
    return (
        Operation("moderations", "POST", "/moderations", parse=partial(_parse_texts, "moderations"), render=moderate),
        Operation("moderations", "POST", "/chat/moderations", parse=_parse_chats, render=moderate),
        Operation(
            "classifications",
            "POST",
            "/classifications",
            parse=partial(_parse_texts, "classifications"),
            render=classify,
        ),
        Operation("classifications", "POST", "/chat/classifications", parse=_parse_requests, render=classify),
    )


def _parse_texts(operation: str, http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(JUDGE, http, refuse=refuse, validation=validation)
    return _make_call(operation, http, body=body, texts=list_texts(parsed["input"]))


def _parse_chats(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(JUDGE_CHAT, http, refuse=refuse, validation=validation)
    given = parsed["input"]
    chats = given if given and isinstance(given[0], list) else [given]
    return _make_chat_call("moderations", http, body=body, chats=chats)


def _parse_requests(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(CLASSIFY_CHAT, http, refuse=refuse, validation=validation)
    given = parsed["input"]
    requests = [given] if isinstance(given, Mapping) else given
    return _make_chat_call("classifications", http, body=body, chats=[each["messages"] for each in requests])


def _make_chat_call(operation: str, http: HttpRequest, *, body: Body, chats: Sequence[Chat]) -> Call:
    call = _make_call(operation, http, body=body, texts=[_read_last(chat) for chat in chats])
    return replace(call, meaning={**call.meaning, "chats": [*chats]})


def _make_call(operation: str, http: HttpRequest, *, body: Body, texts: Sequence[str]) -> Call:
    return Call(
        dialect=NAME,
        operation=operation,
        model=body["model"],
        http=http,
        meaning={"model": body["model"], "input": texts[0] if len(texts) == 1 else [*texts]},
        raw=body,
        messages=tuple([Message("user", text) for text in texts]),
        prompts=tuple(map(Prompt, texts)),
        ids=IdShape("", 32, "hex"),
    )


def _read_last(chat: Chat) -> str:
    """Return the text of the last message, which a chat lacks only if nothing was checked."""
    content = (chat[-1].get("content") if chat else None) or ""
    if isinstance(content, str):
        return content
    return "\n".join([part["text"] for part in content if part["type"] == "text"])


Show = Callable[[Judgement], Mapping[str, Json]]


def _make_renderer(show: Show) -> Callable[[Call, Moderations], Reply]:
    def render(call: Call, outcome: Moderations) -> Reply:
        body = {"id": outcome.id, "model": outcome.model, "results": [*map(show, outcome.results)]}
        return make_json_reply(200, body, lines=write_header_lines(call.http, call), headers=outcome.headers)

    return render


def _judge(result: Judgement) -> Mapping[str, Json]:
    flags = {name: not result.flagged.isdisjoint(own) for name, own in _CATEGORIES.items()}
    return {"categories": flags, "category_scores": _score(result)}


def _classify(result: Judgement) -> Mapping[str, Json]:
    return {"moderation": {"scores": _score(result)}}


def _score(result: Judgement) -> dict[str, Json]:
    """Return scores in Mistral's categories, each the highest of those that it comprises."""
    return {name: max((result.scores.get(each, 0.0) for each in own), default=0.0) for name, own in _CATEGORIES.items()}


_CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "sexual": ("sexual", "sexual/minors"),
    "hate_and_discrimination": ("hate", "hate/threatening", "harassment"),
    "violence_and_threats": ("violence", "violence/graphic", "harassment/threatening"),
    "dangerous_and_criminal_content": ("illicit", "illicit/violent"),
    "selfharm": ("self-harm", "self-harm/instructions", "self-harm/intent"),
    **dict.fromkeys(("health", "financial", "law", "pii"), ()),
}
