"""Recorded requests and answers, as values."""

from mockserver.core.episode import Episode, Recorded, Sent


def test_the_bytes_of_an_answer_whole_or_in_events() -> None:
    assert Recorded(200, body=b"{}").bytes == b"{}"
    assert Recorded(200, frames=((0.1, b"data: 1\n\n"), (0.2, b"data: 2\n\n"))).bytes == b"data: 1\n\ndata: 2\n\n"
    assert Recorded(200, frames=()).bytes == b""


def test_where_an_answer_comes_from_makes_it_no_other() -> None:
    assert Recorded(200, body=b"a", source="cassette a.yaml#1") == Recorded(200, body=b"a")
    assert (Recorded(200, source="cassette a.yaml#1") != Recorded(200)) is False
    request = Sent("POST", "/v1/chat/completions")
    one, other = (Episode("openai", "chat", "m", request, Recorded(200, body=body)) for body in (b"a", b"b"))
    assert one != other
