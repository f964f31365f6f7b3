"""Images as OpenAI's API has them: made, edited and varied (https://platform.openai.com/docs/api-reference/images)."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlencode

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call, Message, Options, Prompt
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._errors import ProviderError, refuse
from mockserver.dialects._fields import BodyModel, integer, list_of, literal, optional, shape, text
from mockserver.dialects._forms import Part, nest_fields, parse_form
from mockserver.dialects._openai_api.media_files import check_picture
from mockserver.dialects._parse import (
    Body,
    Complaint,
    clip,
    complain,
    find_unknown_fields,
    read_body,
    read_object,
    refuse_first,
)
from mockserver.dialects._reply import STREAM_LINES, RequestLines, make_file_reply, make_json_reply, merge_headers
from mockserver.kinds.images import MAX_PIXELS, USUAL_SIZE, Images, parse_size
from mockserver.kinds.objects import Objects
from mockserver.media.file_kinds import recognize
from mockserver.media.formats import FORMATS, write_gif
from mockserver.media.large_data import hash_data
from mockserver.media.picture import Picture, draw, find_color

USUAL_MODEL = "gpt-image-2"
# Tokens of an image, by its quality and size; those of other sizes are in proportion to the square.
_TOKENS: Mapping[str, Mapping[tuple[int, int], int]] = {
    "low": {(1024, 1024): 272, (1024, 1536): 408, (1536, 1024): 400},
    "medium": {(1024, 1024): 1056, (1024, 1536): 1584, (1536, 1024): 1568},
    "high": {(1024, 1024): 4160, (1024, 1536): 6240, (1536, 1024): 6208},
}
_PARTIAL_TOKENS = 100
_DALL_E_SIZES = ((256, 256), (512, 512), (1792, 1024), (1024, 1792))  # sizes that its answers do not repeat

_COMMON: dict[str, Any] = {
    "model": optional(str),
    "n": optional(integer(1, 10)),
    "size": optional(str),
    "quality": optional(str),
    "background": optional(literal("auto", "transparent", "opaque")),
    "output_format": optional(literal(*FORMATS)),
    "output_compression": optional(integer(0, 100)),
    "frame_count": optional(integer(2, 16)),
    "frame_duration_ms": optional(integer(10, 10_000)),
    "stream": optional(bool),
    "partial_images": optional(integer(0, 3)),
    "response_format": optional(literal("url", "b64_json")),
    "moderation": optional(literal("auto", "low")),
    "user": optional(str),
    "safety_identifier": optional(str),
}
# `POST /images/generations`
GENERATION = BodyModel(shape(prompt=text(most=32_000), style=optional(str), complexity=optional(str), **_COMMON))
_Reference = shape(image_url=optional(str), file_id=optional(str))
# `POST /images/edits`, whose images are files of a form, or references in JSON
EDIT = BodyModel(
    shape(
        prompt=text(most=32_000),
        images=optional(list_of(_Reference, 1, 16)),
        mask=optional(_Reference),
        input_fidelity=optional(literal("high", "low")),
        **_COMMON,
    )
)
VARIATION = BodyModel(shape(**_COMMON))  # `POST /images/variations`
# Fields that forms have as texts.
_NUMBERS = ("n", "output_compression", "partial_images", "frame_count", "frame_duration_ms")


class ImagesApi(Struct, frozen=True):
    """The operations on images of a dialect whose replies have these header lines.

    `read_url_fields` returns the fields of a path. `read(body)` returns a body of JSON in OpenAI's words, after those
    that the dialect has instead were checked by the model `own`, and `show(call, body)` the body of an answer in those
    of the dialect.
    """

    dialect: str
    lines: RequestLines
    read_url_fields: Callable[[HttpRequest], Body] = lambda http: {}
    own: BodyModel | None = None
    read: Callable[[Body], Body] = lambda body: body
    show: Callable[[Call, Body], Body] = lambda call, body: body

    def make_operations(self) -> tuple[Operation, ...]:
        """Return the operations that make, edit and vary images, and the one behind the URLs in their answers."""
        generate = self._parse_generation
        edit = self._parse_edit
        vary = self._parse_variation
        return (
            Operation(
                "images", "POST", "/images/generations", parse=generate, render=self._render, error=make_error_event
            ),
            Operation("image_edits", "POST", "/images/edits", parse=edit, render=self._render, error=make_error_event),
            Operation("image_variations", "POST", "/images/variations", parse=vary, render=self._render),
            Operation(
                "image_content", "GET", "/images/content", parse=self._parse_content, render=self._render_content
            ),
        )

    def _parse_generation(self, http: HttpRequest, validation: Validation) -> Call:
        body = self._read_json(http, validation)
        return self._make_call("images", http, body, model=GENERATION, validation=validation)

    def _parse_edit(self, http: HttpRequest, validation: Validation) -> Call:
        if (http.find_header("content-type") or "").lower().startswith("multipart/"):
            form, files = read_image_form(http, validation)
            return self._make_call("image_edits", http, form, model=EDIT, validation=validation, files=files)
        body = self._read_json(http, validation)
        call = self._make_call("image_edits", http, body, model=EDIT, validation=validation)
        for number, reference in enumerate(call.raw.get("images") or (), 1):
            check_reference(reference, f"image {number}", validation)
        check_reference(call.raw.get("mask") or {}, "mask", validation)
        return call

    def _read_json(self, http: HttpRequest, validation: Validation) -> Body:
        body = read_object(http)
        if self.own is not None:
            read_body(self.own, body, refuse=refuse, validation=validation)
        return self.read(body)

    def _parse_variation(self, http: HttpRequest, validation: Validation) -> Call:
        form, files = read_image_form(http, validation)
        if validation is Validation.LIVE:
            message = "The model `dall-e-2` does not exist or you do not have access to it."
            raise Failure("model_not_found", message=message)
        return self._make_call("image_variations", http, form, model=VARIATION, validation=validation, files=files)

    def _make_call(
        self,
        operation: str,
        http: HttpRequest,
        body: Body,
        *,
        model: BodyModel,
        validation: Validation,
        files: Sequence[str] = (),
    ) -> Call:
        """Return the call of a body; `files` are the hashes of the pictures in a form."""
        parsed = read_body(model, body, refuse=refuse, validation=validation).parsed
        if validation is Validation.LIVE:
            known = model.fields - _FIELDS_OF_OTHERS if _GPT_IMAGE.match(str(body.get("model"))) else model.fields
            refuse_first(find_unknown_fields(body, known), refuse)
        body = {**parsed, **({"files": [*files]} if files else {})}
        if validation is not Validation.OFF:
            refuse_first(find_contradictions(body), refuse)
        body = {**body, **self.read_url_fields(http)}
        prompt = body.get("prompt") or ""
        return Call(
            dialect=self.dialect,
            operation=operation,
            model=body.get("model") or USUAL_MODEL,
            http=http,
            meaning={key: value for key, value in body.items() if key not in _BOOKKEEPING},
            raw=body,
            messages=(Message("user", prompt),),
            prompts=(Prompt(prompt),),
            stream=bool(body.get("stream")),
            options=Options(n=body.get("n") or 1, size=read_size(body, validation)),
        )

    def _render(self, call: Call, outcome: Images) -> Reply:
        lines = self.lines(call.http, call)
        answer = ImageAnswer(call, outcome)
        if not call.stream:
            return make_json_reply(200, self.show(call, answer.make_body()), lines=lines, headers=outcome.headers)
        headers = merge_headers(HeaderLines(STREAM_LINES + lines), outcome.headers)
        return Reply(200, headers, frames=answer.stream())

    def _parse_content(self, http: HttpRequest, validation: Validation) -> Call:
        """Return the call of a URL in an answer, whose query says what the picture shows."""
        shown = dict(http.query)
        return Call(self.dialect, "image_content", model="", http=http, meaning=shown, raw=shown, work=_show_content)

    def _render_content(self, call: Call, outcome: ObjectView) -> Reply:
        return make_file_reply(outcome.data or b"", self.lines(call.http, call), outcome.headers)


_UNKNOWN_TYPE = "application/octet-stream"
_BOOKKEEPING = ("stream", "user", "safety_identifier")


async def _show_content(call: Call, objects: Objects) -> ObjectView:
    shown = call.raw
    if digest := shown.get("file"):
        file = objects.find_rule_file(digest)
        if file is None:
            raise Failure("not_found", message=f"No rule sends the file {clip(digest)} any more.")
        return ObjectView(data=file, headers=(("content-type", recognize(file) or _UNKNOWN_TYPE),))
    width, height = (min(side, MAX_PIXELS) or 1 for side in parse_size(shown.get("size", "")) or USUAL_SIZE)
    color = find_color(shown.get("color", ""))
    picture = draw(shown.get("words", ""), width=width, height=height, seed=objects.seed, color=color)
    return ObjectView(data=FORMATS["png"].write(picture), headers=(("content-type", "image/png"),))


class ImageForm(NamedTuple):
    """The fields of a form, and the hashes of its pictures and masks, which tell them apart."""

    fields: Body
    files: Sequence[str]


def read_image_form(http: HttpRequest, validation: Validation) -> ImageForm:
    """Return the form in a request. Raises Failure if it has no picture, or one that cannot be edited."""
    form = parse_form(http)
    body = nest_fields(form)
    images = form.find_files("image")
    if not images and validation is not Validation.OFF:
        raise refuse(Complaint("missing", ("image",)))
    for name in _NUMBERS:
        if isinstance(stated := body.get(name), str) and stated.isdecimal():
            body[name] = int(stated)
    if "stream" in body:
        body["stream"] = body["stream"] == "true"
    masks = form.find_files("mask")
    for number, image in enumerate(images, 1):
        check_picture(image, f"image {number}", validation)
    for mask in masks:
        check_picture(mask, "mask", validation)
    return ImageForm(body, [hash_data(part.content) for part in (*images, *masks)])


def check_reference(reference: Body, what: str, validation: Validation) -> None:
    """Raise Failure if a data URL does not have a picture; other URLs are not looked at."""
    head, comma, encoded = (reference.get("image_url") or "").partition(",")
    if comma and head.startswith("data:"):
        try:
            data = b64decode(encoded, validate=True) if head.endswith(";base64") else unquote_to_bytes(encoded)
        except ValueError:
            data = b""  # refused like a file without bytes
        check_picture(Part("image_url", data, media_type=head.removeprefix("data:")), what, validation)


def find_contradictions(body: Body) -> Iterator[Complaint]:
    """Yield complaints about fields that the requested file format does not support."""
    form = body.get("output_format") or "png"
    compression = body.get("output_compression")
    if body.get("background") == "transparent" and form == "jpeg":
        yield complain("Transparent background is not supported for JPEG output format", "background")
    if form in _MOVING and body.get("stream"):
        yield complain(f"Streaming is not supported for {form.upper()} output format", "stream")
    if compression is not None and compression < _WHOLE and form == "png":
        yield complain("Compression less than 100 is not supported for PNG output format", "output_compression")


_GPT_IMAGE = re.compile("(chat)?gpt-image")
_FIELDS_OF_OTHERS = frozenset({"response_format"})  # those models always answer with base64
_WHOLE = 100  # percent
_MOVING = ("gif",)  # formats that come as a whole


def read_size(body: Body, validation: Validation) -> tuple[int, int]:
    """Return the width and height that a request asks for, in pixels. Raises Failure."""
    stated = body.get("size") or "auto"
    found = parse_size(stated)
    if found is None:
        if stated != "auto" and validation is not Validation.OFF:
            raise refuse(Complaint("value", ("size",), got=stated, expected=_SIZES))
        return USUAL_SIZE
    width, height = found
    is_usable = 1 <= width <= MAX_PIXELS and 1 <= height <= MAX_PIXELS
    is_served = width % 16 == 0 == height % 16 and max(width, height) <= 3 * min(width, height)
    if not is_usable or (validation is Validation.LIVE and not is_served):
        raise refuse(Complaint("value", ("size",), got=stated, expected=_SIZES))
    return width, height


_SIZES = ("1024x1024", "1024x1536", "1536x1024", "auto")


class ImageAnswer:
    """The images of an answer in the forms that the API has for them."""

    def __init__(self, call: Call, outcome: Images) -> None:
        body = call.raw
        self._call = call
        self._outcome = outcome
        self._format = body.get("output_format") or "png"
        self._quality = _name_quality(body.get("quality"))
        self._is_transparent = body.get("background") == "transparent"
        self._is_url = _wants_url(call)

    def make_body(self) -> Body:
        """Return the body of a plain answer."""
        return {
            "created": self._outcome.created,
            "background": self._traits["background"],
            "data": [self._show(image) for image in self._outcome.images],
            "output_format": self._format,
            "quality": self._quality,
            **({} if self._call.options.size in _DALL_E_SIZES else {"size": self._traits["size"]}),
            "usage": self._count_usage(partial=0),
        }

    def stream(self) -> Iterator[Frame]:
        """Yield the events of a streamed answer: darker pictures first, if the request asks for them."""
        what = "image_generation" if self._call.operation == "images" else "image_edit"
        image = self._outcome.images[0]
        partial_images = self._call.raw.get("partial_images") or 0
        for index in range(partial_images):
            light = (index + 1) / (partial_images + 1)
            early = image.darken(light) if isinstance(image, Picture) else image
            event = f"{what}.partial_image"
            fields = {**self._make_event(event, early), "partial_image_index": index}
            yield Frame(to_json(fields), event=event, tokens=_PARTIAL_TOKENS)
        event = f"{what}.completed"
        usage = self._count_usage(partial=partial_images)
        yield Frame(
            to_json({**self._make_event(event, image), "usage": usage}),
            event=event,
            tokens=usage["output_tokens"],
            part="end",
        )

    def _make_event(self, event: str, image: Picture | bytes) -> dict[str, Json]:
        data = b64encode(self._write(image)).decode()
        return {"type": event, "b64_json": data, "created_at": self._outcome.created, **self._traits}

    @property
    def _traits(self) -> dict[str, Json]:
        width, height = self._call.options.size or USUAL_SIZE
        return {
            "size": f"{width}x{height}",
            "quality": self._quality,
            "background": "transparent" if self._is_transparent else "opaque",
            "output_format": self._format,
        }

    def _show(self, image: Picture | bytes) -> Body:
        if not self._is_url:
            return {"b64_json": b64encode(self._write(image)).decode()}
        prompt = self._call.prompts[0].text
        revised = {"revised_prompt": prompt} if self._call.model == "dall-e-3" else {}
        return {"url": self._make_url(image), **revised}

    def _make_url(self, image: Picture | bytes) -> str:
        http = self._call.http
        shown = {"file": hash_data(image)} if isinstance(image, bytes) else _describe(image)
        query = urlencode(shown)
        return f"{http.server_url}{http.path.rpartition('/')[0]}/content?{query}"

    def _write(self, image: Picture | bytes) -> bytes:
        if isinstance(image, bytes):
            return image
        picture = replace(image, is_transparent=self._is_transparent)
        if self._format == "gif":
            body = self._call.raw
            return write_gif(picture, body.get("frame_count") or 9, body.get("frame_duration_ms") or 200)
        return FORMATS[self._format].write(picture)

    def _count_usage(self, *, partial: int) -> dict[str, Json]:
        each = count_image_tokens(self._quality, self._call.options.size or USUAL_SIZE)
        written = each * len(self._outcome.images) + _PARTIAL_TOKENS * partial
        seen = 0 if self._call.operation == "images" else count_image_tokens("low", USUAL_SIZE)
        read = self._outcome.prompt_tokens
        return {
            "total_tokens": read + seen + written,
            "input_tokens": read + seen,
            "output_tokens": written,
            "input_tokens_details": {"text_tokens": read, "image_tokens": seen},
            "output_tokens_details": {"text_tokens": 0, "image_tokens": written},
        }


def _describe(picture: Picture) -> dict[str, str]:
    """Return the query of a URL from which a picture can be drawn again."""
    size = f"{picture.width}x{picture.height}"
    return {"size": size, "color": picture.ground.code, "words": picture.words}


def count_image_tokens(quality: str, size: tuple[int, int]) -> int:
    """Return the tokens that an image of this quality takes, and of this width and height in pixels."""
    known = _TOKENS[quality]
    return known.get(size) or known[USUAL_SIZE] * size[0] * size[1] // (USUAL_SIZE[0] * USUAL_SIZE[1])


def word_image_error(error: ProviderError, failure: Failure, call: Call | None) -> ProviderError:
    """Return the error of a request; for images, that of the safety system has a message and codes of its own."""
    if failure.reason != "content_filter" or call is None or not call.operation.startswith("image"):
        return error
    message = _BLOCKED if failure.message is None else error.message
    return replace(error, message=message, kind="image_generation_user_error", code="moderation_blocked", param=None)


_BLOCKED = (
    "Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com "
    "and include the request ID."
)


def _name_quality(stated: str | None) -> str:
    """Return the quality of an answer, which is never `auto`."""
    if stated in ("hd", "xhigh", "max"):
        return "high"
    return stated if stated is not None and stated in _TOKENS else "medium"


def _wants_url(call: Call) -> bool:
    """Return whether the answer has URLs: those of DALL·E do, unless the request asks otherwise."""
    stated = call.raw.get("response_format")
    return stated == "url" or (stated is None and call.model.startswith("dall-e"))


def make_error_event(failed: Reply, last: bytes) -> Frame:
    """Return a failed reply as an event of a stream."""
    return Frame(b'{"type":"error",' + failed.body.lstrip()[1:], event="error", part="finish")
