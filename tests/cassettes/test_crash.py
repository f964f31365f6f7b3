"""Processes that are killed while they write: nothing torn, nothing lost of what they said was kept.

4 rounds in the suite, `make crash` runs 100: as many as `ROUNDS` says.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.core.episode import Episode
from mockserver.core.seed import Seed
from tests.cassettes.crash import episode

ROOT = Path(__file__).parents[2]
ROUNDS = int(os.environ.get("ROUNDS", "4"))

Child = subprocess.Popen[bytes]
Kept = dict[int, Episode]  # what was said to be kept, by the number that it was said to have


@contextmanager
def child(path: Path, name: str) -> Iterator[Child]:
    command = [sys.executable, "-m", "tests.cassettes.crash", str(path), name]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as started:
        try:
            assert started.stdout
            assert started.stdout.readline() == b"ready\n"
            yield started
        finally:
            started.kill()


def killed(process: Child, name: str, seconds: float) -> Kept:
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(seconds)
    process.kill()
    assert process.stdout
    lines = process.stdout.read().split(b"\n")[:-1]
    pairs = [tuple(map(int, line.split())) for line in lines]
    assert [number for number, _ in pairs] == list(range(1, len(pairs) + 1))
    return {there: episode(name, number) for number, there in pairs}


def check(path: Path, kept: Kept, processes: int) -> None:
    for cassette in (CassetteFile(path), CassetteFile(path)):  # the second time with what the first has read
        found = cassette.load()
        assert {number: found[number - 1] for number in kept} == kept
        assert len(found) - len(kept) in range(processes + 1)
    assert not any(document.is_edited for document in cassette.load_documents())


@pytest.mark.parametrize("number", range(ROUNDS))
def test_killed_at_any_moment(tmp_path: Path, number: int) -> None:
    path = tmp_path / "cassettes" / "chat.yaml"
    chance = Seed(number).stream("crash")
    with child(path, "one") as one, child(path, "two") as two:
        kept = killed(one, "one", chance.uniform(0.05, 0.4))
        kept |= killed(two, "two", chance.uniform(0, 0.2))
    check(path, kept, 2)
    with child(path, "three") as three:
        kept |= killed(three, "three", chance.uniform(0, 0.1))
    check(path, kept, 3)
    assert sorted(each.name for each in path.parent.iterdir() if each.name[0] != ".") == ["chat.yaml"]
    assert CassetteFile(path).append(episode("four", 1)) == len(CassetteFile(path).load())


@pytest.mark.parametrize("number", range(ROUNDS))
def test_killed_as_the_file_is_begun(tmp_path: Path, number: int) -> None:
    path = tmp_path / "cassettes" / "chat.yaml"
    with child(path, "one") as one:
        kept = killed(one, "one", Seed(number).draw_fraction("begin") / 30)
    if path.exists():
        check(path, kept, 1)
    assert CassetteFile(path).append(episode("two", 1)) == len(CassetteFile(path).load())
