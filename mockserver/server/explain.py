"""Why a call is answered as it is: every rule checked against it, without counting anything."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.errors import ConfigError, RuleError
from mockserver.config.settings import Settings
from mockserver.core.action import Fault
from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.plan import Failure, Plan
from mockserver.core.row import Row
from mockserver.core.state import START, STATE, name_times_counter
from mockserver.core.text import show_value, truncate
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation, discover_all
from mockserver.dialects._forms import write_form
from mockserver.engine.answer import split_prompts, use_tokenizer
from mockserver.engine.counters import find_next_attempt
from mockserver.engine.engine import Engine
from mockserver.engine.keeping import recall
from mockserver.engine.memory import Memory, continue_conversation
from mockserver.engine.offload import on_thread
from mockserver.engine.planning import open_objects, plan_call
from mockserver.kinds import ARTIFACTS, ASKED, CONVERSATIONS
from mockserver.rules.load import Rule, select_suited
from mockserver.rules.match.conditions import ConditionResult
from mockserver.rules.nearest import explain_closed, find_nearest, render_results
from mockserver.server.namespaces import DEFAULT
from mockserver.server.nearest_path import find_nearest_path
from mockserver.server.routes import (
    Endpoint,
    Place,
    Routes,
)
from mockserver.server.snapshot import parse_query
from mockserver.server.stubs import choose_operation
from mockserver.state.in_memory import MemoryCounters, MemoryValueStore


def is_unmatched(row: Row) -> bool:
    """Return whether no rule answered what rules are for, whether or not an answer was made up then."""
    return "unmatched" in row.source.split(", ") or (row.source == "generated" and row.operation in ASKED)


class RequestFile(Struct, frozen=True):
    """A request as a person writes it: method, path with query, headers, body as JSON or as bytes."""

    path: str
    body: Json
    method: str = "POST"
    headers: Mapping[str, str] | None = None
    namespace: str = DEFAULT


def read_request(text: str, file: str, dialect: str, path: str | None = None) -> RequestFile:
    """Return a request file: a body, or {method, path, headers, body}; a body tells its path. Raises ConfigError."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{file}: not JSON: {error}; {_EXPECTED}") from error
    return read_content(content, file, dialect=dialect, path=path)


def read_content(content: Json, file: str, dialect: str, path: str | None = None) -> RequestFile:
    """Return the request that a JSON value is, as `read_request` does; `file` is its name in messages."""
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: {_EXPECTED}")
    if not ("body" in content or ("path" in content and content.keys() <= {"method", "path", "headers"})):
        content = {"body": content}
    body = content.get("body", {})
    headers = content.get("headers")
    if not isinstance(headers, dict | None):
        raise ConfigError(f"{file}: headers must be an object of names and values")
    method = content.get("method", "POST" if "body" in content else "GET")
    return RequestFile(
        str(content.get("path") or path or find_path(body, dialect)), body, method=str(method), headers=headers
    )


def find_path(body: Json, dialect: str) -> str:
    """Return where a body goes by its keys: its dialect's chat, unless only another operation takes it."""
    keys = body if isinstance(body, dict) and "messages" not in body else {}
    dialect = "gemini" if "contents" in keys else dialect  # no other body has them
    served = {operation.name for operation in _find_dialect(dialect).operations}
    meant = next((name for name, key, word in _LOOKS if key in keys and word in str(keys.get("model")).lower()), "chat")
    if meant == "responses" and meant not in served:
        meant = "embeddings"  # the other one that takes an input
    return _write_path(_find_operation(dialect, meant if meant in served else "chat"), dialect, keys.get("model"))


def find_usual_path(dialect: str) -> str:
    """Return the path of a dialect's chat, with the query that its client always sends. Raises ConfigError."""
    return _write_path(_find_operation(dialect, "chat"), dialect, None)


def make_usual_request(dialect: str, operation: str, model: str, text: str, *, stream: bool = False) -> RequestFile:
    """Return the request that puts a text to an operation.

    Raises ConfigError for an operation that the dialect lacks.
    """
    found = _find_operation(dialect, operation, stream=stream)
    body = BODIES[operation](text) if found.body is None else found.body(text)
    named = {} if "{model}" in found.path else {"model": model}
    streamed = {"stream": True} if stream and found.streams is None else {}
    path = _write_path(found, dialect, model)
    whole = {**named, **body, **streamed}
    if operation not in ARTIFACTS or not ARTIFACTS[operation].files:
        return RequestFile(path, whole)
    files = {name: write(text) for name, write in ARTIFACTS[operation].files.items()}
    media_type, form = write_form({**whole, **files})
    return RequestFile(path, form, headers={"content-type": media_type})


def _find_operation(dialect: str, name: str, *, stream: bool = False) -> Operation:
    served = [each for each in _find_dialect(dialect).operations if each.name == name]
    if not served:
        names = ", ".join(dict.fromkeys(each.name for each in _find_dialect(dialect).operations if each.name in BODIES))
        raise ConfigError(f'"{dialect}" has no operation "{name}"; it has {names}')
    return next((each for each in served if each.streams in (None, stream)), served[0])


def _write_path(operation: Operation, dialect: str, model: Json) -> str:
    spoken = _find_dialect(dialect)
    path = operation.fill_path(operation.path, model=model if isinstance(model, str) and model else spoken.models[0])
    query = "&".join(f"{name}={value}" for name, value in operation.query.items())
    return spoken.mounts[0] + path + (f"?{query}" if query else "")


class Target(Struct, frozen=True):
    """What a request reaches: an endpoint and an operation there; and the request itself."""

    endpoint: Endpoint
    operation: Operation
    http: HttpRequest

    def parse_call(self, settings: Settings) -> Call:
        """Return the call that the request makes. Raises ConfigError where the provider would refuse it."""
        try:
            return self.operation.read_call(self.http, settings.find_validation(self.endpoint.dialect.name))
        except Failure as failure:
            words = f"the provider would refuse this request to {self.http.path}: {failure}".rstrip(".")
            hint = ". To accept it, as merely compatible servers do, set validation: off." if self.is_readable else ""
            raise ConfigError(words + hint) from failure

    @property
    def is_readable(self) -> bool:
        """Whether a call can be made of the request where nothing is checked."""
        try:
            self.operation.read_call(self.http, Validation.OFF)
        except Failure:
            return False
        return True


def find_target(described: RequestFile, routes: Routes, *, stubs: bool = False) -> Target:
    """Return what a described request reaches. Raises ConfigError.

    `stubs`: rules may answer at paths that no dialect knows.
    """
    try:
        url = urlsplit(described.path)
    except ValueError as error:
        raise ConfigError(f"invalid path {described.path}: {error}") from error
    path = url.path
    if routes.find(path) is None:
        path = routes.complete(path) or path
    place = find_place(path, routes, stubs=stubs)
    if place is None:
        near = find_nearest_path(described.method, path, endpoints=routes.endpoints, query=url.query)
        raise ConfigError(f"no operation at {path}" + (f"; nearest: {near.shown}" if near else _NO_PATH))
    operation = choose_operation(place.endpoint, described.method)
    if operation is None:
        raise ConfigError(f"{path} takes {', '.join(place.endpoint.operations)}, not {described.method}")
    body = described.body
    http = HttpRequest(
        method=described.method,
        path=path,
        query=parse_query(url.query.encode(), place.endpoint.dialect.lists),
        headers=tuple(
            (_encode_header(n.lower()), _encode_header(str(v))) for n, v in (described.headers or {}).items()
        ),
        body=body if isinstance(body, bytes) else json.dumps(body).encode(),
        namespace=described.namespace,
        path_params=place.params,
    )
    return Target(place.endpoint, operation, http)


_NO_PATH = "; write a path such as /v1/chat/completions or /anthropic/v1/messages, or a rule with this `path`"


def find_place(path: str, routes: Routes, *, stubs: bool) -> Place | None:
    """Return where a path leads; with `stubs`, a path of no dialect leads to an endpoint without operations."""
    return routes.find(path) or (Place(routes.make_unknown_endpoint(path), {}) if stubs else None)


def _encode_header(text: str) -> bytes:
    """Return text of a header as bytes; half a character, which no client can send, as a question mark."""
    return text.encode("utf-8", "replace")


def _find_dialect(dialect: str) -> Dialect:
    spoken = discover_all().get(dialect)
    if spoken is None:
        raise ConfigError(f'unknown dialect "{dialect}"; known: {", ".join(discover_all())}')
    return spoken


# The body that puts a text to an operation.
BODIES: Mapping[str, Callable[[str], dict[str, Json]]] = {
    **{name: kind.body for name, kind in CONVERSATIONS.items()},
    **{name: kind.body for name, kind in ARTIFACTS.items()},
}
_EXPECTED = "expected a JSON object: the body of a request, or method, path, headers and body"
# Operations other than chats, with a key of their bodies and a word in the names of their models that tell them.
_LOOKS = (
    *((kind.name, key, kind.model_word) for kind in ARTIFACTS.values() for key in kind.body("")),
    *((kind.name, kind.body_key, "") for kind in CONVERSATIONS.values()),
)


Entries = Mapping[str, str]  # the counters of a namespace, and its state


class CheckedRule(Struct, frozen=True):
    """A rule compared with a call: the verdict, and the results for its conditions and its counters.

    The verdict is `holds`, `does not hold`, `matches, but` with why it does not answer, or `fails: why`.
    """

    rule: Rule
    verdict: str
    findings: tuple[ConditionResult, ...]
    counters: tuple[ConditionResult, ...] = ()


class CheckedPrompt(Struct, frozen=True):
    """A prompt of a call, as messages show it, and the rules that were compared with it."""

    shown: str
    rules: tuple[CheckedRule, ...]


class Explanation(Struct, frozen=True):
    """Where the answer to a call comes from, `why` if it is a refusal, and its prompts (often one) with every rule."""

    call: Call
    source: str
    why: str
    prompts: tuple[CheckedPrompt, ...]
    faults: tuple[Fault, ...] = ()
    modified_by: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(self._write_lines())

    def _write_lines(self) -> Iterator[str]:
        why = f": {self.why}" if self.why else ""
        place = "" if self.call.operation == "chat" else f"  (at {self.call.http.path})"
        yield f"answered by: {self.source}{why}{describe_faults(self.faults)}{place}"
        yield from (f"delivery modified by {source}" for source in self.modified_by)
        for at, prompt in enumerate(self.prompts):
            if len(self.prompts) > 1:
                yield f"\nprompt {at}: {prompt.shown}"
            for checked in prompt.rules:
                yield f"\n{checked.rule.where}{checked.rule.quoted_name} {checked.verdict}"
                lines = (*render_results(checked.findings), *map(_describe_counter, checked.counters))
                yield from (f"  {line}" for line in lines)


async def explain_call(engine: Engine, call: Call, limit: int | None = None) -> Explanation:
    """Return how the engine answers a call now; its counters, scenarios and kept answers stay as they are.

    `limit` rules are compared with it, the nearest first; by default all, in their order.
    """
    entries = await engine.counters.list_entries(call.http.namespace)
    known = await complete_call(engine, call, entries)
    plan = await plan_answer(engine, call, entries)
    failure = plan.outcome if isinstance(plan.outcome, Failure) else None
    tells_why = failure is not None and (plan.source == "invalid" or failure.defect or "cassette" in failure.details)
    why = str(failure) if tells_why else ""
    singly = split_prompts(known) if len(known.prompts) > 1 else (known,)
    prompts = [
        CheckedPrompt(
            show_value(single.last_user), await _check_rules(engine.rules, single, entries=entries, limit=limit)
        )
        for single in singly
    ]
    return Explanation(
        call, plan.source, why=why, prompts=tuple(prompts), faults=plan.faults, modified_by=plan.modified_by
    )


async def plan_answer(engine: Engine, call: Call, entries: Entries) -> Plan:
    """Return the answer that a call would get now; nothing is counted or kept."""
    return await plan_call(await copy_engine(engine, call.http.namespace, entries), call)


async def copy_engine(engine: Engine, namespace: str, entries: Entries) -> Engine:
    """Return the engine with copies of what it remembers of a namespace, to be changed freely."""
    memory = Memory(MemoryValueStore(count=sys.maxsize, size=sys.maxsize), engine.memory.polls)
    for stored in await engine.memory.store.list_values(namespace):
        memory.store.put(namespace, stored.key, stored, size=stored.size)
    return replace(engine, counters=MemoryCounters().fill(namespace, entries), memory=memory)


def describe_faults(faults: Sequence[Fault]) -> str:
    """Return what a text adds behind the source of an answer: the faults with which a server would send it."""
    return f"; faults when served: {', '.join(fault.name for fault in faults)}" if faults else ""


async def complete_call(engine: Engine, call: Call, entries: Entries) -> Call:
    """Return the call with what the engine knows of it: its tokenizer, the conversation before it, and its attempt."""
    call = use_tokenizer(call, engine.policy.tokenizer(call.model))
    return replace(await recall_conversation(engine, call), attempt=find_next_attempt(call, entries))


async def recall_conversation(engine: Engine, call: Call) -> Call:
    """Return the call after the conversation that it continues, as far as that is kept."""
    if call.previous_response_id is not None:
        resumed = await engine.memory.resume(call)
        return resumed if isinstance(resumed, Call) else continue_conversation(call, ())
    if call.references is not None:
        with suppress(Failure):  # what it refers to does not exist
            return await recall(call, open_objects(engine, call))
    return call


def show_rule(checked: CheckedRule) -> dict[str, Json]:
    """Return a checked rule as JSON."""
    return {
        "name": checked.rule.name,
        "source": checked.rule.source,
        "verdict": checked.verdict,
        "findings": [show_finding(finding) for finding in (*checked.findings, *checked.counters)],
    }


def show_finding(finding: ConditionResult) -> dict[str, Json]:
    """Return the result of a condition as JSON; long values are cut as they are in texts."""
    return {
        "field": finding.field,
        "predicate": finding.predicate,
        "expected": _shorten(finding.expected),
        "actual": _shorten(finding.actual),
        "ok": finding.ok,
    }


async def _check_rules(
    among: Sequence[Rule], call: Call, *, entries: Entries, limit: int | None
) -> tuple[CheckedRule, ...]:
    rules = select_suited(among, call)
    if limit is not None:
        near = await on_thread(find_nearest, rules, call, limit=limit)
        rules = [each.rule for each in near]
    return await on_thread(lambda: tuple(_check_rule(rule, call, entries) for rule in rules))


def _check_rule(rule: Rule, call: Call, entries: Entries) -> CheckedRule:
    counters = _check_counters(rule, entries)
    try:
        verdict = "does not hold" if rule.when.holds(call) is None else "holds"
        if verdict == "holds" and not all(found.ok for found in counters):
            verdict = f"matches, but {explain_closed(rule, entries)}"
    except RuleError as error:
        verdict = f"fails: {error}"
    return CheckedRule(rule, verdict, findings=rule.when.explain(call), counters=counters)


def _check_counters(rule: Rule, entries: Entries) -> tuple[ConditionResult, ...]:
    found = list[ConditionResult]()
    if rule.state is not None:
        state = entries.get(STATE, START)
        found.append(ConditionResult("state", "is", expected=rule.state.is_, actual=state, ok=state == rule.state.is_))
    if rule.times is not None:
        time = int(entries.get(name_times_counter(rule.name), 0)) + 1
        found.append(ConditionResult("times", "lte", expected=rule.times, actual=time, ok=time <= rule.times))
    return tuple(found)


def _describe_counter(finding: ConditionResult) -> str:
    if finding.field == "times":
        return f"{'ok   ' if finding.ok else 'MISS '} times {finding.expected}: got {finding.actual}"
    wanted = f"state {show_value(finding.expected)}"
    return f"ok    {wanted}" if finding.ok else f"MISS  {wanted}: got {show_value(finding.actual)}"


def _shorten(value: Json) -> Json:
    if isinstance(value, str):
        return truncate(value)
    text = show_value(value)
    return text if text.endswith("…") else value
