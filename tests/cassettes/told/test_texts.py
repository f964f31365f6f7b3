"""Text completions, whole and in chunks."""

from mockserver.cassettes.parse_response import events, of_completion, of_text_chunks


def test_choices_stand_in_their_order() -> None:
    said = of_completion({"choices": [{"index": 1, "text": "b"}, {"index": 0, "text": "a", "finish_reason": "stop"}]})
    assert [choice.joined("text") for choice in said.choices] == ["a", "b"]
    assert said.choices[0].finish == "stop"


def test_chunks_add_up() -> None:
    chunks = (b'{"choices":[{"index":0,"text":"a"}]}', b'{"choices":[{"index":0,"text":"b","finish_reason":"length"}]}')
    said = of_text_chunks(events([(0.0, b"data: %s\n\n" % chunk) for chunk in (*chunks, b"[DONE]")]))
    assert (said.choices[0].joined("text"), said.choices[0].finish, said.whole) == ("ab", "length", True)
