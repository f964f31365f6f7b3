"""What is read of a huge text: its beginning says what to do, its end with what."""


def ends(text: str, head: int, tail: int) -> str:
    """A text, or so many characters of its beginning and of its end, each on lines of its own."""
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[len(text) - tail :]}"


def excerpt(text: str, most: int = 10_000) -> str:
    """A text as far as it is read: of a huge one, its end above all."""
    return ends(text, most // 5, most * 4 // 5)
