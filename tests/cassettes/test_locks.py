"""One at a time writes, and who waited sees whether the file is still the same."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from mockserver.cassettes import store
from mockserver.cassettes.store import locked
from mockserver.config.errors import CassetteError


def test_what_is_held_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    with locked(path, alone=True) as held:
        assert (held.read(0), held.read(8), held.read(-1), held.read(99)) == (b"0123456789", b"89", b"0123456789", b"")
        held.write(8, b"xyz")
        assert held.status.st_size == 11
        held.truncate(9)
        held.close()
        held.close()
    assert path.read_bytes() == b"01234567x"


def test_readers_go_together_and_a_writer_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"")
    inside = Event()

    def write() -> None:
        with locked(path, alone=True):
            inside.set()

    with ThreadPoolExecutor(1) as pool:
        with locked(path, alone=False), locked(path, alone=False):
            waiting = pool.submit(write)
            assert not inside.wait(0.05)
        waiting.result(10)
    assert inside.is_set()


def test_who_waited_gets_the_file_that_took_the_place(tmp_path: Path) -> None:
    path, fresh = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"old")
    fresh.write_bytes(b"new")

    def read() -> bytes:
        with locked(path, alone=True) as held:
            return held.read(0)

    with ThreadPoolExecutor(1) as pool:
        with locked(path, alone=True):
            waiting = pool.submit(read)
            os.replace(fresh, path)
        assert waiting.result(10) == b"new"


def test_a_file_that_went_away_while_one_waited(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def read() -> None:
        with locked(path, alone=True):
            pass

    with ThreadPoolExecutor(1) as pool:
        with locked(path, alone=True):
            waiting = pool.submit(read)
            path.unlink()
        with pytest.raises(CassetteError, match=r"a: there is no such cassette"):
            waiting.result(10)


def test_what_is_no_file_is_told_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, words in (("pipe", "not a regular file, as a cassette must be"), ("folder", "cannot be written: Is a")):
        with pytest.raises(CassetteError, match=f"{name}: {words}"), locked(tmp_path / name, alone=True):
            pass
    with pytest.raises(CassetteError, match="a cassette is a file"), locked(tmp_path / "folder", alone=False):
        pass


def test_a_system_without_locks_does_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "fcntl", None)
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with locked(path, alone=True) as held, locked(path, alone=True):
        held.write(0, b"new")
    assert path.read_bytes() == b"new"


def test_a_file_that_cannot_be_locked_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(descriptor: int, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(store.fcntl, "flock", refuses)
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with locked(path, alone=False) as held:
        assert held.read(0) == b"old"
    words = "a: cannot be locked: No locks available; its content is unchanged"
    with pytest.raises(CassetteError, match=words), locked(path, alone=True):
        pass


@pytest.mark.parametrize("alone", [True, False])
def test_who_never_lets_go_hinders_nobody_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")
    monkeypatch.setattr(store, "LOCK_TIMEOUT", 0.02)
    told = r"a: another program has locked it for over 0.02 s; wait for it, or stop it"
    with locked(path, alone=True), pytest.raises(CassetteError, match=told), locked(path, alone=alone):
        pass
    with locked(path, alone=alone) as held:
        assert held.read(0) == b"x"
