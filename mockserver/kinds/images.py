"""Images: pictures of the size that a request asks for, which show its words and colours."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.tables import AsTable, AsText, ByShape, Table, field
from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft
from mockserver.core.http import Headers
from mockserver.core.json import Json
from mockserver.core.plan import Artifact
from mockserver.core.seed import Seed
from mockserver.kinds.kind import ArtifactKind, OperationKind, Origins, ReadFile, ThenKey
from mockserver.media.formats import FORMATS, write_png
from mockserver.media.picture import Color, Picture, draw, find_color

USUAL_SIZE = (1024, 1024)  # of a picture
MAX_PIXELS = 4096  # of a side
_SIZE = re.compile(r"([0-9]{1,5})x([0-9]{1,5})")
_SHOWN = ("background", "output_format", "quality", "size")  # the options of its picture that an item shows
_USUAL = {"background": "opaque", "output_format": "png", "quality": "high"}  # what is drawn where an option is `auto`


class StatedImage(Struct, frozen=True):
    """What a rule states of an image: a whole file, or the words and the colour of a picture."""

    file: bytes | None = None
    words: str | None = None
    color: Color | None = None


class Images(Artifact, frozen=True):
    """The images of one request: pictures, in no format yet, or files of a rule."""

    images: tuple[Picture | bytes, ...]
    created: int
    prompt_tokens: int
    headers: Headers = ()

    @property
    def size(self) -> int:
        return sum(
            [len(image) if isinstance(image, bytes) else image.width * image.height // 8 for image in self.images]
        )

    def join(self, others: "Sequence[Images]") -> "Images":
        """Return these images with those of other prompts."""
        return replace(self, images=tuple(chain(self.images, *[other.images for other in others])))

    def show(self) -> str:
        """Return the sizes of the images."""
        shown = [
            f"{len(image):,} bytes"
            if isinstance(image, bytes)
            else f"{image.width} x {image.height} pixels, {image.ground.code}"
            for image in self.images
        ]
        return ", ".join(shown)


class PictureSpec(Table):
    """An image: a file, or the words and the color of a picture."""

    example = "{color: teal, text: A cat}"

    file: str | None = field(
        None, min_length=1, description="a file beside the rules, sent as it is", examples=["cat.png"]
    )
    text: str | None = field(None, description="the words in the picture, in place of the prompt's", examples=["A cat"])
    color: str | None = field(None, min_length=1, description="its color: teal, or #008080", examples=["teal"])


def _compile(stated: Any, read_file: ReadFile) -> StatedImage:
    if isinstance(stated, str):
        return StatedImage(file=read_file(stated))
    if stated.file is not None:
        if stated.text is not None or stated.color is not None:
            raise ValueError("a file is sent as it is; leave out its text and color")
        return StatedImage(file=read_file(stated.file))
    color = None if stated.color is None else find_color(stated.color)
    if stated.color is not None and color is None:
        raise ValueError(f'unknown color "{stated.color}"; write a name such as teal, or a code such as "#008080"')
    return StatedImage(words=stated.text, color=color)


def _finish(call: Call, draft: ArtifactDraft, origins: Origins) -> Images:
    stated: StatedImage = draft.stated or StatedImage()
    words = call.prompts[0].text if stated.words is None else stated.words
    width, height = call.options.size or USUAL_SIZE
    count = call.options.n
    if stated.file is not None:
        images: tuple[Picture | bytes, ...] = (stated.file,) * count
    else:
        # Numbers tell several pictures apart.
        texts = [words, *[f"{words} {number}".lstrip() for number in range(2, count + 1)]]
        images = tuple([draw(text, width, height, seed=origins.seed, color=stated.color) for text in texts])
    return Images(
        images=images,
        created=origins.now,
        prompt_tokens=draft.usage.get("prompt", call.prompt_tokens),
        headers=draft.headers,
    )


def parse_size(stated: str) -> tuple[int, int] | None:
    """Return the width and height of a size such as `1536x1024`, in pixels; None for any other text."""
    found = _SIZE.fullmatch(stated)
    return None if found is None else (int(found[1]), int(found[2]))


def paint_item(stated: Mapping[str, Json], tool: Mapping[str, Json] | None, words: str, seed: Seed) -> dict[str, Json]:
    """Return an `image_generation_call` with its picture.

    Its options are those of the `stated` item, else those of the `tool`, or usual ones if it was offered. The picture
    shows `words`, unless the item states a revised prompt.
    """
    options = {name: stated.get(name) or (tool or {}).get(name) for name in _SHOWN}
    width, height = parse_size(str(options["size"])) or USUAL_SIZE
    width, height = (min(max(side, 1), MAX_PIXELS) for side in (width, height))
    form = FORMATS.get(str(options["output_format"]), FORMATS["png"])
    text = stated.get("revised_prompt") or words
    picture = draw(str(text), width, height, seed=seed, is_transparent=options["background"] == "transparent")
    shown = {name: value for name, value in options.items() if value not in (None, "auto")}
    drawn = {**_USUAL, "size": f"{width}x{height}", **shown} if tool is not None else shown
    return {**stated, **drawn, "result": b64encode(form.write(picture)).decode()}


IMAGE = ThenKey(
    key="image",
    value=Annotated[
        AsText[str] | AsTable[PictureSpec], ByShape("the name of a file, or a table with color, text or file")
    ],
    doc="an image: a file beside the rules, or a picture of a color",
    beside=frozenset(("timing", "faults", "usage", "headers")),
    states="an image",
    example={"color": "teal"},
    compile=_compile,
)


def _make_kind(name: str) -> ArtifactKind:
    return ArtifactKind(
        name=name,
        advice="; write image: {color: teal}",
        then=IMAGE,
        body=lambda text: {"prompt": text},
        model_word="image",
        wire={"data": [{"b64_json?": str | None, "url?": str | None}]},
        finish=_finish,
        files={} if name == "images" else {"image": lambda text: write_png(draw(text, *USUAL_SIZE, seed=Seed()))},
        takes_files=name != "images",
    )


CONTENT = OperationKind(name="image_content", names_model=False, takes_text=False)  # of a URL in an answer
OPERATIONS = (*map(_make_kind, ("images", "image_edits", "image_variations")), CONTENT)
