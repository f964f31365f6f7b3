"""What a model does on a computer: it looks first, and then does what the user asks for, one step after the other.

Reads commands such as click, type, scroll, press and open out of what the user said last.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from mockserver.core.call import Call, Json, Tool
from mockserver.core.json_text import parsed
from mockserver.core.plan import Item
from mockserver.core.seed import Random, Seed
from mockserver.engine.own_tools import item
from mockserver.engine.tool_results import calls, calls_since_last_user

Action = Mapping[str, Json]


def next_step(tool: Tool, call: Call, seed: Seed) -> Item | None:
    """The next step, within the screen that the tool describes; None when all has been done.

    No action is repeated in a conversation; the first is a look at the screen.
    """
    done, earlier = (
        [made.arguments for made in asked if made.kind == "computer_call"]
        for asked in (calls_since_last_user(call), calls(call))
    )
    screen = Screen.of(tool.options, seed.stream("computer"))
    looked = len(earlier) > len(done)  # for what the user said before
    steps = [*([] if looked else [_LOOK]), *actions(call.last_user, screen)]
    known = [parsed(arguments) for arguments in earlier]
    action = next((step for step in steps[len(done) :] if dict(step) not in known), None)
    if action is None:
        return None
    several = tool.kind == "computer"  # the newest takes lists
    return item("computer_call", {"actions": [action]} if several else {"action": action})


@dataclass(frozen=True, slots=True)
class Screen:
    """How large the screen is, in pixels, and where on it something may be."""

    width: int
    height: int
    rng: Random

    @classmethod
    def of(cls, options: Mapping[str, Json], rng: Random) -> "Screen":
        """The screen that a tool describes."""
        width, height = (options.get(key) for key in ("display_width", "display_height"))
        return cls(_size(width, 1024), _size(height, 768), rng)

    def somewhere(self) -> dict[str, Json]:
        """A place well inside."""
        return {"x": _inside(self.width, self.rng.random()), "y": _inside(self.height, self.rng.random())}

    def place(self, text: str) -> dict[str, Json]:
        """The place that a text gives, as far as it is on the screen, or else some place."""
        somewhere = self.somewhere()
        found = _PLACE.search(text)
        if not found:
            return somewhere
        return {"x": min(int(found["x"]), self.width - 1), "y": min(int(found["y"]), self.height - 1)}


def actions(text: str, screen: Screen) -> Iterator[Action]:
    """What a text asks to be done, in its order; a click somewhere if it asks for nothing that is known."""
    text = text[:_READ]
    verbs = [*islice(_verbs(text), _MOST_STEPS)]
    for at, verb in enumerate(verbs):
        end = verbs[at + 1].start() if at + 1 < len(verbs) else len(text)
        yield from _MAKERS[str(verb.lastgroup)](text[verb.end() : end], screen)
    if not verbs:
        address = _ADDRESS.search(text)
        yield from _opened(address[0], screen) if address else _clicked(text, screen)


def _verbs(text: str) -> Iterator[re.Match[str]]:
    """The verbs outside quotes."""
    quoted = [found.span() for found in _QUOTED.finditer(text)]
    for verb in _VERB.finditer(text):
        if not any(start <= verb.start() < end for start, end in quoted):
            yield verb


def _clicked(rest: str, screen: Screen) -> Iterator[Action]:
    yield {"type": "click", "button": "left", **screen.place(rest)}


def _right_clicked(rest: str, screen: Screen) -> Iterator[Action]:
    yield {"type": "click", "button": "right", **screen.place(rest)}


def _double_clicked(rest: str, screen: Screen) -> Iterator[Action]:
    yield {"type": "double_click", **screen.place(rest)}


def _moved(rest: str, screen: Screen) -> Iterator[Action]:
    yield {"type": "move", **screen.place(rest)}


def _dragged(rest: str, screen: Screen) -> Iterator[Action]:
    places = [{"x": int(found["x"]), "y": int(found["y"])} for found in _PLACE.finditer(rest)]
    inside = [{"x": min(at["x"], screen.width - 1), "y": min(at["y"], screen.height - 1)} for at in places[:20]]
    yield {"type": "drag", "path": inside if len(inside) > 1 else [screen.somewhere(), screen.somewhere()]}


def _scrolled(rest: str, screen: Screen) -> Iterator[Action]:
    amount = next((int(found[0]) for found in _AMOUNT.finditer(rest)), screen.height // 2)
    way = _WAY.search(rest)
    by = _WAYS[way[0].lower() if way else "down"]
    yield {"type": "scroll", **screen.somewhere(), "scroll_x": by[0] * amount, "scroll_y": by[1] * amount}


def _typed(rest: str, screen: Screen) -> Iterator[Action]:
    if text := _words(rest):
        yield {"type": "type", "text": text}


def _searched(rest: str, screen: Screen) -> Iterator[Action]:
    yield {"type": "click", "button": "left", **screen.somewhere()}
    yield from _typed(rest, screen)
    yield {"type": "keypress", "keys": ["ENTER"]}


def _opened(rest: str, screen: Screen) -> Iterator[Action]:
    address = _ADDRESS.search(rest)
    if address is None:
        yield {"type": "double_click", **screen.place(rest)}
        return
    yield {"type": "keypress", "keys": ["CTRL", "L"]}
    yield {"type": "type", "text": address[0].rstrip(".,;:!?")}
    yield {"type": "keypress", "keys": ["ENTER"]}


def _pressed(rest: str, screen: Screen) -> Iterator[Action]:
    """Keys where some are named; else a button on the screen is meant."""
    found = _KEYS.match(rest)
    if found is None:
        yield from _clicked(rest, screen)
        return
    yield {"type": "keypress", "keys": [_NAMES.get(key, key) for key in re.split(r"\s*\+\s*", found["keys"].upper())]}


def _waited(rest: str, screen: Screen) -> Iterator[Action]:
    yield {"type": "wait"}


def _looked(rest: str, screen: Screen) -> Iterator[Action]:
    """Everything begins with a look at the screen."""
    yield from ()


def _words(rest: str) -> str:
    """What is to be typed: what stands in quotes, or else the words up to the next turn of the sentence."""
    if found := _QUOTED.search(rest):
        return found[0][1:-1]
    return _TURN.split(rest, maxsplit=1)[0].strip(" .,;:!?\n")


def _size(value: Json, usual: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else usual


def _inside(length: int, fraction: float) -> int:
    return int(length * (0.1 + 0.8 * fraction))


_READ = 4_000  # characters of what the user says
_MOST_STEPS = 30
_LOOK: Action = {"type": "screenshot"}
_VERB = re.compile(
    r"\b(?:(?P<double>double[- ]?click)|(?P<right>right[- ]?click)|(?P<search>search(?:\s+for)?)|(?P<scroll>scroll)"
    r"|(?P<type>type|(?<!press )(?<!hit )(?<!the )enter|write|input|fill(?:\s+in)?)"
    r"|(?P<open>open|go\s+to|navigate(?:\s+to)?|visit|browse(?:\s+to)?)"
    r"|(?P<drag>drag)|(?P<move>hover|move)|(?P<press>press|hit)|(?P<click>click|tap|select|choose)|(?P<wait>wait)"
    r"|(?P<look>(?:take\s+(?:a|another)\s+)?screenshot))\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"\n]{1,500}\"|“[^”\n]{1,500}”|`[^`\n]{1,500}`|(?<!\w)'[^'\n]{1,500}'(?!\w)")
_PLACE = re.compile(r"(?<![\w.])(?P<x>\d{1,5})\s?[,x]\s?(?:y\s?=\s?)?(?P<y>\d{1,5})(?![\w.]*\w)")
_ADDRESS = re.compile(
    r"\bhttps?://[^\s\"'<>]{1,500}|(?<![\w@.])(?:[a-z0-9-]{1,63}\.){1,5}[a-z]{2,12}\b(?:/[^\s\"'<>]{0,300})?", re.I
)
_AMOUNT = re.compile(r"(?<![\w.])\d{1,5}(?![\w.]*\w)")
_WAY = re.compile(r"\b(?:up|down|left|right)\b", re.IGNORECASE)
_WAYS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_KEYS = re.compile(
    r"\s*(?:the\s+)?(?P<keys>(?:(?:ctrl|control|alt|shift|cmd|command|meta)\s*\+\s*){0,3}"
    r"(?:enter|return|esc(?:ape)?|tab|space|backspace|delete|home|end|page(?:up|down)|f\d{1,2}|(?<=\+)\w|(?<=\+\s)\w))\b",
    re.IGNORECASE,
)
_NAMES = {"RETURN": "ENTER", "ESCAPE": "ESC", "CONTROL": "CTRL", "COMMAND": "CMD"}
_TURN = re.compile(r"[,.;\n]|\s(?:and|then|in(?:to)?|on|at|inside)\s", re.IGNORECASE)

_MAKERS: Mapping[str, Callable[[str, Screen], Iterator[Action]]] = {
    "double": _double_clicked,
    "right": _right_clicked,
    "search": _searched,
    "scroll": _scrolled,
    "type": _typed,
    "open": _opened,
    "drag": _dragged,
    "move": _moved,
    "press": _pressed,
    "click": _clicked,
    "wait": _waited,
    "look": _looked,
}
