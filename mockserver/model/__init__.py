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
        "auto": "mockserver.model.auto:answer_as_model",
        "prose": "mockserver.model.prose:write_prose",
        "lorem": "mockserver.model.prose:write_lorem",
        "words": "mockserver.model.prose:write_words",
        "echo": "mockserver.model.prose:echo",
        "schema": "mockserver.model.reply:write_instance",
        "json": "mockserver.model.reply:write_json",
        "markdown": "mockserver.model.prose:write_markdown",
        "arguments": "mockserver.model.reply:call_tool",
    }
)
