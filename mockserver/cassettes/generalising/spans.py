"""Texts that differ in one span of words, and answers that differ as these do: one pattern and one template for all."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mockserver.cassettes.generalising.asked import Rule
from mockserver.core.json_text import Json, compact

NAME = "value"
MARK = "\ue000"  # stands for the span: a character that nobody uses
LONGEST = 60  # words of a text that is looked at
WIDEST = 6  # words of a span


@dataclass(frozen=True, slots=True)
class _Cut:
    """A rule with a span taken out of its text and out of its answer."""

    before: str
    after: str
    then: str
    span: str
    quoted: bool  # the answer holds the span


def generalised(rules: Sequence[Rule], field: str) -> list[Rule]:
    """The rules, those that say the same but for a span of this field as one."""
    taken, made = set[int](), list[Rule]()
    for key, members in _ranked(rules, field):
        fresh = {at: span for at, span in members if at not in taken}
        if len(set(fresh.values())) > 1:
            made.append(_joined([rules[at] for at in fresh], key, field, next(iter(fresh.values()))))
            taken |= fresh.keys()
    return [*(rule for at, rule in enumerate(rules) if at not in taken), *made]


_Key = tuple[str, str, str, str, bool]  # before, after, then, what else must hold, quoted


def _ranked(rules: Sequence[Rule], field: str) -> list[tuple[_Key, list[tuple[int, str]]]]:
    """What rules have in common, the most common and the most certain first, with who they are and their spans."""
    found = defaultdict[_Key, list[tuple[int, str]]](list)
    for at, rule in enumerate(rules):
        if rule.times is None:
            others = compact({name: value for name, value in rule.when.items() if name != field})
            for cut in _cuts(rule, field):
                found[(cut.before, cut.after, cut.then, others, cut.quoted)].append((at, cut.span))
    several = [(key, members) for key, members in found.items() if len(members) > 1]
    return sorted(several, key=lambda pair: (-len(pair[1]), not pair[0][4], -len(pair[0][0]) - len(pair[0][1])))


def _cuts(rule: Rule, field: str) -> list[_Cut]:
    """Every way to take a span of whole words out of a rule that leaves enough to know it by."""
    text = rule.when.get(field)
    text = text["equals"] if isinstance(text, Mapping) and text.keys() == {"equals"} else text
    if not isinstance(text, str):
        return []
    words = list(_WORD.finditer(text))
    if not 1 < len(words) <= LONGEST:
        return []
    cuts = list[_Cut]()
    for first in range(len(words)):
        for last in range(first, min(first + WIDEST, len(words))):
            start, end = words[first].start(), words[last].end()
            if "\n" in text[start:end]:
                break
            then = _without(rule.then, text[start:end])
            quoted, kept = MARK in then, len(words) - (last - first + 1)
            if kept >= (1 if quoted else max(2, last - first + 2)):
                cuts.append(_Cut(text[:start], text[end:], then, text[start:end], quoted))
    return cuts


def _without(then: Mapping[str, Json], span: str) -> str:
    """The answer as JSON, with a mark wherever the span stands as a word of its own."""
    found = _standing(span)
    return compact(_mapped(then, lambda text: found.sub(MARK, text)))


def _standing(span: str) -> re.Pattern[str]:
    """A span where it stands by itself; in a tag of a template it does not."""
    return re.compile(rf"(?<![\w{{]){re.escape(span)}(?!\w)")


def _mapped(value: Json, change: Any) -> Any:
    """The value with every text in it changed, but for what is no template."""
    match value:
        case str():
            return change(value)
        case Mapping():
            return {key: inner if key in _FIXED else _mapped(inner, change) for key, inner in value.items()}
        case list():
            return [_mapped(inner, change) for inner in value]
    return value


def _joined(rules: Sequence[Rule], key: _Key, field: str, span: str) -> Rule:
    """One rule for all of these; the span is that of the first."""
    before, after, _, _, quoted = key
    first, then = rules[0], rules[0].then
    if quoted:
        found = _standing(span)
        then = _mapped(then, lambda text: found.sub(f"{{{{ match.{NAME} }}}}", text))
    when: Json = {"regex": f"^{_escaped(before)}(?P<{NAME}>.+?){_escaped(after)}$"}
    if not quoted and "\\" not in before + after:
        when = "*".join(text.replace("*", r"\*") for text in (before, after))
    sources = tuple(dict.fromkeys(source for rule in rules for source in rule.sources))
    return replace(first, sources=sources, when={**first.when, field: when}, then=then)


def _escaped(text: str) -> str:
    """A text as a regular expression, with blanks as they are."""
    return _SPECIAL.sub(r"\\\g<0>", text)


_WORD = re.compile(r"\w+(?:['’.,:/@-]\w+)*")
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")
# Keys of `then` whose texts are no templates.
_FIXED = frozenset(
    ("name", "finish", "type", "code", "param", "category", "severity", "on", "retry_after", "annotate", "raw")
)
