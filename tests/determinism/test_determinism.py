"""The same bytes everywhere: in any process, order and hash seed, over a socket, and under every Python.

`pytest tests/determinism --update` rewrites golden.json. A change of it is a breaking change: say so in the changelog.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mockserver.dialects import discover
from tests.determinism.interpreters import ROOT, environment, others
from tests.determinism.requests import GOLDEN, ask_here, ask_there, requests, rules, shuffled
from tests.kit.served import served

Told = Mapping[str, str]


@pytest.fixture(scope="module")
def golden() -> Told:
    told: Told = json.loads(GOLDEN.read_text())
    return told


def test_golden(update: bool) -> None:
    told = ask_here(requests())
    if update:
        GOLDEN.write_text(json.dumps(told, indent=1) + "\n")
    assert_same(told, json.loads(GOLDEN.read_text()))


def test_there_is_enough_gold(golden: Told) -> None:
    assert len(golden) >= 60
    assert {name.partition(" ")[0] for name in golden} == set(discover())
    answered = [name for name, told in golden.items() if told.startswith("200")]
    assert len(set(map(golden.get, answered))) > 0.9 * len(answered), "nearly every answer is one of its own"


def test_the_order_of_arrival_changes_nothing(golden: Told) -> None:
    assert_same(ask_here([*shuffled(requests(), 1), *shuffled(requests(), 2)]), golden)  # each comes twice


def test_another_process_hash_seed_time_zone_and_language(golden: Told) -> None:
    there = {"TZ": "Asia/Kathmandu", "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert_same(asked_by(Path(sys.executable), {**there, "PYTHONHASHSEED": "random"}), golden)


def test_a_fresh_server_with_requests_side_by_side(golden: Told) -> None:
    with served(rules()) as server:
        assert_same(ask_there(shuffled(requests(), 4), server.address), golden)


@pytest.mark.slow
@pytest.mark.parametrize("version", others())
def test_another_interpreter(golden: Told, version: str) -> None:
    assert_same(asked_by(environment(version), {"PYTHONHASHSEED": "random"}), golden)


def asked_by(python: Path, environ: Mapping[str, str]) -> Told:
    command = [str(python), "-W", "error", "-m", "tests.determinism.requests", "--shuffle", "3"]
    environ = {**os.environ, **environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    told: Told = json.loads(done.stdout)
    return told


def assert_same(told: Told, golden: Told) -> None:
    """Name what differs, instead of a wall of hashes."""
    changed = [name for name in golden if name in told and told[name] != golden[name]]
    assert changed == []
    assert told.keys() == golden.keys()
