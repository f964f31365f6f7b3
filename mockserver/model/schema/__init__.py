"""Generates an instance of a JSON Schema: plausible by the names of properties, and validated against the schema."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice

from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.budget import PER_STEP, find_request_work
from mockserver.model.schema.document import (
    MAX_COST,
    UnsatisfiableError,
    WorkLimitError,
    measure_depth_and_size,
)
from mockserver.model.schema.generator import Attempt
from mockserver.model.schema.shape import CompiledSchema, compile_schema
from mockserver.model.validators import make_pointer


def generate_instance(schema: Json, seed: Seed, said: Mentions = NOTHING) -> Json:
    """Return a value that the schema allows: what was said first, then defaults and examples, then what is plausible.

    Raises Failure `bad_parameter` if the schema is invalid or no value is found. Its details hold the JSON `pointer`
    into the schema, `why` nothing is possible there, and the `schema` itself.
    """
    schema = True if schema is None else schema
    try:
        compiled = compile_schema(schema)
    except UnsatisfiableError as error:
        raise _make_failure("is not valid", error, schema) from None
    root = compiled.document.root
    if compiled.min_depths.find(root) == float("inf"):
        endless = UnsatisfiableError("what it refers to never ends, or nothing is allowed")
        raise _make_failure("cannot be satisfied", endless, schema)
    try:
        return _Search(compiled, seed, said).find()
    except UnsatisfiableError as error:
        raise _make_failure("cannot be satisfied", error, schema) from None


def find_schema_error(schema: Json) -> str | None:
    """Return why a schema is invalid; None if it is valid."""
    try:
        compile_schema(schema)
    except UnsatisfiableError as error:
        return str(error)
    return None


class _Search:
    """Attempts at one instance, until the validator accepts one.

    Rejected values are made again, without prompt, default and examples, and every other one of a schema in which
    nothing excludes anything; all is minimal in the second half.
    """

    def __init__(self, compiled: CompiledSchema, seed: Seed, said: Mentions) -> None:
        self._compiled = compiled
        self._seed = seed
        self._said = said
        self._rejections = Counter[str]()  # by JSON pointer
        self._is_minimal = False
        self._stuck: UnsatisfiableError | None = None  # why the latest attempt failed
        self._request_work = find_request_work()
        self._work_left = min(_MAX_WORK, self._request_work.left)

    def find(self) -> Json:
        """Return a value that the schema allows. Raises UnsatisfiableError."""
        self._request_work.left -= self._compiled.document.values // PER_STEP["compiled values"]
        for number in range(_MAX_ATTEMPTS):
            self._is_minimal = self._is_minimal or number >= _MAX_ATTEMPTS // 2
            try:
                value = self._make(number)
            except UnsatisfiableError as error:
                self._stuck = error
                self._rejections[""] += 1
            except WorkLimitError:
                if self._is_minimal and self._stuck is None:
                    self._stuck = UnsatisfiableError(f"it takes more work than one request may; {_REMEDY}")
                self._is_minimal = True
            else:
                if self._accepts(value):
                    return value
        raise self._stuck or UnsatisfiableError("no value was found that it allows")

    def _make(self, number: int) -> Json:
        """Make the attempt of this number. Raises UnsatisfiableError and WorkLimitError."""
        share = min(_MAX_WORK_PER_ATTEMPT, self._work_left, self._request_work.left)
        attempt = Attempt(
            (self._compiled.resolved if number % 2 else None) or self._compiled,
            self._seed,
            NOTHING if self._is_minimal else self._said,
            work=share,
            rejections=self._rejections,
            minimal=self._is_minimal,
        )
        try:
            value = attempt.take_whole() if number == 0 else None
            return attempt.make_root() if value is None else value
        finally:
            spent = share - max(0, attempt.work_left)
            self._work_left -= spent
            self._request_work.left -= spent

    def _accepts(self, value: Json) -> bool:
        """Return whether the validator accepts a value, and note where it does not.

        Raises UnsatisfiableError if that would take too long even for a minimal one.
        """
        validator = self._compiled.validator
        cost = 0.0 if validator.is_cheap else validator.estimate_cost(*measure_depth_and_size(value))
        if cost > MAX_COST:
            self._stuck = UnsatisfiableError(f"validating a value takes too long; {_REMEDY}")
            if self._is_minimal:
                raise self._stuck
            self._is_minimal = True  # a smaller value may do
            return False
        self._request_work.left -= int(cost) // PER_STEP["validated schemas"]
        if validator.whole.is_valid(value):
            return True
        self._rejections.update(_find_rejected(self._compiled, value) if cost <= _MAX_COST_OF_COMPLAINTS else [""])
        return False


def _find_rejected(compiled: CompiledSchema, value: Json) -> Iterator[str]:
    """Yield where a value is not valid: each complaint has the complaints of all alternatives, which take memory."""
    for complaint in islice(compiled.validator.whole.iter_errors(value), _MAX_COMPLAINTS):
        yield make_pointer(complaint.instance_path)


def _make_failure(what: str, error: UnsatisfiableError, schema: Json) -> Failure:
    details: Mapping[str, Json] = {"pointer": error.pointer or "#", "why": error.why, "schema": schema}
    return Failure("bad_parameter", f"The JSON schema {what}: {error}.", details=details)


_REMEDY = "make it smaller, or answer with a rule"
_MAX_ATTEMPTS = 8
_MAX_WORK = 14_000  # steps for one instance, over all attempts
_MAX_WORK_PER_ATTEMPT = 8_000
_MAX_COMPLAINTS = 20
_MAX_COST_OF_COMPLAINTS = 10_000
