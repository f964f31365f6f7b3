"""Several values for one property: enumerations in a sentence, after a key, as bullets."""

import re
from collections.abc import Iterator, Sequence

from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.scoring import score
from mockserver.engine.generate.prompt.spoken import beside
from mockserver.engine.generate.prompt.wanted import Wanted
from mockserver.engine.generate.prompt.words import listed

Scored = tuple[int, Mention]

LISTED = re.compile(
    r"\s{0,3}(?:,|;|&|\+|/|、|，|\band\b|\bor\b|\bund\b|\bet\b|\by\b|\be\b|\bplus\b|\bas well as\b"
    r"|\n\s{0,8}(?:[-*•]|\d{1,3}[.)]))"
    r"[\s,]{0,3}(?:and |und |et |y |e |or )?(?:an? |the |some |to |in |for |from |with )?",
    re.IGNORECASE,
)
_BULLETS = re.compile(r"^[ \t]{0,12}(?:[-*•]|\d{1,3}[.)])[ \t]{1,4}(\S[^\n]{0,500})$", re.MULTILINE)
_SPLIT = re.compile(r"\s*(?:,|;|、|，)\s*(?:and |und |et |y )?|\s+(?:and|und|et|y|&)\s+")
_MOST_ITEMS = 100
_GROUPED = frozenset(
    listed("number money quoted name words email url id channel date path phone ip host uuid address version color")
)


def enumerated(text: str, scored: Sequence[Scored], item: Wanted) -> Iterator[tuple[int, tuple[Mention, ...]]]:
    """Groups of mentions that stand one after the other, with the points of each group."""
    run: list[Scored] = []
    for points, mention in sorted(scored, key=lambda pair: (pair[1].start, -pair[0])):
        if run and mention.start < run[-1][1].end:
            continue
        if run and not _follows(text, run[-1][1], mention, item):
            yield _group(run)
            run = []
        run.append((points, mention))
    if run:
        yield _group(run)


def _follows(text: str, last: Mention, mention: Mention, item: Wanted) -> bool:
    if item.numeric and item.nature in ("number", "", "quantity") and mention.start - last.end < 30:
        return True
    return LISTED.fullmatch(text, last.end, mention.start) is not None


def _group(run: Sequence[Scored]) -> tuple[int, tuple[Mention, ...]]:
    best = max(points for points, _ in run)
    return best + (24 if len(run) > 1 else 0), tuple(mention for _, mention in run)


def candidates(found: Sequence[Mention], item: Wanted, named: Wanted) -> Iterator[Scored]:
    """The mentions that may be items, with their points."""
    for said in found:
        if said.kind not in _GROUPED:
            continue
        mention = beside(said, named) or said
        points = max(score(mention, item), score(mention, named))
        numeric = item.numeric and mention.kind in ("number", "money")
        wordy = (
            "string" in item.types
            and item.nature in ("", "title", "text", "query")
            and mention.kind in ("words", "name")
        )
        if points >= 10 or (wordy and points > -10) or (numeric and item.nature in ("number", "")):
            yield max(points, 10), mention


def after_key(text: str, pair: Mention) -> tuple[Mention, ...]:
    """The items of `key: a, b and c`."""
    line = text[pair.start :].partition("\n")[0][:2_000]
    ended = re.search(r"[.;](?:\s|$)|, [\w ]{1,30}:", line)
    line = (line[: ended.start()] if ended else line).strip("[]() ")
    pieces = [piece.strip(" '\"") for piece in _SPLIT.split(line)]
    return tuple(
        Mention("quoted", piece, pair.start, pair.start + len(line)) for piece in pieces[:_MOST_ITEMS] if piece
    )


def bulleted(text: str) -> tuple[Mention, ...]:
    """The lines of a list with bullets or numbers."""
    found = list(_BULLETS.finditer(text))[:_MOST_ITEMS]
    return tuple(Mention("quoted", line[1].strip(), *line.span(1)) for line in found) if len(found) > 1 else ()
