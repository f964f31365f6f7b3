"""Fireworks' requests become Calls: the fields that OpenAI does not have, and fields that exclude each other."""

from collections.abc import Mapping, Sequence
from itertools import islice
from math import inf
from typing import NamedTuple

from jiter import from_json
from msgspec.structs import replace
from pydantic_core import ErrorDetails, ValidationError, to_json

from mockserver.core.call import Call, IdShape, Message, Options
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, try_parse
from mockserver.core.plan import Answer, Failure, Usage
from mockserver.core.tokens import Tokenizer
from mockserver.core.validation import Validation
from mockserver.dialects._fastapi import describe_unreadable
from mockserver.dialects._fields import BodyModel, Reading
from mockserver.dialects._openai_api.chat import (
    find_empty_messages,
    find_unmet_tool_choice,
    make_chat_call,
    read_max_tokens,
    read_stop_sequences,
)
from mockserver.dialects._openai_api.completions import (
    WHOLE_PROMPT,
    count_choices,
    explain_long_echo,
    explain_many_choices,
    make_completion_call,
)
from mockserver.dialects._openai_api.lengths import MAX_ENDLESS_TOKENS
from mockserver.dialects._parse import (
    Body,
    Complaint,
    clip,
    find_unknown_keys,
    find_usual,
    read_object,
    read_usual,
    refuse_first,
    split_param,
)
from mockserver.dialects.fireworks.bodies import CHAT, COMPLETION
from mockserver.wire.logprobs import LogprobsShape
from mockserver.wire.text import CompletionOptions

NAME = "fireworks"


def make_invalid_body(*details: Body) -> Failure:
    """Return FastAPI's 422 with these details, of which the first has the message."""
    return Failure("bad_parameter", str(details[0]["msg"]), status=422, details={"detail": list(details)})


def refuse(complaint: Complaint) -> Failure:
    """Return the failure for a complaint in its own words."""
    message = f"Value error, {complaint.message}"
    detail = _make_detail(_VALUE, complaint.path, message=message, value=complaint.got)
    return make_invalid_body({**detail, "ctx": {"error": {}}})


def make_value_detail(message: str, param: str | None) -> Body:
    """Return a detail of a 422 about the value at a place that is written like `messages[0].role`."""
    return {"loc": ["body", *split_param(param)], "msg": message, "type": _VALUE}


def read_with_details(model: BodyModel, body: Body, validation: Validation) -> Reading:
    """Return the body as its model reads it. Raises the 422 that lists what is wrong with it."""
    try:
        if validation is Validation.OFF or len(body) <= _MAX_QUOTED_ITEMS * 2:
            return model.read(body, validation)
        few = dict(islice(body.items(), _MAX_QUOTED_ITEMS * 2))
        return Reading(body, model.read(few, validation).parsed)
    except ValidationError as error:
        raise make_invalid_body(
            *map(_make_detail_of_error, error.errors(include_url=False)[:_MAX_QUOTED_ITEMS])
        ) from None


def _read_request(model: BodyModel, http: HttpRequest, validation: Validation) -> Reading:
    usual = read_usual(model.typed, http) if validation is Validation.PUBLISHED else None
    if usual is not None:
        return Reading(usual, usual)
    return read_with_details(model, read_body_object(http), validation)


def read_body_object(http: HttpRequest) -> dict[str, Json]:
    """Return the JSON object of a body. Raises FastAPI's 422 if it is not one."""
    try:
        return read_object(http)
    except Failure as failure:
        found = describe_unreadable(http, failure)
        if found is None:
            raise
        detail = _make_detail(found["type"], found["loc"][1:], message=found["msg"], value=found["input"])
        raise make_invalid_body({**detail, "ctx": found["ctx"]} if "ctx" in found else detail) from None


def _make_detail_of_error(error: ErrorDetails) -> Body:
    kind = error["type"]
    message = error["msg"]
    if kind == "dict_type" and error["loc"][-1] not in _MAPPINGS:
        kind = "model_attributes_type"
        message = "Input should be a valid dictionary or object to extract fields from"
    detail = _make_detail(kind, tuple(map(_name_step, error["loc"])), message=message, value=error["input"])
    if "ctx" not in error:
        return detail
    return {
        **detail,
        "ctx": {key: {} if isinstance(value, Exception) else value for key, value in error["ctx"].items()},
    }


def _name_step(step: str | int) -> str | int:
    """Return a step of a location as FastAPI names it; the labels of OpenAI's models become plain text."""
    return _LABELS.get(step, step.strip("<>")) if isinstance(step, str) else step


def _make_detail(kind: str, path: Sequence[str | int], *, message: str, value: Json) -> dict[str, Json]:
    steps = (clip(step) if isinstance(step, str) else step for step in path)
    return {"loc": ["body", *steps], "msg": message, "type": kind, "input": shorten(value)}


def shorten(value: Json) -> Json:
    """Return a value of a request as an error may quote it: without most of what is long or many."""
    match value:
        case str():
            return clip(value, _MAX_QUOTED_TEXT)
        case list():
            return [shorten(item) for item in value[:_MAX_QUOTED_ITEMS]]
        case dict():
            return {clip(str(key)): shorten(item) for key, item in list(value.items())[:_MAX_QUOTED_ITEMS]}
        case int() if abs(value) >> 64:
            return clip(str(value))
    return value


_VALUE = "value_error"

_MAPPINGS = ("metadata", "logit_bias", "dict[str,any]")
_MAX_QUOTED_TEXT = 200
_MAX_QUOTED_ITEMS = 100
_LABELS: Mapping[str, str] = {
    "<a string>": "str",
    "<an array>": "list",
    "<an array of strings>": "list[str]",
    "<an array of objects>": "list[dict[str,any]]",
    "<an object>": "dict[str,any]",
}


def parse_completion(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a completion. Raises the failure of its first mistake."""
    body, parsed = _read_request(COMPLETION, http, validation)
    if validation is not Validation.OFF:
        _refuse_conflicts(parsed)
    if (message := explain_many_choices(parsed)) is not None:
        raise refuse(Complaint("conflict", ("n",), got=parsed["n"], message=message))
    options = _USUAL if _ASKING.isdisjoint(parsed) else _read_options(parsed)
    call = make_completion_call(http, body, parsed=parsed, options=options, dialect=NAME, ids=_IDS)
    if (field := _find_repeating_field(parsed)) is not None and (message := explain_long_echo(call)) is not None:
        raise refuse(Complaint("conflict", (field,), got=body[field], message=message))
    if _RESHAPED.isdisjoint(body):
        return call
    messages = _add_images(call.messages, parsed.get("images"))
    form = _read_response_format(parsed, validation)
    return replace(
        call,
        messages=messages,
        meaning=_select_fingerprint_fields(call.meaning, messages, form.schema),
        options=replace(options, response_format=form.name, schema=form.schema),
    )


def _read_options(parsed: Body) -> Options:
    is_endless = parsed.get("ignore_eos") is True
    return Options(
        include_usage=bool((parsed.get("stream_options") or {}).get("include_usage")),
        n=parsed.get("n") or 1,
        max_tokens=read_max_tokens(parsed),
        usual_tokens=MAX_ENDLESS_TOKENS // count_choices(parsed) if is_endless else None,
        overflow=parsed.get("context_length_exceeded_behavior", "truncate"),
        ignore_eos=is_endless,
        echo=WHOLE_PROMPT if parsed.get("echo") else max(parsed.get("echo_last") or 0, 0),
        stop=read_stop_sequences(parsed.get("stop")),
        logprobs=_count_alternatives(parsed),
        seed=parsed.get("seed"),
    )


_IDS = IdShape("cmpl-", 24, "hex")


def parse_chat(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a chat. Raises the failure of its mistakes."""
    body, parsed = _read_request(CHAT, http, validation)
    if validation is Validation.LIVE and (strangers := find_unknown_keys(body, CHAT.fields)):
        details = [
            _make_detail("extra_forbidden", (key,), message="Extra inputs are not permitted", value=body[key])
            for key in strangers[:_MAX_QUOTED_ITEMS]
        ]
        raise make_invalid_body(*details)
    if validation is not Validation.OFF:
        _refuse_conflicts(parsed)
        refuse_first((*find_unmet_tool_choice(parsed), *find_empty_messages(parsed["messages"])), refuse)
    restated: dict[str, Json] = {"response_format": _read_response_format(parsed, validation).write_as_openai()}
    if parsed.get("tool_choice") == "any":  # OpenAI's word for it is another one
        restated["tool_choice"] = "required"
    call = make_chat_call(http, {**body, **restated}, {**parsed, **restated}, dialect=NAME)
    is_endless = parsed.get("ignore_eos") is True
    return replace(
        call,
        raw=body,
        options=replace(
            call.options,
            usual_tokens=MAX_ENDLESS_TOKENS // call.options.n if is_endless else None,
            overflow=parsed.get("context_length_exceeded_behavior", "truncate"),
            ignore_eos=is_endless,
            logprobs=_count_alternatives(parsed),
            effort=_read_effort(parsed),
            strict_schema=True,
        ),
    )


def _read_effort(parsed: Body) -> str | None:
    wanted = _find_effort(parsed)
    return next(name for most, name in _BUDGETS if wanted <= most) if isinstance(wanted, int) else wanted


def _find_effort(parsed: Body) -> str | int | None:
    """Return the effort that a request states, by name or in tokens."""
    stated: str | int | None = parsed.get("reasoning_effort")
    if (thinking := parsed.get("thinking")) is not None:
        stated = thinking.get("budget_tokens") or True if thinking["type"] == "enabled" else False
    return ("medium" if stated else "none") if isinstance(stated, bool) else stated


def make_completion_options(call: Call, answer: Answer) -> CompletionOptions:
    """Return the options of the answer to a completion."""
    body = call.raw
    options = call.options
    legacy = type(body.get("logprobs")) is not bool
    return CompletionOptions(
        prompts=call.prompts,
        logprobs=LogprobsShape("legacy" if legacy else "content", options.logprobs or 0, token_ids=True),
        token_ids=body.get("return_token_ids") is True,
        raw_output=body.get("raw_output") is True,
        perf_metrics=measure_performance(body, answer) if body.get("perf_metrics_in_response") is True else None,
        images=_list_images(call.messages) if "images" in body else (),  # of each prompt
        grammar=_read_grammar(body.get("response_format"), options.schema),
    )


def _list_images(messages: Sequence[Message]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(part["image_url"]["url"] for part in message.parts) for message in messages)


def measure_performance(body: Body, answer: Answer) -> dict[str, Json]:
    """Return the performance of an answer, which follows from its tokens, so that it is reproducible."""
    return {**measure_usual(answer.usage), **measure_speculation(body, answer)}


def measure_usual(usage: Usage) -> dict[str, Json]:
    """Return the metrics that every answer has."""
    first = 0.02 + usage.prompt * 1e-5
    return {
        "prompt-tokens": usage.prompt,
        "cached-prompt-tokens": usage.cached,
        "server-time-to-first-token": round(first, 6),
        "server-processing-time": round(first + usage.completion * 0.005, 6),
    }


def measure_speculation(body: Body, answer: Answer) -> dict[str, Json]:
    """Return the metrics of an answer that the client has predicted in part; empty without a prediction."""
    guess = _find_prediction(body, answer.tokenizer)
    if not guess:
        return {}
    return {
        "speculation-prompt-tokens": len(guess),
        "speculation-prompt-matched-tokens": _count_matched(guess, answer),
    }


def _find_prediction(body: Body, tokenizer: Tokenizer) -> Sequence[str]:
    guess = body.get("speculation")
    if isinstance(guess, list):
        return tuple(map(str, guess))
    if guess is None:
        guess = body.get("prediction")
        if guess is None:
            return ()
        content = guess.get("content") if isinstance(guess, Mapping) else guess
        parts = content if isinstance(content, list) else ()
        guess = content if isinstance(content, str) else "".join(part.get("text") or "" for part in parts)
    return tokenizer.split(guess)


def _count_matched(guess: Sequence[str], answer: Answer) -> int:
    texts = [getattr(part, "text", "") for choice in answer.choices[:1] for part in choice.parts]
    tokens = answer.tokenizer.split("".join(texts))
    return next(
        (at for at, pair in enumerate(zip(guess, tokens, strict=False)) if pair[0] != pair[1]),
        min(len(guess), len(tokens)),
    )


def _refuse_conflicts(parsed: Body) -> None:
    if _CONFLICTING.isdisjoint(parsed):
        return
    for one, other in _PAIRS:
        if parsed.get(one) is not None and parsed.get(other) is not None:
            message = f"{one} and {other} cannot be specified together"
            raise refuse(Complaint("conflict", (), got=parsed, message=message))
    effort = _find_effort(parsed)
    if effort not in (None, *_LEVELS) and any(name in parsed["model"].lower() for name in _ALWAYS_REASONING):
        raise Failure("bad_parameter", f"Invalid reasoning effort: {effort}", param="reasoning_effort")


def _find_repeating_field(parsed: Body) -> str | None:
    """Return the field that asks for whole prompts, as text or numbers; log probabilities of the end need all."""
    for field in _REPEATING:
        if parsed.get(field) and (field != "echo_last" or _count_alternatives(parsed) is not None):
            return field
    return None


def _count_alternatives(parsed: Body) -> int | None:
    """Return the number of alternatives to each token: `top_logprobs`, or else `logprobs` if that is an integer.

    Return None if no log probabilities are asked for.
    """
    logprobs = parsed.get("logprobs")
    top = parsed.get("top_logprobs")
    if logprobs is None or logprobs is False:
        return None
    if top is not None:
        return int(top)
    return 0 if logprobs is True else int(logprobs)


class _ResponseFormat(NamedTuple):
    """The format of an answer: text, json_object or json_schema, with the schema if there is one."""

    name: str
    schema: Json = None

    def write_as_openai(self) -> Json:
        """Return OpenAI's `response_format`."""
        if self.name == "json_schema":
            return {"type": self.name, "json_schema": {"name": "answer", "schema": self.schema}}
        return None if self.name == "text" else {"type": self.name}


def _read_response_format(parsed: Body, validation: Validation) -> _ResponseFormat:
    answer = parsed.get("response_format") or {"type": "text"}
    kind = answer["type"]
    if kind not in ("json_object", "json_schema"):
        return _ResponseFormat("text")
    name = "schema" if answer.get("json_schema") is None else "json_schema"
    schema = answer.get(name)
    if isinstance(schema, str):
        schema = try_parse(schema) if validation is Validation.OFF else _parse_schema(schema, name)
    if isinstance(schema, Mapping) and isinstance(schema.get("schema"), Mapping):
        schema = schema["schema"]  # as OpenAI writes it: with a name
    return _ResponseFormat("json_object") if schema is None else _ResponseFormat("json_schema", schema)


def _parse_schema(text: str, name: str) -> Json:
    try:
        schema = from_json(text.encode(), allow_inf_nan=False)
        if isinstance(schema, Mapping):
            return schema
        why = "it is not an object"
    except ValueError as error:
        why = str(error)
    message = f"the JSON schema cannot be read: {why}"
    raise refuse(Complaint("conflict", ("response_format", name), got=text, message=message))


def _read_grammar(answer: Json, schema: Json) -> str | None:
    if schema is not None:
        return to_json(schema).decode()
    return answer.get("grammar") if isinstance(answer, Mapping) else None


def _add_images(messages: Sequence[Message], images: Json) -> tuple[Message, ...]:
    if not images:
        return tuple(messages)
    several = isinstance(images[0], list)
    shown = (
        [images[at] if at < len(images) else [] for at in range(len(messages))] if several else [images] * len(messages)
    )
    return tuple(
        replace(message, parts=tuple({"type": "image_url", "image_url": {"url": url}} for url in urls))
        for message, urls in zip(messages, shown, strict=True)
    )


def _select_fingerprint_fields(fields: Body, messages: Sequence[Message], schema: Json) -> dict[str, Json]:
    """Return the fields that could change the answer, without those of its presentation.

    Schemas become text, as the order of their keys counts.
    """
    kept = {key: value for key, value in fields.items() if key not in _SHOWN}
    if schema is not None:
        kept["response_format"] = {"type": "json_schema", "schema": to_json(schema).decode()}
    if len(messages) == 1 and messages[0].parts:
        kept["images"] = [dict(part) for part in messages[0].parts]
    return kept


_USUAL, _ASKING = find_usual(_read_options)
_LEVELS = ("low", "medium", "high")
_ALWAYS_REASONING = ("gpt-oss", "minimax-m2")
_BUDGETS = ((1024, "low"), (8192, "medium"), (inf, "high"))
_PAIRS = (("max_tokens", "max_completion_tokens"), ("thinking", "reasoning_effort"))
_CONFLICTING = frozenset(("max_completion_tokens", "thinking", "reasoning_effort"))
_REPEATING = ("echo", "raw_output", "return_token_ids", "echo_last")
_SHOWN = frozenset(
    ("images", "raw_output", "return_token_ids", "perf_metrics_in_response", "prompt_cache_isolation_key")
)
_RESHAPED = _SHOWN | {"response_format"}
