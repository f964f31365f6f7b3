"""Turns recorded calls into rules: conditions that tell requests apart, and answers as a rule's `then`."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.cassettes.parsed_response import (
    ParsedChoice,
    ParsedPart,
    ParsedResponse,
    ParsedToolCall,
    read_rows,
    read_table,
)
from mockserver.cassettes.yaml_text import write_yaml
from mockserver.core.json import Json, compact, map_texts, try_parse
from mockserver.core.plan import FINISHES, OWN_FINISHES
from mockserver.kinds import CONVERSATIONS

Then = Mapping[str, Json]
When = Mapping[str, Json]

# Fields of `when`, the most distinctive first; parameters of the body come after them.
FIELDS = (
    "dialect", "host", "model", "tool_result.text", "tools", "tool_choice", "response_format", "system", "turn",
    "conversation", "previous_response", "images",
)  # fmt: skip
READ = ("operation", "last_user", "last_message", "tool_result.name", "stream", *FIELDS)


class RecordedCall(Struct, frozen=True):
    """A recorded request and its answer; `fields` are those of READ, and `param.<name>` of its body."""

    source: str  # chat.yaml#3
    dialect: str
    fields: Mapping[str, Json]
    response: ParsedResponse
    retry_after: str = ""


class RuleDraft(Struct, frozen=True):
    """A rule to write, and the episodes that it comes from."""

    sources: tuple[str, ...]
    when: When
    then: Then
    times: int | None = None


class SkippedCall(NamedTuple):
    """A recorded call that no rule can answer."""

    source: str
    why: str


class DraftedRules(NamedTuple):
    """The rules that were made of recorded calls, and the calls that were left out."""

    rules: list[RuleDraft]
    skipped: list[SkippedCall]


class UnsupportedError(ValueError):
    """An answer that no rule can give."""


class AnsweredCall(Struct, frozen=True):
    """A recorded call with the `then` of a rule that answers it as it was answered."""

    source: str
    then: Then
    fields: Mapping[str, Json] = {}


def make_rules(calls: Iterable[RecordedCall]) -> DraftedRules:
    """Return rules that answer the calls as they were answered, the more specific first."""
    answered = list[AnsweredCall]()
    skipped = list[SkippedCall]()
    for call in calls:
        try:
            if call.fields.get("operation") not in CONVERSATIONS:
                raise UnsupportedError(f"{call.fields.get('operation')} cannot become a rule; keep the cassette")
            then = dict(make_then(call.response, call.retry_after))
            if _SURROGATE.search(compact([then, call.fields])):
                raise UnsupportedError("it contains half of a surrogate pair")
            answered.append(AnsweredCall(call.source, then, call.fields))
        except UnsupportedError as error:
            skipped.append(SkippedCall(call.source, str(error)))
    made = add_conditions(answered)
    for field in ("last_user", "last_message"):
        made = generalise(made, field)
    return DraftedRules(sorted(made, key=_rank_generality), skipped)


def _rank_generality(rule: RuleDraft) -> tuple[bool, int, int, int]:
    text = rule.when.get("last_user", rule.when.get("last_message"))
    if text is None:
        pattern = 2
        fixed = 0
    else:
        open_ended = "regex" in text if isinstance(text, dict) else "*" in str(text)
        pattern = int(open_ended)
        fixed = len(str(text)) if open_ended else 0
    return "tool_result" not in rule.when, pattern, -fixed, -len(rule.when)


_SURROGATE = re.compile(r"[\ud800-\udfff]")


def add_conditions(answered: Iterable[AnsweredCall]) -> list[RuleDraft]:
    """Return rules with conditions that tell each from the others; answers to equal requests are given in turn."""
    groups = _group(answered, _make_base_conditions)
    return [rule for group in groups.values() for rule in _split(group, _make_base_conditions(group[0]))]


def _group(answered: Iterable[AnsweredCall], key: Callable[[AnsweredCall], Json]) -> dict[str, list[AnsweredCall]]:
    groups = defaultdict[str, list[AnsweredCall]](list)
    for call in answered:
        groups[compact(key(call))].append(call)
    return groups


def _group_by_field(answered: Iterable[AnsweredCall], name: str) -> dict[str, list[AnsweredCall]]:
    return _group(answered, lambda call: call.fields.get(name))


def _make_base_conditions(call: AnsweredCall) -> When:
    fields = call.fields
    when = {"operation": fields["operation"]}
    for name in ("last_user", "last_message"):
        if isinstance(fields.get(name), str):
            when[name] = match_exactly(fields[name])
            break
    if fields.get("tool_result.name") is not None:
        when["tool_result"] = {"name": match_exactly(fields["tool_result.name"])}
    elif fields.get("tool_result.text") is not None:
        when["tool_result"] = {"text": match_exactly(fields["tool_result.text"])}
    return when


def _split(group: Sequence[AnsweredCall], when: When) -> Iterator[RuleDraft]:
    if len(_list_answers(group)) == 1:
        yield _make_rule(group, when)
        return
    name = _find_distinctive_field(group)
    if name is None:
        yield from answer_in_turn(group, when)
        return
    parts = _group_by_field(group, name)
    absent = parts.pop("null", [])
    for part in parts.values():
        yield from _split(part, _narrow(when, name, part[0].fields[name]))
    if absent:
        yield from _split(absent, when)


def _find_distinctive_field(group: Sequence[AnsweredCall]) -> str | None:
    """Return the field that tells these apart best.

    It is one for each of whose values all answers agree, else any that differs.
    """
    params = {name for call in group for name in call.fields if name.startswith("param.")}
    names = (*FIELDS, *sorted(params - _CONVERSATION), "stream")
    parts = {name: _group_by_field(group, name).values() for name in names}
    differing = [name for name in names if len(parts[name]) > 1]
    decisive = (name for name in differing if all(len(_list_answers(part)) == 1 for part in parts[name]))
    return next(decisive, next(iter(differing), None))


def answer_in_turn(group: Sequence[AnsweredCall], when: When) -> Iterator[RuleDraft]:
    """Yield a rule for each run of equal answers to equal calls; the last one goes on answering."""
    runs = [list(run) for _, run in groupby(group, lambda call: compact(call.then))]
    for at, run in enumerate(runs, 1):
        yield _make_rule(run, when, None if at == len(runs) else len(run))


def _make_rule(group: Sequence[AnsweredCall], when: When, times: int | None = None) -> RuleDraft:
    return RuleDraft(tuple(dict.fromkeys(call.source for call in group)), when, then=group[0].then, times=times)


def _list_answers(group: Sequence[AnsweredCall]) -> set[str]:
    return {compact(call.then) for call in group}


def _narrow(when: When, name: str, value: Json) -> When:
    if name == "tool_result.text":
        return {**when, "tool_result": {**when.get("tool_result", {}), "text": match_exactly(value)}}
    return {**when, name: match_exactly(value)}


def match_exactly(value: Json) -> Json:
    """Return a condition that only this value satisfies; a text stands bare unless it would be a pattern."""
    if isinstance(value, bool | int | float) or (isinstance(value, str) and not {"*", "\\"} & set(value)):
        return value
    return {"equals": value}


# Parameters that hold the conversation itself, or how it is sent.
_CONVERSATION = frozenset(
    ("param.messages", "param.input", "param.prompt", "param.contents", "param.model", "param.stream", "param.tools")
)


def make_then(response: ParsedResponse, retry_after: str = "") -> Then:
    """Return the `then` of a rule that gives this answer. Raises UnsupportedError."""
    if response.status >= 400:
        return _make_error(response, retry_after)
    if not response.complete:
        raise UnsupportedError("its stream breaks off")
    if response.blocked:
        tripped = _find_tripped(response.prompt_filters)
        return {"content_filter": {"on": "prompt", **tripped}} if tripped else {"error": "content_filter"}
    if not response.choices:
        raise UnsupportedError("its answer has no content that a rule can give")
    if len(response.choices) > 1:
        then: dict[str, Json] = {"choices": [_make_choice(choice) for choice in response.choices]}
    else:
        then = _make_choice(response.choices[0])
    if seen := _find_severities(response.prompt_filters):
        then["annotate"] = {"prompt": seen, **then.get("annotate", {})}
    if response.broken:
        then["failed"] = _make_failed(response.error)
    if not then:
        then["text"] = ""
    return then


def escape_template(text: str) -> str:
    """Return a template that renders as this text."""
    return _TAG.sub('{{ "{" }}', text)


def _make_choice(choice: ParsedChoice) -> dict[str, Json]:
    kinds = [part.kind for part in choice.parts]
    texts = [kind for kind in kinds if kind in ("reasoning", "text", "refusal")]
    repeated = len(set(texts)) < len(texts) or {"text", "refusal"} <= {*texts}
    in_order = kinds == sorted(kinds, key=_ORDER.index) and not repeated
    then: dict[str, Json] = _flatten(choice) if in_order else {"parts": [_make_part(part) for part in choice.parts]}
    if then.keys() <= {"reasoning"}:
        then["text"] = ""
    if choice.annotations and "text" in kinds:
        then["annotations"] = _escape_templates(list(choice.annotations))
    tripped = _find_tripped(choice.filters)
    if tripped:
        then["content_filter"] = {"on": "completion", **tripped}
    elif choice.finish not in ("", "tool_calls" if choice.calls else "stop"):
        if choice.finish not in _FINISHES:
            raise UnsupportedError(f"no rule can end with the reason {choice.finish}")
        then["finish"] = choice.finish
    if seen := _find_severities(choice.filters, besides=tripped.get("category")):
        then["annotate"] = {"completion": seen}
    return then


def _flatten(choice: ParsedChoice) -> dict[str, Json]:
    then: dict[str, Json] = {}
    for part in choice.parts:
        ((kind, value),) = _make_part(part).items()
        if kind in _LISTS:
            then.setdefault(_LISTS[kind], []).append(value)
        else:
            then[kind] = value
    return then


def _make_part(part: ParsedPart) -> Mapping[str, Json]:
    if part.kind == "call":
        return {"tool_call": _make_call(part.call)}
    if part.kind == "item":  # a hosted tool, without what the server generates
        kept = {
            key: value for key, value in (part.item or {}).items() if key not in _GENERATED_KEYS and value is not None
        }
        return {"item": _escape_templates(kept)}
    return {part.kind: escape_template(part.text)}


def _make_call(call: ParsedToolCall | None) -> Mapping[str, Json]:
    if call is None or not call.name:
        raise UnsupportedError("it calls a tool without a name")
    named = {"name": call.name, **({"namespace": call.namespace} if call.namespace else {})}
    if call.custom:
        return {**named, "input": escape_template(call.text)}
    arguments = try_parse(call.text)
    if isinstance(arguments, dict) and compact(arguments) == call.text:
        return {**named, "arguments": _escape_templates(arguments)}
    return {**named, "arguments": escape_template(call.text)}


def _escape_templates(value: Json) -> Any:
    return map_texts(value, escape_template)


def _make_error(response: ParsedResponse, retry_after: str) -> Then:
    """Return an error by its fields; one whose envelope does not have them, byte by byte."""
    found = response.error
    if isinstance(found, Mapping) and (tripped := _find_tripped_prompt(found)):
        return {"content_filter": {"on": "prompt", **tripped}}
    if not isinstance(found, Mapping) or not isinstance(found.get("message"), str):
        waits = {"headers": {"retry-after": retry_after}} if retry_after else {}
        return {"raw": {"status": response.status, **waits, "body": response.body}}
    error: dict[str, Json] = {"status": response.status, "message": escape_template(found["message"])}
    error |= {key: found[key] for key in ("type", "param") if isinstance(found.get(key), str)}
    if isinstance(found.get("code"), str | int):
        error["code"] = found["code"]
    if isinstance(found.get("status"), str):
        error["type"] = found["status"]
    return {"error": error, **({"retry_after": f"{retry_after}s"} if _SECONDS.fullmatch(retry_after) else {})}


def _make_failed(error: Json) -> Json:
    if not isinstance(error, Mapping):
        return True
    found = {key: error[key] for key in ("code", "message") if isinstance(error.get(key), str) and error[key]}
    return {**found, "message": escape_template(found["message"])} if "message" in found else found or True


def _find_tripped_prompt(error: Mapping[str, Json]) -> dict[str, Json]:
    azure = read_table(read_table(error.get("innererror")).get("content_filter_result"))
    skytells = read_rows(read_table(error.get("details")).get("prompt_filter_results"))
    own = read_table(skytells[0].get("content_filter_results")) if skytells else None
    return _find_tripped(azure) or _find_tripped(own)


def _find_tripped(filters: Mapping[str, Json] | None) -> dict[str, Json]:
    for category, seen in (filters or {}).items():
        if isinstance(seen, Mapping) and seen.get("filtered") is True and category in _HARMS + _DETECTIONS:
            severity = {"severity": seen["severity"]} if seen.get("severity") in _SEVERITIES else {}
            return {"category": category, **severity}
    return {}


def _find_severities(filters: Mapping[str, Json] | None, besides: Json = None) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for category, seen in (filters or {}).items():
        if not isinstance(seen, Mapping) or category == besides:
            continue
        if category in _HARMS and seen.get("severity") in _SEVERITIES:
            found[category] = seen["severity"]
        elif category in _DETECTIONS and seen.get("detected") is True:
            found[category] = True
    return found


_ORDER = ("reasoning", "item", "text", "refusal", "call")  # the order of a rule's keys
_LISTS = {"tool_call": "tool_calls", "item": "items"}
_FINISHES = (*FINISHES, *OWN_FINISHES)
_GENERATED_KEYS = frozenset(
    ("id", "call_id", "caller", "tool_use_id", "container_id", "status", "created_by", "pending_safety_checks")
)
_SEVERITIES = ("low", "medium", "high")
_HARMS = ("hate", "self_harm", "sexual", "violence")
_DETECTIONS = ("jailbreak", "protected_material_text", "protected_material_code")
_TAG = re.compile(r"\{(?=[{%#])")
_SECONDS = re.compile(r"\d{1,6}(?:\.\d{1,3})?")


NAME = "value"  # of the group that captures a span
MARK = "\ue000"  # in place of the span: a private character
MAX_WORDS = 60  # of a text that is looked at
MAX_SPAN = 6  # words


def generalise(rules: Sequence[RuleDraft], field: str) -> list[RuleDraft]:
    """Merge rules that are equal except for a span of this field."""
    taken = set[int]()
    made = list[RuleDraft]()
    for pattern, fits in _list_shared_patterns(rules, field):
        fresh = [fit for fit in fits if fit.at not in taken]
        if len({fit.span for fit in fresh}) > 1:
            made.append(_merge([rules[fit.at] for fit in fresh], pattern, field=field, span=fresh[0].span))
            taken |= {fit.at for fit in fresh}
    return [*(rule for at, rule in enumerate(rules) if at not in taken), *made]


class _Pattern(NamedTuple):
    """A rule without a span of one of its texts, and with a mark in place of the span in its answer."""

    before: str
    after: str
    then: str  # as JSON, like the other conditions
    others: str
    quoted: bool  # the answer repeats the span


class _Fit(NamedTuple):
    """The position of a rule that fits a pattern, and the span that it has there."""

    at: int
    span: str


class _SharedPattern(NamedTuple):
    """A pattern with the rules that fit it."""

    pattern: _Pattern
    fits: list[_Fit]

    @property
    def rank(self) -> tuple[int, bool, int]:
        """The order in which patterns are used: the most common and most certain first."""
        return -len(self.fits), not self.pattern.quoted, -len(self.pattern.before) - len(self.pattern.after)


def _list_shared_patterns(rules: Sequence[RuleDraft], field: str) -> list[_SharedPattern]:
    """Return the patterns that several rules fit, but for a span of this field."""
    found = defaultdict[_Pattern, list[_Fit]](list)
    for at, rule in enumerate(rules):
        for cut in _cut_spans(rule, field) if rule.times is None else ():
            found[cut.pattern].append(_Fit(at, cut.span))
    shared = [_SharedPattern(pattern, fits) for pattern, fits in found.items() if len(fits) > 1]
    return sorted(shared, key=attrgetter("rank"))


class _CutRule(NamedTuple):
    """A pattern of a rule, and the span that was taken out for it."""

    pattern: _Pattern
    span: str


def _cut_spans(rule: RuleDraft, field: str) -> Iterator[_CutRule]:
    """Yield every way to take a span of whole words out of a rule that leaves enough to recognise it."""
    stated = rule.when.get(field)
    stated = stated["equals"] if isinstance(stated, Mapping) and stated.keys() == {"equals"} else stated
    text = stated if isinstance(stated, str) else ""
    words = list(_WORD.finditer(text))
    if not 1 < len(words) <= MAX_WORDS:
        return
    others = compact({name: value for name, value in rule.when.items() if name != field})
    for first in range(len(words)):
        for last in range(first, min(first + MAX_SPAN, len(words))):
            start = words[first].start()
            end = words[last].end()
            if "\n" in text[start:end]:
                break
            then = compact(_replace_span(rule.then, text[start:end], MARK))
            quoted = MARK in then
            kept = len(words) - (last - first + 1)
            if kept >= (1 if quoted else max(2, last - first + 2)):
                pattern = _Pattern(text[:start], text[end:], then=then, others=others, quoted=quoted)
                yield _CutRule(pattern, text[start:end])


def _replace_span(then: Then, span: str, instead: str) -> Any:
    """Return the answer with each whole-word occurrence of the span replaced, except in tags of a template."""
    found = re.compile(rf"(?<![\w{{]){re.escape(span)}(?!\w)")
    return map_texts(then, lambda text: found.sub(instead, text), _NOT_TEMPLATES)


def _merge(rules: Sequence[RuleDraft], pattern: _Pattern, *, field: str, span: str) -> RuleDraft:
    """Return one rule for those that fit a pattern; `span` is that of the first."""
    first = rules[0]
    before = pattern.before
    after = pattern.after
    then = _replace_span(first.then, span, f"{{{{ match.{NAME} }}}}") if pattern.quoted else first.then
    if not pattern.quoted and "\\" not in before + after:
        when: Json = "*".join(text.replace("*", r"\*") for text in (before, after))
    else:
        when = {"regex": f"^{_escape_regex(before)}(?P<{NAME}>.+?){_escape_regex(after)}$"}
    sources = tuple(dict.fromkeys(source for rule in rules for source in rule.sources))
    return replace(first, sources=sources, when={**first.when, field: when}, then=then)


def _escape_regex(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


_WORD = re.compile(r"\w+(?:['’.,:/@-]\w+)*")
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")
# Keys of `then` whose texts are not templates.
_NOT_TEMPLATES = frozenset(
    ("name", "finish", "type", "code", "param", "category", "severity", "on", "retry_after", "annotate", "raw")
)


MAX_NAME = 120


def write_rules_file(rules: Sequence[RuleDraft], servers: Mapping[str, Json] | None = None) -> str:
    """Return the text of a rules file; `servers` are definitions of MCP servers, by name."""
    listed = [
        {"name": name, "when": rule.when, **({} if rule.times is None else {"times": rule.times}), "then": rule.then}
        for rule, name in zip(rules, _name_rules(rules), strict=True)
    ]
    defined = {"mcp": servers} if servers else {}
    return "\n".join((*write_yaml({"version": 1, **defined, **({"rules": listed} if listed else {})}), ""))


def _name_rules(rules: Sequence[RuleDraft]) -> list[str]:
    """Name each rule after its episodes; a repeated name gets a number."""
    names = list[str]()
    for rule in rules:
        text = ", ".join(rule.sources)
        plain = text if len(text) <= MAX_NAME - 10 else f"{rule.sources[0]} and {len(rule.sources) - 1} more"
        name = plain
        number = 1
        while name in names:
            number += 1
            name = f"{plain} ({number})"
        names.append(name)
    return names
