"""The model without weights: generates an answer if no rule gives one, the same for the same call.

GENERATORS names every kind that a rule can use; an unmatched request gets `auto`. A generator draws all randomness from
the seed that it gets, and leaves the request's limits to the engine.
"""

from collections.abc import Callable, Mapping

from mockserver.core.call import Call
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.lazy import LazyTable
from mockserver.core.seed import Seed

Generator = Callable[[Call, Seed, Mapping[str, Json]], DraftChoice]

GENERATORS: LazyTable[Generator] = LazyTable(
    {
        "auto": "mockserver.model.auto:auto",
        "prose": "mockserver.model.prose:prose",
        "lorem": "mockserver.model.prose:lorem",
        "words": "mockserver.model.prose:words",
        "echo": "mockserver.model.prose:echo",
        "schema": "mockserver.model.reply:schema",
        "json": "mockserver.model.reply:json",
        "markdown": "mockserver.model.prose:markdown",
        "arguments": "mockserver.model.reply:arguments",
    }
)
