"""Trouble with disks, folders and names: told in plain words, and what is recorded stays."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOSPC
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mockserver.cassettes import cassette_file
from mockserver.cassettes.cassette_file import MAX_SIZE, CassetteFile
from mockserver.cassettes.cassette_names import find_path
from mockserver.cassettes.format import HEAD
from tests.cassettes import samples
from tests.cassettes.conftest import complaint, left

ROOT = Path(__file__).parents[2]


@contextmanager
def as_nobody() -> Iterator[None]:
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def own() -> Iterator[Path]:
    with TemporaryDirectory(prefix="cassettes-") as folder:
        path = Path(folder)
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
        yield path
        path.chmod(0o700)


def test_a_folder_that_may_not_be_written(own: Path) -> None:
    with as_nobody():
        cassette, fresh = CassetteFile(own / "a.yaml"), CassetteFile(own / "b.yaml")
        cassette.append(samples.plain(1))
        own.chmod(0o500)
        assert complaint(fresh.append, samples.plain(2)) == (
            f"{own}/b.yaml: cannot be created: Permission denied; its content is unchanged"
        )
        words = f"{own}/a.yaml: cannot be written: Permission denied; its content is unchanged"
        assert complaint(cassette.append, samples.plain(2)) == words
        assert complaint(cassette.rewrite, lambda episodes: ()) == words
        assert complaint(CassetteFile(own / "c" / "d.yaml").append, samples.plain(2)).startswith(
            f"{own}/c/d.yaml: cannot be"
        )
        assert cassette.load() == (samples.plain(1),)


def test_a_file_that_may_not_be_written_or_read(own: Path) -> None:
    with as_nobody():
        cassette = CassetteFile(own / "a.yaml")
        cassette.append(samples.plain(1))
        cassette.path.chmod(0o400)
        assert "a.yaml: cannot be written: Permission denied" in complaint(cassette.append, samples.plain(2))
        assert cassette.load() == (samples.plain(1),)
        cassette.path.chmod(0)
        assert complaint(cassette.load) == f"{own}/a.yaml: cannot be read: Permission denied"


FULL = """
import resource, sys
from pathlib import Path
from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.config.errors import CassetteError
from tests.cassettes import samples
from tests.cassettes.conftest import complaint, left

cassette = CassetteFile(Path(sys.argv[1]))
cassette.append(samples.plain(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
for action in (
    lambda: cassette.append(samples.plain(2, size=39_000)),
    lambda: cassette.append(samples.plain(2, size=100_000)),
    lambda: cassette.rewrite(lambda episodes: (*episodes, samples.plain(2, size=60_000))),
):
    try:
        action()
    except CassetteError as error:
        print(str(error).rpartition("/")[2])
print(cassette.append(samples.plain(3)))
"""


def test_a_full_disk_harms_nothing(cassette: CassetteFile) -> None:
    child = [sys.executable, "-c", FULL, str(cassette.path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    told_by = subprocess.run(child, env=environment, capture_output=True, text=True, check=True)
    assert told_by.stdout.split("\n") == [
        "chat.yaml: cannot be written: File too large; its content is unchanged",
        "chat.yaml: cannot be written: File too large; its content is unchanged",
        "chat.yaml: cannot be written: File too large; its content is unchanged",
        "2",
        "",
    ]
    assert cassette.load() == (samples.plain(1), samples.plain(3))
    assert left(cassette) == ["chat.yaml"]


def test_a_full_disk_leaves_no_empty_cassette(cassette: CassetteFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(cassette_file, "replace_file", fail)
    assert complaint(lambda: cassette.append(samples.plain())).endswith(
        "No space left on device; its content is unchanged"
    )
    assert left(cassette) == []
    cassette.path.touch()  # somebody else's stays
    complaint(lambda: cassette.append(samples.plain()))
    assert left(cassette) == ["chat.yaml"]


def test_a_file_that_is_too_large(cassette: CassetteFile) -> None:
    cassette.append(samples.plain(1))
    with cassette.path.open("a") as file:
        file.write("#" + "x" * (MAX_SIZE - file.tell() - 100) + "\n")
    assert "are more than the limit for a cassette (50,000,000); split it" in complaint(
        cassette.append, samples.plain(2)
    )
    assert cassette.load() == (samples.plain(1),)
    os.truncate(cassette.path, 100_000_000)
    for action in (cassette.load, lambda: cassette.append(samples.plain(2)), lambda: cassette.rewrite(lambda _: ())):
        assert complaint(action).startswith(
            f"{cassette.path}: 100,000,000 bytes are more than the limit for a cassette"
        )
    assert cassette.path.stat().st_size == 100_000_000


def test_a_folder_in_its_place(cassette: CassetteFile) -> None:
    cassette.path.mkdir(parents=True)
    assert complaint(cassette.load) == f"{cassette.path}: a cassette must be a regular file"
    assert complaint(cassette.append, samples.plain()).startswith(f"{cassette.path}: cannot be written: Is a directory")
    other = CassetteFile(cassette.path.parent / "file" / "b.yaml")
    (cassette.path.parent / "file").write_text("")
    assert complaint(other.append, samples.plain()).startswith(f"{other.path}: cannot be created: ")


# Names.


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("chat", "chat.yaml"),
        ("chat.yaml", "chat.yaml"),
        ("tests/test_a.py/test_b[gpt-4o]", "tests/test_a.py/test_b[gpt-4o].yaml"),
        ("v1.2", "v1.2.yaml"),
        ("日本", "日本.yaml"),
        ("a b", "a b.yaml"),
    ],
)
def test_names(tmp_path: Path, name: str, path: str) -> None:
    assert find_path(tmp_path, name) == tmp_path / path


INVALID_NAMES = [
    "..", ".", "../a", "a/../b", "a/..", "/etc/passwd", "a//b", "a/", ".index/a", ".hidden", "a\\b", "C:a",
    "", "a\0b", "a\nb", "a.", "a ", " a", "~/a", "$HOME", ".yaml", "a#3", "\ud800",
    "a" * 201, "é" * 101, "/".join("a" * 600),
]  # fmt: skip


@pytest.mark.parametrize("name", INVALID_NAMES)
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    assert complaint(find_path, tmp_path, name) == (
        f"{name[:100]!a} is not a valid cassette name: use letters, digits and characters such as - _ . [ ], "
        f"and / for folders within {tmp_path}"
    )


def test_links_lead_nowhere_else(tmp_path: Path) -> None:
    folder = tmp_path / "cassettes"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    (folder / "passwd.yaml").symlink_to("/etc/passwd")
    (folder / "alias.yaml").symlink_to("real.yaml")
    for name in ("out/a", "passwd"):
        assert "this link leads out of" in complaint(find_path, folder, name)
    (folder / "real.yaml").write_text(HEAD)
    cassette = CassetteFile(find_path(folder, "alias"))
    cassette.append(samples.plain(1))
    cassette.rewrite(lambda episodes: (*episodes, samples.plain(2)))
    assert (folder / "alias.yaml").is_symlink()
    assert CassetteFile(folder / "real.yaml").load() == (samples.plain(1), samples.plain(2))
