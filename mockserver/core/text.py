"""Text from elsewhere as a line of a log may hold it: no line break, no escape sequence, no more than so much."""

LONGEST = 300


def printable(text: str, longest: int = LONGEST) -> str:
    """The text on one line, cut: what does not show as itself is written as an escape, and so is what is not ASCII."""
    if len(text) > longest:
        text = text[:longest] + "..."
    if text.isascii() and text.isprintable():
        return text
    escaped = text.encode("ascii", "backslashreplace").decode("ascii")
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in escaped)


def lines(text: str) -> str:
    """Several lines, each escaped and marked as one of them, so that none can pass for a line of its own."""
    return "\n".join(f"| {printable(line, LONGEST)}" for line in text.split("\n"))
