"""Gemini's interactions, which the service keeps (https://ai.google.dev/gemini-api/docs/interactions).

An interaction is a request for content in other words: they are translated, so that the same rules answer. It can go on
from an earlier one, of which only the conversation holds.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Message
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Answer, Failure, ToolUse, Usage
from mockserver.core.seed import FROZEN_AT
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, Object, list_of, optional, shape, text_or
from mockserver.dialects._parse import Body, Complaint, read_body, read_object
from mockserver.dialects._reply import make_look_up
from mockserver.dialects.gemini import proto
from mockserver.dialects.gemini.bodies import GENERATE
from mockserver.dialects.gemini.checks import check_values, mend_question
from mockserver.dialects.gemini.errors import make_pretty_reply, make_stream_reply
from mockserver.dialects.gemini.files import render_view
from mockserver.dialects.gemini.media import ask_for_media, find_operation, make_media
from mockserver.dialects.gemini.models import MODELS
from mockserver.dialects.gemini.request import CALL_IDS, NAME, make_call
from mockserver.kinds.audio import Spoken
from mockserver.kinds.images import Images
from mockserver.kinds.kept import INTERACTIONS
from mockserver.kinds.objects import Beginning, Objects, find_object
from mockserver.wire.gemini_interactions import (
    IN_PROGRESS,
    InteractionOptions,
    InteractionRenderer,
    make_media_body,
    stream_media,
)
from mockserver.wire.parts import join_spoken, write_moment

_IDS = IdShape("v1_", 60)
_EVERY = "/{version:version}/interactions"
_ONE = f"{_EVERY}/{{id}}"
_PARAMS = {"version": "v1beta"}
INTERACTION = BodyModel(
    shape(
        model=optional(str),
        agent=optional(str),
        agent_config=optional(Object),
        input=optional(Any),
        stream=optional(bool),
        store=optional(bool),
        background=optional(bool),
        previous_interaction_id=optional(str),
        system_instruction=optional(text_or("<an object>", Object)),
        tools=optional(list_of(Object)),
        generation_config=optional(Object),
        response_format=optional(Any),
        response_mime_type=optional(str),
        response_modalities=optional(list_of(str)),
        safety_settings=optional(list_of(Object)),
        service_tier=optional(str),
        labels=optional(Object),
        cached_content=optional(str),
        continuation_token=optional(str),
        environment=optional(Any),
        webhook_config=optional(Object),
    )
)
_RENDERER = InteractionRenderer()


def make_interaction_operations() -> tuple[Operation, ...]:
    """Return the operations on interactions."""
    look_up = partial(make_look_up, NAME, render=render_view, params=_PARAMS)
    return (
        Operation(
            "chat",
            "POST",
            _EVERY,
            parse=_parse,
            render=_render,
            body=lambda text: {"input": text},
            params=_PARAMS,
            shows_reasoning=True,
            also=("images", "speech"),
        ),
        look_up("interaction", "GET", _ONE, work=_show),
        look_up("delete_interaction", "DELETE", _ONE, work=_delete),
        look_up("cancel_interaction", "POST", f"{_ONE}/cancel", work=_cancel),
    )


def _render(call: Call, outcome: Answer | Images | Spoken) -> Reply:
    options = _make_options(call.raw)
    if not isinstance(outcome, Answer):
        return _render_media(call, outcome, options)
    if call.stream:
        return make_stream_reply(_RENDERER.stream(outcome, replace(options, waits=False)), outcome.headers)
    body = _RENDERER.render_body(outcome, options)
    return make_pretty_reply(call.http, body, outcome.headers, tokens=outcome.weight)


def _render_media(call: Call, outcome: Images | Spoken, options: InteractionOptions) -> Reply:
    """Return pictures or speech as the content of one output."""
    turn: _Turn = call.references
    made = turn.make_media_output(call, outcome)
    if call.stream:
        return make_stream_reply(stream_media(made.answer, options, made.content), outcome.headers)
    if options.waits:
        return make_pretty_reply(call.http, _RENDERER.render_body(made.answer, options), outcome.headers)
    return make_pretty_reply(call.http, make_media_body(made.answer, options, made.content), outcome.headers)


class _MediaOutput(NamedTuple):
    """The content of an output of pictures or speech, and an answer with the id and the usage of its interaction."""

    answer: Answer
    content: list[dict[str, Json]]


def _make_options(asked: Body) -> InteractionOptions:
    agent = asked.get("agent")
    config = asked.get("generation_config") or {}
    return InteractionOptions(
        by="agent" if agent else "model",
        name=agent or "",
        previous=asked.get("previous_interaction_id"),
        thoughts=config.get("thinking_summaries") == "auto",
        waits=asked.get("background") is True,
    )


class _Turn(Struct, frozen=True, kw_only=True):
    """What an interaction goes on from, if anything, and whether it is kept; the id of one that draws or speaks."""

    previous: str
    is_stored: bool
    media_id: str

    async def read(self, call: Call, objects: Objects) -> Beginning:
        """Return the messages of the earlier interaction. Raises Failure."""
        if not self.previous:
            return Beginning()
        kept = await _find(self.previous, objects)
        return Beginning() if kept.call is None else Beginning(kept.call.messages)

    async def write(
        self, call: Call, answer: Answer | Images | Spoken, objects: Objects, *, is_generated: bool
    ) -> Answer | Images | Spoken:
        """Keep the interaction for look-ups and for those that go on, unless the request does not want that."""
        if not self.is_stored:
            return answer
        options = replace(_make_options(call.raw), waits=False)
        if isinstance(answer, Answer):
            body = _RENDERER.render_body(answer, options)
            choice = answer.choices[0]
            calls = tuple([part.call for part in choice.parts if isinstance(part, ToolUse)])
            said = Message("assistant", join_spoken(choice), tool_calls=calls)
        else:
            made = await objects.on_thread(self.make_media_output, call, answer)
            body = make_media_body(made.answer, options, made.content)
            said = Message("assistant", answer.show() if isinstance(answer, Spoken) else "")
        spoken = call.messages[int(call.has_instructions) :]
        beginning = replace(
            call, http=HttpRequest("POST", ""), raw={}, meaning={}, messages=(*spoken, said), references=None
        )
        ahead = (IN_PROGRESS,) if call.raw.get("background") is True and not call.stream else ()
        kept = KeptObject(NAME, INTERACTIONS.made_by, id=str(body["id"]), body=body, ahead=ahead, call=beginning)
        await objects.keep(kept)
        return answer

    def make_media_output(self, call: Call, outcome: Images | Spoken) -> _MediaOutput:
        """Return the output of an interaction that draws or speaks."""
        made = make_media(call, outcome)
        usage = Usage(outcome.prompt_tokens, sum(made.tokens.values()))
        answer = Answer(self.media_id, FROZEN_AT, model=call.model, choices=(), usage=usage)
        content: list[dict[str, Json]] = [
            {
                "type": blob.media_type.partition("/")[0],
                "mime_type": blob.media_type,
                "data": b64encode(blob.data).decode(),
            }
            for blob in made.blobs
        ]
        return _MediaOutput(answer, content)


# Requests.


def _parse(http: HttpRequest, validation: Validation) -> Call:
    body, asked = read_body(INTERACTION, read_object(http), refuse=_refuse, validation=validation)
    model = asked.get("agent") or asked.get("model") or ""
    if validation is not Validation.OFF:
        if not model:
            raise Failure("bad_parameter", "Either 'model' or 'agent' must be specified.")
        if not asked.get("input"):
            raise Failure("bad_parameter", "The 'input' must not be empty.")
    content: Body
    content, wrong = proto.read_message(GENERATE, _translate(asked), vertex=False)
    if validation is Validation.OFF:
        content = mend_question("GenerateContentRequest", content)
    elif wrong:
        raise Failure("bad_parameter", "\n".join([each.text for each in wrong]))
    else:
        check_values("GenerateContentRequest", content, vertex=False)
    name = model.rpartition("/")[2]
    call = make_call(replace(http, path_params={**http.path_params, "model": name}), content, "chat", None)
    operation = find_operation(name, content.get("generationConfig") or {})
    previous = asked.get("previous_interaction_id") or ""
    if operation != "chat":
        call = ask_for_media(call, operation)
        if previous:  # the conversation before it is a part of what is asked
            call = replace(call, meaning={**call.meaning, "previous_interaction_id": previous})
    return replace(
        call,
        http=http,
        raw=body,
        stream=asked.get("stream") is True,
        ids=_IDS,
        tool_call_ids=CALL_IDS,
        has_instructions=bool(call.messages) and call.messages[0].role == "system",
        references=_Turn(
            previous=previous,
            is_stored=asked.get("store") is not False,
            media_id=f"{_IDS.prefix}{call.fingerprint[:60]}",
        ),
    )


def _refuse(complaint: Complaint) -> Failure:
    """Return the failure of a mistake."""
    if complaint.message is not None:
        return Failure("bad_parameter", complaint.message)
    expected = f": expected {' or '.join(complaint.expected)}" if complaint.expected else ""
    return Failure("bad_parameter", f"Invalid value at '{complaint.where}'{expected}.")


def _translate(asked: Body) -> dict[str, Json]:
    """Return an interaction as a request for content."""
    config: Body = asked.get("generation_config") or {}
    made: dict[str, Json] = {"contents": [*_list_contents(asked.get("input"))]}
    system = asked.get("system_instruction")
    if system:
        made["systemInstruction"] = {"parts": [{"text": system}]} if isinstance(system, str) else system
    if tools := [*_list_tools(asked.get("tools") or ())]:
        made["tools"] = tools
    if (choice := config.get("tool_choice")) is not None:
        made["toolConfig"] = {"functionCallingConfig": _translate_choice(choice)}
    if settings := {**_translate_config(config), **_translate_format(asked)}:
        made["generationConfig"] = settings
    if cached := asked.get("cached_content"):
        made["cachedContent"] = cached
    return made


def _list_contents(given: Json) -> Iterator[Body]:
    """Yield the contents of an input: a text, a content, or a list of contents or steps."""
    if isinstance(given, str):
        yield {"role": "user", "parts": [{"text": given}]}
        return
    entries = given if isinstance(given, list) else [given] if isinstance(given, Mapping) else []
    steps = [entry for entry in entries if isinstance(entry, Mapping)]
    names = {str(made.get("id")): made.get("name") for made in _find_calls(steps)}
    loose = list[Body]()  # contents that stand outside of steps are the user's
    for step in steps:
        if str(step.get("type")) in _CONTENTS:
            loose.extend(_translate_contents(step, names))
            continue
        if loose:
            yield {"role": "user", "parts": loose}
            loose = []
        yield from _translate_step(step, names)
    if loose:
        yield {"role": "user", "parts": loose}


def _find_calls(steps: Sequence[Body]) -> Iterator[Body]:
    """Yield the calls of functions, which are steps, or contents of a step."""
    for step in steps:
        for each in (step, *_list_entries(step.get("content"))):
            if each.get("type") == "function_call":
                yield each


def _list_entries(given: Json) -> list[Body]:
    listed = given if isinstance(given, list) else [given]
    return [each for each in listed if isinstance(each, Mapping)]


def _translate_step(step: Body, names: Mapping[str, Json]) -> Iterator[Body]:
    """Yield a step as a content; those of Google's own tools say nothing that the model's output does not."""
    match step.get("type"):
        case "user_input":
            yield {"role": "user", "parts": _translate_contents(step.get("content"), names)}
        case "model_output":
            yield {"role": "model", "parts": _translate_contents(step.get("content"), names)}
        case "function_call":
            yield {"role": "model", "parts": _translate_contents(step, names)}
        case "function_result":
            yield {"role": "user", "parts": _translate_contents(step, names)}
        case None if "role" in step:  # a turn, as in earlier versions of the API
            role = "model" if step["role"] in ("model", "assistant") else "user"
            yield {"role": role, "parts": _translate_contents(step.get("content"), names)}


def _translate_contents(given: Json, names: Mapping[str, Json]) -> list[Body]:
    """Return contents as parts. Results of functions say their names as the calls do, if they do not say them."""
    if isinstance(given, str):
        return [{"text": given}]
    parts = list[Body]()
    for content in _list_entries(given):
        match content.get("type", "text"):
            case "text":
                parts.append({"text": content.get("text") or ""})
            case "function_call":
                used = {"id": content.get("id"), "name": content.get("name"), "args": content.get("arguments") or {}}
                parts.append({"functionCall": used})
            case "function_result":
                name = content.get("name") or names.get(str(content.get("call_id"))) or content.get("call_id")
                response = _translate_result(content.get("result"))
                parts.append({"functionResponse": {"id": content.get("call_id"), "name": name, "response": response}})
            case str(kind) if kind in _CONTENTS:
                media = content.get("mime_type") or _CONTENTS[kind]
                if content.get("data") is not None:
                    parts.append({"inlineData": {"mimeType": media, "data": content["data"]}})
                else:
                    parts.append({"fileData": {"mimeType": media, "fileUri": content.get("uri") or ""}})
    return parts


def _translate_result(result: Json) -> Body:
    if isinstance(result, Mapping):
        return result
    if isinstance(result, list):
        texts = [str(each.get("text") or "") for each in result if isinstance(each, Mapping)]
        return {"result": "\n".join(filter(None, texts)) if texts else result}
    return {"result": result}


_CONTENTS = {  # their types, and their usual media types
    "text": "text/plain",
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "document": "application/pdf",
}


def _list_tools(tools: Sequence[Body]) -> Iterator[Body]:
    for tool in tools:
        match tool.get("type"):
            case "function":
                about = {key: tool[key] for key in ("name", "description") if tool.get(key) is not None}
                schema = tool.get("parameters")
                yield {"functionDeclarations": [about if schema is None else {**about, "parametersJsonSchema": schema}]}
            case "google_search" | "code_execution" | "url_context" as name:
                yield {_OWN_TOOLS[name]: {}}


_OWN_TOOLS = {"google_search": "googleSearch", "code_execution": "codeExecution", "url_context": "urlContext"}


def _translate_choice(choice: Json) -> Body:
    if isinstance(choice, Mapping):
        allowed = choice.get("allowed_tools")
        stated: Body = allowed if isinstance(allowed, Mapping) else {}
        return {"mode": str(stated.get("mode") or "any").upper(), "allowedFunctionNames": stated.get("tools") or []}
    return {"mode": str(choice).upper()}


def _translate_config(config: Body) -> Body:
    made: dict[str, Json] = {new: config[old] for old, new in _SETTINGS.items() if config.get(old) is not None}
    if isinstance(image := config.get("image_config"), Mapping):
        made["imageConfig"] = _translate_image(image)
    speech = config.get("speech_config")
    first = next(iter(speech), None) if isinstance(speech, list) else speech
    if isinstance(first, Mapping) and isinstance(voice := first.get("voice"), str):
        made["speechConfig"] = {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": voice}}}
    thinking: dict[str, Json] = {}
    if level := config.get("thinking_level"):
        thinking["thinkingLevel"] = str(level).upper()
    if config.get("thinking_summaries") == "auto":
        thinking["includeThoughts"] = True
    return {**made, "thinkingConfig": thinking} if thinking else made


_SETTINGS = {
    "max_output_tokens": "maxOutputTokens",
    "seed": "seed",
    "stop_sequences": "stopSequences",
    "temperature": "temperature",
    "top_p": "topP",
}


def _translate_format(asked: Body) -> Body:
    """Return the form of the answer that is wanted: a JSON Schema may stand by itself, or in a format for text."""
    given = asked.get("response_format")
    media = asked.get("response_mime_type")
    form = next((each for each in given if isinstance(each, Mapping)), None) if isinstance(given, list) else given
    kinds = asked.get("response_modalities")
    if kinds:
        return {"responseModalities": [str(kind).upper() for kind in kinds]}
    if isinstance(form, Mapping) and form.get("type") in ("image", "audio"):
        wanted: Body = {"responseModalities": [form["type"].upper()]}
        return {**wanted, "imageConfig": _translate_image(form)} if form["type"] == "image" else wanted
    if isinstance(form, Mapping) and str(form.get("type")) in _CONTENTS:
        media = form.get("mime_type") or media
        form = form.get("schema")
    if isinstance(form, Mapping):
        return {"responseMimeType": "application/json", "responseJsonSchema": form}
    return {"responseMimeType": media} if media in ("application/json", "text/plain") else {}


def _translate_image(config: Body) -> Body:
    names = {"aspect_ratio": "aspectRatio", "image_size": "imageSize"}
    return {new: config[old] for old, new in names.items() if config.get(old) is not None}


# Look-ups.


async def _find(name: str, objects: Objects) -> KeptObject:
    """Return an interaction by its id; one that nobody began is empty. Raises Failure."""
    moment = write_moment(objects.now)
    body: Body = {
        "id": name,
        "object": "interaction",
        "model": next(iter(MODELS)),
        "role": "model",
        "created": moment,
        "updated": moment,
        "status": "completed",
        "steps": [],
    }
    invented = KeptObject(NAME, INTERACTIONS.made_by, id=name, body=body)
    return await find_object(objects, INTERACTIONS.made_by, name, invented=invented)


async def _show(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call.id, objects)
    _, now = await objects.change(kept, KeptObject.advance)
    return ObjectView(now.body)


async def _cancel(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call.id, objects)
    _, now = await objects.change(kept, _end)
    return ObjectView(now.body)


def _end(kept: KeptObject) -> KeptObject:
    """Return an interaction cancelled; as it is if it has ended, as only one in the background has not."""
    return kept.end("cancelled").change(steps=[]) if kept.ahead else kept


async def _delete(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call.id, objects)
    await objects.change(kept, KeptObject.forget)
    return ObjectView()
