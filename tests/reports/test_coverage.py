"""Rule coverage: counting over processes, and the reports as table, JSON and page."""

import json
import re

from mockserver.config.errors import SourceLocation
from mockserver.core.plan import Plan
from mockserver.core.row import Row
from mockserver.reports.coverage import (
    Coverage,
    Entry,
    FileCoverage,
    Watch,
    write_json,
    write_page,
    write_table,
)
from tests.kit.rules import load_rule_text

RULES = """\
rules:
  - name: weather
    then:
      one_of:
        - {weight: 3, then: {text: Sunny}}
        - {weight: 1, then: {text: "Rain <b>"}}

  # what follows is
  #   about talks
  - when: {last_user: "*talk*"}
    then:
      steps:
        - text: One moment.
        - text: |
            Here
          faults:
            - cut: {after_tokens: 3}
    # once
    times: 1
  - then: {steps: [{text: a}, {text: b}]}
"""
FILE = "/project/tests/rules.yaml"


def exchange(source: str, *through: str, modified_by: tuple[str, ...] = ()) -> Row:
    """One that is over."""
    row = Row(1, "POST", "/v1/chat/completions", "openai", "default")
    row.plan = Plan(None, source, modified_by=modified_by, trace=tuple(f"{source}: {path}" for path in through))
    return row


def watched() -> Watch:
    """Two rules were used, one of them of a test."""
    watch = Watch()
    watch.add_rules(load_rule_text(RULES, FILE))
    watch.add_rules(
        load_rule_text("rules:\n  - {name: mine, then: {text: a}}\n", "/project/test_app.py"), declared=True
    )
    watch.record(exchange(f"rule {FILE}:10", "steps[0]"))
    watch.record(exchange(f"rule {FILE}:10", "steps[1]", "steps[1].faults[0]"))
    watch.record(exchange(f"rule {FILE}:20", "steps[1]"))
    watch.record(exchange("generated", modified_by=("rule /project/test_app.py:2 mine",)))
    return watch


def covered() -> Coverage:
    """What that comes to."""
    return watched().compute_coverage("/project")


def told(watch):
    files = watch.compute_coverage("/w").files
    return [(file.name, entry.line, entry.label, entry.hits) for file in files for entry in file.entries]


def test_every_rule_step_branch_and_fault_is_counted():
    rules, tests = covered().files
    assert (rules.name, rules.declared, tests.name, tests.declared) == ("tests/rules.yaml", False, "test_app.py", True)
    assert [(entry.line, entry.label, entry.hits) for entry in rules.entries] == [
        (2, "rule weather", 0),
        (5, "one_of[0]", 0),
        (6, "one_of[1]", 0),
        (10, "rule", 2),
        (13, "steps[0]", 1),
        (14, "steps[1]", 1),
        (17, "steps[1].faults[0] cut", 1),
        (20, "rule", 1),
        (20, "steps[0]", 0),
        (20, "steps[1]", 1),
    ]
    assert [(entry.line, entry.label, entry.hits) for entry in tests.entries] == [(2, "rule mine", 1)]


def test_rules_of_one_line_of_a_test_are_one():
    seen = Watch()
    for name, then in {"one": "{text: a}", "two": "{steps: [{text: a}, {text: b}]}"}.items():
        (rule,) = load_rule_text(f"rules: [{{name: {name}, then: {then}}}]", "/w/test_a.py")
        assert isinstance(rule.place, SourceLocation)
        seen.add_rules((rule,), declared=True)
        seen.add_rules((rule,), declared=True)
    seen.record(exchange("rule /w/test_a.py:1 one"))
    seen.record(exchange("rule /w/test_a.py:1 two", "steps[1]"))
    assert told(seen) == [
        ("test_a.py", 1, "rule one", 2),
        ("test_a.py", 1, "steps[0]", 0),
        ("test_a.py", 1, "steps[1]", 1),
    ]


def test_an_answer_to_several_prompts_is_one_of_each_of_its_rules():
    seen = Watch()
    seen.add_rules(load_rule_text("rules:\n  - {name: 'a, b', then: {text: a}}\n  - then: {text: b}\n", "/w/r.yaml"))
    seen.record(exchange("rule /w/r.yaml:2 a, b"))
    seen.record(exchange("generated, rule /w/r.yaml:3"))
    assert told(seen) == [("r.yaml", 2, "rule a, b", 1), ("r.yaml", 3, "rule", 1)]


def test_what_other_processes_saw_is_added():
    both = Watch()
    both.merge(json.loads(json.dumps(watched().export())))
    assert both.compute_coverage("/project") == covered()
    both.merge(watched().export())
    twice = [2 * entry.hits for entry in covered().entries]
    assert [entry.hits for entry in both.compute_coverage("/project").entries] == twice


def test_parts_of_an_unused_rule_are_not_listed():
    rules, tests = covered().files
    assert [(entry.line, entry.label) for entry in rules.unused] == [(2, "rule weather"), (20, "steps[0]")]
    assert tests.unused == ()


TABLE = """\
File              Rules  Steps  Branches  Faults  Cover  Never used
tests/rules.yaml    2/3    3/4       0/2     1/1    60%  2 rule weather, 20 steps[0]
test_app.py         1/1      -         -       -   100%
TOTAL               3/4    3/4       0/2     1/1    63%"""


def test_a_table_of_all_files():
    assert "\n".join(write_table(covered())) == TABLE


def test_the_json_report():
    assert write_json(covered()) == write_json(covered())
    told = json.loads(write_json(covered()))
    assert told.keys() == {"version", "totals", "files"}
    assert told["version"] == 1
    assert told["totals"] == {
        "rules": {"used": 3, "all": 4},
        "steps": {"used": 3, "all": 4},
        "branches": {"used": 0, "all": 2},
        "faults": {"used": 1, "all": 1},
        "percent": 63,
    }
    rules, tests = told["files"]
    assert (rules["file"], rules["kind"], tests["file"], tests["kind"]) == (
        "tests/rules.yaml",
        "rules",
        "test_app.py",
        "tests",
    )
    assert rules["entries"][0] == {"kind": "rule", "line": 2, "hits": 0, "name": "weather"}
    assert rules["entries"][3] == {"kind": "rule", "line": 10, "hits": 2}
    assert rules["entries"][6] == {
        "kind": "fault",
        "line": 17,
        "hits": 1,
        "name": "cut",
        "path": "steps[1].faults[0]",
        "rule_line": 10,
    }


def test_the_page():
    page = write_page(covered(), {FILE: RULES.splitlines()})
    totals = "<td>2/3</td><td>3/4</td><td>0/2</td><td>1/1</td><td>60%</td>"
    assert f'<td><a href="#file-0">tests/rules.yaml</a></td>{totals}' in page
    found = re.findall(r"<tr class=(\w+)><td>(\d+)</td><td>(?:<b[^>]*>([^<]*)</b>)?", page)
    lines = [(int(number), state, hits) for state, number, hits in found[: len(RULES.splitlines())]]
    assert [number for number, state, _ in lines if state == "none"] == [1, 7, 8, 9]
    assert [number for number, state, _ in lines if state == "unused"] == [2, 3, 4, 5, 6]
    assert [(number, hits) for number, _, hits in lines if hits] == [
        (2, "never"), (5, "never"), (6, "never"), (10, "2&times;"), (13, "1&times;"), (14, "1&times;"),
        (17, "1&times;"), (20, "1&times;"),
    ]  # fmt: skip
    assert lines[-1][1] == "part"
    assert page.count("<tr") == write_page(covered(), {}).count("<tr") + len(RULES.splitlines()) - 8


def test_nothing_that_is_shown_is_html():
    bad = "<script>alert('x')</script>&\"{braces}"
    entry = Entry("rule", 1, 1, bad, 0, text=bad, rule=1)
    shown = write_page(Coverage((FileCoverage("/a", bad, False, (entry,)),)), {"/a": [bad]})
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;&quot;{braces}") == 4
    assert write_page(Coverage(()), {}).startswith("<!doctype html>")
