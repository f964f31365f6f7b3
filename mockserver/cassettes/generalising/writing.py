"""Rules as the text of a rules file, which reads well and says exactly what was meant."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from mockserver.cassettes.generalising.asked import Rule
from mockserver.core.json_text import Json
from mockserver.positions.scalars import resolve

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
