"""The benchmarks still work: they are run by hand, and would otherwise be found broken when they are needed."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_all_can_be_imported() -> None:
    ran(sys.executable, "-c", "import run, servers, heavy, idle, compare, scale")


def test_suites_of_each_kind_pass() -> None:
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", "suites/pytest.ini", "--count=1", "suites")
    said = ran(sys.executable, "-m", "pytest", *options)
    assert "8 passed" in said


def ran(*command: str) -> str:
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
