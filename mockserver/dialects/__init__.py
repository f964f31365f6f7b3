"""Dialects: one file or folder per provider, discovered in this package.

A dialect turns an HttpRequest into a Call and an outcome into a Reply. It knows no rules, time or sockets, and of the
settings only those of hosts.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.hosts import GENERIC, HOST_NAMES, HostSettings
from mockserver.core.call import Call
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json, try_parse
from mockserver.core.lazy import LazyMapping, Memo, lazy_property
from mockserver.core.plan import Failure
from mockserver.core.rates import Standings
from mockserver.core.validation import HistoryProblem, Validation
from mockserver.dialects._clients import CLIENT_CONFIGS, ClientConfig
from mockserver.dialects._meaning import BOOKKEEPING
from mockserver.kinds import ARTIFACTS, list_answered


def render_error_frame(failed: Reply, last: bytes) -> Frame:
    """Return a failed reply as an event of a stream that has only its body."""
    return Frame(failed.body, part="finish")


def read_event(sent: bytes) -> Mapping[str, Json]:
    """Return the JSON object in the bytes of an event; it is empty if they have none."""
    found = try_parse(sent[sent.find(b"{") : sent.rfind(b"}") + 1].decode("utf-8", "replace"))
    return found if isinstance(found, dict) else {}


def accept_any_history(call: Call, validation: Validation) -> Sequence[HistoryProblem]:
    """Return no problem: the `history` of operations whose provider is not known to check any."""
    return ()


class OperationPath(Struct, frozen=True):
    """An operation's name (chat, models, ...), HTTP method and path, with `{name}` or `{name:path}` for parameters.

    The path is relative to a mount of the dialect.
    """

    name: str
    method: str
    path: str


class Operation(OperationPath, frozen=True, kw_only=True):
    """One method and path that a dialect serves, and how.

    `parse(request, validation)` checks a request like the provider, as strictly as `validation` says, and raises
    Failure; if nothing is checked, it leaves out wrong values, which `call` keeps. `render(call, outcome)` returns the
    reply to a success, whose type is the operation's own. `query` is what the official client always sends.
    `readdress(call, reply)` returns a recorded reply as the answer to a call that is equal to the recorded one.
    `also` are operations that a body can ask for instead, as `parse` tells.
    `over_socket`: clients can also send it over a WebSocket, in a session of this kind.
    `error(failed, last)` returns a failed reply as an event of a stream, after the bytes of another one.
    `own_urls(request, body)` returns the body of the provider's own reply, with URLs of this server wherever clients
    send later requests. `unify(request, body)` returns a body as rules know it: with the values that the path or the
    query has instead, and one name for each field with several. `history(call, validation)` returns why the live
    provider would refuse the call's history, unless parsing with this validation has refused it. Operations that count,
    cache or compact a prompt have none, as no report says that providers check their histories.

    `needs_key`: whether it is only for those who know one of the keys in the settings, unlike a sign of life.

    `params`, `streams` and `body` say how to send it a text: the parameters of the path besides the model, whether the
    answers are streams (None: as the body says), and the body without model and `stream` (None: OpenAI's).
    """

    parse: Callable[[HttpRequest, Validation], Call]
    render: Callable[[Call, Any], Reply]
    query: Mapping[str, str] = {}
    over_socket: Literal["", "responses", "realtime", "live"] = ""
    needs_key: bool = True
    shows_reasoning: bool = False  # whether its answers show what the model thought
    error: Callable[[Reply, bytes], Frame] = render_error_frame
    params: Mapping[str, str] = {}
    streams: bool | None = None
    body: Callable[[str], dict[str, Json]] | None = None
    own_urls: Callable[[HttpRequest, bytes], bytes] | None = None
    readdress: Callable[[Call, Reply], Reply] | None = None
    unify: Callable[[HttpRequest, Mapping[str, Json]], Mapping[str, Json]] | None = None
    history: Callable[[Call, Validation], Sequence[HistoryProblem]] = accept_any_history
    also: tuple[str, ...] = ()

    def read_call(self, http: HttpRequest, validation: Validation) -> Call:
        """Return the call of a request. Raises Failure if the request is refused, or if no call can be made of it."""
        if validation is not Validation.OFF:
            return self.parse(http, validation)
        call = self._salvage(http)
        return replace(call, options=replace(call.options, lenient_schema=True))

    def _salvage(self, http: HttpRequest) -> Call:
        """Return the call of the readable parts of a request."""
        try:
            return self.parse(http, Validation.PUBLISHED)  # so that a request means the same in every mode
        except Failure:
            call = self.parse(http, Validation.OFF)
            sent = try_parse(http.body.decode("utf-8", "replace"))
        if not isinstance(sent, dict):
            return replace(call, is_checked=False)
        return keep_unread(call, sent if self.unify is None else self.unify(http, sent))

    def fill_path(self, path: str, **params: str) -> str:
        """Return a path with the values of these and the operation's usual parameters; others stay, as `{name}`."""
        return _PARAMETER.sub(lambda found: {**self.params, **params}.get(found[1], f"{{{found[1]}}}"), path)


def keep_unread(call: Call, sent: Mapping[str, Json]) -> Call:
    """Return a call with the parts of its body that were not read, so that rules see them and they tell calls apart."""
    call = replace(call, is_checked=False)
    if not isinstance(call.meaning, dict):
        return call
    unread = {key: value for key, value in sent.items() if key not in BOOKKEEPING and call.raw.get(key) != value}
    return replace(call, sent=sent, meaning={**call.meaning, **unread})


_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")


def omit_rate_limits(standings: Standings) -> HeaderLines:
    """Return no headers: the `rate_limit_headers` of providers that report no limits."""
    return HeaderLines()


class Dialect(Struct, frozen=True, dict=True):
    """How one provider speaks. `mounts` are its base paths, of which the first is advertised; paths that begin like one
    of `bare` are also served without a mount, and the operations of `unmounted` only so. `omissible` is the start of
    paths behind a mount that some clients leave out, because their base URL contains it.

    `variables` are the environment variables that its clients read, with `{address}` for the server's address and
    `{key}` for a key that it accepts; a variable that has neither is set only if it is unset. A variable that is empty
    here would lead clients elsewhere: it is emptied if it is set. From `one_key`, clients read one variable and warn
    about a second: those that are set get a key, or else the first. `rate_limit_headers` returns the headers that
    report what is left of the limits. `missing` has endpoints of the provider that this dialect lacks (`*` is any
    segment, and paths below are included), each with the `then` of a rule that answers it.
    `host` is which of the hosts this is that speak the dialect, each in its own way.

    `is_signed` returns whether the URL of a request is signed with a key, in place of a credential, and `lists` are the
    parameters of queries that are repeated without brackets.

    `base` is the path for the provider's own client, if no variable tells it. Where clients of ours are pointed
    (`mounts`, `variables`, `one_key`, `base`), `_clients.py` says. Other dialects state it.
    """

    name: str
    operations: tuple[Operation, ...]
    read_credential: Callable[[HttpRequest], str | None]
    fail: Callable[[HttpRequest, Failure, Call | None], Reply]
    models: tuple[str, ...]  # listed when the settings name none
    mounts: tuple[str, ...] = ()
    rate_limit_headers: Callable[[Standings], HeaderLines] = omit_rate_limits
    own_features: frozenset[str] = frozenset()  # of OWN_FEATURES
    variables: Mapping[str, str] = {}
    one_key: tuple[str, ...] = ()
    base: str = ""
    missing: Mapping[str, str] = {}
    bare: tuple[str, ...] = ()
    unmounted: tuple[Operation, ...] = ()
    omissible: str = ""
    host: str = ""
    is_signed: Callable[[HttpRequest, str], bool] | None = None
    lists: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        """The name by which settings, variables and commands know it: that of its host, if it has several."""
        return self.host or self.name

    @lazy_property
    def features(self) -> frozenset[str]:
        """Those of FEATURES that a rule for this dialect can use."""
        names = {name for operation in self.operations for name in (operation.name, *operation.also)}
        shown = {"reasoning"} if self.thinking else frozenset[str]()
        return self.own_features | shown | {kind.then.key for kind in ARTIFACTS.values() if kind.name in names}

    @lazy_property
    def thinking(self) -> frozenset[str]:
        """The operations whose answers show reasoning."""
        return frozenset(operation.name for operation in self.operations if operation.shows_reasoning)


# Features of a dialect's answers that do not follow from its operations.
OWN_FEATURES: Mapping[str, str] = {
    "content_filter": "finish reason or error for filtered content",
    "filter_annotations": "severities for prompt and completion",
    "finish_error": "finish reason `error`",
    "refusal": "refusals",
    "annotations": "citations",
    "custom_tools": "tools with free-text input",
    "call_pieces": "tool calls in stated pieces",
    "items": "results of the provider's own tools (web search, ...)",
    "failed": "an answer that breaks off",
    "status": "statuses of objects",
}
# Of these, `reasoning` follows from the operations.
FEATURES: Mapping[str, str] = {
    **OWN_FEATURES,
    "reasoning": "what the model thought",
    **{kind.then.key: list_answered(kind.then.key)[0] for kind in ARTIFACTS.values()},
}


@cache
def discover() -> Mapping[str, Dialect]:
    """Return every dialect by its name, which is its module's. Each is imported on first access, as that is slow."""
    names = sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))
    return LazyMapping(names, _import_dialect)


def discover_all(stated: Mapping[str, HostSettings] | None = None) -> Mapping[str, Dialect]:
    """Return every dialect by its name, and each host of the dialect `compatible` by its own.

    `stated` are hosts of the settings, besides the built-in ones or in their place.
    """
    hosts = stated or {}
    written = repr(hosts)
    found = _FOUND.get(written)
    if found is None:
        served = {*HOST_NAMES, *hosts}
        names = dict.fromkeys((*discover(), *HOST_NAMES, *hosts))
        found = LazyMapping(names, lambda name: _find_host(name, hosts) if name in served else discover()[name])
        _FOUND.keep(written, found, len(written))
    return found


def list_hosts(dialect: str, stated: Mapping[str, HostSettings] | None = None) -> Mapping[str, Dialect]:
    """Return those who speak a dialect: its hosts by their names, or the dialect itself."""
    if dialect != GENERIC:
        return {dialect: discover()[dialect]} if dialect in discover() else {}
    everything = discover_all(stated)
    return {name: everything[name] for name in (*HOST_NAMES, *(stated or {}))}


def _find_host(name: str, stated: Mapping[str, HostSettings]) -> Dialect:
    found: Dialect = import_module(f"{__name__}.{GENERIC}").find_host(name, stated)
    return found


_FOUND = Memo[str, "Mapping[str, Dialect]"](most=1 << 22)


def _import_dialect(name: str) -> Dialect:
    dialect: Dialect = import_module(f"{__name__}.{name}").DIALECT
    known = CLIENT_CONFIGS.get(name)
    if known is None:
        return dialect
    return replace(dialect, mounts=known.mounts, variables=known.variables, one_key=known.one_key, base=known.base)


def list_client_configs() -> "Mapping[str, ClientConfig | Dialect]":
    """Return where the clients of each dialect and host are pointed. One that the table lacks is imported."""
    return {name: CLIENT_CONFIGS.get(name) or discover_all()[name] for name in discover_all()}
