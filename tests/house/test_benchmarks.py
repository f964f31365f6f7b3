"""The benchmarks still work: they are run by hand, and would otherwise be found broken when they are needed."""

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_all_can_be_imported() -> None:
    run("-c", "import run, servers, heavy, idle, compare, scale")


def test_each_kind_is_answered_as_it_should_be() -> None:
    assert "kinds are answered as they should be" in run("kinds.py", "--check")


def test_every_body_is_new() -> None:
    run("-c", "import kinds; assert all(kind.request(1) != kind.request(2) for kind in kinds.LISTED)")


def test_what_was_released_is_still_measured() -> None:
    """A kind that is newer than the release has no ratio yet."""
    rows = json.loads(run("-c", "import json, kinds; print(json.dumps(kinds.ROWS))"))
    released = list(json.loads((BENCHMARKS / "released.json").read_text())["kinds"])
    assert released == [row for row in rows if row in released]


def test_what_is_too_dear_is_found() -> None:
    found = {"keys / bare": 1.7, "times / bare": 1.32, "state / bare": 1.28, "timing / bare": 9.0, "new / bare": 9.0}
    released = {"keys / bare": 1.7, "times / bare": 1.18, "state / bare": 1.18, "timing / bare": 9.0}
    script = "import compare, json, sys; print(json.dumps(compare.find_worse(*json.loads(sys.argv[1]))))"
    worse = json.loads(run("-c", script, json.dumps([found, released])))
    assert worse == {"keys / bare": "above its limit, 1.6", "times / bare": "a tenth above the last release"}


def test_suites_of_each_kind_pass() -> None:
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", "suites/pytest.ini", "--count=1", "suites")
    assert "10 passed" in run("-m", "pytest", *options)


def run(*words: str) -> str:
    """What Python prints in the folder of the benchmarks."""
    done = subprocess.run([sys.executable, *words], cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
