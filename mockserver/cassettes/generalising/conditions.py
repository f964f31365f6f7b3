"""What tells recorded requests apart: first what was said last, then one field after another until answers agree."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mockserver.cassettes.generalising.asked import FIELDS, Asked, Rule, Then
from mockserver.core.json_text import Json, compact

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
