"""The user's rules for redaction: paths and patterns of the setting `scrub`, and what to put in their place."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from typing import Any

from msgspec import Struct

from mockserver.cassettes.redaction.credentials import PLACEHOLDER
from mockserver.cassettes.redaction.json_edit import (
    Edit,
    EventTexts,
    apply_edits,
    edit_path,
    edit_split_texts,
    map_scalars,
    read_json,
)
from mockserver.cassettes.yaml_text import Verbatim
from mockserver.config.errors import CassetteError
from mockserver.config.settings import Scrub
from mockserver.config.types import JsonPath, parse_json_path
from mockserver.core.json import Json
from mockserver.core.seed import monotonic

REGEX_SECONDS = 1.0  # for all patterns in a text of up to a million letters


class RedactionRules(Struct, frozen=True, dict=True):
    """The user's rules, those with paths first. No rule changes what another one has inserted."""

    rules: tuple[Scrub, ...] = ()

    def redact_text(self, text: str) -> str:
        """Redact a text that is not JSON. Raises CassetteError, as all methods do, if a pattern takes too long."""
        return self._replace(text, _set_deadline(text)) if self._patterns else text

    def redact_json(self, text: str) -> str | None:
        """Redact a JSON text; None if it is invalid. Only the values change, unless its layout is an unusual one."""
        if (found := read_json(text)) is None:
            return None
        changed = found.tree
        try:
            for rule in self._paths:
                changed = edit_path(changed, rule.path, partial(self._replace_value, placeholder=rule.placeholder))
            if self._patterns:
                changed = map_scalars(
                    changed, partial(self._replace_by_pattern, deadline=_set_deadline(text)), keys=True
                )
            return text if changed == found.tree else found.style.write(changed)
        except RecursionError:
            raise CassetteError("scrub: the JSON of a body is nested too deeply") from None

    def redact_any(self, text: str) -> str:
        """Redact a text that may be JSON."""
        if not self.rules:
            return text
        changed = self.redact_json(text) if text.lstrip()[:1] in ("{", "[", '"') else None
        return self.redact_text(text) if changed is None else changed

    def redact_body(self, body: bytes) -> bytes:
        """Redact a body that may be JSON; return the body itself if nothing changes."""
        if not self.rules or not body:
            return body
        text = body.decode("utf-8", "surrogateescape")
        changed = self.redact_any(text)
        return body if changed == text else changed.encode("utf-8", "surrogateescape")

    def redact_events(self, events: EventTexts) -> EventTexts:
        """Redact the texts that are split across several events."""
        return edit_split_texts(events, lambda text: tuple(self.find_edits(text))) if self.rules else events

    def find_edits(self, text: str) -> Iterator[Edit]:
        """Yield what the patterns find in a text, in order and without overlaps."""
        deadline = _set_deadline(text)
        reached = 0
        every = [edit for pattern in self._patterns for edit in self._find(pattern, text, deadline=deadline)]
        for edit in sorted(every):
            if edit.start >= reached:
                reached = edit.end
                yield edit

    @cached_property
    def _paths(self) -> tuple["_PathRule", ...]:
        return tuple(
            _PathRule(parse_json_path(rule.path), rule.placeholder) for rule in self.rules if rule.path is not None
        )

    @cached_property
    def _patterns(self) -> tuple["_PatternRule", ...]:
        import regex  # type: ignore[import-untyped]  # slow to import, and most settings have no pattern

        return tuple(
            _PatternRule(regex.compile(rule.regex), rule.placeholder) for rule in self.rules if rule.regex is not None
        )

    @cached_property
    def _placeholders(self) -> re.Pattern[str]:
        every = sorted({PLACEHOLDER, *(rule.placeholder for rule in self.rules)}, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, every)))

    def _replace_value(self, was: Json, placeholder: str) -> Json:
        """Replace a value, or every scalar within it, but not what another rule has inserted."""
        inserted = {rule.placeholder for rule in self.rules}
        return map_scalars(
            was, lambda scalar: scalar if scalar in inserted else _convert_placeholder(scalar, placeholder)
        )

    def _replace_by_pattern(self, was: Json, deadline: float) -> Json:
        if not isinstance(was, str):  # true, false, null
            return was
        now = self._replace(was, deadline)
        if type(was) is not Verbatim:
            return now
        whole = now != was and any(now == rule.placeholder for rule in self._patterns)
        return _convert_placeholder(was, now) if whole else was  # a number is replaced as a whole, or not at all

    def _replace(self, text: str, deadline: float) -> str:
        for rule in self._patterns:
            text = apply_edits(text, list(self._find(rule, text, deadline=deadline)))
        return text

    def _find(self, rule: "_PatternRule", text: str, *, deadline: float) -> Iterator[Edit]:
        for start, end in self._list_gaps(text):
            left = max(deadline - monotonic(), 0.001)
            try:
                for match in rule.pattern.finditer(text, start, end, timeout=left):
                    if match.end() > match.start():
                        yield Edit(match.start(), match.end(), rule.placeholder)
            except (TimeoutError, MemoryError):  # how the library fails on some patterns
                raise CassetteError(_explain_slowness(rule.pattern.pattern)) from None

    def _list_gaps(self, text: str) -> Iterable[tuple[int, int]]:
        """Yield where the parts between placeholders begin and end."""
        ends = [0]
        for match in self._placeholders.finditer(text):
            yield ends[-1], match.start()
            ends.append(match.end())
        yield ends[-1], len(text)


class _PathRule(Struct, frozen=True):
    """A rule for the values at a path."""

    path: JsonPath
    placeholder: str


class _PatternRule(Struct, frozen=True):
    """A rule for the texts that a compiled pattern finds."""

    pattern: Any
    placeholder: str


def _set_deadline(text: str) -> float:
    return monotonic() + REGEX_SECONDS * (1 + len(text) // 1_000_000)


def _explain_slowness(pattern: str) -> str:
    shown = json.dumps(pattern if len(pattern) <= 80 else pattern[:79] + "…", ensure_ascii=False)
    return (
        f"scrub: the pattern {shown} took more than {REGEX_SECONDS:g} s, or ran out of memory, on a text; simplify it"
    )


def _convert_placeholder(was: Json, placeholder: str) -> Json:
    """Return the placeholder for a scalar, of its kind if it can be a number or a boolean; None for null."""
    if isinstance(was, bool):
        return placeholder == "true" if placeholder in ("true", "false") else placeholder
    is_number = type(was) is Verbatim and _NUMBER.fullmatch(placeholder)
    return None if was is None else Verbatim(placeholder) if is_number else placeholder


_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
