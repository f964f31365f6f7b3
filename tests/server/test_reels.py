"""What a run of a server knows of the files of its cassettes."""

import os
from pathlib import Path

import pytest

from mockserver.config.errors import CassetteError
from mockserver.core.episode import Episode
from mockserver.server.cassette_store import Reels, in_folder
from tests.cassettes import samples

ONE, TWO, THREE, FOUR = map(samples.plain, (1, 2, 3, 4))


@pytest.fixture
def reels(tmp_path: Path) -> Reels:
    """Those of a folder with one cassette, which has been read."""
    others(tmp_path, ONE, TWO)
    made = Reels(in_folder(str(tmp_path)))
    made.load("chat")
    return made


def others(folder: Path, *episodes: Episode, name: str = "chat") -> None:
    """Another process records."""
    reel = in_folder(str(folder))(name)
    for episode in episodes:
        reel.append(episode)


def test_one_that_is_not_there(reels: Reels, tmp_path: Path) -> None:
    assert reels.absent("chta") == f'there is no cassette "chta" in {tmp_path}; did you mean "chat"?'


def test_a_name_that_none_can_have(reels: Reels) -> None:
    with pytest.raises(CassetteError, match="is no name of a cassette"):
        reels.exists("../chat")


def test_what_is_written_here_is_no_news(reels: Reels) -> None:
    assert not reels.changed()
    assert reels.append("chat", THREE, 2) == 3
    reels.age("chat", {ONE})
    reels.replace("chat", {ONE}, FOUR)
    assert not reels.exists("new")
    assert reels.append("new", ONE) == 1
    assert not reels.changed()


def test_what_others_write_is_news_once(reels: Reels, tmp_path: Path) -> None:
    others(tmp_path, THREE)
    assert [reels.changed(), reels.changed()] == [("chat",), ()]
    others(tmp_path, FOUR)
    assert reels.append("chat", ONE, 3) == 5
    assert [reels.changed(), reels.changed()] == [("chat",), ()]


def test_what_others_write_just_before_is_news_by_its_number(reels: Reels, tmp_path: Path) -> None:
    others(tmp_path, THREE)
    reels.load("chat")
    assert reels.append("chat", FOUR, 2) == 4
    assert reels.changed()


def test_one_that_comes_or_goes_is_news(reels: Reels, tmp_path: Path) -> None:
    assert not reels.exists("new")
    assert not reels.changed()
    others(tmp_path, ONE, name="new")
    assert reels.changed()
    assert reels.exists("new")
    (tmp_path / "chat.yaml").unlink()
    assert [reels.changed(), reels.changed()] == [("chat",), ()]


def test_one_that_is_broken_is_news_until_it_has_been_read(reels: Reels, tmp_path: Path) -> None:
    (tmp_path / "chat.yaml").write_text("hello\n")
    with pytest.raises(CassetteError, match="no cassette"):
        reels.load("chat")
    assert not reels.changed()


def test_an_episode_stands_where_the_first_old_one_stood(reels: Reels, tmp_path: Path) -> None:
    others(tmp_path, THREE)
    reels.age("chat", {TWO, THREE})
    assert reels.old("chat") == {TWO, THREE}
    assert reels.replace("chat", {TWO, THREE}, FOUR) == (ONE, FOUR)
    assert reels.old("chat") == set()
    assert in_folder(str(tmp_path))("chat").load() == (ONE, FOUR)


def test_what_is_gone_already_makes_no_room(reels: Reels, tmp_path: Path) -> None:
    reels.age("chat", {ONE})
    reel = in_folder(str(tmp_path))("chat")
    reel.rewrite(lambda there: (FOUR, *there[1:]))
    assert reels.replace("chat", {ONE}, THREE) == (FOUR, TWO, THREE)


def test_what_is_old_is_said_once_in_a_run(reels: Reels) -> None:
    reels.age("chat", {ONE})
    reels.age("chat", {ONE, TWO})
    assert reels.old("chat") == {ONE}


def test_a_change_that_fails_leaves_old_what_was(reels: Reels, tmp_path: Path) -> None:
    reels.age("chat", {ONE})
    before = (tmp_path / "chat.yaml").read_bytes()
    (tmp_path / "chat.yaml").write_bytes(before + b"---\nhello\n")
    with pytest.raises(CassetteError):
        reels.replace("chat", {ONE}, THREE)
    assert reels.old("chat") == {ONE}
    assert os.path.getsize(tmp_path / "chat.yaml") == len(before) + 10
