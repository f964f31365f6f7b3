"""Pictures: words in one colour on a ground of another, drawn in tiles of eight by eight pixels.

With two colours and whole tiles, every format can be written in a few lines: a tile is a byte of a PNG, a block of a
JPEG without detail, a pixel of a packed WebP.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.seed import Seed
from mockserver.media.letters import HEIGHT, LETTERS, UNKNOWN, WIDTH

TILE = 8  # pixels


class Color(NamedTuple):
    red: int
    green: int
    blue: int

    @property
    def code(self) -> str:
        """The colour as CSS writes it: `#008080`."""
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"

    @property
    def is_light(self) -> bool:
        return 299 * self.red + 587 * self.green + 114 * self.blue > 128_000


class Picture(Struct, frozen=True):
    """A picture of a size in pixels. `rows` are lines of tiles as bits, the leftmost the highest: 1 has the ink."""

    width: int
    height: int
    ground: Color
    ink: Color
    rows: tuple[int, ...]
    words: str = ""
    is_transparent: bool = False  # whether nothing is behind the words

    @property
    def columns(self) -> int:
        """How many tiles a row has."""
        return count_tiles(self.width)

    def darken(self, share: float) -> "Picture":
        """Return the picture with this share of its light."""
        ground, ink = (Color(*[int(part * share) for part in color]) for color in (self.ground, self.ink))
        return replace(self, ground=ground, ink=ink)

    def list_lines(self) -> Iterator[int]:
        """Yield the tiles of each line of pixels."""
        for line in range(self.height):
            yield self.rows[line // TILE]


def count_tiles(pixels: int) -> int:
    """Return how many tiles cover a number of pixels."""
    return -(-pixels // TILE)


def draw(
    words: str,
    width: int,
    height: int,
    seed: Seed,
    *,
    color: Color | None = None,
    is_transparent: bool = False,
) -> Picture:
    """Draw words as large as they fit, on a ground of the first colour that they name.

    Without such a name the colour follows from the words and the seed.
    """
    named = list(find_colors(words))
    ground = color or (named[0] if named else _pick_color(words, seed))
    ink = next((other for other in named if other.is_light is not ground.is_light), None)
    return Picture(
        width=width,
        height=height,
        ground=ground,
        ink=ink or (BLACK if ground.is_light else WHITE),
        rows=_set_words(words, columns=count_tiles(width), lines=count_tiles(height)),
        words=words,
        is_transparent=is_transparent,
    )


def find_color(name: str) -> Color | None:
    """Return the colour of a name (`teal`) or a code (`#008080`, `#088`)."""
    code = name.strip().lower().removeprefix("#")
    if code in COLORS:
        return COLORS[code]
    if not name.strip().startswith("#") or not _HEX.fullmatch(code):
        return None
    if len(code) == len("abc"):
        code = "".join([digit * 2 for digit in code])
    return Color(*bytes.fromhex(code))


def find_colors(words: str) -> Iterator[Color]:
    """Yield the colours that a text names, in its order."""
    for word in _WORD.findall(words.lower()):
        if word in COLORS:
            yield COLORS[word]


def _pick_color(words: str, seed: Seed) -> Color:
    red, green, blue, *_ = seed.digest("picture", words)
    return Color(red, green, blue)


def _set_words(words: str, *, columns: int, lines: int) -> tuple[int, ...]:
    """Return rows of tiles with the words in their middle, as large as they fit: at scale 1, 2, 3, ..."""
    best: tuple[int, ...] = (0,) * lines
    for scale in range(1, MAX_SCALED + 1):
        fitting, is_whole = _wrap(words, columns // ((WIDTH + 1) * scale), lines // ((HEIGHT + 1) * scale))
        if not fitting or (scale > 1 and not is_whole):
            break
        best = _place(fitting, scale, columns=columns, lines=lines)
    return best


def _wrap(words: str, letters: int, lines: int) -> tuple[Sequence[str], bool]:
    """Return words in lines of at most `letters` letters, and whether all of them are there."""
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode() or words
    wrapped: list[str] = []
    if letters < 1 or lines < 1:
        return (), False
    for word in plain[:MAX_DRAWN].upper().split():
        if wrapped and len(wrapped[-1]) + 1 + len(word) <= letters:
            wrapped[-1] += f" {word}"
        else:
            wrapped.append(word[:letters])
    is_whole = len(wrapped) <= lines and all(len(word) <= letters for word in plain.split())
    return wrapped[:lines], is_whole


def _place(texts: Sequence[str], scale: int, *, columns: int, lines: int) -> tuple[int, ...]:
    rows = [0] * lines
    top = (lines - len(texts) * (HEIGHT + 1) * scale + scale) // 2
    for number, text in enumerate(texts):
        right = (columns - (len(text) * (WIDTH + 1) - 1) * scale) // 2
        for line in range(HEIGHT):
            bits = 0
            for letter in text:
                drawn = (0,) * HEIGHT if letter == " " else LETTERS.get(letter, UNKNOWN)
                bits = bits << WIDTH + 1 | drawn[line]
            row = _widen(bits, scale) << right
            for repeated in range(scale):
                rows[top + (number * (HEIGHT + 1) + line) * scale + repeated] |= row
    return tuple(rows)


def _widen(bits: int, scale: int) -> int:
    """Return bits, each of them several times."""
    return int("".join([bit * scale for bit in f"{bits:b}"]), 2)


MAX_DRAWN = 1_000  # letters of a prompt
MAX_SCALED = 8  # tiles for each tile of a letter
_HEX = re.compile("[0-9a-f]{3}|[0-9a-f]{6}")
_WORD = re.compile(r"[a-z]+")
BLACK = Color(0, 0, 0)
WHITE = Color(255, 255, 255)
COLORS: Mapping[str, Color] = {
    "black": BLACK,
    "white": WHITE,
    "gray": Color(128, 128, 128),
    "grey": Color(128, 128, 128),
    "silver": Color(192, 192, 192),
    "red": Color(220, 20, 20),
    "crimson": Color(220, 20, 60),
    "maroon": Color(128, 0, 0),
    "pink": Color(255, 192, 203),
    "magenta": Color(255, 0, 255),
    "orange": Color(255, 165, 0),
    "gold": Color(255, 215, 0),
    "yellow": Color(255, 235, 20),
    "beige": Color(245, 245, 220),
    "brown": Color(139, 69, 19),
    "olive": Color(128, 128, 0),
    "green": Color(0, 128, 0),
    "lime": Color(0, 255, 0),
    "turquoise": Color(64, 224, 208),
    "teal": Color(0, 128, 128),
    "cyan": Color(0, 255, 255),
    "blue": Color(20, 60, 220),
    "navy": Color(0, 0, 128),
    "indigo": Color(75, 0, 130),
    "purple": Color(128, 0, 128),
    "violet": Color(238, 130, 238),
}
