"""The user's own rules of what to leave out: where it stands in JSON, or what it looks like."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mockserver.cassettes.credentials import PLACEHOLDER
from mockserver.cassettes.places import Edit, Place, edited, found, placed, texts, written
from mockserver.core.errors import CassetteError
from mockserver.core.seed import monotonic
from mockserver.kinds.cassettes import Scrub
from mockserver.kinds.json_path import JsonPath, steps

REGEX_SECONDS = 1.0  # for all patterns in a text of up to a million letters


@dataclass(frozen=True)
class Scrubs:
    """Rules, applied one after the other: those of places first. What they put in is left alone by all of them."""

    rules: tuple[Scrub, ...] = ()

    def text(self, text: str) -> str:
        """A text that is no JSON. Raises CassetteError where a pattern takes too long, here as in all that follows."""
        return self._replaced(text, _deadline(text)) if self._patterns else text

    def json(self, text: str) -> str | None:
        """A text of JSON; None where it is none."""
        root = placed(text)
        if root is None:
            return None
        changed = edited(text, list(self._by_place(root, text)))
        if not self._patterns:
            return changed
        root = root if changed == text else placed(changed)
        assert root is not None  # noqa: S101  # a value stands where a value stood
        return edited(changed, list(self._by_look(root, changed)))

    def either(self, text: str) -> str:
        """A text that may be JSON."""
        if not self.rules:
            return text
        changed = self.json(text) if text.lstrip()[:1] in ("{", "[", '"') else None
        return self.text(text) if changed is None else changed

    def body(self, body: bytes) -> bytes:
        """A body that may be JSON; the very object, where nothing is to be done."""
        if not self.rules or not body:
            return body
        text = body.decode("utf-8", "surrogateescape")
        changed = self.either(text)
        return body if changed == text else changed.encode("utf-8", "surrogateescape")

    def spans(self, text: str) -> Iterator[Edit]:
        """What the patterns find in a text, the first that does at each place."""
        deadline, reached = _deadline(text), 0
        every = [edit for rule in self._patterns for edit in self._found(rule, text, deadline)]
        for edit in sorted(every):
            if edit[0] >= reached:
                reached = edit[1]
                yield edit

    @cached_property
    def _paths(self) -> tuple[tuple[JsonPath, str], ...]:
        return tuple((steps(rule.path), rule.placeholder) for rule in self.rules if rule.path is not None)

    @cached_property
    def _patterns(self) -> tuple["_Pattern", ...]:
        import regex  # type: ignore[import-untyped]  # slow to import, and most settings have no pattern

        return tuple(
            _Pattern(regex.compile(rule.regex), rule.placeholder, rule.regex)
            for rule in self.rules
            if rule.regex is not None
        )

    @cached_property
    def _put_in(self) -> re.Pattern[str]:
        """What finds the placeholders of all rules."""
        every = sorted({PLACEHOLDER, *(rule.placeholder for rule in self.rules)}, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, every)))

    def _by_place(self, root: Place, text: str) -> Iterator[Edit]:
        for path, placeholder in self._paths:
            for place in found(root, path):
                yield from (edit for edit in _instead(place, placeholder, text) if not self._is_put_in(edit, text))

    def _is_put_in(self, edit: Edit, text: str) -> bool:
        """Whether a rule, this one or another, has put something in there before."""
        start, end, _ = edit
        return any(text[start:end] in (rule.placeholder, written(rule.placeholder, text)) for rule in self.rules)

    def _by_look(self, root: Place, text: str) -> Iterator[Edit]:
        deadline = _deadline(text)
        for place in texts(root):
            was = text[place.start : place.end] if place.said is None else place.said
            if place.said is None and was[0].isalpha():  # true, false, null
                continue
            now = self._replaced(was, deadline)
            if now == was:
                continue
            if place.said is not None:
                yield place.start, place.end, written(now, text)
            elif any(now == rule.placeholder for rule in self._patterns):  # a number, all of which is meant
                yield place.start, place.end, _as_word(now, was, text)

    def _replaced(self, text: str, deadline: float) -> str:
        for rule in self._patterns:
            if edits := list(self._found(rule, text, deadline)):
                text = edited(text, edits)
        return text

    def _found(self, rule: "_Pattern", text: str, deadline: float) -> Iterator[Edit]:
        for start, end in self._free(text):
            left = max(deadline - monotonic(), 0.001)
            try:
                for match in rule.pattern.finditer(text, start, end, timeout=left):
                    if match.end() > match.start():
                        yield match.start(), match.end(), rule.placeholder
            except (TimeoutError, MemoryError):  # memory: the library's own way to fail on some
                raise CassetteError(_ran_out(rule.shown)) from None

    def _free(self, text: str) -> Iterable[tuple[int, int]]:
        """The stretches of a text that are no placeholder."""
        ends = [0]
        for match in self._put_in.finditer(text):
            yield ends[-1], match.start()
            ends.append(match.end())
        yield ends[-1], len(text)


@dataclass(frozen=True, slots=True)
class _Pattern:
    pattern: Any
    placeholder: str
    shown: str


def _deadline(text: str) -> float:
    return monotonic() + REGEX_SECONDS * (1 + len(text) // 1_000_000)


def _ran_out(pattern: str) -> str:
    shown = json.dumps(pattern if len(pattern) <= 80 else pattern[:79] + "…", ensure_ascii=False)
    return f"scrub: the pattern {shown} takes over {REGEX_SECONDS:g} s, or all memory, on a text; make it simpler"


def _instead(place: Place, placeholder: str, text: str) -> Iterator[Edit]:
    """A text becomes the placeholder, and so does every text within an object or a list; a null says nothing."""
    waiting: Sequence[Place] = [place]
    while waiting:
        for each in waiting:
            if each.said is not None:
                yield each.start, each.end, written(placeholder, text)
            elif each.said is None and each.inner is None:
                was = text[each.start : each.end]
                yield each.start, each.end, was if was == "null" else _as_word(placeholder, was, text)
        waiting = [inner for each in waiting for _, inner in each.inner or ()]


def _as_word(placeholder: str, was: str, text: str) -> str:
    """The placeholder in place of a number, true or false: as one, where it is one too."""
    same = placeholder in _TRUTHS if was in _TRUTHS else _NUMBER.fullmatch(placeholder) is not None
    return placeholder if same else written(placeholder, text)


_TRUTHS = ("true", "false")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
