from mockserver.reports.coverage import Coverage, table, unused
from tests.kit.covered import covered

TABLE = """\
File              Rules  Steps  Branches  Faults  Cover  Never used
tests/rules.yaml    2/3    3/4       0/2     1/1    60%  2 rule weather, 20 steps[0]
test_app.py         1/1      -         -       -   100%
TOTAL               3/4    3/4       0/2     1/1    63%"""


def test_a_table_of_all_files():
    assert "\n".join(table(covered())) == TABLE


def test_a_single_file_is_the_total():
    alone = Coverage(covered().files[1:])
    assert list(table(alone)) == ["File         Rules  Cover  Never used", "test_app.py    1/1   100%"]


def test_no_rules_at_all():
    assert list(table(Coverage(()))) == ["no test had any rules"]


def test_rules_that_nobody_used():
    assert list(unused(covered())) == ["tests/rules.yaml:2 weather"]
