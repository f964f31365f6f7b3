"""What is known of a language: how to tell it, and sentences about anything at all in it. Shapes only."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """Words and sentences of one language.

    `common` are frequent words, by which a text is told and which begin and end no subject. In sentences stand
    `{topic}` for the subject, quoted as it was said, and `{a}` and `{b}` for two of `aspects`. Where there are no
    sentences, they are made of the words that Faker has for `locale`.
    """

    names: str  # as others and as its speakers call it, in lower case
    common: str
    greeting: str = ""
    openers: tuple[str, ...] = ()
    middles: tuple[str, ...] = ()
    aspects: tuple[str, ...] = ()
    locale: str = ""
