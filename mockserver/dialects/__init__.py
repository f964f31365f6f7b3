"""Who speaks: one file per provider, found by being here.

A dialect turns an HttpRequest into a Call and an outcome into a Reply. It knows no rules, settings, time or sockets.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Failure, Success


@dataclass(frozen=True, slots=True)
class Operation:
    """One method and path (relative to a mount, `{name}` or `{name:path}` for parameters) that a dialect serves.

    `parse(request, strict)` validates as the provider does and raises Failure; `strict` also refuses what only the
    live provider refuses beyond its published schema. `render(call, outcome)` puts a success on the wire. `query` is
    what the official client always sends along.
    """

    name: str  # chat, models, model, info, ...
    method: str
    path: str
    parse: Callable[[HttpRequest, bool], Call]
    render: Callable[[Call, Success], Reply]
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one provider speaks. `mounts` are its base paths, the first being the one to advertise."""

    name: str
    mounts: tuple[str, ...]
    operations: tuple[Operation, ...]
    credential: Callable[[HttpRequest], str | None]
    fail: Callable[[HttpRequest, Failure, Call | None], Reply]
    models: tuple[str, ...]  # listed when the settings name none
    features: frozenset[str] = frozenset()  # of FEATURES: what a rule for this dialect may use


FEATURES: Mapping[str, str] = {
    "content_filter": "a finish reason or an error for filtered content",
    "filter_annotations": "severities for every category on prompt and completion",
    "refusal": "a refusal beside the content",
    "annotations": "annotations (citations) on a message",
    "custom_tools": "tools that take free text",
    "items": "uses of the provider's own tools (web search, computer, ...) as items of a response",
    "failed": "an answer that breaks off, told by a status or an event of its own",
    "embedding": "vectors for texts",
    "moderation": "judgements of texts",
}


@cache
def discover() -> Mapping[str, Dialect]:
    """Every dialect of this package by name, in alphabetical order."""
    found = {}
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        if not module.name.startswith("_"):
            dialect: Dialect = import_module(f"{__name__}.{module.name}").DIALECT
            found[dialect.name] = dialect
    return found
