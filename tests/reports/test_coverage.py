"""Rule coverage: counting over processes, and the reports as table, JSON and page."""

import json
from html.parser import HTMLParser

from mockserver.config.errors import Place
from mockserver.core.exchange import Exchange
from mockserver.core.plan import Plan, Rendered
from mockserver.reports.coverage import (
    Coverage,
    Entry,
    FileCoverage,
    Watch,
    as_json,
    as_page,
    as_table,
)
from tests.kit.rules import loaded

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


def exchange(source: str, *through: str, modified_by: tuple[str, ...] = ()) -> Exchange:
    """One that is over."""
    row = Exchange(1, "POST", "/v1/chat/completions", "openai", "default")
    row.plan = Plan(Rendered(), source, modified_by=modified_by, trace=tuple(f"{source}: {path}" for path in through))
    return row


def watched() -> Watch:
    """Two rules were used, one of them of a test."""
    watch = Watch()
    watch.add_rules(loaded(RULES, FILE))
    watch.add_rules(loaded("rules:\n  - {name: mine, then: {text: a}}\n", "/project/test_app.py"), declared=True)
    watch.record(exchange(f"rule {FILE}:10", "steps[0]"))
    watch.record(exchange(f"rule {FILE}:10", "steps[1]", "steps[1].faults[0]"))
    watch.record(exchange(f"rule {FILE}:20", "steps[1]"))
    watch.record(exchange("generated", modified_by=("rule /project/test_app.py:2 mine",)))
    return watch


def covered() -> Coverage:
    """What that comes to."""
    return watched().coverage("/project")


def told(watch):
    files = watch.coverage("/w").files
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
        (rule,) = loaded(f"rules: [{{name: {name}, then: {then}}}]", "/w/test_a.py")
        assert isinstance(rule.place, Place)
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
    seen.add_rules(loaded("rules:\n  - {name: 'a, b', then: {text: a}}\n  - then: {text: b}\n", "/w/r.yaml"))
    seen.record(exchange("rule /w/r.yaml:2 a, b"))
    seen.record(exchange("generated, rule /w/r.yaml:3"))
    assert told(seen) == [("r.yaml", 2, "rule a, b", 1), ("r.yaml", 3, "rule", 1)]


def test_what_other_processes_saw_is_added():
    both = Watch()
    both.merge(json.loads(json.dumps(watched().as_dict())))
    assert both.coverage("/project") == covered()
    both.merge(watched().as_dict())
    twice = [2 * entry.hits for entry in covered().entries]
    assert [entry.hits for entry in both.coverage("/project").entries] == twice


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
    assert "\n".join(as_table(covered())) == TABLE


def test_the_json_report():
    assert as_json(covered()) == as_json(covered())
    told = json.loads(as_json(covered()))
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


TEXT = RULES.splitlines()


class Rows(HTMLParser):
    """The rows of a page: the class of each, and what its cells say."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.within = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([dict(attrs).get("class", "")])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.within = True
        assert tag not in ("script", "link", "img")

    def handle_endtag(self, tag):
        self.within = self.within and tag not in ("td", "th")

    def handle_data(self, data):
        if self.within:
            self.rows[-1][-1] += data


def rows(coverage, texts):
    return Rows(as_page(coverage, texts)).rows


def test_each_line_says_whether_it_was_used():
    found = [row for row in rows(covered(), {FILE: TEXT}) if row[0]][: len(TEXT)]
    assert [row[3] for row in found] == TEXT
    assert [(row[1], row[0], row[2]) for row in found] == [
        ("1", "none", ""),
        ("2", "unused", "never"),
        ("3", "unused", ""),
        ("4", "unused", ""),
        ("5", "unused", "never"),
        ("6", "unused", "never"),
        ("7", "none", ""),
        ("8", "none", ""),
        ("9", "none", ""),
        ("10", "used", "2×"),
        ("11", "used", ""),
        ("12", "used", ""),
        ("13", "used", "1×"),
        ("14", "used", "1×"),
        ("15", "used", ""),
        ("16", "used", ""),
        ("17", "used", "1×"),
        ("18", "used", ""),
        ("19", "used", ""),
        ("20", "part", "1× never 1×"),
    ]


def test_sums_of_each_file_and_of_all():
    assert [row[1:] for row in rows(covered(), {})[:4]] == [
        ["File", "Rules", "Steps", "Branches", "Faults", "Cover"],
        ["tests/rules.yaml", "2/3", "3/4", "0/2", "1/1", "60%"],
        ["test_app.py", "1/1", "", "", "", "100%"],
        ["Total", "3/4", "3/4", "0/2", "1/1", "63%"],
    ]


def test_nothing_that_is_shown_is_html():
    bad = "<script>alert('x')</script>&\"{braces}"
    entry = Entry("rule", 1, 1, bad, 0, text=bad, rule=1)
    shown = as_page(Coverage((FileCoverage("/a", bad, False, (entry,)),)), {"/a": [bad]})
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;&quot;{braces}") == 4
    assert as_page(Coverage(()), {}).startswith("<!doctype html>")
