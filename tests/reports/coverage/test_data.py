import json

from mockserver.reports.coverage import as_json
from tests.kit.covered import covered


def test_all_of_it():
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


def test_the_same_run_gives_the_same_text():
    assert as_json(covered()) == as_json(covered())
