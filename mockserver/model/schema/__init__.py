"""Makes an instance of a JSON Schema: plausible by the names of properties, and checked against the schema itself.

Knows how often to try and what to say when nothing is found; how values are made stands in `instances`.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import islice

from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.schema.compiled import Compiled, compiled
from mockserver.model.schema.document import DeadEndError, ExhaustedError
from mockserver.model.schema.hints import said_as_whole
from mockserver.model.schema.maker import Maker, Work
from mockserver.model.schema.making import Place


def instance(schema: Json, seed: Seed, said: Mentions = NOTHING) -> Json:
    """A value that the schema allows: what was said first, then defaults and examples, then what is plausible.

    Raises Failure `bad_parameter` where the schema is broken or nothing is found. Its details hold the JSON `pointer`
    of the place in the schema, as `why` what cannot be met there, and the `schema` itself, to tell whose it is.
    """
    schema = True if schema is None else schema
    try:
        ready = compiled(schema)
    except DeadEndError as error:
        raise _failure("is not valid", error, schema) from None
    if ready.heights.of(ready.document.root) == float("inf"):
        place = ready.heights.endless(ready.document.root)
        endless = DeadEndError("what it refers to never ends, or nothing is allowed", place)
        raise _failure("cannot be satisfied", endless, schema)
    return _Search(ready, seed, said, schema=schema).found()


def flaw(schema: Json) -> str | None:
    """What is wrong with a schema, if something is."""
    try:
        compiled(schema)
    except DeadEndError as error:
        return _sentence(error)
    return None


class _Search:
    """Tries until the validator is content: what it refuses is made again, without what was said or noted there."""

    def __init__(self, ready: Compiled, seed: Seed, said: Mentions, *, schema: Json) -> None:
        self.ready = ready
        self.schema = schema  # as it was given: an equal one may have been made ready before
        self.seed = seed
        self.said = said
        self.left = _MOST_WORK
        self.lean = False
        self.troubles: Counter[str] = Counter()

    def found(self) -> Json:
        """A valid instance. Raises Failure."""
        stuck: DeadEndError | None = None
        for turn in range(_TURNS):
            try:
                made = self._made(turn)
            except DeadEndError as error:
                stuck = error
                self.troubles[""] += 1
                continue
            except ExhaustedError:
                if self.lean:
                    stuck = stuck or DeadEndError("it demands more than is made for one request")
                self.lean = True
                continue
            if not self.ready.affordable(made):
                stuck = DeadEndError("it takes too long to hold a value against it")
                break
            if self.ready.validator.is_valid(made):
                return made
            self._note_troubles(made)
        stuck = stuck or DeadEndError("no value was found that it allows")
        raise _failure("cannot be satisfied", stuck, self.schema)

    def _made(self, turn: int) -> Json:
        """An instance that may yet be refused; from half of the turns on one with nothing that need not be."""
        self.lean = self.lean or turn >= _TURNS // 2
        share = min(_MOST_WORK_OF_ONE, self.left)
        work = Work(share)
        maker = Maker(self.ready, self.seed, NOTHING if self.lean else self.said, work, self.troubles, self.lean)
        root = self.ready.document.root
        try:
            said = said_as_whole(maker, root) if turn == 0 else ()
            return said[0] if said else maker.make((root,), Place())
        finally:
            self.left -= share - max(0, work.left)

    def _note_troubles(self, made: Json) -> None:
        """Remember where the validator complains."""
        for error in islice(self.ready.validator.iter_errors(made), _MOST_COMPLAINTS):
            steps = (str(step).replace("~", "~0").replace("/", "~1") for step in error.instance_path)
            self.troubles["".join(f"/{step}" for step in steps)] += 1


def _failure(what: str, error: DeadEndError, schema: Json) -> Failure:
    details: Mapping[str, Json] = {"pointer": error.pointer or "#", "why": error.why, "schema": schema}
    return Failure("bad_parameter", f"The JSON schema {what}: {_sentence(error)}.", details=details)


def _sentence(error: DeadEndError) -> str:
    return f"{error.why} (at {error.pointer or '#'})"


_TURNS = 8
_MOST_WORK = 14_000  # steps for one instance, all turns together
_MOST_WORK_OF_ONE = 8_000
_MOST_COMPLAINTS = 20
