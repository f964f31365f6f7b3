"""A Gemini request as a Call: the conversation, its tools, and the requirements for the answer."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from pydantic_core import to_json

from mockserver.core.call import Call, IdShape, Message, Options, PlainMessages, Tool, ToolCall, ToolChoice
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, compact
from mockserver.core.plan import OWN_FINISHES, Failure
from mockserver.core.validation import Validation
from mockserver.dialects._meaning import find_meaning
from mockserver.dialects._parse import BAD_JSON, Body, read_object, read_usual
from mockserver.dialects._pending_calls import PendingCalls
from mockserver.dialects.gemini import proto
from mockserver.dialects.gemini.bodies import COUNT_TOKENS, DATA, GENERATE, MEDIA_FIELDS
from mockserver.dialects.gemini.checks import (
    CHECKED,
    ROLES,
    check_generate,
    check_values,
    has_data,
    is_newer,
    mend_question,
)
from mockserver.dialects.gemini.errors import TYPES, is_vertex
from mockserver.dialects.gemini.schemas import make_answer_schema, make_json_schema, normalize_schema

NAME = "gemini"
RESPONSE_IDS = IdShape("", 23)
CALL_IDS = IdShape("", 8, "hex")
NO_CALL_IDS = IdShape("", 0)
FINISHES = frozenset(filter(str.isupper, OWN_FINISHES))
PART_TOKENS = 258  # of an image, a page, ...


def parse_generate(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a request for content. Raises Failure."""
    body, texts = _read_contents(http, validation)
    if validation is Validation.OFF:
        body = mend_question("GenerateContentRequest", body)
        texts = None
    elif texts is None or not CHECKED.isdisjoint(body):
        check_generate(body, model=find_model(http), vertex=is_vertex(http), validation=validation)
    return make_call(http, body, operation="chat", texts=texts)


def _read_contents(http: HttpRequest, validation: Validation) -> "tuple[Body, _Texts | None]":
    """Return the body of a generateContent request, and its messages if they are only texts."""
    if validation is Validation.PUBLISHED:
        usual = read_usual(GENERATE.typed[is_vertex(http)], http)
        texts = None if usual is None else _read_texts(usual)
        if usual is not None and (texts is not None or _has_single_data(usual)):
            return usual, texts
    body = read(http, GENERATE, validation)
    return body, _read_texts(body)


def _has_single_data(body: Body) -> bool:
    """Return whether no part of a body has data of several kinds."""
    contents = (*body.get("contents", ()), body.get("systemInstruction", {}))
    return all(
        len(part) == 1 or len(part.keys() & DATA) <= 1 for content in contents for part in content.get("parts", ())
    )


def parse_count(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a request to count tokens. Raises Failure."""
    body = read(http, COUNT_TOKENS, validation)
    inner = body.get("generateContentRequest")
    if validation is not Validation.OFF:
        _check_count(body, inner)
    asked = body if inner is None or ("contents" in body and not inner.get("contents")) else inner
    if "instances" in asked:
        asked = {"contents": [{"parts": [{"text": compact(each)}]} for each in asked["instances"]]}
    if validation is Validation.OFF:
        asked = mend_question("CountTokensRequest", asked)
    else:
        check_values("CountTokensRequest", asked, vertex=is_vertex(http))
    return make_call(http, asked, operation="input_tokens", texts=_read_texts(asked))


def _check_count(body: Body, inner: Body | None) -> None:
    if inner is not None and "contents" in body:
        raise Failure(
            "bad_parameter",
            "* CountTokensRequest.contents: only one of contents and generate_content_request may be set.\n",
        )
    if inner is not None and not inner.get("model"):
        raise Failure("bad_parameter", "* CountTokensRequest.generate_content_request.model: model is not specified\n")


def read(http: HttpRequest, kind: proto.MessageType, validation: Validation) -> dict[str, Json]:
    """Return the body as its message, with camelCase keys. If nothing is checked, wrong values are left out.

    Raises Failure with all mistakes.
    """
    try:
        given = read_object(http) if http.body.strip() else {}
    except Failure as failure:
        raise Failure(failure.reason, f"Invalid JSON payload received. {_explain_broken(http.body, failure)}") from None
    body, found = proto.read_message(kind, given, vertex=is_vertex(http))
    if found and validation is not Validation.OFF:
        violations = [{**({"field": each.where} if each.where else {}), "description": each.text} for each in found]
        details = {"@type": f"{TYPES}BadRequest", "fieldViolations": violations}
        raise Failure("bad_parameter", "\n".join(each.text for each in found), details={"google": [details]})
    return body


def _explain_broken(body: bytes, failure: Failure) -> str:
    """Return what is wrong with invalid JSON, and the text around it with a caret below."""
    why = (failure.message or "").removeprefix(BAD_JSON)
    found = _PLACE.fullmatch(why)
    if found is None:
        return 'Unknown name "": Root element must be a message.' if "an object" in why else why
    ended = found["why"].startswith("EOF")
    before = body.split(b"\n")[: int(found["line"]) - 1]
    at = sum(len(line) + 1 for line in before) + int(found["column"]) - (not ended)
    begins = max(at - _AROUND, 0)
    expected = next((text for word, text in _EXPECTED.items() if word in found["why"]), "Unexpected token.")
    around = body[begins : at + _AROUND].decode(errors="replace")
    caret = " " * len(body[begins:at].decode(errors="replace")) + "^"
    return f"{'Unexpected end of string. ' * ended}{expected}\n{around}\n{caret}"


_PLACE = re.compile(r"(?P<why>.*) at line (?P<line>[0-9]+) column (?P<column>[0-9]+)\.?")
_AROUND = 20  # bytes on either side of the mistake
_EXPECTED = {
    "key must": "Expected an object key or }.",
    "a string": "Closing quote expected in string.",
    "an object": "Expected an object key or }.",
    "a list": "Expected , or ] after array value.",
    "`,` or `]`": "Expected , or ] after array value.",
    "`,` or `}`": "Expected , or } after key:value pair.",
    "`:`": "Expected : between key:value pair.",
    "value": "Expected a value.",
}


def make_renamer(kind: proto.MessageType) -> Callable[[HttpRequest, Body], Body]:
    """Return the `unify` of an operation whose bodies are this message."""
    return lambda http, body: proto.rename_fields(kind, body, vertex=is_vertex(http))


def find_model(http: HttpRequest) -> str:
    """Return the name of the model in a path."""
    return http.path_params["model"]


class _Texts(NamedTuple):
    """The messages of a body whose parts are all texts, and its contents without what cannot change an answer."""

    messages: list[Message]
    contents: list[Body]


def _read_texts(body: Body) -> _Texts | None:
    """Return the messages if each part is only a text, and thus valid."""
    messages: list[Message] = []
    meant: list[Body] = []
    system = body.get("systemInstruction")
    if system is not None:
        texts = _list_texts(system)
        if texts is None:
            return None
        if text := "\n".join(texts):
            messages.append(Message("system", text))
    for content in body.get("contents") or ():
        role = content.get("role")
        texts = _list_texts(content)
        if not texts or (role and role not in ROLES):
            return None
        messages.append(Message("assistant" if role == "model" else "user", "".join(texts)))
        meant.append(content if role else {"role": "user", "parts": content["parts"]})
    return _Texts(messages, meant) if meant else None


def _list_texts(content: Body) -> list[str] | None:
    texts = []
    for part in content.get("parts") or ():
        if len(part) != 1 or "text" not in part:
            return None
        texts.append(part["text"])
    return texts


def make_call(http: HttpRequest, body: Body, operation: str, texts: _Texts | None) -> Call:
    """Return the Call of a body; `texts` are its messages, if they are only texts."""
    model = find_model(http)
    config = body.get("generationConfig")
    tools = tuple(_read_tools(body)) if "tools" in body else ()
    cache = body.get("cachedContent") or None
    if cache is not None:  # on Vertex AI, a project contains it
        cache = _PROJECT_PREFIX.sub("", cache)
    return Call(
        dialect=NAME,
        operation=operation,
        model=model,
        http=http,
        meaning=_find_meaning(body, model, _simplify_contents(body["contents"]) if texts is None else texts.contents),
        raw=body,
        messages=tuple(list_messages(body)) if texts is None else PlainMessages(texts.messages),
        tools=tools,
        tool_choice=_read_tool_choice(body, tools) if tools or "toolConfig" in body else _NO_CHOICE,
        stream=":stream" in http.path,
        ids=RESPONSE_IDS,
        tool_call_ids=CALL_IDS if is_newer(model) else NO_CALL_IDS,
        finishes=FINISHES,
        previous_response_id=cache,
        part_tokens=_count_part_tokens,
        message_tokens=0,
        options=_read_options(config) if config else _USUAL,
        is_sound=texts is not None,
    )


_NO_CHOICE = ToolChoice("none")
_USUAL = Options(overflow="shorten")


def _read_options(config: Body) -> Options:
    response_format, schema = _read_format(config)
    return Options(
        n=config.get("candidateCount") or 1,
        max_tokens=config.get("maxOutputTokens"),
        stop=tuple(config.get("stopSequences") or ()),
        logprobs=(config.get("logprobs") or 0) if config.get("responseLogprobs") else None,
        seed=config.get("seed"),
        overflow="shorten",
        effort=_find_effort(config.get("thinkingConfig") or {}),
        response_format=response_format,
        schema=schema,
    )


_PROJECT_PREFIX = re.compile(r"projects/[^/]+/locations/[^/]+/(?=cachedContents/)")


def _count_part_tokens(part: Mapping[str, Json]) -> int:
    return PART_TOKENS if is_media(part) else len(compact(part)) // 4  # code and what it printed


def is_media(part: Mapping[str, Json]) -> bool:
    """Return whether a part of a message is media, and not a use of Google's tools."""
    return part["type"] not in _DONE.values()


def list_messages(body: Body) -> Iterator[Message]:
    """Yield the messages of a body; each result of a function is a message of its own."""
    system = body.get("systemInstruction")
    if system and (text := "\n".join(part.get("text", "") for part in system.get("parts") or ())):
        yield Message("system", text)
    pending = PendingCalls()
    made = 0
    speaker = ""
    for content in body["contents"]:
        parts = content["parts"]
        earlier = speaker
        speaker = content.get("role") or "user"
        if speaker == "model":
            calls = tuple(
                ToolCall(call.get("id") or f"call_{made + at}", call["name"], compact(call.get("args") or {}))
                for at, call in enumerate(part["functionCall"] for part in parts if "functionCall" in part)
            )
            if earlier != "model":
                pending = PendingCalls()
            pending.add(calls)
            made += len(calls)
            yield _make_message("assistant", parts, calls)
            continue
        for part in parts:
            if "functionResponse" in part:
                yield _read_result(part["functionResponse"], pending)
        rest = [part for part in parts if "functionResponse" not in part]
        if len(rest) == len(parts) or any(map(has_data, rest)):
            yield _make_message("user", rest)


def _make_message(role: str, parts: Sequence[Body], calls: tuple[ToolCall, ...] = ()) -> Message:
    text = "".join([part["text"] for part in parts if "text" in part and not part.get("thought")])
    others = [part for part in parts if "text" not in part]
    return Message(role, text, parts=tuple(chain.from_iterable(map(_convert_part, others))), tool_calls=calls)


def _convert_part(part: Body) -> Iterator[Body]:
    """Yield media in the form that rules know, and the model's use of Google's tools."""
    if (blob := part.get("inlineData")) is not None:
        kind = blob["mimeType"]
        yield _convert_media(kind, f"data:{kind};base64,{blob.get('data', '')}", blob)
    elif (file := part.get("fileData")) is not None:
        yield _convert_media(file.get("mimeType") or "", file["fileUri"], {})
    for name, kind in _DONE.items():
        if name in part:
            yield {"type": kind, **part[name]}


def _convert_media(kind: str, url: str, blob: Body) -> Body:
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    if kind.startswith("audio/") and blob:
        return {"type": "input_audio", "input_audio": {"data": blob.get("data", ""), "format": kind[6:]}}
    return {"type": "file", "file": {"file_data": url, "mime_type": kind}}


_DONE = {
    "executableCode": "code_interpreter_call",
    "codeExecutionResult": "code_interpreter_result",
    "toolCall": "tool_call",
    "toolResponse": "tool_response",
}


def _read_result(result: Body, pending: PendingCalls) -> Message:
    """Return a tool's result, for the call with its id, or else the first one of its name without a result."""
    named = result.get("id")
    name = result["name"]
    call = pending.take(name, named)
    parts = tuple(chain.from_iterable(map(_convert_part, result.get("parts") or ())))
    text = _unwrap_result(name, result.get("response") or {})
    of_call = named or "" if call is None else call.id
    return Message("tool", text, parts=parts, tool_call_id=of_call, name=name)


def _unwrap_result(name: str, response: Body) -> str:
    """Return the value of a function, which its client wraps: `{"result": ...}`, or under its name.

    Blocks of text, as results of MCP's tools have them, are a text.
    """
    wrapped = {key: value for key, value in response.items() if (key, value) != ("name", name)}
    value = next(iter(wrapped.values())) if len(wrapped) == 1 and next(iter(wrapped)) in _WRAPPED else response
    if (
        isinstance(value, list)
        and value
        and all(isinstance(each, dict) and each.keys() - {"type"} == {"text"} for each in value)
    ):
        return "\n".join([str(each["text"]) for each in value])
    return value if isinstance(value, str) else compact(value)


_WRAPPED = ("result", "output", "return_value", "content")


def _read_tools(body: Body) -> Iterator[Tool]:
    for tool in body.get("tools") or ():
        for function in tool.get("functionDeclarations") or ():
            schema = normalize_schema(function.get("parametersJsonSchema"))
            if schema is None and "parameters" in function:
                schema = make_json_schema(function["parameters"])
            schema = schema if isinstance(schema, Mapping) else None
            yield Tool(function["name"], function.get("description") or "", schema)
        for name in tool:
            if name != "functionDeclarations":
                kind = _KINDS.get(name, f"google_{proto.write_snake_case(name)}")
                yield Tool(kind, kind=kind, options=tool[name] if isinstance(tool[name], Mapping) else {})


# Google's names of tools that other providers have, too.
_KINDS = {
    "googleSearch": "web_search",
    "googleSearchRetrieval": "web_search",
    "codeExecution": "code_interpreter",
    "fileSearch": "file_search",
}


def _read_tool_choice(body: Body, tools: tuple[Tool, ...]) -> ToolChoice:
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    allowed = tuple(calling.get("allowedFunctionNames") or ())
    functions = tuple(tool.name for tool in tools if tool.kind == "function")
    match calling.get("mode"):
        case "NONE":
            return ToolChoice("none")
        case "ANY" if len(allowed) == 1:
            return ToolChoice("named", allowed)
        case "ANY" if functions:
            return ToolChoice("required", allowed or functions)
        case "VALIDATED":
            return ToolChoice("auto", allowed)
    return ToolChoice("auto" if tools else "none")


def _read_format(config: Body) -> tuple[str, Json]:
    if "responseSchema" in config:
        kind = "enum" if config.get("responseMimeType") == "text/x.enum" else "json_schema"
        return kind, make_answer_schema(config["responseSchema"])
    if "responseJsonSchema" in config:
        return "json_schema", normalize_schema(config["responseJsonSchema"])
    text: Body = next((each["text"] for each in config.get("responseFormat") or () if "text" in each), {})
    schema = text.get("schema", text.get("jsonSchema"))
    if schema is not None:
        return "json_schema", normalize_schema(schema)
    media = text.get("mimeType") or config.get("responseMimeType")
    return ("json_object" if media == "application/json" else "text"), None


def _find_effort(thinking: Body) -> str | None:
    """Return the requested reasoning effort: by level, by budget, or medium if thoughts are to be included."""
    if level := thinking.get("thinkingLevel"):
        return None if level.endswith("UNSPECIFIED") else level.lower()
    budget = thinking.get("thinkingBudget")
    if budget is None or budget < 0:
        return "medium" if thinking.get("includeThoughts") or budget else None
    return "none" if budget == 0 else next((word for most, word in _BUDGETS if budget <= most), "high")


_BUDGETS = ((1024, "low"), (8192, "medium"))


def _find_meaning(body: Body, model: str, contents: list[Body]) -> dict[str, Json]:
    """Return what could change the answer: schemas as text, as the order of keys counts; no ids and no signatures."""
    kept = find_meaning(body, NAME, "chat", _BOOKKEEPING)
    kept["model"] = model
    kept["contents"] = contents
    if "systemInstruction" in kept:
        kept["systemInstruction"] = kept["systemInstruction"].get("parts")
    if "tools" in kept:
        kept["tools"] = list(map(_write_schemas, kept["tools"]))
    if "toolConfig" in kept:
        kept["tool_choice"] = kept.pop("toolConfig")
    if "generationConfig" in kept:
        config = dict(kept["generationConfig"])
        form = {key: to_json(config.pop(key)).decode() for key in _FORM if key in config}
        if form:
            kept |= {"generationConfig": config, "response_format": form}
    return kept


def _write_schemas(tool: Body) -> Body:
    if not tool.get("functionDeclarations"):
        return tool
    declared = [
        {key: to_json(value).decode() if isinstance(value, Mapping) else value for key, value in each.items()}
        for each in tool["functionDeclarations"]
    ]
    return {**tool, "functionDeclarations": declared}


def _simplify_contents(contents: Sequence[Body]) -> list[Body]:
    return [
        {"role": content.get("role") or "user", "parts": list(map(_drop_ids, _complete_parts(content["parts"])))}
        for content in contents
    ]


_FORM = ("responseSchema", "responseJsonSchema", "responseMimeType")


def _complete_parts(parts: Sequence[Body]) -> Iterator[Body]:
    """Yield parts with the media settings of the parts after them that have no data of their own."""
    whole: Body | None = None
    for part in parts:
        if whole is None or has_data(part):
            if whole is not None:
                yield whole
            whole = part
        elif "inlineData" in whole or "fileData" in whole:
            whole = {**whole, **{key: value for key, value in part.items() if key in MEDIA_FIELDS}}
    if whole is not None:
        yield whole


def _drop_ids(part: Body) -> Body:
    if _WITH_IDS.isdisjoint(part):
        return part
    kept = {key: value for key, value in part.items() if key != "thoughtSignature"}
    for key in ("functionCall", "functionResponse"):
        if key in kept:
            kept[key] = {name: value for name, value in kept[key].items() if name != "id"}
    return kept


_WITH_IDS = frozenset({"thoughtSignature", "functionCall", "functionResponse"})
_BOOKKEEPING = frozenset({"model", "labels", "serviceTier", "store", "continuationToken", "cachedContent"})
