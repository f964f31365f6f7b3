"""Events are read with their moments; comments are none."""

from mockserver.cassettes.parse_response import Event, events


def test_events_have_moments_names_and_data() -> None:
    beats = ((0.1, b": wait\n\n"), (0.2, b'event: a\ndata: {"b": 1}\n\n'), (0.3, b"data: [DONE]\n\n"))
    assert events(beats) == (Event(0.2, "a", '{"b": 1}', {"b": 1}), Event(0.3, "", "[DONE]", None))


def test_what_went_wrong_is_told() -> None:
    said = (b'data: {"error": {"code": "a"}}\n\n', b'event: error\ndata: {"type": "error", "message": "b"}\n\n')
    first, second = events(tuple((0.0, data) for data in said))
    assert first.error == {"code": "a"}
    assert second.error == {"type": "error", "message": "b"}
    (fine,) = events(((0.0, b'data: {"choices": [], "error": null}\n\n'),))
    assert fine.error is None
    assert fine.table == {"choices": [], "error": None}
