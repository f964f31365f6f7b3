"""Videos that jobs make: films in the colour that their prompt names, and pictures of them with its words."""

from collections.abc import Mapping

from msgspec.structs import replace

from mockserver.core.call import Call, Message
from mockserver.core.json import Json
from mockserver.core.kept_objects import ObjectView
from mockserver.core.seed import Seed
from mockserver.kinds.images import parse_size
from mockserver.media.film import MAX_SIDE, write_film
from mockserver.media.formats import FORMATS
from mockserver.media.picture import draw

SIZES = {"16:9": (16, 9), "9:16": (9, 16), "1:1": (1, 1), "4:3": (4, 3), "3:4": (3, 4), "3:2": (3, 2), "2:3": (2, 3)}
VARIANTS = {"video": "video/mp4", "thumbnail": "image/webp", "spritesheet": "image/jpeg"}


def find_size(ratio: Json, resolution: Json, usual: tuple[int, int] = (1280, 720)) -> tuple[int, int]:
    """Return the width and height of a video in pixels: its shorter side is the resolution (`720p`, `1080p`, `4k`)."""
    stated = str(resolution or "").lower().removesuffix("p")
    short = 2160 if stated == "4k" else int(stated) if stated.isdecimal() and len(stated) < 5 else 0
    short = short or min(usual)
    across, up = SIZES.get(str(ratio or ""), usual)
    least = min(across, up)
    return round(short * across / least / 2) * 2, round(short * up / least / 2) * 2


def make_view(body: Mapping[str, Json], seed: Seed, variant: str = "video") -> ObjectView:
    """Return the bytes of a video with this `prompt`, `size` and `seconds`, or of a picture of it."""
    width, height = (min(side, MAX_SIDE) for side in parse_size(str(body["size"])) or (1280, 720))
    picture = draw(str(body.get("prompt") or ""), width, height, seed=seed)
    if variant == "video":
        data = write_film(picture.ground, width, height, float(body["seconds"]))
    else:
        data = FORMATS[VARIANTS[variant].rpartition("/")[2]].write(picture)
    return ObjectView(data=data, headers=(("content-type", VARIANTS[variant]),))


def tell_prompt(call: Call, prompt: Json, model: Json) -> Call:
    """Return the call of a new video with what rules know of a prompt: its model, and the text as the user's."""
    return replace(call, model=str(model or ""), messages=(Message("user", str(prompt or "")),))
