"""Cassettes on disk: appended, rewritten and locked."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.cassettes import cassette_file, locked_file
from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.cassettes.cassette_names import describe_missing, list_names
from mockserver.cassettes.format import HEAD, write_document
from mockserver.cassettes.locked_file import open_locked
from mockserver.config.errors import CassetteError
from mockserver.core.episode import Episode
from tests.cassettes import samples
from tests.cassettes.conftest import complaint, left

ROOT = Path(__file__).parents[2]


def test_an_empty_file_is_an_empty_cassette(cassette: CassetteFile) -> None:
    assert complaint(cassette.load) == f"{cassette.path}: there is no such cassette"
    cassette.path.parent.mkdir()
    for change in (cassette.append, lambda episode: cassette.rewrite(lambda there: (*there, episode))):
        cassette.path.write_bytes(b"")
        assert cassette.load() == cassette.load_documents() == ()
        change(samples.plain())
        assert cassette.path.read_text() == HEAD + write_document(samples.plain())


def test_what_is_appended_is_loaded(cassette: CassetteFile) -> None:
    assert not cassette.exists
    assert [cassette.append(samples.plain(1)), cassette.append(samples.stream(2))] == [1, 2]
    assert cassette.exists
    assert cassette.load() == (samples.plain(1), samples.stream(2))
    assert [each.reply.source for each in cassette.load()] == ["cassette chat.yaml#1", "cassette chat.yaml#2"]
    assert CassetteFile(cassette.path).append(samples.plain(3)) == 3
    assert cassette.append(samples.plain(4)) == 4
    assert cassette.path.read_text() == HEAD + "".join(
        map(write_document, (samples.plain(1), samples.stream(2), samples.plain(3), samples.plain(4)))
    )


def test_only_its_user_may_read_it(cassette: CassetteFile) -> None:
    cassette.append(samples.plain())
    assert cassette.path.stat().st_mode & 0o777 == 0o600
    assert cassette.path.parent.stat().st_mode & 0o777 == 0o700
    assert left(cassette) == ["chat.yaml"]
    cassette.path.chmod(0o640)
    cassette.rewrite(lambda episodes: episodes)
    assert cassette.path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("data", [b"hello\n", b"version: 1\n---\n", b"\x89PNG", b"version: 2\n", "cut"])
def test_a_file_that_is_not_in_order_stays_as_it_is(cassette: CassetteFile, data: bytes | str) -> None:
    cassette.append(samples.plain(1))
    rest = cassette.path.read_bytes()[:-30] if isinstance(data, str) else data
    for asked in (cassette, CassetteFile(cassette.path)):
        cassette.path.write_bytes(rest)
        for action, given in ((asked.append, (samples.plain(2),)), (asked.load, ()), (asked.rewrite, (tuple,))):
            assert complaint(action, *given).startswith(f"{cassette.path}:")
            assert cassette.path.read_bytes() == rest
    assert left(cassette) == ["chat.yaml"]


def test_what_somebody_else_adds_is_looked_at(cassette: CassetteFile) -> None:
    cassette.append(samples.plain(1))
    with cassette.path.open("a") as file:
        file.write(write_document(samples.plain(2)))
    assert cassette.append(samples.plain(3)) == 3
    with cassette.path.open("a") as file:
        file.write("---\nhello")
    assert complaint(cassette.append, samples.plain(4)).endswith("an episode must be a table  [hello]")
    line = cassette.path.read_text().count("\n") + 1
    assert complaint(cassette.append, samples.plain(4)).startswith(f"{cassette.path}:{line}:1: ")


def test_others_may_put_another_file_in_its_place(cassette: CassetteFile) -> None:
    cassette.append(samples.plain(1))
    cassette.append(samples.plain(2))
    fresh = cassette.path.with_name("fresh")
    fresh.write_text(HEAD + write_document(samples.plain(7)))
    os.replace(fresh, cassette.path)
    assert cassette.append(samples.plain(8)) == 2
    cassette.path.unlink()
    assert cassette.append(samples.plain(9)) == 1


def test_what_was_read_is_not_parsed_again(cassette: CassetteFile) -> None:
    cassette.append(samples.plain(1))
    cassette.append(samples.stream(2))
    one, two = cassette.load()
    with cassette.path.open("a") as file:
        file.write(write_document(samples.plain(3)))
    again = CassetteFile(cassette.path).load()
    assert again[0] is one
    assert again[1] is two
    cassette.path.write_text(cassette.path.read_text().replace("Rain.", "Snow.", 1))
    edited = cassette.load()
    assert edited[0] == samples.plain(1, text="Snow.")
    assert edited[1] is two
    cassette.path.write_text(HEAD + write_document(samples.stream(2)) * 2)
    assert [each.reply.source for each in cassette.load()] == ["cassette chat.yaml#1", "cassette chat.yaml#2"]


def test_what_a_process_leaves_that_died_is_no_part_of_it(cassette: CassetteFile) -> None:
    cassette.append(samples.plain(1))
    cassette.path.with_name(".chat.yaml.new").write_bytes(cassette.path.read_bytes()[:-30])
    assert cassette.load() == (samples.plain(1),)
    assert cassette.append(samples.plain(2)) == 2
    assert left(cassette) == ["chat.yaml"]


def test_a_link_in_place_of_the_new_file_is_not_followed(cassette: CassetteFile) -> None:
    cassette.append(samples.plain(1))
    aim = cassette.path.with_name("aim")
    aim.write_text("mine")
    cassette.path.with_name(".chat.yaml.new").symlink_to(aim)
    assert "cannot be written: Too many levels of symbolic links" in complaint(cassette.append, samples.plain(2))
    assert aim.read_text() == "mine"
    assert cassette.append(samples.plain(2)) == 2  # the link is gone


# Other episodes in place of its own.


def test_it_is_rewritten_again_and_again_whatever_others_do(cassette: CassetteFile) -> None:
    other = CassetteFile(cassette.path)
    assert cassette.stamp is None
    assert cassette.append(samples.plain(1)) == 1
    assert cassette.stamp == cassette.written_stamp
    for number in (2, 3, 4):
        assert len(cassette.rewrite(lambda episodes, n=number: (samples.plain(n), *episodes))) == 2 * number - 2
        assert cassette.stamp == cassette.written_stamp
        assert other.append(samples.stream(number)) == 2 * number - 1
        assert cassette.stamp == other.written_stamp != cassette.written_stamp
    numbers = [each.reply.source for each in cassette.rewrite(lambda episodes: episodes)]
    assert numbers == [f"cassette chat.yaml#{number}" for number in range(1, 8)]
    before = (samples.plain(4), samples.plain(3), samples.plain(2), samples.plain(1))
    assert cassette.load() == (*before, samples.stream(2), samples.stream(3), samples.stream(4))


def test_what_was_edited_since_it_was_rewritten_is_read_anew(cassette: CassetteFile) -> None:
    cassette.append(samples.plain(1))
    cassette.rewrite(lambda episodes: (*episodes, samples.plain(2)))
    cassette.path.write_text(cassette.path.read_text().replace("Rain.", "Snow."))
    cassette.rewrite(lambda episodes: episodes[1:])
    assert cassette.load() == (samples.plain(2, text="Snow."),)
    cassette.path.write_text(cassette.path.read_text() + "---\nhello\n")
    assert complaint(cassette.rewrite, tuple).endswith("an episode must be a table  [hello]")


def test_what_stays_keeps_its_document(cassette: CassetteFile) -> None:
    text = "# mine\nversion: 1\n" + write_document(samples.plain(1)).replace("reply:", "# so said they\nreply:")
    cassette.path.parent.mkdir()
    cassette.path.write_text(text + write_document(samples.plain(2)).rstrip("\n"))
    cassette.rewrite(lambda episodes: episodes)
    assert cassette.path.read_text() == text + write_document(samples.plain(2))
    cassette.rewrite(lambda episodes: episodes[:1])
    assert cassette.path.read_text() == text


def test_edited_answers_are_found_and_stated_anew(cassette: CassetteFile) -> None:
    cassette.append(samples.plain(1))
    cassette.path.write_text(cassette.path.read_text().replace("Rain.", "Snow."))
    assert [document.is_edited for document in cassette.load_documents()].count(True) == 1
    assert cassette.load()[0].reply.body == samples.plain(1, text="Snow.").reply.body
    cassette.rewrite(lambda episodes: episodes)
    assert not any(document.is_edited for document in cassette.load_documents())
    assert cassette.path.read_text() == HEAD + write_document(samples.plain(1, text="Snow."))


def test_a_change_that_fails_changes_nothing(cassette: CassetteFile) -> None:
    cassette.append(samples.plain(1))
    before = cassette.path.read_bytes()

    def fails(episodes: tuple[Episode, ...]) -> tuple[Episode, ...]:
        raise FileNotFoundError("of the change itself")

    with pytest.raises(FileNotFoundError):
        cassette.rewrite(fails)
    bad = replace(samples.plain(), request=replace(samples.plain().request, path="/\udcff"))
    assert "cannot be recorded" in complaint(cassette.rewrite, lambda episodes: (bad,))
    assert "cannot be recorded" in complaint(cassette.append, bad)
    assert cassette.path.read_bytes() == before


def test_which_there_are(tmp_path: Path) -> None:
    assert list_names(tmp_path / "none") == ()
    assert describe_missing(tmp_path, "chat") == f'there is no cassette "chat" in {tmp_path}'
    for name in ("chat", "a/tools", ".hidden/b"):
        CassetteFile(tmp_path / f"{name}.yaml").append(samples.plain(1))
    assert list_names(tmp_path) == ("a/tools", "chat")
    assert describe_missing(tmp_path, "zzz").endswith("; there are a/tools, chat")
    for name in ("caht", f"{tmp_path}/chat.yaml"):
        assert describe_missing(tmp_path, name).endswith('; did you mean "chat"?')


def test_readers_go_together_and_a_writer_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"")
    inside = Event()

    def write() -> None:
        with open_locked(path, exclusive=True):
            inside.set()

    with ThreadPoolExecutor(1) as pool:
        with open_locked(path, exclusive=False), open_locked(path, exclusive=False):
            waiting = pool.submit(write)
            assert not inside.wait(0.05)
        waiting.result(10)
    assert inside.is_set()


def test_a_process_that_inherits_an_open_file_does_not_keep_it_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locked_file, "LOCK_TIMEOUT", 0.1)
    path = tmp_path / "a.yaml"
    path.touch()
    with open_locked(path, exclusive=True) as held:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(held.descriptor,))
    with open_locked(path, exclusive=True):
        child.communicate(b"\n")


def test_who_waited_gets_the_file_that_took_the_place(tmp_path: Path) -> None:
    path, fresh = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"old")
    fresh.write_bytes(b"new")

    def read() -> bytes:
        with open_locked(path, exclusive=True) as held:
            return held.read()

    with ThreadPoolExecutor(1) as pool:
        with open_locked(path, exclusive=True):
            waiting = pool.submit(read)
            os.replace(fresh, path)
        assert waiting.result(10) == b"new"


@pytest.mark.parametrize("too", [True, False])
def test_who_never_lets_go_hinders_nobody_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, too: bool) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")
    monkeypatch.setattr(locked_file, "LOCK_TIMEOUT", 0.02)
    told = r"a: another program has locked it for over 0.02 s; wait for it, or stop it"
    with (
        open_locked(path, exclusive=True),
        pytest.raises(CassetteError, match=told),
        open_locked(path, exclusive=too),
    ):
        pass
    with open_locked(path, exclusive=too) as held:
        assert held.read() == b"x"


def speech(number: int, body: bytes = b"\xff" * 5_000) -> Episode:
    plain = samples.plain(number)
    return replace(plain, reply=replace(plain.reply, body=body))


def find_file(cassette: CassetteFile) -> Path:
    [file] = cassette.attachments.folder.iterdir()
    return file


def test_a_rewrite_keeps_the_file_of_an_answer_that_is_being_appended(
    cassette: CassetteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = CassetteFile(cassette.path)
    write = cassette_file.write_document

    def be_overtaken(*arguments: Any) -> str:
        text = write(*arguments)
        other.rewrite(lambda episodes: episodes)
        return text

    monkeypatch.setattr(cassette_file, "write_document", be_overtaken)
    cassette.append(speech(1))  # the first answer of a folder that does not exist
    assert find_file(cassette).read_bytes() == speech(1).reply.body
    assert cassette.load() == (speech(1),)


def test_equal_answers_that_are_appended_at_once_share_a_file(cassette: CassetteFile) -> None:
    with ThreadPoolExecutor(8) as pool:
        appended = pool.map(lambda number: CassetteFile(cassette.path).append(speech(number)), range(16))
    assert sorted(appended) == list(range(1, 17))
    assert len(cassette.load()) == 16
    assert find_file(cassette).read_bytes() == speech(1).reply.body


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"other", "was changed: it no longer matches its hash; restore it, or remove the episode"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 5000\n",
            "is a pointer of Git LFS; fetch the file: git lfs pull",
        ),
    ],
)
def test_a_changed_file_is_told_when_an_equal_answer_is_appended(
    cassette: CassetteFile, content: bytes, told: str
) -> None:
    cassette.append(speech(1))
    before, file = cassette.path.read_bytes(), find_file(cassette)
    file.write_bytes(content)
    assert complaint(lambda: cassette.append(speech(2))) == f"{file} {told}"
    assert cassette.path.read_bytes() == before
