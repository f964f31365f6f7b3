"""The tables of the documentation, made from the code that they describe.

A page marks where a table stands: `<!-- table: NAME -->`, the table, `<!-- end -->`.
"""

import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

from mockserver.config.errors import RuleError
from mockserver.config.hosts import HostSettings
from mockserver.config.settings import KeySettings, LimitsTable, ModelSettings, Settings
from mockserver.config.source import Document
from mockserver.config.tables import BaseTable
from mockserver.config.timing import PROFILES
from mockserver.core.action import POSITIONS, Option, is_counted, list_options
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import REASON_OF_STATUS, REASONS, Failure, Timing
from mockserver.delivery.faults import FAULTS
from mockserver.dialects import FEATURES, Dialect, discover, discover_all, list_hosts
from mockserver.dialects._openai_api.objects import make_object_operations
from mockserver.dialects._openai_api.objects.resource import ObjectsApi
from mockserver.engine.catalogue import PUBLISHED
from mockserver.engine.catalogue import Model as PublishedModel
from mockserver.kinds import ASKED
from mockserver.model import GENERATORS
from mockserver.reports.suggest import write_yaml
from mockserver.rules.answer.compile import KINDS as KINDS_OF_TEXT
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.rules.checks import BESIDE, OUTCOMES
from mockserver.rules.items import Action, ItemSpec
from mockserver.rules.json_schema import make_rules_schema
from mockserver.rules.load import load
from mockserver.rules.match.fields import FIELDS
from mockserver.rules.match.parse import GROUPS, KINDS, MODIFIERS
from mockserver.rules.match.predicates import PREDICATES
from mockserver.rules.mcp_definitions import (
    McpChangeSpec,
    McpPromptSpec,
    McpResourceSpec,
    McpServerSpec,
    McpToolSpec,
)
from mockserver.rules.schema import BESIDE as FAULT_KEYS
from mockserver.rules.schema import (
    ErrorSpec,
    FailedSpec,
    FilterSpec,
    LogSpec,
    ProgressSpec,
    QuestionSpec,
    RawSpec,
    RuleSpec,
    StateSpec,
    ThenSpec,
    TimingSpec,
    ToolCallSpec,
    UsageSpec,
)
from mockserver.server.explain import make_usual_request
from mockserver.testing.fault_matrix import BAD
from mockserver.testing.fault_matrix import OUTCOMES as RUN_OUTCOMES
from tests.house.interface_tables import INTERFACES, markdown_table
from tests.kit.asgi import app

_MARKED = re.compile(r"(?<=<!-- table: )(?P<name>[\w-]+)(?P<arrow> -->\n)(?P<body>.*?)(?=<!-- end -->)", re.DOTALL)
SHORT = 5  # rows that are shown as a list
_SCHEMA = make_rules_schema(FAULTS)["$defs"]
_KIND = re.compile(r"(?<=\w):(?:id|models|version)(?=\})")
ROOT = Path(__file__).parents[2]
_OPTION = re.compile(r'`options\["(\w+)"\]`')


def filled(page: str) -> str:
    """The page with each of its tables as the code has it now."""
    return _MARKED.sub(lambda found: f"{found['name']}{found['arrow']}\n{TABLES[found['name']]()}\n\n", page)


def names(page: str) -> Iterator[str]:
    """The names of the tables that stand in a page."""
    return (found["name"] for found in _MARKED.finditer(page))


def _fields() -> str:
    known = _SCHEMA["when"]
    examples = {**known["properties"], **{_family(key): each for key, each in known["patternProperties"].items()}}
    return markdown_table(
        ("field", "type", "value", "example"),
        [
            (f"`{name}`", KINDS[field.kind].words, field.doc, _example(examples[name.partition("<")[0]]))
            for name, field in FIELDS.items()
        ],
    )


def _family(pattern: str) -> str:
    """`param.` of the pattern for its keys."""
    return pattern[1:].partition("\\.")[0] + "."


def _example(schema: Mapping[str, Any]) -> str:
    """The example that editors show for a key, as in a rules file."""
    found = schema if "examples" in schema else _SCHEMA.get(str(schema.get("$ref")).rpartition("/")[2], {})
    shown = found.get("examples", [])
    return f"`{write_yaml(shown[0])}`" if shown else ""


def _predicates() -> str:
    kinds = {"text": "text", "number": "numbers", "boolean": "true/false", "list": "lists", "json": "JSON"}
    rows = [
        (f"`{name}`", ", ".join(kinds[kind] for kind in predicate.kinds), predicate.doc)
        for name, predicate in PREDICATES.items()
    ]
    return markdown_table(("predicate", "applies to", "matches if the field"), rows)


def _abouts(head: Sequence[str], abouts: Mapping[str, str]) -> Callable[[], str]:
    rows = [(f"`{name}`", about) for name, about in abouts.items()]
    return partial(_list, rows) if len(rows) <= SHORT else partial(markdown_table, head, rows)


def _list(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {name}: {about}" for name, about in rows)


def _keys(table: type[BaseTable]) -> Mapping[str, str]:
    """The keys of a table of the rules file, each with what it is."""
    return {field.alias or name: field.description or "" for name, field in table.model_fields.items()}


def _described(table: type[BaseTable]) -> Callable[[], str]:
    return _abouts(("key", "meaning"), _keys(table))


def _of_rules(table: type[BaseTable]) -> Callable[[], str]:
    """The keys of a table of the rules file, with the examples that editors show."""
    properties = _SCHEMA[table.__name__.removesuffix("Spec")]["properties"]
    rows = [(f"`{key}`", about, _example(properties[key])) for key, about in _keys(table).items()]
    return partial(markdown_table, ("key", "meaning", "example"), rows)


def _typed(tables: Any) -> Callable[[], str]:
    """Tables that differ by their `type`: each type and its keys, the required ones first."""
    return lambda: markdown_table(("type", "keys"), _types(tables))


def _actions() -> str:
    return ", ".join(f"{kind} ({keys})" if keys else kind for kind, keys in _types(Action)) + "."


def _types(tables: Any) -> Iterator[tuple[str, str]]:
    for table in get_args(get_args(get_args(tables)[1].annotation)[0]):
        (kind,) = get_args(table.model_fields["type"].annotation)
        fields = {name: field for name, field in table.model_fields.items() if name != "type"}
        keys = sorted(fields, key=lambda name: fields[name].default is not ...)
        shown = (f"**`{name}`**" if fields[name].default is ... else f"`{name}`" for name in keys)
        yield f"`{kind}`", ", ".join(shown)


def _answers() -> str:
    """The keys that are answers only; those that also go with another answer are in the table of these."""
    also, examples = frozenset().union(*BESIDE.values()), _SCHEMA["Then"]["properties"]
    rows = [
        (f"`{key}`", about, _example(examples[key]))
        for key, about in _keys(ThenSpec).items()
        if key in OUTCOMES and key not in also
    ]
    return markdown_table(("answer", "meaning", "example"), rows)


def _beside() -> str:
    examples = _SCHEMA["Then"]["properties"]
    goes = {key: [answer for answer, kind in OUTCOMES.items() if key in BESIDE[kind]] for key in examples}
    rows = [
        (f"`{key}`", about, _goes_with(goes[key]), _example(examples[key]))
        for key, about in _keys(ThenSpec).items()
        if any(key in beside for beside in BESIDE.values())
    ]
    return markdown_table(("key", "meaning", "goes with", "example"), rows)


def _goes_with(answers: Sequence[str]) -> str:
    others = [answer for answer in OUTCOMES if answer not in answers]
    these = list(dict.fromkeys("content" if OUTCOMES[answer] == "content" else f"`{answer}`" for answer in answers))
    return (
        "all but " + ", ".join(f"`{answer}`" for answer in others) if len(others) + 2 < len(these) else ", ".join(these)
    )


def _generators() -> str:
    abouts = {name: (GENERATORS[name].__doc__ or "").partition("\n")[0] for name in KINDS_OF_TEXT}
    return markdown_table(
        ("kind", "generates"),
        [(f"`{name}`", _OPTION.sub(r"`\1`", about)) for name, about in abouts.items()],
    )


def _settings() -> str:
    rows = [
        (f"`{name}`", _default(name), f"`MOCKSERVER_{name.upper()}`", field.description or "")
        for name, field in Settings.model_fields.items()
    ]
    return markdown_table(("setting", "default", "variable", "meaning"), rows)


def _default(name: str) -> str:
    shown = Settings.model_json_schema()["properties"][name].get("default")
    return "none" if shown is None or isinstance(shown, dict) else f"`{json.dumps(shown).strip(chr(34))}`"


def _published() -> str:
    """Well-known models, those with the same limits in one row."""
    alike: dict[Sequence[str], list[str]] = {}
    for pattern, model in PUBLISHED.items():
        alike.setdefault(_limits_of(model), []).append(f"`{pattern}`")
    head = ("models", "context window", "longest answer", "tokenizer", "lacks")
    whole = markdown_table(head, [(", ".join(patterns), *row) for row, patterns in alike.items() if any(row[1:])])
    windows = _list((row[0], ", ".join(patterns)) for row, patterns in alike.items() if not any(row[1:]))
    return f"{whole}\n\nOf others, only the context window is known:\n\n{windows}"


def _limits_of(model: PublishedModel) -> Sequence[str]:
    lacks = [f"`{key}`" for key in ("tools", "vision", "json_schema") if getattr(model, key) is False]
    lacks += [f"(`{key}`)" for key in ("reasoning", "sampling") if getattr(model, key) is False]
    return (
        f"{model.context_window:,}",
        f"{model.max_output_tokens:,}" if model.max_output_tokens else "",
        f"`{model.tokenizer}`" if model.tokenizer else "",
        ", ".join(lacks),
    )


_PLACES = {  # of others: in the page of the table
    **{name: f"anthropic-and-gemini.md#{name}" for name in ("anthropic", "gemini")},
    **{name: f"cohere-and-rerank.md#{name}" for name in ("cohere", "jina", "voyage")},
    **{name: f"ollama-and-mistral.md#{name}" for name in ("mistral", "ollama")},
    "bedrock": "bedrock.md",
    "compatible": "compatible-hosts.md",
}


def _dialects() -> str:
    rows = [
        (
            f"[`{dialect.name}`]({_PLACES.get(dialect.name, f'#{dialect.name}')})",
            ", ".join(f"`{mount}`" for mount in _list_mounts(dialect)),
            _credential(dialect),
            ", ".join(dict.fromkeys(each.name for each in dialect.operations if each.name in ASKED)),
        )
        for dialect in discover().values()
    ]
    return markdown_table(("dialect", "mounted at", "credential", "what it answers"), rows)


def _list_mounts(dialect: Dialect) -> Iterator[str]:
    """The mounts of a dialect, and the first of each of its hosts."""
    yield from dialect.mounts
    yield from (host.mounts[0] for host in list_hosts(dialect.name).values() if host.name != host.label)


def _hosts() -> str:
    """The hosts of the dialect `compatible`: where they are, what else they answer, and which models they list."""
    rows = [
        (
            f"`{name}`",
            ", ".join(f"`{mount}`" for mount in host.mounts),
            ", ".join(f"`{model}`" for model in host.models),
            ", ".join(dict.fromkeys(f"`{each.path}`" for each in host.operations if each.name not in _EVERYWHERE)),
        )
        for name, host in list_hosts("compatible").items()
    ]
    return markdown_table(("host", "base paths", "models that it lists", "more"), rows)


_EVERYWHERE = ("chat", "models", "model")


def _variables() -> str:
    """The variables that are set, those with the same value in one row."""
    alike: dict[str, list[str]] = {}
    for dialect in discover_all().values():
        for name, text in dialect.variables.items():
            value = text.replace("{address}", "ADDRESS").replace("{key}", "KEY")
            alike.setdefault(value, []).append(f"`{name}`")
    return markdown_table(
        ("value", "variables"),
        [(f"`{value}`" if value else "empty", ", ".join(named)) for value, named in alike.items()],
    )


def _operations(dialect: Dialect) -> str:
    """Where each operation of a dialect stands, below its mount; those on OpenAI's objects are in another table."""
    places: dict[str, list[str]] = {}
    kept = _operations_on_objects() if dialect.name in ("openai", "azure_openai") else {}
    for operation in dialect.operations:
        if operation.name in kept:
            continue
        places.setdefault(operation.name, []).append(f"`{operation.method} {_KIND.sub('', operation.path) or '/'}`")
    return markdown_table(
        ("operation", "requests"), [(f"`{name}`", ", ".join(where)) for name, where in places.items()]
    )


def _operations_on_objects() -> dict[str, str]:
    """Where each operation on OpenAI's objects stands."""
    api = ObjectsApi(dialect="openai", lines=lambda http, call: "", fail=discover()["openai"].fail, operations=())
    return {each.name: f"`{each.method} {each.path}`" for each in reversed(make_object_operations(api))}


def _objects() -> str:
    rows = [(f"`{name}`", path) for name, path in reversed(_operations_on_objects().items())]
    return markdown_table(("operation", "request"), rows)


def _features() -> str:
    rows = [(f"`{name}`", about, ", ".join(_without(name))) for name, about in FEATURES.items()]
    return markdown_table(("feature", "meaning", "not in"), rows)


def _without(feature: str) -> Iterator[str]:
    return (f"`{dialect.name}`" for dialect in discover().values() if feature not in dialect.features)


_WITHOUT_CODES = ("cohere", "jina", "voyage")  # whose errors are a message


def _errors() -> str:
    spoken = [dialect for dialect in discover().values() if dialect.name not in _WITHOUT_CODES]
    rows = [
        (f"`{name}`", str(status), *(_answered(dialect, name) for dialect in spoken))
        for name, status in REASONS.items()
        if _is_short(name)
    ]
    return markdown_table(("short form", "status", *(dialect.name for dialect in spoken)), rows)


def _errors_of_bedrock() -> str:
    """What a short form is for AWS's clients, each of which names its exceptions so."""
    bedrock = discover()["bedrock"]
    rows = []
    for name in filter(_is_short, REASONS):
        reply = bedrock.fail(HttpRequest("POST", "/model/m/converse"), Failure(name), None)
        rows.append((f"`{name}`", str(reply.status), f"`{_code(reply)}`", json.loads(reply.body)["message"]))
    return markdown_table(("short form", "status", "exception", "message"), rows)


def _statuses() -> str:
    return ", ".join(f"{status} `{name}`" for status, name in REASON_OF_STATUS.items()) + "."


def _is_short(name: str) -> bool:
    """Whether a rule may name this error."""
    document = Document.from_data({"version": 1, "rules": [{"then": {"error": name}}]}, "rules.yaml")
    try:
        return bool(load((document,), {}))
    except RuleError:
        return False


def _answered(dialect: Dialect, reason: str) -> str:
    reply = dialect.fail(HttpRequest("POST", "/chat/completions"), Failure(reason), None)
    return f"`{_code(reply)}`" if reply.status == REASONS[reason] else f"{reply.status} `{_code(reply)}`"


def _error_bodies() -> str:
    """The body of one error in each dialect, those that are alike in one row."""
    failure = Failure("server_error", message="Out of order.")
    alike: dict[str, list[str]] = {}
    for name, dialect in discover().items():
        body = dialect.fail(HttpRequest("POST", "/chat/completions"), failure, None).body
        alike.setdefault(f"`{json.dumps(json.loads(body))}`", []).append(name)
    return markdown_table(("dialect", "body"), [(_listed_names(names), body) for body, names in alike.items()])


def _code(reply: Reply) -> str:
    """What a client can tell the failure by: its code or type, Azure's header, or what little there is."""
    body: Mapping[str, Any] = json.loads(reply.body)
    match body.get("error", body.get("detail", body)):
        case {"message": _, **others} if not others:  # Bedrock's
            return dict(reply.headers).get("x-amzn-errortype", "no type").partition(":")[0]
        case {"type": kind, "code": str()} if kind in body.values():  # Mistral's, whose codes are numbers
            return str(kind)
        case {"code": int(), "type": kind} | {"code": int(), "status": kind}:  # the status again
            return str(kind)
        case {"code": code, "type": kind}:
            return str(code or kind)
        case {"code": code} | {"type": code}:
            return str(code)
        case [{"type": kind}, *_]:
            return str(kind)
        case said:
            return dict(reply.headers).get("x-ms-error-code", str(said))


def _faults() -> str:
    rows = [
        (f"`{name}`", (fault.__doc__ or "").partition("\n")[0], _usual_place(fault), ". ".join(_more(fault)))
        for name, fault in {**FAULTS, **ANSWER_FAULTS}.items()
    ]
    return markdown_table(("fault", "what it does", "default position", "options (with defaults)"), rows)


def _positions() -> str:
    rows = [(f"`{where}: {3 if is_counted(where) else 'true'}`", about) for where, about in POSITIONS.items()]
    return markdown_table(("position", "meaning"), rows)


def _run_outcomes() -> str:
    rows = [(f"`{word}`", about, "bad" if word in BAD else "") for word, about in RUN_OUTCOMES.items()]
    return markdown_table(("outcome", "what happened", "verdict"), rows)


def _usual_place(fault: type[Any]) -> str:
    place = next((each.default for each in list_options(fault) if each.kind == "position"), None)
    return "" if place is None else f"`{place.where}: {place.count}`" if is_counted(place.where) else f"`{place.where}`"


def _more(fault: type[Any]) -> Iterator[str]:
    for each in list_options(fault):
        if each.kind != "position":
            words = f" ({', '.join(f'`{word}`' for word in each.among)})" if each.among else ""
            yield f"`{each.name}{_usual(each)}`: {each.about}{words}"


def _usual(each: Option) -> str:
    """The default of an option, unless its description says it."""
    match each.kind, each.default:
        case _, None | 0.0 | math.inf:
            return ""
        case "duration", seconds:
            return f": {seconds * 1000:g}ms"
        case _, float(number):
            return f": {number:g}"
    return f": {each.default}"


def _profiles() -> str:
    head = "profile", "first token", "tokens per second", "jitter", "per 1,000 prompt tokens"
    return markdown_table(head, [(f"`{name}`", *_paced(timing)) for name, timing in PROFILES.items()])


def _paced(timing: Timing) -> Sequence[str]:
    speed = f"{1 / timing.per_token:.0f}" if timing.per_token else "all at once"
    spread, later = f"{timing.distribution} {timing.jitter:.0%}", timing.prompt_per_1k
    return f"{timing.first_token or 0:g} s", speed, spread if timing.jitter else "none", f"{later * 1000:.0f} ms"


def _measured(question: str) -> Iterator[tuple[str, str, float]]:
    """What the last release cost: the name of each row, what it is compared with, and the ratio."""
    measured = json.loads((ROOT / "benchmarks/released.json").read_text())
    for name, ratio in measured[question].items():
        row, slash, than = name.partition(" / ")
        if slash:
            yield row, than, ratio


def _kinds() -> str:
    rows = [(row, f"{ratio:.1f}") for row, than, ratio in _measured("kinds") if than == "bare"]
    return markdown_table(("request", "CPU"), rows)


def _apis() -> str:
    """The other APIs, each beside the same of OpenAI's chats."""
    ratios: dict[str, dict[str, str]] = {}
    for api, than, ratio in _measured("kinds"):
        if than != "bare":
            ratios.setdefault(api, {})[than] = f"{ratio:.1f}"
    kinds = tuple(next(iter(ratios.values())))
    return markdown_table(("API", *kinds), [(api, *map(found.__getitem__, kinds)) for api, found in ratios.items()])


def _speed() -> str:
    """A sentence that leaves nothing out: it names the dearest row of the whole table."""
    kinds = {row: ratio for row, than, ratio in _measured("kinds") if than == "bare"}
    dearest = max(kinds, key=kinds.__getitem__)
    text = (
        f"A chat that a rule answers costs {kinds['constant text']:.1f} times the CPU of a bare uvicorn app that "
        f"answers with fixed bytes, and the dearest of [{len(kinds)} kinds](docs/guides/load-tests.md#performance) "
        f"({dearest}) {kinds[dearest]:.1f} times. Measure it: `make bench`."
    )
    return textwrap.fill(text, width=120, break_long_words=False, break_on_hyphens=False)


def _startup() -> str:
    ratios = {row: f"{ratio:.1f}" for row, _, ratio in _measured("startup")}
    rows = [(f"`{row}`", ratios[row], ratios[f"{row}, no bytecode"]) for row in ratios if "," not in row]
    return markdown_table(("command", "CPU", "no bytecode"), rows)


def _credential(dialect: Dialect) -> str:
    """How a dialect reads the client's key, found by trying."""
    return ", ".join(shown for shown, http in _KEYS_SENT.items() if dialect.read_credential(http) == "KEY")


_KEYS_SENT: Mapping[str, HttpRequest] = {
    "`Authorization: Bearer KEY`": HttpRequest("POST", "/", {}, ((b"authorization", b"Bearer KEY"),)),
    **{
        f"`{name}: KEY`": HttpRequest("POST", "/", {}, ((name.encode(), b"KEY"),))
        for name in ("api-key", "x-api-key", "x-goog-api-key")
    },
    "`?key=KEY`": HttpRequest("POST", "/", {"key": "KEY"}),
}


def _limit_headers() -> str:
    """The headers of each dialect's answers that say what is left, and those that only a refusal has."""
    limited = app(limits={"requests_per_minute": 1, "tokens_per_minute": 1000}, known_models=False)
    alike: dict[tuple[str, str], list[str]] = {}
    for name, dialect in discover().items():
        first = next(each.name for each in dialect.operations if each.name in ASKED)
        asked = make_usual_request(name, first, dialect.models[0], "hello")
        own = {"authorization": f"Bearer sk-{name}"}  # and so a budget of its own
        answered, refused = (limited.ask(asked.path, asked.body, headers=own) for _ in range(2))
        assert (answered.status, refused.status) == (200, 429), (name, answered.body, refused.body)
        left = [each for each in answered.headers if "ratelimit" in each or "trial" in each]
        more = [each for each in refused.headers if "retry" in each and each not in answered.headers]
        alike.setdefault((_listed_names(left), _listed_names(more)), []).append(name)
    rows = [(_listed_names(dialects), *headers) for headers, dialects in alike.items()]
    return markdown_table(("dialect", "on every answer", "also on a refusal"), rows)


def _listed_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


TABLES: Mapping[str, Callable[[], str]] = {
    **INTERFACES,
    "actions": _actions,
    "answers": _answers,
    "apis": _apis,
    "beside": _beside,
    "dialects": _dialects,
    "hosts": _hosts,
    "host-settings": _described(HostSettings),
    "error": _of_rules(ErrorSpec),
    "error-bodies": _error_bodies,
    "errors": _errors,
    "errors-bedrock": _errors_of_bedrock,
    "failed": _of_rules(FailedSpec),
    "faults": _faults,
    "features": _features,
    "fields": _fields,
    "filter": _of_rules(FilterSpec),
    "generators": _generators,
    "groups": _abouts(("group", "matches if"), GROUPS),
    "how-often": _abouts(("key", "meaning"), FAULT_KEYS),
    "items": _typed(ItemSpec),
    "key": _described(KeySettings),
    "kinds": _kinds,
    "limit-headers": _limit_headers,
    "limits": _described(LimitsTable),
    "mcp-change": _of_rules(McpChangeSpec),
    "mcp-log": _of_rules(LogSpec),
    "mcp-progress": _of_rules(ProgressSpec),
    "mcp-prompt": _of_rules(McpPromptSpec),
    "mcp-question": _of_rules(QuestionSpec),
    "mcp-resource": _of_rules(McpResourceSpec),
    "mcp-server": _of_rules(McpServerSpec),
    "mcp-tool": _of_rules(McpToolSpec),
    "model": _described(ModelSettings),
    "modifiers": _abouts(("option", "effect"), MODIFIERS),
    "outcomes": _run_outcomes,
    "positions": _positions,
    "predicates": _predicates,
    "profiles": _profiles,
    "published-models": _published,
    "rule": _of_rules(RuleSpec),
    "settings": _settings,
    "statuses": _statuses,
    "objects": _objects,
    **{f"operations-{name}": partial(_operations, dialect) for name, dialect in discover().items()},
    "speed": _speed,
    "startup": _startup,
    "state": _of_rules(StateSpec),
    "usage": _of_rules(UsageSpec),
    "raw": _of_rules(RawSpec),
    "timing": _described(TimingSpec),
    "tool-call": _of_rules(ToolCallSpec),
    "variables": _variables,
}
