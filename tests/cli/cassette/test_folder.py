"""Names, numbers and ages as the commands take them."""

import click
import pytest

from mockserver.cli.cassette.folder import parse_age
from tests.cli.cassette.conftest import Place
from tests.kit.episodes import chats


def test_a_path_into_the_folder_names_a_cassette(place: Place) -> None:
    place.keep("deep/chat", *chats(("Hi", "Hello")))
    for name in (
        "deep/chat",
        "cassettes/deep/chat.yaml",
        "./cassettes/deep/chat.yaml",
        place.folder.absolute() / "deep/chat",
    ):
        assert place.run("list", f"{name}#1").out.startswith("deep/chat.yaml#1 ")
    place.keep("cassettes/deep/chat", *chats(("Hi", "Deeper")))
    assert "Deeper" in place.run("list", "cassettes/deep/chat").out


def test_ages() -> None:
    def read(text: str | None) -> float | None:
        return parse_age(click.Context(click.Command("a")), click.Option(["--b"]), text)

    assert (read(None), read("90d"), read("2 w"), read("1.5d"), read("12h")) == (None, 7776000, 1209600, 129600, 43200)
    for wrong in ("", "d", "-1d", "3y", "1e9d"):
        with pytest.raises(click.BadParameter, match="is not an age; write 90d, 2w or 12h"):
            read(wrong)
