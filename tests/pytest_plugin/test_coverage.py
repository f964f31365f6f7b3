"""Rule coverage as a test run sees it: runs of pytest within a test."""

import json
from functools import partial

import pytest

from tests.kit.nested import run_inside

pytest_plugins = ["pytester"]

RULES = """\
rules:
  - name: weather
    when: {last_user: "*weather*"}
    then: {text: Sunny}
  - when: {last_user: "*busy*"}
    then: {error: 429, faults: [{cut: {after_bytes: 3, probability: 0}}]}
  - name: talk
    then: {steps: [{text: One moment.}, {text: Here you are.}]}
"""

TESTS = """
import json
from urllib.request import Request, urlopen

import pytest

def ask(server, text):
    said = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    asked = Request(f"{server.url}/v1/chat/completions", said, {"content-type": "application/json"})
    with urlopen(asked) as answer:
        return answer.read().decode()

@pytest.mark.mockserver(rules="rules.yaml")
def test_weather(mockserver):
    mockserver.on(last_user="hi").reply("Hi!")
    mockserver.on(last_user="ho").reply("Ho!")
    assert "Sunny" in ask(mockserver, "weather")
    assert "Hi!" in ask(mockserver, "hi")

@pytest.mark.mockserver(rules="rules.yaml")
@pytest.mark.parametrize("time", range(3))
def test_talk(mockserver, time):
    assert "moment" in ask(mockserver, "talk")

def test_without():
    pass
"""

TABLE = [
    "File         Rules  Steps  Faults  Cover  Never used",
    "rules.yaml     2/3    1/2     0/1    50%  5 rule, 8 steps[[]1]",
    "test_app.py    1/2      -       -    50%  15 rule",
    "TOTAL          3/5    1/2     0/1    50%",
]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch):
    """Runs those tests with some arguments, in this process."""
    monkeypatch.setenv("PY_COLORS", "0")
    pytester.makefile(".yaml", rules=RULES)
    pytester.makepyfile(test_app=TESTS)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    return partial(run_inside, pytester)


@pytest.mark.parametrize("unused", ["ignore", "warn", "fail"])
def test_unused_rules(run, unused):
    done = run("-o", f"mockserver_unused={unused}")
    assert done.ret == int(unused == "fail")
    if unused == "ignore":
        done.stdout.no_fnmatch_line("*never used*")
        return
    failing = ["the run fails because of mockserver_unused = fail"] * (unused == "fail")
    declared = 'test_app.py:15 mockserver.on(last_user="ho").reply("Ho!")'
    lines = ["=* mockserver: 2 rules were never used =*", "rules.yaml:5", declared, *failing, "=* 5 passed *"]
    done.stdout.fnmatch_lines(lines, consecutive=True)


@pytest.mark.parametrize(
    "part",
    [
        ["-k", "weather"],
        ["test_app.py::test_weather"],
        ["--collect-only"],
        ["--ignore=test_other.py"],
        [".", "-o", "testpaths=tests"],
    ],
    ids=" ".join,
)
def test_where_only_some_tests_run_nobody_complains(run, part, pytester):
    unit = pytester.path / "tests/unit"
    unit.mkdir(parents=True)
    (unit / "test_app.py").write_text(TESTS.replace('"rules.yaml"', '"../../rules.yaml"'))
    done = run("-o", "mockserver_unused=fail", "--import-mode=importlib", *part)
    whole = part[0] == "."
    assert done.ret == int(whole)
    (done.stdout.fnmatch_lines if whole else done.stdout.no_fnmatch_line)("*never used*")


@pytest.mark.parametrize(
    "part",
    [["tests/unit"], ["tests/unit/test_app.py"], ["tests/unit", "tests", "-o", "testpaths=tests ."]],
    ids=" ".join,
)
def test_where_a_whole_file_runs_its_own_rules_are_reported(run, part, pytester):
    unit = pytester.path / "tests/unit"
    unit.mkdir(parents=True)
    (unit / "test_app.py").write_text(TESTS.replace('"rules.yaml"', '"../../rules.yaml"'))
    done = run("--import-mode=importlib", *part)
    done.stdout.fnmatch_lines(["=* 1 rule was never used =*", "tests/unit/test_app.py:16 *"], consecutive=True)
    (unit / "test_app.py").write_text(TESTS.replace('"rules.yaml"', '"../../rules.yaml"').replace("pass", "assert 0"))
    run("--import-mode=importlib", *part).stdout.no_fnmatch_line("*never used*")


@pytest.mark.parametrize("part", [["tests"], ["tests/", "-o", "testpaths=tests/unit"], []], ids=" ".join)
def test_folders_that_hold_all_tests_are_no_part(run, part, pytester):
    unit = pytester.path / "tests/unit"
    unit.mkdir(parents=True)
    (pytester.path / "test_app.py").rename(unit / "test_app.py")
    assert run("-o", "mockserver_rules=rules.yaml", "-o", "mockserver_unused=fail", *part).ret == 1


def test_nor_where_the_last_failures_run(run, pytester):
    pytester.makepyfile(test_app="import os\ndef test_it(): assert 'NOW' in os.environ", test_other=TESTS)
    ini = "[pytest]\nasyncio_default_fixture_loop_scope = function\nmockserver_unused = fail\n"
    pytester.makeini(ini)
    assert pytester.runpytest_inprocess("--cache-clear").ret == 1
    pytester.makeini(f"{ini}mockserver_rules = rules.yaml\n")
    pytester.makepyfile(test_app="def test_it(mockserver): pass")
    done = pytester.runpytest_inprocess("--lf")
    assert done.ret == 0
    done.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("test", "complains"),
    [
        ("@pytest.mark.skip\ndef test_skipped(mockserver): pass", False),
        ("def test_skipped(): pytest.skip()", True),
        ("pytest.skip(allow_module_level=True)", False),
    ],
)
def test_nor_where_a_test_is_skipped_that_may_use_them(run, test, complains, pytester):
    pytester.makepyfile(test_skipped=f"import pytest\n{test}")
    assert run("-o", "mockserver_unused=fail").ret == int(complains)


def test_nor_where_a_run_breaks_off(run, pytester):
    pytester.makepyfile(test_aaa="def test_fails(): assert False")
    run("-x").stdout.no_fnmatch_line("*never used*")


def test_reports(run, pytester):
    (pytester.path / "taken").write_text("")
    wanted = ("term", "html:seen/page", "json:seen/rules.json", "json:taken/rules.json")
    done = run(*(f"--mockserver-coverage={each}" for each in wanted), "-o", "mockserver_unused=ignore")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["-* mockserver: rule coverage -*", *TABLE], consecutive=True)
    written = ["rule coverage written to seen/page/index.html", "rule coverage written to seen/rules.json"]
    done.stdout.fnmatch_lines([*written, "cannot write rule coverage to *taken/rules.json: *"])
    assert "&quot;*weather*&quot;" in (pytester.path / "seen/page/index.html").read_text()
    assert json.loads((pytester.path / "seen/rules.json").read_text())["totals"]["steps"] == {"used": 1, "all": 2}


def test_default_files_of_reports_without_any_rules(run, pytester):
    pytester.makepyfile(test_app="def test_it(): pass")
    run("-o", "mockserver_coverage=html json term").stdout.fnmatch_lines(["no test used any rules"])
    assert (pytester.path / "mockserver-coverage/index.html").exists()
    assert (pytester.path / "mockserver-coverage.json").exists()


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("--mockserver-coverage=xml", "--mockserver-coverage must be term, *json or json:FILE, not 'xml'"),
        ("--mockserver-coverage=term:file", "--mockserver-coverage must be term, *json or json:FILE, not 'term:file'"),
        ("-omockserver_unused=error", "mockserver_unused must be one of ignore, warn, fail, not 'error'"),
    ],
)
def test_mistakes(run, option, complaint):
    done = run(option)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: {complaint}"])


def test_of_a_worker_that_crashed_nothing_is_known(run, pytester):
    pytester.makepyfile(test_crash="import os\ndef test_crash(): os._exit(1)")
    done = run("-n1", "-o", "mockserver_unused=fail", "--max-worker-restart=0")
    done.stdout.no_fnmatch_line("*never used*")
