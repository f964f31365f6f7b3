"""What a recorded answer says, as the `then` of a rule."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from mockserver.cassettes.parse_response import Part, Said, Told, Used, rows, table
from mockserver.config.yaml_reader import resolve
from mockserver.core.json import Json, compact, parsed

Then = Mapping[str, Json]
When = Mapping[str, Json]

# Fields of `when` that tell requests apart, the most telling first; parameters of the body come after them.
FIELDS = (
    *("dialect", "model", "tool_result.text", "tools", "tool_choice", "response_format", "system", "turn"),
    *("conversation", "previous_response", "images"),
)
READ = ("operation", "last_user", "last_message", "tool_result.name", "stream", *FIELDS)


@dataclass(frozen=True, slots=True)
class Asked:
    """A recorded request and answer.

    `fields` are those of READ that the request has, and `param.<name>` of its body.
    """

    source: str  # chat.yaml#3
    dialect: str
    fields: Mapping[str, Json]
    told: Told
    retry_after: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as it will be written: what it is called after, when, then, and how often."""

    sources: tuple[str, ...]
    when: When
    then: Then
    times: int | None = None


Fit = tuple[Asked, Then]


def conditioned(fit: Iterable[Fit]) -> list[Rule]:
    """Rules with conditions that tell each from the others. What nothing tells apart is answered in turn."""
    groups = dict[str, list[Fit]]()
    for one in fit:
        groups.setdefault(compact(_base(one[0])), []).append(one)
    return [rule for group in groups.values() for rule in _apart(group, _base(group[0][0]))]


def _base(asked: Asked) -> Mapping[str, Json]:
    """Which operation, what was said last, and which tool gave what stands last."""
    fields = asked.fields
    when = {"operation": fields["operation"]}
    for name in ("last_user", "last_message"):
        if isinstance(fields.get(name), str):
            when[name] = exact(fields[name])
            break
    if fields.get("tool_result.name") is not None:
        when["tool_result"] = {"name": exact(fields["tool_result.name"])}
    elif fields.get("tool_result.text") is not None:
        when["tool_result"] = {"text": exact(fields["tool_result.text"])}
    return when


def _apart(group: Sequence[Fit], when: Mapping[str, Json]) -> Iterator[Rule]:
    """The rules of a group of requests for which all of `when` holds."""
    if len(_answers(group)) == 1:
        yield _rule(group, when)
        return
    name = _telling(group)
    if name is None:
        yield from _in_turn(group, when)
        return
    parts = dict[str, list[Fit]]()
    for one in group:
        parts.setdefault(compact(one[0].fields.get(name)), []).append(one)
    absent = parts.pop("null", [])
    for part in parts.values():
        yield from _apart(part, _narrowed(when, name, part[0][0].fields[name]))
    if absent:
        yield from _apart(absent, when)


def _telling(group: Sequence[Fit]) -> str | None:
    """The field that tells these apart best: one after which answers agree, else any that differs."""
    params = {name for asked, _ in group for name in asked.fields if name.startswith("param.")}
    names = (*FIELDS, *sorted(params - _SAID), "stream")
    differing = [name for name in names if len({compact(asked.fields.get(name)) for asked, _ in group}) > 1]
    return next((name for name in differing if _settles(group, name)), next(iter(differing), None))


def _settles(group: Sequence[Fit], name: str) -> bool:
    parts = dict[str, list[Fit]]()
    for one in group:
        parts.setdefault(compact(one[0].fields.get(name)), []).append(one)
    return all(len(_answers(part)) == 1 for part in parts.values())


def _in_turn(group: Sequence[Fit], when: Mapping[str, Json]) -> Iterator[Rule]:
    """One answer after another, then the last again: each as often as it came before the next one."""
    runs = list[list[Fit]]()
    for one in group:
        if runs and _answers(runs[-1][:1]) == _answers([one]):
            runs[-1].append(one)
        else:
            runs.append([one])
    for at, run in enumerate(runs, 1):
        yield _rule(run, when, None if at == len(runs) else len(run))


def _rule(group: Sequence[Fit], when: Mapping[str, Json], times: int | None = None) -> Rule:
    return Rule(tuple(dict.fromkeys(asked.source for asked, _ in group)), when, group[0][1], times)


def _answers(group: Sequence[Fit]) -> set[str]:
    return {compact(then) for _, then in group}


def _narrowed(when: Mapping[str, Json], name: str, value: Json) -> Mapping[str, Json]:
    if name == "tool_result.text":
        return {**when, "tool_result": {**when.get("tool_result", {}), "text": exact(value)}}
    return {**when, name: exact(value)}


def exact(value: Json) -> Json:
    """A condition that holds for this value alone; of a text, bare unless that would make a pattern of it."""
    if isinstance(value, bool | int | float) or (isinstance(value, str) and not {"*", "\\"} & set(value)):
        return value
    return {"equals": value}


# Parameters that hold the conversation itself, or say how it is sent.
_SAID = frozenset(("param.messages", "param.input", "param.prompt", "param.model", "param.stream", "param.tools"))


class UnfitError(ValueError):
    """An answer that no rule can give; says why."""


def then(told: Told, retry_after: str = "") -> Then:
    """What a rule has to say. Raises UnfitError."""
    if told.status >= 400:
        return _error(told, retry_after)
    if not told.whole:
        raise UnfitError("its stream breaks off")
    if not told.choices:
        raise UnfitError("its answer says nothing that a rule could")
    if len(told.choices) > 1:
        said: dict[str, Json] = {"choices": [_said(choice) for choice in told.choices]}
    else:
        said = _said(told.choices[0])
    if noted := _severities(told.prompt_filters):
        said["annotate"] = {"prompt": noted, **said.get("annotate", {})}
    if told.broken:
        said["failed"] = _failed(told.error)
    if not said:
        said["text"] = ""
    return said


def literal(text: str) -> str:
    """A text as a template that gives it: what would open a tag is given as text."""
    return _OPENS.sub('{{ "{" }}', text)


def _said(choice: Said) -> dict[str, Json]:
    kinds = [part.kind for part in choice.parts]
    plain = kinds == sorted(kinds, key=_ORDER.index) and not _twice(kinds)
    made: dict[str, Json] = _flat(choice) if plain else {"parts": [_part(part) for part in choice.parts]}
    if not made:
        made["text"] = ""
    if choice.annotations and "text" in kinds:
        made["annotations"] = _escaped(list(choice.annotations))
    tripped = _trip(choice.filters)
    if tripped:
        made["content_filter"] = {"on": "completion", **tripped}
    elif choice.finish not in ("", "tool_calls" if choice.calls else "stop"):
        made["finish"] = _finish(choice.finish)
    if noted := _severities(choice.filters, besides=tripped.get("category")):
        made["annotate"] = {"completion": noted}
    return made


def _finish(reason: str) -> str:
    """The reason as rules have it. Raises UnfitError."""
    if reason not in _FINISHES:
        raise UnfitError(f"it ends for a reason that no rule gives: {reason}")
    return _FINISHES[reason]


def _twice(kinds: Sequence[str]) -> bool:
    return any(kinds.count(kind) > 1 for kind in ("reasoning", "text", "refusal")) or {"text", "refusal"} <= {*kinds}


def _flat(choice: Said) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for part in choice.parts:
        match part.kind:
            case "call":
                made.setdefault("tool_calls", []).append(_call(part.used))
            case "item":
                made.setdefault("items", []).append(_item(part.item))
            case kind:
                made[kind] = literal(part.text)
    return made


def _part(part: Part) -> Mapping[str, Json]:
    match part.kind:
        case "call":
            return {"tool_call": _call(part.used)}
        case "item":
            return {"item": _item(part.item)}
    return {part.kind: literal(part.text)}


def _call(used: Used | None) -> Mapping[str, Json]:
    """A call; its arguments as a table where that is written to the same text again."""
    if used is None or not used.name:
        raise UnfitError("it calls a tool without a name")
    if used.custom:
        return {"name": used.name, "input": literal(used.text)}
    given = parsed(used.text)
    if isinstance(given, dict) and compact(given) == used.text:
        return {"name": used.name, "arguments": _escaped(given)}
    return {"name": used.name, "arguments": literal(used.text)}


def _item(item: Mapping[str, Json] | None) -> Mapping[str, Json]:
    """One of the provider's own tools, without what is made anew."""
    kept = {key: value for key, value in (item or {}).items() if key not in _MADE and value is not None}
    return {**_escaped(kept)}


def _escaped(value: Json) -> Any:
    match value:
        case str():
            return literal(value)
        case Mapping():
            return {key: _escaped(inner) for key, inner in value.items()}
        case list():
            return [_escaped(inner) for inner in value]
    return value


def _error(told: Told, retry_after: str) -> Then:
    """An error by its parts; one whose envelope has no such parts byte by byte."""
    said = told.error
    if isinstance(said, Mapping) and (tripped := _tripped_prompt(said)):
        return {"content_filter": {"on": "prompt", **tripped}}
    if not isinstance(said, Mapping) or not isinstance(said.get("message"), str):
        waits = {"headers": {"retry-after": retry_after}} if retry_after else {}
        return {"raw": {"status": told.status, **waits, "body": told.body}}
    error: dict[str, Json] = {"status": told.status, "message": literal(said["message"])}
    error |= {key: said[key] for key in ("type", "param") if isinstance(said.get(key), str)}
    if isinstance(said.get("code"), str | int):
        error["code"] = said["code"]
    return {"error": error, **({"retry_after": f"{retry_after}s"} if _SECONDS.fullmatch(retry_after) else {})}


def _failed(error: Json) -> Json:
    if not isinstance(error, Mapping):
        return True
    said = {key: error[key] for key in ("code", "message") if isinstance(error.get(key), str) and error[key]}
    return {**said, "message": literal(said["message"])} if "message" in said else said or True


def _tripped_prompt(error: Mapping[str, Json]) -> dict[str, Json]:
    """What tripped on the prompt, where Azure OpenAI tells it and where Skytells does."""
    inner, told = table(error.get("innererror")), rows(table(error.get("details")).get("prompt_filter_results"))
    return _trip(table(inner.get("content_filter_result"))) or _trip(
        table(told[0].get("content_filter_results")) if told else None
    )


def _trip(filters: Mapping[str, Json] | None) -> dict[str, Json]:
    """The first category that a filter tripped on."""
    for category, seen in (filters or {}).items():
        if isinstance(seen, Mapping) and seen.get("filtered") is True and category in _HARMS + _DETECTIONS:
            severity = {"severity": seen["severity"]} if seen.get("severity") in ("low", "medium", "high") else {}
            return {"category": category, **severity}
    return {}


def _severities(filters: Mapping[str, Json] | None, besides: Json = None) -> dict[str, Json]:
    """What filters saw without tripping."""
    noted: dict[str, Json] = {}
    for category, seen in (filters or {}).items():
        if not isinstance(seen, Mapping) or category == besides:
            continue
        if category in _HARMS and seen.get("severity") in ("low", "medium", "high"):
            noted[category] = seen["severity"]
        elif category in _DETECTIONS and seen.get("detected") is True:
            noted[category] = True
    return noted


_ORDER = ("reasoning", "item", "text", "refusal", "call")  # in which a rule's keys come out
_FINISHES = {
    **{reason: reason for reason in ("stop", "length", "tool_calls", "content_filter", "function_call")},
    "error": "content_filter",  # as Fireworks' completions call it
}
_MADE = frozenset(("id", "call_id", "container_id", "status", "created_by", "pending_safety_checks"))
_HARMS = ("hate", "self_harm", "sexual", "violence")
_DETECTIONS = ("jailbreak", "protected_material_text", "protected_material_code")
_OPENS = re.compile(r"\{(?=[{%#])")
_SECONDS = re.compile(r"\d{1,6}(?:\.\d{1,3})?")


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
    when: Json = {"regex": f"^{_spans_escaped(before)}(?P<{NAME}>.+?){_spans_escaped(after)}$"}
    if not quoted and "\\" not in before + after:
        when = "*".join(text.replace("*", r"\*") for text in (before, after))
    sources = tuple(dict.fromkeys(source for rule in rules for source in rule.sources))
    return replace(first, sources=sources, when={**first.when, field: when}, then=then)


def _spans_escaped(text: str) -> str:
    """A text as a regular expression, with blanks as they are."""
    return _SPECIAL.sub(r"\\\g<0>", text)


_WORD = re.compile(r"\w+(?:['’.,:/@-]\w+)*")
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")
# Keys of `then` whose texts are no templates.
_FIXED = frozenset(
    ("name", "finish", "type", "code", "param", "category", "severity", "on", "retry_after", "annotate", "raw")
)


WIDE = 100  # characters of a table that stands on one line
LONGEST_NAME = 120


def written(rules: Sequence[Rule], remarks: Sequence[str] = ()) -> str:
    """A rules file; remarks stand at its top as comments."""
    head = "".join(f"# {' '.join(remark.split())}\n" for remark in remarks)
    names = _names(rules)
    listed = [_listed(rule, name) for rule, name in zip(rules, names, strict=True)]
    return head + _dumped({"version": 1, "rules": listed})


def _listed(rule: Rule, name: str) -> Mapping[str, Json]:
    times = {"times": rule.times} if rule.times is not None else {}
    return {"name": name, "when": rule.when, **times, "then": rule.then}


def _names(rules: Sequence[Rule]) -> list[str]:
    """Each rule is called after the episodes that it came from; a name that is taken gets a number."""
    names = list[str]()
    for rule in rules:
        name = plain = _named(rule.sources)
        again = 1
        while name in names:
            again += 1
            name = f"{plain} ({again})"
        names.append(name)
    return names


def _named(sources: Sequence[str]) -> str:
    text = ", ".join(sources)
    return text if len(text) <= LONGEST_NAME - 10 else f"{sources[0]} and {len(sources) - 1} more"


class _Dumper(yaml.SafeDumper):
    """YAML as people write it: lists indented, small tables on a line, no anchors, long texts in lines."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Items of a list stand to the right of its key."""
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        """Nothing refers to anything else."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    """Bare where YAML 1.1 and 1.2 both read it as this text; in lines where it has several; else in quotes."""
    if "\n" in text.rstrip("\n") and text.isprintable() is False and _fits_block(text):
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
    bare = text.strip() == text and _is_bare(text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if bare else '"')


def _fits_block(text: str) -> bool:
    return all(line.isprintable() and line == line.rstrip() for line in text.split("\n"))


def _is_bare(text: str) -> bool:
    try:
        return isinstance(resolve(text), str)
    except ValueError:
        return False


def _table(dumper: yaml.SafeDumper, table: Mapping[str, Json]) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", table.items(), flow_style=_is_small(table))


def _list(dumper: yaml.SafeDumper, items: Sequence[Json]) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=_is_small(items))


def _is_small(value: Json) -> bool:
    """Whether a table or list fits on a line and has no text of several lines in it."""
    text = repr(value)
    return len(text) <= WIDE and "\\n" not in text and not (isinstance(value, Mapping) and "then" in value)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(dict, _table)
_Dumper.add_representer(list, _list)


def _dumped(value: Json) -> str:
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000))


__all__ = ["READ", "Asked", "Generalised", "Rule", "rules", "written"]


@dataclass(frozen=True, slots=True)
class Generalised:
    """Rules, the more special first; and the episodes that none could be made of, with the reason."""

    rules: tuple[Rule, ...]
    left: tuple[tuple[str, str], ...] = ()


def rules(asked: Iterable[Asked]) -> Generalised:
    """The rules that answer what was asked as it was answered."""
    fit, left = list[tuple[Asked, Then]](), list[tuple[str, str]]()
    for one in asked:
        try:
            if one.fields.get("operation") not in _FOR_RULES:
                raise UnfitError(f"no rule is made for {one.fields.get('operation')}: keep its cassette")
            said = dict(then(one.told, one.retry_after))
            if _HALF.search(compact([said, one.fields])):
                raise UnfitError("it holds half of a character")
            fit.append((one, said))
        except UnfitError as unfit:
            left.append((one.source, str(unfit)))
    made = conditioned(fit)
    for field in ("last_user", "last_message"):
        made = generalised(made, field)
    return Generalised(tuple(_ordered(made)), tuple(left))


def _ordered(made: Sequence[Rule]) -> Iterator[Rule]:
    """The more special before the more general; else as they were recorded."""
    yield from sorted(made, key=_generality)


def _generality(rule: Rule) -> tuple[bool, int, int, int]:
    text = rule.when.get("last_user", rule.when.get("last_message"))
    if text is None:
        pattern, fixed = 2, 0
    else:
        open_ended = "regex" in text if isinstance(text, dict) else "*" in str(text)
        pattern, fixed = int(open_ended), len(str(text)) if open_ended else 0
    return "tool_result" not in rule.when, pattern, -fixed, -len(rule.when)


_HALF = re.compile(r"[\ud800-\udfff]")
_FOR_RULES = ("chat", "completions", "responses")
