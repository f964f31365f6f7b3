"""How many schemas give a valid instance, and what one costs against holding it against its schema.

Of the corpus under tests, or of the folder of JSON Schemas that the variable SCHEMAS names.
"""

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.schema import generate_instance

CORPUS = Path(__file__).parents[1] / "tests/corpus/schemas"
ROUNDS = 30


def schemas() -> Mapping[str, float]:
    """The share of schemas with valid instances, and the cost of a warm instance over that of validating it."""
    found, costs = [], []
    for schema in _collected():
        made = _made(schema)
        found.append(made is not None)
        if made is not None:
            costs.append(_cost(schema, made[0]))
    ratios = sorted(making / checking for making, checking in costs)
    return {
        "schemas with a valid instance, percent": 100 * sum(found) / len(found),
        "median instance / validating it": statistics.median(ratios),
        "95 % of instances / validating them, at the most": ratios[int(len(ratios) * 0.95)],
        "median milliseconds of an instance": 1000 * statistics.median(making for making, _ in costs),
    }


def _collected() -> Iterator[Any]:
    """The schemas of a collection: a file of the corpus holds several by name, one of another folder is one itself."""
    folder = os.environ.get("SCHEMAS")
    for path in sorted(Path(folder).rglob("*.json") if folder else CORPUS.glob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        yield from [held] if folder else held.values()


def _made(schema: Any) -> tuple[Any] | None:
    """An instance that a new validator accepts."""
    try:
        made = generate_instance(schema, Seed(0))
    except Failure:
        return None
    return (made,) if jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(made) else None


def _cost(schema: Any, made: Any) -> tuple[float, float]:
    """Seconds of making an instance of a schema that was seen before, and of validating one, compiled before."""
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    seeds = iter(range(ROUNDS))
    return _seconds(lambda: generate_instance(schema, Seed(next(seeds)))), _seconds(lambda: validator.is_valid(made))


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    for _ in range(ROUNDS):
        work()
    return (time.process_time() - began) / ROUNDS
