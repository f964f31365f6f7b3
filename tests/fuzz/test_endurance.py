"""A few thousand requests of every kind leave nothing behind but what is kept within bounds."""

import re
import subprocess
import sys

import pytest

from tests.kit.served import ROOT

REQUESTS = 4_000


@pytest.mark.slow
def test_nothing_grows() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "endurance.py"), str(REQUESTS)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    memory, _, files, threads = (float(line) for line in re.findall(r" ([-\d.]+)$", ran.stdout, re.MULTILINE))
    assert memory < 1.5, "caches fill in the first thousands; a leak of a few kilobytes a request would double it"
    assert files <= 1
    assert threads <= 4
