"""Why no instance can be made, and where in its schema that stands. Knows no keyword."""


class DeadEndError(LookupError):
    """No value can be made here: `why`, as a sentence without its end, and the JSON pointer of the schema's place.

    Who does not know the place names the keyword, or nothing: it is told further up, where it is known.
    """

    def __init__(self, why: str, pointer: str = "") -> None:
        super().__init__(why, pointer)
        self.why = why
        self.pointer = pointer


class ExhaustedError(Exception):
    """The work that one instance may cost is done, and nothing was found."""
