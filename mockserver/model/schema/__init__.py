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


def instance(schema: Json, seed: Seed, said: Mentions = NOTHING) -> Json:
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
        return _search(compiled, seed, said)
    except UnsatisfiableError as error:
        raise _make_failure("cannot be satisfied", error, schema) from None


def schema_error(schema: Json) -> str | None:
    """Why a schema is invalid; None if it is valid."""
    try:
        compile_schema(schema)
    except UnsatisfiableError as error:
        return str(error)
    return None


def _search(compiled: CompiledSchema, seed: Seed, said: Mentions) -> Json:
    """Generate until the validator accepts. Raises UnsatisfiableError.

    Rejected values are made again, without prompt, default and examples, and every other one of a schema in which
    nothing excludes anything; all is minimal in the second half.
    """
    stuck: UnsatisfiableError | None = None
    rejections = Counter[str]()  # by JSON pointer
    work = find_request_work()
    minimal = False
    work_left = min(_MAX_WORK, work.left)
    work.left -= compiled.document.values // PER_STEP["compiled values"]
    for number in range(_MAX_ATTEMPTS):
        minimal = minimal or number >= _MAX_ATTEMPTS // 2
        share = min(_MAX_WORK_PER_ATTEMPT, work_left, work.left)
        attempt = Attempt(
            (compiled.resolved if number % 2 else None) or compiled,
            seed,
            NOTHING if minimal else said,
            work=share,
            rejections=rejections,
            minimal=minimal,
        )
        try:
            value = attempt.take_whole() if number == 0 else None
            if value is None:
                value = attempt.make_root()
        except UnsatisfiableError as error:
            stuck = error
            rejections[""] += 1
            continue
        except WorkLimitError:
            if minimal:
                stuck = stuck or UnsatisfiableError(f"it takes more work than one request may; {_INSTEAD}")
            minimal = True
            continue
        finally:
            spent = share - max(0, attempt.work_left)
            work_left = work_left - spent
            work.left = work.left - spent
        if not compiled.validator.is_cheap:
            cost = compiled.validator.estimate_cost(*measure_depth_and_size(value))
            if cost > MAX_COST:
                stuck = UnsatisfiableError(f"validating a value takes too long; {_INSTEAD}")
                if minimal:
                    raise stuck
                minimal = True  # a smaller value may do
                continue
            work.left -= int(cost) // PER_STEP["validated schemas"]
        if compiled.validator.whole.is_valid(value):
            return value
        few = compiled.validator.is_cheap or cost <= _MAX_COST_OF_COMPLAINTS
        rejections.update(_find_rejected(compiled, value) if few else [""])
    raise stuck or UnsatisfiableError("no value was found that it allows")


def _find_rejected(compiled: CompiledSchema, value: Json) -> Iterator[str]:
    """Where a value is not valid: each complaint has the complaints of all alternatives, which take memory."""
    for complaint in islice(compiled.validator.whole.iter_errors(value), _MAX_COMPLAINTS):
        yield make_pointer(complaint.instance_path)


def _make_failure(what: str, error: UnsatisfiableError, schema: Json) -> Failure:
    details: Mapping[str, Json] = {"pointer": error.pointer or "#", "why": error.why, "schema": schema}
    return Failure("bad_parameter", f"The JSON schema {what}: {error}.", details=details)


_INSTEAD = "make it smaller, or answer with a rule"
_MAX_ATTEMPTS = 8
_MAX_WORK = 14_000  # steps for one instance, over all attempts
_MAX_WORK_PER_ATTEMPT = 8_000
_MAX_COMPLAINTS = 20
_MAX_COST_OF_COMPLAINTS = 10_000
