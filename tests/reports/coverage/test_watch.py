import json

from mockserver.config.errors import Place
from mockserver.reports.coverage_watch import Watch, watch, watching
from tests.kit.covered import covered, exchange, watched
from tests.kit.rules import loaded


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
        seen.declares((rule,), declared=True)
        seen.declares((rule,), declared=True)
    seen.note(exchange("rule /w/test_a.py:1 one"))
    seen.note(exchange("rule /w/test_a.py:1 two", "steps[1]"))
    assert told(seen) == [
        ("test_a.py", 1, "rule one", 2),
        ("test_a.py", 1, "steps[0]", 0),
        ("test_a.py", 1, "steps[1]", 1),
    ]


def test_an_answer_to_several_prompts_is_one_of_each_of_its_rules():
    seen = Watch()
    seen.declares(loaded("rules:\n  - {name: 'a, b', then: {text: a}}\n  - then: {text: b}\n", "/w/r.yaml"))
    seen.note(exchange("rule /w/r.yaml:2 a, b"))
    seen.note(exchange("generated, rule /w/r.yaml:3"))
    assert told(seen) == [("r.yaml", 2, "rule a, b", 1), ("r.yaml", 3, "rule", 1)]


def test_what_other_processes_saw_is_added():
    both = Watch()
    both.add(json.loads(json.dumps(watched().told())))
    assert both.coverage("/project") == covered()
    both.add(watched().told())
    twice = [2 * entry.hits for entry in covered().entries]
    assert [entry.hits for entry in both.coverage("/project").entries] == twice


def test_without_rules_it_is_empty():
    assert (Watch().empty, watched().empty) == (True, False)


def test_the_latest_watch_is_told():
    outer = watch()
    inner = Watch()
    watching.append(inner)
    assert watch() is inner
    watching.remove(inner)
    assert watch() is outer
