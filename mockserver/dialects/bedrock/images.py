"""Image models by InvokeModel: Amazon's and Stability's requests as Calls, and pictures as their bodies.

Sources: https://docs.aws.amazon.com/nova/latest/userguide/image-gen-req-resp-structure.html (Canvas),
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-image.html and
.../model-parameters-diffusion-stable-ultra-text-image-request-response.html (Stability)
"""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from mockserver.core.call import Call, Message, Options, Prompt
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.validation import Validation
from mockserver.dialects._fields import BodyModel, Object, integer, list_of, literal, number, open_shape, optional, text
from mockserver.dialects._parse import Body, read_body
from mockserver.dialects._reply import make_json_reply
from mockserver.dialects.bedrock.errors import write_request_id
from mockserver.dialects.bedrock.formats import refuse_malformed
from mockserver.dialects.bedrock.models import NAME
from mockserver.kinds.images import USUAL_SIZE, Images
from mockserver.media.formats import FORMATS

Size = tuple[int, int]  # width and height in pixels


class Painter(Struct, frozen=True, kw_only=True):
    """The format of a family of models.

    `model` describes its requests, and `reads(model, body)` tells whether a request has this format. `prompt`, `count`
    and `size` are what a body asks for, and `body(call, images)` is the answer with these images in base64.
    """

    model: BodyModel
    reads: Callable[[str, Body], bool]
    prompt: Callable[[Body], str]
    count: Callable[[Body], int]
    size: Callable[[Body], Size]
    body: Callable[[Call, Sequence[str]], Mapping[str, Json]]


def find_painter(model: str, body: Body) -> Painter | None:
    """Return the format of a request for images; None for any other request."""
    return next((each for each in _PAINTERS if each.reads(model, body)), None)


def parse_images(http: HttpRequest, body: Body, painter: Painter, validation: Validation) -> Call:
    """Return the Call of a request for images, in the format of a family. Raises Failure."""
    model = http.path_params.get("model", "")
    read = read_body(painter.model, body, refuse=refuse_malformed, validation=validation).parsed
    prompt = painter.prompt(read)
    return Call(
        dialect=NAME,
        operation="images",
        model=model,
        http=http,
        meaning={**read, "model": model},
        raw=read,
        messages=(Message("user", prompt),),
        prompts=(Prompt(prompt),),
        options=Options(n=painter.count(read), size=painter.size(read)),
    )


def render_images(call: Call, outcome: Images) -> Reply:
    """Return the reply with the images, in the format of the family."""
    painter = find_painter(call.model, call.raw) or _AMAZON
    form = FORMATS.get(str(call.raw.get("output_format")), FORMATS["png"])
    files = [image if isinstance(image, bytes) else form.write(image) for image in outcome.images]
    body = painter.body(call, [b64encode(file).decode() for file in files])
    return make_json_reply(200, body, lines=write_request_id(call.http, call), headers=outcome.headers)


# Amazon's: Nova Canvas and Titan

_LARGEST = 4096  # pixels of a side
_AMAZON_MODEL = BodyModel(
    open_shape(
        taskType=literal(
            "TEXT_IMAGE",
            "COLOR_GUIDED_GENERATION",
            "IMAGE_VARIATION",
            "INPAINTING",
            "OUTPAINTING",
            "BACKGROUND_REMOVAL",
            "VIRTUAL_TRY_ON",
        ),
        textToImageParams=optional(open_shape(text=text(1, 1024), negativeText=optional(text(1, 1024)))),
        imageGenerationConfig=optional(
            open_shape(
                numberOfImages=optional(integer(1, 5)),
                width=optional(integer(256, _LARGEST)),
                height=optional(integer(256, _LARGEST)),
                quality=optional(literal("standard", "premium")),
                cfgScale=optional(number(1.1, 10)),
                seed=optional(integer(0, 2_147_483_646)),
            )
        ),
    )
)


def _find_amazon_prompt(body: Body) -> str:
    """Return the text of the task, which each has in a table of its own."""
    tasks = (value for key, value in body.items() if key.endswith("Params") and isinstance(value, Mapping))
    texts = (task.get("text") for task in tasks)
    return next((each for each in texts if isinstance(each, str)), "")


def _find_amazon_size(body: Body) -> Size:
    settings = _find_settings(body)
    width, height = USUAL_SIZE
    return settings.get("width") or width, settings.get("height") or height


def _find_settings(body: Body) -> Body:
    return body.get("imageGenerationConfig") or {}


_AMAZON = Painter(
    model=_AMAZON_MODEL,
    reads=lambda model, body: (
        "canvas" in model or "titan-image" in model or ("taskType" in body and "imageGenerationConfig" in body)
    ),
    prompt=_find_amazon_prompt,
    count=lambda body: _find_settings(body).get("numberOfImages") or 1,
    size=_find_amazon_size,
    body=lambda call, images: {"images": images, "error": None},
)

# Stability's: Stable Image and Stable Diffusion 3 with one prompt, and Stable Diffusion XL before them with several

_MAX_SEED = 4_294_967_294
_RATIOS: Mapping[str, Size] = {
    "1:1": (1024, 1024),
    "16:9": (1344, 768),
    "21:9": (1536, 640),
    "2:3": (832, 1216),
    "3:2": (1216, 832),
    "4:5": (896, 1088),
    "5:4": (1088, 896),
    "9:16": (768, 1344),
    "9:21": (640, 1536),
}
_STABILITY_MODEL = BodyModel(
    open_shape(
        prompt=text(1, 10_000),
        mode=optional(literal("text-to-image", "image-to-image")),
        aspect_ratio=optional(literal(*_RATIOS)),
        output_format=optional(literal("png", "jpeg", "webp")),
        negative_prompt=optional(text(most=10_000)),
        seed=optional(integer(0, _MAX_SEED)),
        image=optional(str),
        strength=optional(number(0, 1)),
    )
)
_XL_MODEL = BodyModel(
    open_shape(
        text_prompts=list_of(Object, 1),
        width=optional(integer(128, _LARGEST)),
        height=optional(integer(128, _LARGEST)),
        cfg_scale=optional(number(0, 35)),
        samples=optional(integer(1, 1)),
        seed=optional(integer(0, _MAX_SEED)),
        steps=optional(integer(10, 150)),
    )
)


def _find_seed(call: Call) -> int:
    """Return the seed of a request, or one that follows from what it asks."""
    return call.raw.get("seed") or int(call.fingerprint[:12], 16) % _MAX_SEED


def _write_artifacts(call: Call, images: Sequence[str]) -> Mapping[str, Json]:
    seed = _find_seed(call)
    made = [{"seed": seed, "base64": image, "finishReason": "SUCCESS"} for image in images]
    return {"result": "success", "artifacts": made}


_XL = Painter(
    model=_XL_MODEL,
    reads=lambda model, body: "stable-diffusion-xl" in model or "text_prompts" in body,
    prompt=lambda body: str(body["text_prompts"][0].get("text", "")) if body.get("text_prompts") else "",
    count=lambda body: 1,
    size=lambda body: (body.get("width") or 1024, body.get("height") or 1024),
    body=_write_artifacts,
)
_STABILITY = Painter(
    model=_STABILITY_MODEL,
    reads=lambda model, body: "stability." in model,
    prompt=lambda body: str(body.get("prompt") or ""),
    count=lambda body: 1,
    size=lambda body: _RATIOS.get(str(body.get("aspect_ratio")), USUAL_SIZE),
    body=lambda call, images: {"seeds": [_find_seed(call)], "finish_reasons": [None], "images": images},
)

_PAINTERS = (_AMAZON, _XL, _STABILITY)
