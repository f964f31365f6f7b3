import pytest

from mockserver.reports.coverage import Sum, summed
from tests.kit.covered import covered


@pytest.mark.parametrize(("used", "all_", "percent"), [(0, 0, 100), (0, 3, 0), (199, 200, 99), (200, 200, 100)])
def test_a_hundred_percent_are_all(used, all_, percent):
    assert Sum(used, all_).percent == percent


def test_parts_of_a_rule_that_was_never_used_are_not_named_beside_it():
    rules, tests = covered().files
    assert [(entry.line, entry.label) for entry in rules.unused] == [(2, "rule weather"), (20, "steps[0]")]
    assert tests.unused == ()


def test_unused_rules_are_those_of_rules_files():
    assert [(file.name, entry.line) for file, entry in covered().unused_rules] == [("tests/rules.yaml", 2)]


def test_sums():
    entries = covered().entries
    assert [summed(entries, kind) for kind in ("rule", "step", "branch", "fault", None)] == [
        Sum(3, 4),
        Sum(3, 4),
        Sum(0, 2),
        Sum(1, 1),
        Sum(7, 11),
    ]
