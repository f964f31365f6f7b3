"""A prompt and what the one who runs the model adds to it, as the forms of an answer read them."""

from dataclasses import dataclass

from mockserver.engine.generate.topic import Topic


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user said last, the rules that stand before the conversation, and what it is all about."""

    text: str
    rules: str
    topic: Topic

    @property
    def both(self) -> tuple[str, str]:
        """The texts that may order something; the user's own comes first."""
        return self.text, self.rules


NUMBERS = {
    name: number
    for number, name in enumerate(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
        ],
        1,
    )
} | {"a": 1, "an": 1, "single": 1, "twenty": 20, "thirty": 30, "fifty": 50, "a hundred": 100, "hundred": 100}
NUMBER = rf"(?:\d{{1,4}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"


def number_of(word: str) -> int:
    """The number that digits or a word name."""
    return int(word) if word.isascii() and word.isdigit() else NUMBERS[word.lower()]
