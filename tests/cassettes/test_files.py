"""Cassettes on disk: what was appended stays, from whatever side trouble comes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mockserver.cassettes import files, pending
from mockserver.cassettes.files import MAX_SIZE, CassetteFile, named
from mockserver.cassettes.pending import Pending
from mockserver.cassettes.writing import HEAD, document
from mockserver.core.episode import Episode
from mockserver.core.errors import CassetteError
from tests.cassettes import told

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cassette(tmp_path: Path) -> CassetteFile:
    """A cassette that is not begun yet."""
    return CassetteFile(tmp_path / "tapes" / "chat.yaml")


def complaint(action: object, *given: object) -> str:
    with pytest.raises(CassetteError) as caught:
        action(*given)  # type: ignore[operator]
    return str(caught.value)


def left(cassette: CassetteFile) -> list[str]:
    return sorted(each.name for each in cassette.path.parent.iterdir())


def test_what_is_appended_is_loaded(cassette: CassetteFile) -> None:
    assert not cassette.exists
    assert [cassette.append(told.plain(1)), cassette.append(told.stream(2))] == [1, 2]
    assert cassette.exists
    assert cassette.load() == (told.plain(1), told.stream(2))
    assert [each.reply.source for each in cassette.load()] == ["cassette chat.yaml#1", "cassette chat.yaml#2"]
    assert CassetteFile(cassette.path).append(told.plain(3)) == 3
    assert cassette.append(told.plain(4)) == 4
    assert cassette.path.read_text() == HEAD + "".join(
        map(document, (told.plain(1), told.stream(2), told.plain(3), told.plain(4)))
    )


def test_only_its_user_may_read_it(cassette: CassetteFile) -> None:
    cassette.append(told.plain())
    assert cassette.path.stat().st_mode & 0o777 == 0o600
    assert cassette.path.parent.stat().st_mode & 0o777 == 0o700
    assert left(cassette) == ["chat.yaml"]
    cassette.path.chmod(0o640)
    cassette.rewrite(lambda episodes: episodes)
    assert cassette.path.stat().st_mode & 0o777 == 0o640


def test_what_is_not_there_cannot_be_loaded(cassette: CassetteFile) -> None:
    assert complaint(cassette.load) == f"{cassette.path}: there is no such cassette"


def test_many_threads_and_files_lose_nothing(cassette: CassetteFile) -> None:
    others = [cassette, CassetteFile(cassette.path), CassetteFile(cassette.path)]
    with ThreadPoolExecutor(6) as pool:
        numbers = list(pool.map(lambda at: others[at % 3].append(told.plain(at)), range(30)))
    assert sorted(numbers) == list(range(1, 31))
    found = cassette.load()
    assert [found[number - 1] for number in numbers] == [told.plain(at) for at in range(30)]


def test_the_last_line_is_ended_before_more_is_added(cassette: CassetteFile) -> None:
    cassette.append(told.plain(1))
    cassette.path.write_bytes(cassette.path.read_bytes().rstrip(b"\n"))
    cassette.append(told.plain(2))
    assert cassette.load() == (told.plain(1), told.plain(2))


@pytest.mark.parametrize("data", [b"", b"hello\n", b"version: 1\n---\n", b"\x89PNG", b"version: 2\n", "cut"])
def test_a_file_that_is_not_in_order_stays_as_it_is(cassette: CassetteFile, data: bytes | str) -> None:
    cassette.append(told.plain(1))
    rest = cassette.path.read_bytes()[:-30] if isinstance(data, str) else data
    for asked in (cassette, CassetteFile(cassette.path)):
        cassette.path.write_bytes(rest)
        for action, given in ((asked.append, (told.plain(2),)), (asked.load, ()), (asked.rewrite, (tuple,))):
            assert complaint(action, *given).startswith(f"{cassette.path}:")
            assert cassette.path.read_bytes() == rest
    assert left(cassette) == ["chat.yaml"]


def test_what_somebody_else_adds_is_looked_at(cassette: CassetteFile) -> None:
    cassette.append(told.plain(1))
    with cassette.path.open("a") as file:
        file.write(document(told.plain(2)))
    assert cassette.append(told.plain(3)) == 3
    with cassette.path.open("a") as file:
        file.write("---\nhello")
    assert complaint(cassette.append, told.plain(4)).endswith("an episode must be a table  [hello]")
    line = cassette.path.read_text().count("\n") + 1
    assert complaint(cassette.append, told.plain(4)).startswith(f"{cassette.path}:{line}:1: ")


def test_others_may_put_another_file_in_its_place(cassette: CassetteFile) -> None:
    cassette.append(told.plain(1))
    cassette.append(told.plain(2))
    fresh = cassette.path.with_name("fresh")
    fresh.write_text(HEAD + document(told.plain(7)))
    os.replace(fresh, cassette.path)
    assert cassette.append(told.plain(8)) == 2
    cassette.path.unlink()
    assert cassette.append(told.plain(9)) == 1


# What a process leaves that dies within an append, at every byte.


@pytest.mark.parametrize("fresh", [True, False])
def test_half_an_append_is_as_if_it_had_never_begun(cassette: CassetteFile, *, fresh: bool) -> None:
    cassette.append(told.plain(1))
    before, added = cassette.path.read_bytes(), document(told.stream(2)).encode()
    for count in (*range(0, len(added), 97), len(added) - 1):
        cassette.path.write_bytes(before + added[:count])
        pending.note(cassette.path, Pending(len(before), added))
        asked = CassetteFile(cassette.path) if fresh else cassette
        assert asked.load() == (told.plain(1),)
        assert cassette.path.read_bytes() == before + added[:count]
        assert asked.append(told.plain(3)) == 2
        assert asked.load() == (told.plain(1), told.plain(3))
        assert left(cassette) == ["chat.yaml"]


def test_a_whole_append_stays_though_its_note_was_left(cassette: CassetteFile) -> None:
    cassette.append(told.plain(1))
    start = cassette.path.stat().st_size
    cassette.append(told.plain(2))
    pending.note(cassette.path, Pending(start, document(told.plain(2)).encode()))
    assert cassette.load() == (told.plain(1), told.plain(2))
    assert CassetteFile(cassette.path).append(told.plain(3)) == 3


def test_a_stale_note_harms_nothing(cassette: CassetteFile) -> None:
    cassette.append(told.plain(1))
    start = cassette.path.stat().st_size
    pending.note(cassette.path, Pending(start, document(told.plain(2)).encode()))
    with cassette.path.open("a") as file:
        file.write(document(told.plain(5)))
    assert cassette.load() == (told.plain(1), told.plain(5))
    assert cassette.append(told.plain(6)) == 3
    assert cassette.load() == (told.plain(1), told.plain(5), told.plain(6))


# Other episodes in place of its own.


def test_a_cassette_is_rewritten_at_once(cassette: CassetteFile) -> None:
    for number in (1, 2, 3):
        cassette.append(told.plain(number))
    cassette.rewrite(lambda episodes: (episodes[2], told.stream(9), episodes[0]))
    assert cassette.load() == (told.plain(3), told.stream(9), told.plain(1))
    assert cassette.append(told.plain(4)) == 4
    assert left(cassette) == ["chat.yaml"]


def test_what_stays_keeps_its_document(cassette: CassetteFile) -> None:
    text = "# mine\nversion: 1\n" + document(told.plain(1)).replace("reply:", "# so said they\nreply:")
    cassette.path.parent.mkdir()
    cassette.path.write_text(text + document(told.plain(2)).rstrip("\n"))
    cassette.rewrite(lambda episodes: episodes)
    assert cassette.path.read_text() == text + document(told.plain(2))
    cassette.rewrite(lambda episodes: episodes[:1])
    assert cassette.path.read_text() == text


def test_edited_answers_are_found_and_stated_anew(cassette: CassetteFile) -> None:
    cassette.append(told.plain(1))
    cassette.path.write_text(cassette.path.read_text().replace("Rain.", "Snow."))
    assert len(cassette.mismatches()) == 1
    assert cassette.load()[0].reply.body == told.plain(1, text="Snow.").reply.body
    cassette.rewrite(lambda episodes: episodes)
    assert cassette.mismatches() == ()
    assert cassette.path.read_text() == HEAD + document(told.plain(1, text="Snow."))


def test_a_change_that_fails_changes_nothing(cassette: CassetteFile) -> None:
    cassette.append(told.plain(1))
    before = cassette.path.read_bytes()

    def fails(episodes: tuple[Episode, ...]) -> tuple[Episode, ...]:
        raise FileNotFoundError("of the change itself")

    with pytest.raises(FileNotFoundError):
        cassette.rewrite(fails)
    bad = replace(told.plain(), request=replace(told.plain().request, path="/\udcff"))
    assert "cannot be kept" in complaint(cassette.rewrite, lambda episodes: (bad,))
    assert "cannot be kept" in complaint(cassette.append, bad)
    assert cassette.path.read_bytes() == before


def test_what_is_not_there_can_be_written_whole(cassette: CassetteFile) -> None:
    cassette.rewrite(lambda episodes: (*episodes, told.plain(1)))
    assert cassette.load() == (told.plain(1),)


# Trouble with the disk.


@contextmanager
def as_nobody() -> Iterator[None]:
    """As a user whom modes of files hold back, which they do not do root."""
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
    """A folder of a user who is not root."""
    with TemporaryDirectory(prefix="cassettes-") as folder:
        path = Path(folder)
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
        yield path
        path.chmod(0o700)


def test_a_folder_that_may_not_be_written(own: Path) -> None:
    with as_nobody():
        cassette, fresh = CassetteFile(own / "a.yaml"), CassetteFile(own / "b.yaml")
        cassette.append(told.plain(1))
        own.chmod(0o500)
        assert complaint(fresh.append, told.plain(2)) == (
            f"{own}/b.yaml: cannot be begun: Permission denied; nothing that was there is changed"
        )
        words = f"{own}/a.yaml: cannot be written: Permission denied; nothing that was there is changed"
        assert complaint(cassette.append, told.plain(2)) == words
        assert complaint(cassette.rewrite, lambda episodes: ()) == words.replace("written", "replaced")
        assert complaint(CassetteFile(own / "c" / "d.yaml").append, told.plain(2)).startswith(
            f"{own}/c/d.yaml: cannot be"
        )
        assert cassette.load() == (told.plain(1),)
        pending_note = Pending(cassette.path.stat().st_size, b"---\n")
        assert pending_note.whole(cassette.path.read_bytes()) == cassette.path.read_bytes()


def test_a_file_that_may_not_be_written_or_read(own: Path) -> None:
    with as_nobody():
        cassette = CassetteFile(own / "a.yaml")
        cassette.append(told.plain(1))
        cassette.path.chmod(0o400)
        assert "a.yaml: cannot be written: Permission denied" in complaint(cassette.append, told.plain(2))
        assert cassette.load() == (told.plain(1),)
        cassette.path.chmod(0)
        assert "a.yaml: cannot be read: Permission denied" in complaint(cassette.load)


FULL = """
import resource, sys
from pathlib import Path
from mockserver.cassettes.files import CassetteFile
from mockserver.core.errors import CassetteError
from tests.cassettes import told

cassette = CassetteFile(Path(sys.argv[1]))
cassette.append(told.plain(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
for action in (
    lambda: cassette.append(told.plain(2, size=39_000)),
    lambda: cassette.append(told.plain(2, size=100_000)),
    lambda: cassette.rewrite(lambda episodes: (*episodes, told.plain(2, size=60_000))),
):
    try:
        action()
    except CassetteError as error:
        print(str(error).rpartition("/")[2])
print(cassette.append(told.plain(3)))
"""


def test_a_full_disk_harms_nothing(cassette: CassetteFile) -> None:
    child = [sys.executable, "-c", FULL, str(cassette.path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    told_by = subprocess.run(child, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert told_by.stdout.split("\n") == [
        "chat.yaml: cannot be written: File too large; nothing that was there is changed",
        "chat.yaml: cannot be written: File too large; nothing that was there is changed",
        "chat.yaml: cannot be replaced: File too large; nothing that was there is changed",
        "2",
        "",
    ]
    assert cassette.load() == (told.plain(1), told.plain(3))
    assert left(cassette) == ["chat.yaml"]


def test_a_file_that_is_too_large(cassette: CassetteFile) -> None:
    cassette.append(told.plain(1))
    with cassette.path.open("a") as file:
        file.write("#" + "x" * (MAX_SIZE - file.tell() - 100) + "\n")
    assert "are more than a cassette may have, which is 50,000,000; part it in two" in complaint(
        cassette.append, told.plain(2)
    )
    assert cassette.load() == (told.plain(1),)
    os.truncate(cassette.path, 100_000_000)
    for action in (cassette.load, lambda: cassette.append(told.plain(2)), lambda: cassette.rewrite(lambda _: ())):
        assert complaint(action).startswith(f"{cassette.path}: 100,000,000 bytes are more than a cassette may have")
    assert cassette.path.stat().st_size == 100_000_000


def test_a_folder_in_its_place(cassette: CassetteFile) -> None:
    cassette.path.mkdir(parents=True)
    assert complaint(cassette.load) == f"{cassette.path}: a cassette is a file, and this is none"
    assert complaint(cassette.append, told.plain()).startswith(f"{cassette.path}: cannot be written: Is a directory")
    other = CassetteFile(cassette.path.parent / "file" / "b.yaml")
    (cassette.path.parent / "file").write_text("")
    assert complaint(other.append, told.plain()).startswith(f"{other.path}: cannot be begun: ")


def test_a_file_system_without_links(cassette: CassetteFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(old: str, new: str) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(files.os, "link", refuses)
    assert cassette.append(told.plain(1)) == 1
    assert cassette.path.stat().st_mode & 0o777 == 0o600
    assert cassette.load() == (told.plain(1),)


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
    assert named(tmp_path, name) == tmp_path / path


@pytest.mark.parametrize(
    "name",
    [
        *("..", ".", "../a", "a/../b", "a/..", "/etc/passwd", "a//b", "a/", ".index/a", ".hidden", "a\\b", "C:a"),
        *("", "a\0b", "a\nb", "a.", "a ", " a", "~/a", "$HOME", ".yaml", "a#3", "\ud800"),
        *("a" * 201, "é" * 101, "/".join("a" * 600)),
    ],
)
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    assert complaint(named, tmp_path, name) == (
        f"{name[:100]!a} is no name of a cassette: it has letters, digits and signs such as - _ . [ ], "
        f"and / for a folder within {tmp_path}"
    )


def test_links_lead_nowhere_else(tmp_path: Path) -> None:
    folder = tmp_path / "tapes"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    (folder / "passwd.yaml").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to("loop")
    (folder / "real.yaml").write_text(HEAD)
    (folder / "alias.yaml").symlink_to("real.yaml")
    for name in ("out/a", "passwd"):
        assert "a link leads out of" in complaint(named, folder, name)
    with pytest.raises(CassetteError):
        CassetteFile(named(folder, "loop/a")).append(told.plain())
    cassette = CassetteFile(named(folder, "alias"))
    cassette.append(told.plain(1))
    cassette.rewrite(lambda episodes: (*episodes, told.plain(2)))
    assert (folder / "alias.yaml").is_symlink()
    assert CassetteFile(folder / "real.yaml").load() == (told.plain(1), told.plain(2))
    linked = tmp_path / "linked"
    linked.symlink_to(folder)
    assert named(linked, "a") == linked / "a.yaml"
