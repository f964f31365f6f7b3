"""What Gemini refuses in a request with the right types: missing values, exceeded bounds, and conflicts.

Most are lines of one message, `* GenerateContentRequest.contents: contents is not specified`; some are sentences.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby

from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._parse import Body, clip
from mockserver.dialects.gemini.bodies import DATA
from mockserver.dialects.gemini.proto import write_snake_case

Line = tuple[str, str]  # a path, and what is wrong there
MAX_STOPS = 5
MAX_VERTEX_STOPS = 16
MAX_BATCH = 100
MAX_INSTANCES = 250
MAX_NAME = 64  # characters of a function's name
MAX_VERTEX_NAME = 128  # characters of a function's name
ROLES = ("user", "model", "function")
CHECKED = frozenset(  # fields that may be wrong even beside mere texts
    ("tools", "toolConfig", "safetySettings", "generationConfig", "cachedContent")
)


def check_generate(request: Body, *, model: str, vertex: bool, validation: Validation) -> None:
    """Raise the Failure of an invalid generateContent request."""
    live = validation is Validation.LIVE
    for why in _check_vertex_functions(request) if live and vertex else ():
        raise Failure("bad_parameter", why)
    check_values("GenerateContentRequest", request, vertex=vertex)
    config = request.get("generationConfig") or {}
    for why in (
        *(_check_config(config, model, vertex=vertex) if config else ()),
        *_check_function_turns(request["contents"], cached="cachedContent" in request),
        *_check_caching(request),
        *(_check_live(request, config, model, vertex=vertex) if live else ()),
    ):
        raise Failure("bad_parameter", why)


def check_values(name: str, request: Body, *, vertex: bool, needs_contents: bool = True) -> None:
    """Raise a Failure if values of a request are missing or out of bounds."""
    absent = _find_absence(request.get("contents") or ()) if needs_contents else ()
    refuse(name, chain(absent, _find_mistakes(request, vertex=vertex)))
    for why in _check_roles(request["contents"]):
        raise Failure("bad_parameter", why)


def mend_question(name: str, request: Body) -> Body:
    """Return a request without incomplete or invalid values. Raises Failure if nothing is left to answer."""
    made = mend_values(request)
    refuse(name, _find_absence(made["contents"]))
    return made


def mend_values(request: Body) -> Body:
    """Return a request without incomplete or invalid values, and with the roles of chats as Gemini's."""
    request = _mend_roles(request)
    contents = [
        {**content, "parts": mend_parts(content.get("parts") or ())} for content in request.get("contents") or ()
    ]
    made = {**request, "contents": [content for content in contents if content["parts"]]}
    tools = [_mend_tool(tool) for tool in request.get("tools") or ()]
    if "tools" in request:
        made["tools"] = [tool for tool in tools if tool]
    if "generationConfig" in request:
        made["generationConfig"] = _mend_config(request["generationConfig"])
    if calling := (request.get("toolConfig") or {}).get("functionCallingConfig"):
        declared = {function["name"] for tool in tools for function in tool.get("functionDeclarations") or ()}
        allowed = [name for name in calling.get("allowedFunctionNames") or () if name in declared]
        calling = {**calling, "allowedFunctionNames": allowed}
        made["toolConfig"] = {**request["toolConfig"], "functionCallingConfig": calling}
    return made


def _mend_roles(request: Body) -> Body:
    """Return a request with Gemini's roles, and with the system's messages in its instructions."""
    contents = [
        {**content, "role": "model"} if content.get("role") == "assistant" else content
        for content in request.get("contents") or ()
    ]
    asked = [content for content in contents if content.get("role") not in _SYSTEM]
    if len(asked) in (0, len(contents)):
        return {**request, "contents": contents}
    instructions: Body = request.get("systemInstruction") or {}
    added = [part for content in contents if content.get("role") in _SYSTEM for part in content.get("parts") or ()]
    parts = [*(instructions.get("parts") or ()), *added]
    return {**request, "contents": asked, "systemInstruction": {**instructions, "parts": parts}}


_SYSTEM = ("system", "developer")


def mend_parts(parts: Iterable[Body]) -> list[Body]:
    """Return parts; those without data lose incomplete fields."""
    found = []
    for part in parts:
        made = {key: value for key, value in part.items() if key not in _NEEDED or value.get(_NEEDED[key])}
        if "functionResponse" in made:
            response: Body = made["functionResponse"]
            made["functionResponse"] = {**response, "parts": mend_parts(response.get("parts") or ())}
        found.append(made)
    return [part for part in found if part]


def _mend_tool(tool: Body) -> Body:
    """Return a tool without functions that have no name, or a name that occurred before."""
    functions = {
        function["name"]: function for function in tool.get("functionDeclarations") or () if function.get("name")
    }
    others = {key: value for key, value in tool.items() if key != "functionDeclarations"}
    return {**others, "functionDeclarations": list(functions.values())} if functions else others


def _mend_config(config: Body) -> Body:
    stops = [stop for stop in config.get("stopSequences") or () if stop]
    kept = {key: value for key, value in config.items() if not any(_check_bounds({key: value}))}
    return {**kept, **({"stopSequences": stops} if stops else {})}


def refuse(name: str, lines: Iterable[Line]) -> None:
    """Raise a Failure whose message has a line for each mistake, if there are any."""
    if text := "".join(f"* {name}.{path}: {why}\n" for path, why in lines):
        raise Failure("bad_parameter", text)


@lru_cache(maxsize=256)
def is_newer(model: str) -> bool:
    """Return whether a model is Gemini 3 or later: its calls have ids, and its history needs signatures."""
    found = _GENERATION.match(model)
    return found is not None and int(found[1]) >= 3


def signs_calls(model: str) -> bool:
    """Return whether a model signs its calls, as models since Gemini 2.5 do."""
    return not model.startswith(("gemini-1", "gemini-2.0"))


_GENERATION = re.compile(r"gemini-([0-9]{1,3})")


def _find_mistakes(request: Body, *, vertex: bool) -> Iterator[Line]:
    yield from _check_contents("contents", request.get("contents") or ())
    for at, part in enumerate((request.get("systemInstruction") or {}).get("parts") or ()):
        if not part:
            yield f"system_instruction.parts[{at}].data", _NO_DATA
        elif has_data(part) and "text" not in part:
            yield f"system_instruction.parts[{at}].data", "only text is supported in system_instruction."
    if "tools" in request or "toolConfig" in request:
        yield from _check_tools(request, MAX_VERTEX_NAME if vertex else MAX_NAME)
    if "safetySettings" in request:
        yield from _check_safety(request)
    if not (config := request.get("generationConfig")):
        return
    yield from _check_schema("generation_config.response_schema", config.get("responseSchema") or {}, of_answer=True)
    yield from _check_bounds({"topK": config.get("topK")} if vertex else config)
    if "" in (stops := config.get("stopSequences") or ()):
        yield f"generation_config.stop_sequences[{stops.index('')}]", "must not be empty."


def _find_absence(contents: Sequence[Body]) -> Iterator[Line]:
    if not contents:
        yield "contents", "contents is not specified"


def _check_contents(path: str, contents: Sequence[Body]) -> Iterator[Line]:
    for at, content in enumerate(contents):
        parts = content.get("parts") or ()
        if not parts:
            yield f"{path}[{at}].parts", "contents.parts must not be empty."
        yield from check_parts(f"{path}[{at}].parts", parts)


def check_parts(path: str, parts: Sequence[Body]) -> Iterator[Line]:
    """Yield the mistakes of a part. It can lack data, and describe the media or the signature of the one before."""
    for at, part in enumerate(parts):
        if "text" in part:
            continue
        if not part:
            yield f"{path}[{at}].data", _NO_DATA
        yield from _check_data(f"{path}[{at}]", part)


def _check_data(path: str, part: Body) -> Iterator[Line]:
    for name, key in _NEEDED.items():
        if name in part and not part[name].get(key):
            why = "Name cannot be empty." if key == "name" else f"{write_snake_case(key)} must not be empty."
            yield f"{path}.{write_snake_case(name)}.{write_snake_case(key)}", why
    for at, inner in enumerate((part.get("functionResponse") or {}).get("parts") or ()):
        yield from _check_data(f"{path}.function_response.parts[{at}]", inner)


def has_data(part: Body) -> bool:
    """Return whether a part has data, and does not only describe the part before it."""
    return any(name in part for name in DATA)


_NO_DATA = "required oneof field 'data' must have one initialized field"
_NEEDED = {
    "inlineData": "mimeType",
    "fileData": "fileUri",
    "functionCall": "name",
    "functionResponse": "name",
}


def _check_tools(request: Body, longest: int) -> Iterator[Line]:
    declared = []
    for at, tool in enumerate(request.get("tools") or ()):
        functions = tool.get("functionDeclarations") or ()
        if not functions and not any(key != "functionDeclarations" for key in tool):
            yield f"tools[{at}].tool_type", "required one_of 'tool_type' must have one initialized field"
        for index, function in enumerate(functions):
            here = f"tools[{at}].function_declarations[{index}]"
            name = function.get("name") or ""
            if not _NAME.fullmatch(name) or len(name) > longest:
                yield f"{here}.name", f"{_BAD_NAME} {longest}."
            if name in declared:
                yield f"{here}.name", f"Duplicate function declaration found: {clip(name)}"
            declared.append(name)
            for one, other in (("parameters", "parametersJsonSchema"), ("response", "responseJsonSchema")):
                if one in function and other in function:
                    yield here, f"only one of {write_snake_case(one)} and {write_snake_case(other)} may be set"
            parameters = function.get("parameters") or {}
            if parameters.get("type", "OBJECT") not in ("OBJECT", "TYPE_UNSPECIFIED"):
                yield f"{here}.parameters", "schema should be of type OBJECT."
            yield from _check_schema(f"{here}.parameters", parameters)
    calling = (request.get("toolConfig") or {}).get("functionCallingConfig") or {}
    allowed = calling.get("allowedFunctionNames") or ()
    here = "tool_config.function_calling_config"
    if allowed and calling.get("mode") not in ("ANY", "VALIDATED"):
        yield f"{here}.allowed_function_names", "allowed_function_names is only valid with the mode ANY or VALIDATED."
    if any(_DECLARING & tool.keys() for tool in request.get("tools") or ()):
        return
    for at, name in enumerate(allowed):
        if name not in declared:
            yield f"{here}.allowed_function_names[{at}]", f"{clip(name)} is not one of the function declarations."


def _check_schema(path: str, schema: Body, *, of_answer: bool = False) -> Iterator[Line]:
    """Yield types that lack a required key or cannot have one, anywhere in a schema.

    Only an answer can be one of several numbers, and its schema has names of properties in quotes.
    """
    quote = '"' * of_answer
    kind = schema.get("type")
    if kind == "ARRAY" and "items" not in schema:
        yield f"{path}.items", "missing field."
    words = schema.get("enum") or ()
    if words and kind != "STRING" and not of_answer:
        yield f"{path}.enum", "only allowed for STRING type"
    if "" in words:
        yield f"{path}.enum[{words.index('')}]", "cannot be empty"
    properties = schema.get("properties") or {}
    required = schema.get("required") or ()
    for key, value in (("properties", properties), ("required", required)):
        if value and kind != "OBJECT":
            yield f"{path}.{key}", "only allowed for OBJECT type"
    for at, name in enumerate(required):
        if name not in properties:
            yield f"{path}.required[{at}]", "property is not defined"
    for name, inner in properties.items():
        yield from _check_schema(f"{path}.properties[{quote}{clip(name)}{quote}]", inner, of_answer=of_answer)
    if "items" in schema:
        yield from _check_schema(f"{path}.items", schema["items"], of_answer=of_answer)
    for at, inner in enumerate(schema.get("anyOf") or ()):
        yield from _check_schema(f"{path}.any_of[{at}]", inner, of_answer=of_answer)


_DECLARING = frozenset({"computerUse", "mcpServers"})  # tools that bring functions along
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")
_BAD_NAME = (
    "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), "
    "underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of"
)


def _check_safety(request: Body) -> Iterator[Line]:
    seen = set[Json]()
    for at, setting in enumerate(request.get("safetySettings") or ()):
        category = setting.get("category", "HARM_CATEGORY_UNSPECIFIED")
        if category == "HARM_CATEGORY_UNSPECIFIED":
            yield f"safety_settings[{at}]", "element predicate failed: $.category in (its supported categories)"
        elif category in seen:
            yield f"safety_settings[{at}]", f"duplicate category {category}"
        seen.add(category)


def _check_bounds(config: Body) -> Iterator[Line]:
    for key, (least, most) in _RANGES.items():
        value = config.get(key)
        if value is not None and not least <= value <= most:
            name = write_snake_case(key)
            yield f"generation_config.{name}", f"{name} must be in the range [{least}, {most}]."
    for key, least in _LEAST.items():
        if config.get(key) is not None and config[key] < least:
            yield f"generation_config.{write_snake_case(key)}", f"{write_snake_case(key)} must be at least {least}."
    if len(config.get("stopSequences") or ()) > MAX_STOPS:
        yield "generation_config.stop_sequences", f"at most {MAX_STOPS} stop sequences are allowed."


_RANGES: Mapping[str, tuple[float, float]] = {
    "temperature": (0.0, 2.0),
    "topP": (0.0, 1.0),
    "presencePenalty": (-2.0, 2.0),
    "frequencyPenalty": (-2.0, 2.0),
    "candidateCount": (1, 8),
    "logprobs": (0, 20),
}
_LEAST = {"topK": 0, "maxOutputTokens": 1}


def _check_roles(contents: Sequence[Body]) -> Iterator[str]:
    if any(content.get("role") and content["role"] not in ROLES for content in contents):
        yield "Please use a valid role: user, model."


def _check_config(config: Body, model: str, *, vertex: bool) -> Iterator[str]:
    if vertex:
        yield from _check_vertex_bounds(config)
    thinking = config.get("thinkingConfig") or {}
    yield from _check_budget(model, thinking.get("thinkingBudget"))
    if "thinkingLevel" in thinking and "thinkingBudget" in thinking:
        yield "You can only set only one of thinking budget and thinking level."
    if config.get("logprobs") is not None and config.get("responseLogprobs") is not True:
        yield "Logprobs: response_logprobs must be true to set logprobs."
    schema = "responseSchema" in config
    if schema and "responseJsonSchema" in config:
        yield "Only one of response_schema and response_json_schema may be set."
    kind = config.get("responseMimeType") or "text/plain"
    if kind not in MIME_TYPES:
        yield (
            "* GenerateContentRequest.generation_config.response_mime_type: allowed mimetypes are `text/plain`, "
            "`application/json`, `application/xml`, `application/yaml` and `text/x.enum`.\n"
        )
    of_enum = kind == "text/x.enum" and (config.get("responseSchema") or {}).get("enum")
    if schema and kind != "application/json" and not of_enum:
        yield f"Response schema in generation_config is not supported with a response mime type: '{kind}'"
    if "responseJsonSchema" in config and kind != "application/json":
        yield f"Response json schema in generation_config is not supported with a response mime type: '{kind}'"


def _check_vertex_bounds(config: Body) -> Iterator[str]:
    counted = {**config, "stopSequences": len(config.get("stopSequences") or ())}
    for key, (least, most, end) in _VERTEX_RANGES.items():
        value = counted.get(key)
        if value is not None and (not least <= value <= most or (end == "exclusive" and value == most)):
            yield (
                f"Unable to submit request because it has a {key} value of {value} but the supported range is from "
                f"{least} (inclusive) to {most} ({end}). Update the value and try again."
            )


_VERTEX_RANGES: Mapping[str, tuple[float, float, str]] = {
    "temperature": (0, 2.0, "inclusive"),
    "topP": (0, 1.0, "inclusive"),
    "candidateCount": (1, 9, "exclusive"),
    "maxOutputTokens": (1, 65537, "exclusive"),
    "presencePenalty": (-2.0, 2.0, "exclusive"),
    "frequencyPenalty": (-2.0, 2.0, "exclusive"),
    "logprobs": (0, 20, "inclusive"),
    "stopSequences": (0, MAX_VERTEX_STOPS + 1, "exclusive"),
}
MIME_TYPES = ("text/plain", "application/json", "application/xml", "application/yaml", "text/x.enum")


def _check_budget(model: str, tokens: int | None) -> Iterator[str]:
    """Yield a thinking budget that the model does not accept: -1 is any, 0 none."""
    if tokens is None or tokens == -1:
        return
    known = next((each for name, each in _BUDGETS.items() if model.startswith(name)), None)
    if known is None:
        if tokens < 0:
            yield "Request contains an invalid argument."
        return
    least, most, off = known
    if tokens == 0 and not off:
        yield _ALWAYS_THINKS
    elif tokens and not least <= tokens <= most:
        yield f"The thinking budget {tokens} is invalid. Please choose a value between {least} and {most}."


_ALWAYS_THINKS = "Budget 0 is invalid. This model only works in thinking mode."
# By the beginning of a model's name: the least and the largest budget, and whether it may be 0.
_BUDGETS: Mapping[str, tuple[int, int, bool]] = {
    "gemini-2.5-flash-lite": (512, 24_576, True),
    "gemini-2.5-flash": (0, 24_576, True),
    "gemini-2.5-pro": (128, 32_768, False),
}


def _check_function_turns(contents: Sequence[Body], *, cached: bool) -> Iterator[str]:
    """Yield calls that do not follow a user's turn, turns after calls without a result for each, and other results.

    `cached`: contents before these are kept, so the first turn may be that of results.
    """
    if not any(_CALLING & part.keys() for content in contents for part in content["parts"]):
        return
    turns = list(_group_turns(contents))
    for at, (role, parts) in enumerate(turns):
        calls = _count(parts, "functionCall")
        if role != "model":
            made = _count(turns[at - 1][1], "functionCall") if at else cached
            if not made and _count(parts, "functionResponse"):
                yield ("Please ensure that function response turn comes immediately after a function call turn.")
            continue
        if not calls:
            continue
        if at == 0:
            yield (
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
        if at + 1 < len(turns) and _count(turns[at + 1][1], "functionResponse") != calls:
            yield (
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )


_CALLING = frozenset(("functionCall", "functionResponse"))


def _group_turns(contents: Sequence[Body]) -> Iterator[tuple[str, Sequence[Body]]]:
    """Yield the role and the parts of each turn, which consists of consecutive contents of one role."""
    for role, turn in groupby(contents, lambda content: "model" if content.get("role") == "model" else "user"):
        yield role, [part for content in turn for part in content["parts"]]


def _count(parts: Sequence[Body], name: str) -> int:
    return sum(name in part for part in parts)


def _check_caching(request: Body) -> Iterator[str]:
    if "cachedContent" in request and any(key in request for key in ("systemInstruction", "tools", "toolConfig")):
        yield (
            "CachedContent can not be used with GenerateContent request setting system_instruction, tools or "
            "tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request."
        )


def _check_live(request: Body, config: Body, model: str, *, vertex: bool) -> Iterator[str]:
    """Yield what models refuse, although no documentation of the request says so."""
    yield from _check_live_tools(request, config, model, vertex=vertex)
    yield from _check_thinking(config.get("thinkingConfig") or {}, model)
    if (config.get("candidateCount") or 1) > 1 and is_newer(model) and not vertex:
        yield "Multiple candidates is not enabled for this model"
    schemas = [function.get("parameters") for function in _list_functions(request)]
    for schema in chain.from_iterable(map(_list_schemas, (*schemas, config.get("responseSchema")))):
        if "ref" in schema and not schema.keys() <= _BESIDE_REF:
            yield _REF.format(clip(schema["ref"]))
    parts = [part for content in request["contents"] for part in content["parts"]]
    if is_newer(model):
        yield from chain.from_iterable(
            _find_unknown_media(part["functionResponse"]) for part in parts if "functionResponse" in part
        )
    for part in parts:
        kind = (part.get("inlineData") or {}).get("mimeType")
        if kind == "application/octet-stream":
            yield f"Unsupported MIME type: {kind}"


def _check_thinking(thinking: Body, model: str) -> Iterator[str]:
    """Yield a thinking level or budget that the model does not know."""
    level = thinking.get("thinkingLevel")
    if thinking and model.startswith(("gemini-1.", "gemini-2.0")) and "thinking" not in model:
        yield "thinking_config is not supported."
    elif level and model.startswith("gemini-2."):
        yield "Thinking level is not supported for this model."
    elif level == "MINIMAL" and _WITHOUT_MINIMAL.match(model):
        yield f"Thinking level {level} is not supported for this model."
    elif thinking.get("thinkingBudget") == 0 and is_newer(model) and "-pro" in model:
        yield _ALWAYS_THINKS


_WITHOUT_MINIMAL = re.compile(r"gemini-(?:[3-9](?:\.\d)?-pro|(?:3\.[78]|[4-9](?:\.\d)?)-flash(?!-lite))")


def _list_functions(request: Body) -> Iterator[Body]:
    return (function for tool in request.get("tools") or () for function in tool.get("functionDeclarations") or ())


def _list_schemas(schema: Body | None) -> Iterator[Body]:
    """Yield a schema and those in it."""
    if schema is not None:
        yield schema
        inner = (*(schema.get("properties") or {}).values(), *(schema.get("defs") or {}).values())
        for each in (*inner, *(schema.get("anyOf") or ()), schema.get("items")):
            yield from _list_schemas(each)


_BESIDE_REF = frozenset(("ref", "description", "default", "defs"))
_REF = (
    "Schema.ref '{}' was set alongside unsupported fields.  If a schema node has Schema.ref set, then only description "
    "and default can be set alongside it; other fields they would be replaced by the expanded reference."
)


def _find_unknown_media(result: Body) -> Iterator[str]:
    """Yield the references of a function's result to media that it does not have; any `$ref` counts as one."""
    media = [each.get(key) or {} for each in result.get("parts") or () for key in ("inlineData", "fileData")]
    known = {each.get("displayName") for each in media}
    for name in _list_references(result.get("response")):
        if name not in known:
            yield (
                f"The referenced name `{clip(name)}` in function_response.response does not match to a display_name in "
                "the function_response.parts."
            )


def _list_references(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(name := value.get("$ref"), str):
            yield name
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _list_references(each)


def _check_vertex_functions(request: Body) -> Iterator[str]:
    """Yield the functions whose parameters Vertex AI refuses, in its words."""
    for function in _list_functions(request):
        if (parameters := function.get("parameters")) is None:
            continue
        if parameters.get("type") != "OBJECT":
            yield _VERTEX_FUNCTION.format(
                clip(function.get("name") or ""), "parameters schema should be of type OBJECT."
            )
        for path, why in _find_untyped("parameters", parameters):
            yield _VERTEX_FUNCTION.format(clip(function.get("name") or ""), f"`{path}` schema {why}")


def _find_untyped(path: str, schema: Body) -> Iterator[Line]:
    """Yield schemas without a type, and unions with more than their choices, each with the nearest property."""
    if "anyOf" in schema:
        if not schema.keys().isdisjoint(_BESIDES):
            yield path, "specified other fields alongside any_of. When using any_of, it must be the only field set."
    elif not {"type", "ref"} & schema.keys():
        yield path, "didn't specify the schema type field."
    for name, inner in (schema.get("properties") or {}).items():
        yield from _find_untyped(f"{path}.{clip(name)}", inner)
    for inner in (*(schema.get("anyOf") or ()), *([schema["items"]] if "items" in schema else ())):
        yield from _find_untyped(path, inner)


_BESIDES = frozenset(("type", "properties", "required", "items", "enum", "format"))
_VERTEX_FUNCTION = (
    "Unable to submit request because `{}` functionDeclaration {} Learn more: "
    "https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling"
)


def _check_live_tools(request: Body, config: Body, model: str, *, vertex: bool) -> Iterator[str]:
    """Yield combinations of tools that models refuse."""
    tools = request.get("tools") or ()
    calling = request.get("toolConfig") or {}
    functions = any(tool.get("functionDeclarations") for tool in tools)
    old = model.startswith(("gemini-1.", "gemini-2."))
    kind = config.get("responseMimeType")
    if old and kind == "application/json" and functions:
        yield f"Function calling with a response mime type: '{kind}' is unsupported"
    hosted = any(tool.keys() - {"functionDeclarations"} for tool in tools)
    if old and functions and hosted:
        yield (
            "Multiple tools are supported only when they are all search tools."
            if vertex
            else "Tool use with function calling is unsupported by the model."
        )
    if vertex or calling.get("includeServerSideToolInvocations"):
        return
    if old and "functionCallingConfig" in calling and not functions:
        yield "Function calling config is set without function_declarations."
    if is_newer(model) and functions and hosted:
        yield (
            "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function "
            "calling."
        )
