"""How much work an answer may take, counted in steps: the same for the same request on every machine."""

from contextvars import ContextVar

from msgspec import Struct


class RequestWork(Struct):
    """The steps, each some 30 microseconds, that all schemas of one request may still cost, of all its prompts."""

    left: int = 30_000

    @property
    def is_scarce(self) -> bool:
        return self.left < 15_000  # one more instance may cost this


class AnswerWork:
    """The steps of a request's answers; each of several choices has its own `STEPS`.

    Answers to the parts of a `request` share what that may cost.
    """

    __slots__ = ("_before", "left", "request", "spent")

    def __init__(self, request: RequestWork | None = None) -> None:
        self.left = STEPS
        self.spent = 0
        self.request = request or RequestWork()

    def __enter__(self) -> None:
        """Let the work of one choice spend from this budget."""
        self.left = STEPS
        self._before = _CURRENT.set(self)

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._before)


def spend(steps: int) -> bool:
    """Spend steps, of a few microseconds each; return False if fewer are left, and the work is to be left out."""
    budget = _CURRENT.get()
    if budget is None:
        return True
    if steps > budget.left:
        return False
    budget.left -= steps
    budget.spent += steps
    return True


def find_request_work() -> RequestWork:
    """Return the work of the request that is being answered."""
    budget = _CURRENT.get()
    return RequestWork() if budget is None else budget.request


# What one step of a schema, some 30 microseconds, is enough for: values to compile, options to look at...
PER_STEP = {
    "compiled values": 4,
    "pairs": 4,  # of a property and what the prompt says
    "rejected characters": 5,
    "patterns": 10,  # to match a name with
    "combined parts": 20,
    "parts": 40,  # of a shape, or its options
    "values": 50,  # to list or compare
    "characters": 50,
    "microseconds of patterns": 100,  # estimated; compiled patterns are kept for other requests
    "validated schemas": 2_000,
}
MAX_TEXT_TOKENS = 100_000  # of a generated text
STEPS = 60_000
_CURRENT: ContextVar[AnswerWork | None] = ContextVar("budget", default=None)
