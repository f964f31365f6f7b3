"""Files as they are read: whole ones, edited ones, and those that are something else or only a part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.cassettes.format import HEAD, ReadPosition, document, entries, episodes, following
from mockserver.config.errors import CassetteError, Mistake
from tests.cassettes import samples
from tests.fuzz.amount import thrown

DOCUMENTS = [document(samples.plain(1)), document(samples.stream(2)), document(samples.plain(3, text="a\n---\nb\n"))]
WHOLE = (HEAD + "".join(DOCUMENTS)).encode()
BEGIN = 'a cassette begins with "version: 1"'


def complaint(data: bytes | str) -> str:
    with pytest.raises(CassetteError) as caught:
        episodes(data if isinstance(data, bytes) else data.encode(), "c.yaml")
    return str(caught.value)


def test_episodes_know_where_they_come_from() -> None:
    found = episodes(WHOLE, "cassettes/c.yaml")
    assert found == (samples.plain(1), samples.stream(2), samples.plain(3, text="a\n---\nb\n"))
    assert [each.reply.source for each in found] == [f"cassette c.yaml#{number}" for number in (1, 2, 3)]


def test_entries_have_their_documents() -> None:
    found = entries(WHOLE, "c.yaml")
    assert [entry.text for entry in found] == DOCUMENTS


@pytest.mark.parametrize(
    "head",
    [
        "version: 1\n",
        "# mine\n---\nversion: 1\n",
        "---\nversion: 1\n",
        "\n# a\n\n--- # b\nversion: 1\n",
        "\ufeffversion: 1\n",
    ],
)
def test_heads(head: str) -> None:
    assert len(episodes((head + "".join(DOCUMENTS)).encode(), "c.yaml")) == 3
    assert episodes(head.encode(), "c.yaml") == ()
    assert episodes(head.strip("\n").encode(), "c.yaml") == ()


def test_lines_may_end_as_windows_ends_them() -> None:
    assert episodes(WHOLE.replace(b"\n", b"\r\n"), "c.yaml") == episodes(WHOLE, "c.yaml")


def test_the_last_line_need_not_end() -> None:
    assert episodes(WHOLE.removesuffix(b"\n"), "c.yaml") == episodes(WHOLE, "c.yaml")


def test_comments_may_stand_anywhere() -> None:
    text = (
        WHOLE.decode()
        .replace("\nrequest:", "\n# a comment\nrequest:  # and one more")
        .replace("  frames:", "  # x\n  frames:")
    )
    assert episodes(text.encode(), "c.yaml") == episodes(WHOLE, "c.yaml")


def test_events_may_be_edited_in_any_way_yaml_has() -> None:
    text = WHOLE.decode().replace('    - {at: 2000, data: "[DONE]"}', "    - at: 2000\n      data: '[DONE]'")
    text = text.replace("- {at: 300, data: {", "- {at: 300,\n       data: {")
    assert text != WHOLE.decode()
    assert episodes(text.encode(), "c.yaml") == episodes(WHOLE, "c.yaml")


def test_a_text_that_looks_like_events_is_a_text() -> None:
    odd = (
        "version: 1\n---\ncall: |\n  frames:\n    - {at: 1, data: {}}\n"
        + DOCUMENTS[1].partition("\n")[2].partition("\n")[2]
    )
    assert episodes(odd.encode(), "c.yaml") == (samples.stream(2),)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", f"c.yaml:1:1: not a cassette: the file is empty; {BEGIN}"),
        ("\n# only this\n", f"c.yaml:1:1: not a cassette: the file is empty; {BEGIN}"),
        ("---\n", f"c.yaml:1:1: not a cassette: the file is empty; {BEGIN}"),
        ("hello", f"c.yaml:1:1: not a cassette: {BEGIN}, and then ---  [hello]"),
        ("- 1\n", f"c.yaml:1:1: not a cassette: {BEGIN}, and then ---  [- 1]"),
        ("version: 1\nsettings: {}\nrules: []\n", f"c.yaml:1:1: not a cassette: {BEGIN}, and then ---  [version: 1]"),
        ("interactions:\n- request:\n", f"c.yaml:1:1: not a cassette: {BEGIN}, and then ---  [interactions:]"),
        ("version: 2\n", "c.yaml:1:10: this cassette has version 2; this server reads version 1  [version: 2]"),
        ("version: '1.0'", "c.yaml:1:10: this cassette has version 1.0; this server reads version 1  [version: '1.0']"),
        ("version: {a: 1}", "c.yaml:1:10: this cassette has version a table; this server reads version 1  [version: {"),
        ("version: &a 1", "c.yaml:1:10: anchors (&) are not allowed in a cassette; remove it  [version: &a 1]"),
        (b"\x89PNG\r\n\x1a\n\x00", "c.yaml:1:1: not a cassette: the byte 0x89 is not UTF-8"),
        (HEAD.encode() + "é\n ö\xff".encode("latin-1"), "c.yaml:3:1: not a cassette: the byte 0xe9 is not UTF-8"),
        ("\x00\x01\x02", "c.yaml:1:1: the character U+0000 may not stand in YAML; write"),
        ("version: 1\n---\nhello", "c.yaml:3:1: an episode must be a table  [hello]"),
        (
            "version: 1\n---\n",
            "c.yaml:2:1: an episode is missing here: was the file cut off?  [---]",
        ),
        (
            "version: 1\n---",
            "c.yaml:2:1: an episode is missing here: was the file cut off?  [---]",
        ),
        (
            "version: 1\n---\na: &a [*a, *a]",
            "c.yaml:3:4: anchors (&) are not allowed in a cassette; remove it  [a: &a",
        ),
        (
            "version: 1\n---\na: !!python/name:os.system",
            "c.yaml:3:4: tags (!) are not allowed in a cassette; remove it",
        ),
    ],
)
def test_other_files_are_refused(data: bytes | str, words: str) -> None:
    assert complaint(data).startswith(words)


def test_all_mistakes_are_told_at_once_up_to_a_number() -> None:
    text = WHOLE.decode().replace("status: 200", "status: ok")
    lines = [number for number, line in enumerate(text.split("\n"), 1) if "status: ok" in line]
    assert complaint(text).split("\n") == [
        f"c.yaml:{line}:11: write a status from 200 to 599 here  [status: ok]" for line in lines
    ]
    assert complaint(HEAD + "---\na: 1\n" * 100).count("\n") == 19


def test_the_place_is_right_within_a_later_document() -> None:
    text = WHOLE.decode().replace("at: 2000, data", "at: 2000, dada")
    line = next(number for number, line in enumerate(text.split("\n"), 1) if "dada" in line)
    assert (
        complaint(text)
        == f'c.yaml:{line}:7: an event has one of data, raw and base64  [- {{at: 2000, dada: "[DONE]"}}]'
    )


@given(st.integers(len(HEAD) + 1, len(WHOLE) - 2))
@thrown(300)
def test_a_file_that_was_cut_off_is_an_error_but_between_documents(at: int) -> None:
    ends = {len((HEAD + "".join(DOCUMENTS[:count])).encode()) - less for count in (0, 1, 2) for less in (0, 1)}
    if at in ends:
        assert len(episodes(WHOLE[:at], "c.yaml")) < 3
    else:
        assert complaint(WHOLE[:at]).startswith("c.yaml:")


@given(st.binary(max_size=60), st.integers(0, len(WHOLE)), st.integers(0, 30))
@thrown(200)
def test_rubbish_is_told_or_read_but_never_else(more: bytes, at: int, less: int) -> None:
    mistakes: tuple[Mistake, ...] = ()
    try:
        episodes(WHOLE[:at] + more + WHOLE[at + less :], "c.yaml")
    except CassetteError as error:
        mistakes = error.mistakes
    assert all(mistake.place and mistake.place.line >= 1 for mistake in mistakes)


def test_the_rest_of_a_file_goes_on_where_it_was_left() -> None:
    first = (HEAD + DOCUMENTS[0]).encode()
    rest = WHOLE[len(first) :]
    found = following(rest, "c.yaml", ReadPosition(1, first.count(b"\n")))
    assert [entry.episode.reply.source for entry in found] == ["cassette c.yaml#2", "cassette c.yaml#3"]


def edited(text: str) -> list[bool]:
    return [entry.is_edited for entry in entries(text.encode(), "c.yaml")]


def test_edited_answers_are_found() -> None:
    text = WHOLE.decode()
    assert edited(text) == [False] * 3
    assert edited(text.replace("Rain.", "Snow.", 1).replace("wörd2", "wörd3")) == [True, True, False]


def test_an_answer_written_by_hand_has_no_hash() -> None:
    hashed = DOCUMENTS[0].rpartition("sha256: ")[0] + "sha256: unknown\n"
    assert edited(HEAD + hashed.replace("Rain.", "Snow.")) == [False]
