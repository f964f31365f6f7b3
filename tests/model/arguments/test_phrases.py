"""Names and phrases between the words that carry no value."""

import pytest

from mockserver.model.arguments.phrases import phrases


@pytest.mark.parametrize(
    ("text", "names", "others"),
    [
        ("Book a flight to San Francisco, CA", ["San Francisco, CA"], ["flight"]),
        ("Weather in Paris, London and Rome", ["Paris", "London", "Rome"], []),
        ("Paris weather please", ["Paris"], ["weather"]),
        ("tell Ada Lovelace about the Bank of America", ["Ada Lovelace", "Bank of America"], []),
        ("What is Tesla's price?", ["Tesla"], ["price"]),
        ("Compute the sum", [], ["sum"]),
        ("東京の天気", ["東京", "天気"], []),
        ("F. Scott Fitzgerald wrote it", ["F. Scott Fitzgerald"], ["wrote"]),
    ],
)
def test_phrases(text: str, names: list[str], others: list[str]) -> None:
    found = list(phrases(text, bytearray(len(text))))
    assert [mention.value for mention in found if mention.kind == "name"] == names
    assert [mention.value for mention in found if mention.kind == "words"] == others


def test_no_phrase_goes_across_what_is_claimed() -> None:
    text = "big 7 cats"
    claimed = bytearray(len(text))
    claimed[4:5] = b"\1"
    assert [mention.value for mention in phrases(text, claimed)] == ["big", "cats"]
