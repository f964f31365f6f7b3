"""Items of the lists that prompts order, and how a list is written: in lines or a row, with numbers or bullets."""

import re

from mockserver.core.lazy import lazy_pattern
from mockserver.core.seed import Random
from mockserver.model.fillers import capitalized, english, note, two_of
from mockserver.model.prose.topic import ENGLISH, content_words
from mockserver.model.schema.scalars import known_text
from mockserver.model.vocabulary import singular, words


def material_of(text: str) -> str:
    """Return what an order is about: what follows the last colon or a blank line, or is quoted; "" for nothing."""
    found = _MATERIAL.search(text[-_MOST_MATERIAL:])
    return next(filter(None, found.groups()), "").strip() if found else ""


def items(noun: str, number: int, about: str, rng: Random) -> list[str]:
    """Return so many items of a noun; questions, searches, rewordings and keywords are made of a text."""
    thing = noun[:-1] if noun in english("ending_in_ie", "formats") else singular(noun)
    last = words(thing)[-1:] or ("",)
    kind = next((kind for kind in _MADE_OF_TEXTS if last[0] in english(kind, "list_items")), "")
    if kind == "wording" and about.endswith("?"):
        kind = "question"
    if kind and about:
        return _of_text(kind, number, about, rng)
    if not noun or noun in english("points", "formats"):
        aspects = rng.sample(english("aspects"), min(number, len(english("aspects"))))
        made = [f"{aspect.capitalize()}: {note(rng)}" for aspect in aspects]
        return made + [f"Point {at}: {note(rng)}" for at in range(len(made) + 1, number + 1)]
    known: dict[str, None] = {}
    for _ in range(4 * number):
        if (text := known_text(thing, rng)) is None or len(known) == number:
            break
        known[text] = None
    if len(known) == number:
        return [*known]
    adjectives = rng.sample(english("adjectives"), len(english("adjectives")))
    names = [f"{adjective.capitalize()} {thing}" for adjective in adjectives]
    return [f"{name}{turn}" for turn in ("", " 2", " 3") for name in names][:number]


def _of_text(kind: str, number: int, about: str, rng: Random) -> list[str]:
    telling = content_words(about, ENGLISH)
    if kind == "keyword":
        further = [word for word in english("aspects") if word not in telling]
        return [*telling, *further][:number]
    templates = english(f"{kind}_templates", "list_items")
    subject, text = " ".join(telling[:5]) or about[:80], about.strip().rstrip(".!")
    first = rng.randrange(len(templates))
    made = []
    for at in range(number):
        one, other = two_of(english("aspects"), rng)
        template = templates[(first + at) % len(templates)] if at < len(templates) else templates[-1]
        made.append(capitalized(template.format(about=subject, text=text[:1].lower() + text[1:200], a=one, b=other)))
    return made


def written(items: list[str], order: str, *, bulleted: bool) -> str:
    """Return a list as an order wants it: one item in each line, numbered unless it says another way."""
    if _HTML.search(order):
        tag = "ol" if "ordered" in re.findall(r"(?i)\w+", order.lower()) else "ul"
        return "\n".join((f"<{tag}>", *(f"  <li>{item}</li>" for item in items), f"</{tag}>"))
    if found := _SEPARATED.search(order):
        between = next((sign for sign, name in _SEPARATORS if found[name]), "\n")
        return between.join(item.partition(":")[0] if between == ", " else item for item in items)
    return "\n".join(f"- {item}" if bulleted else f"{at}. {item}" for at, item in enumerate(items, 1))


def separated(order: str) -> bool:
    return _SEPARATED.search(order) is not None


_MADE_OF_TEXTS = ("question", "query", "wording", "keyword")
_MOST_MATERIAL = 4_000  # characters
_MATERIAL = lazy_pattern(
    r"[:：][ \t]*\n?[\"'“]?([^\s:\"'“”][^:：\n]{0,2000}?)[\"'”]?(?:\s+[A-Z][\w ()]{0,40}:)?\s*\Z"
    r"|\n\n([^\n]{2,2000})\s*\Z|[\"“]([^\"“”\n]{2,2000})[\"”]"
)
_HTML = lazy_pattern(r"(?i)\bhtml\b[^.\n]{0,30}\blist\b|<[uo]l>")
_ITEM = r"(?:each|every|one)(?: \w+)?"
_SEPARATED = lazy_pattern(
    rf"(?i)\b(?:separated|delimited|split|divided|joined)\s+(?:by|with|using)\s+(?:an?\s+|single\s+)*(?:(?P<lines>new "
    rf"?lines?|line breaks?"
    r"|\\n)|(?P<commas>commas?)|(?P<semicolons>semicolons?)|(?P<spaces>spaces?|blanks?)|(?P<pipes>pipes?))"
    r"|\b(?:(?P<commas_>comma)|(?P<semicolons_>semicolon)|(?P<lines_>newline)|(?P<spaces_>space))[- ](?:separated"
    r"|delimited)\b"
    rf"|(?P<own_lines>\b{_ITEM} (?:on|in) (?:a|its|their) (?:new|own|separate) lines?\b|\b(?:one"
    rf"|each) (?:\w+ )?per line\b"
    r"|\bon (?:separate|new|individual) lines\b)|(?P<row>\bin (?:one|a) line\b)"
)
_SEPARATORS = (
    (", ", "commas"), (", ", "commas_"), (", ", "row"), ("; ", "semicolons"), ("; ", "semicolons_"), (" ", "spaces"),
    (" ", "spaces_"), (" | ", "pipes"),
)  # fmt: skip
