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
from tests.house.interface_tables import INTERFACES, write_table
from tests.kit.asgi import app

_MARKED = re.compile(r"(?<=<!-- table: )(?P<name>[\w-]+)(?P<arrow> -->\n)(?P<body>.*?)(?=<!-- end -->)", re.DOTALL)
SHORT = 5  # rows that are shown as a list
_SCHEMA = make_rules_schema(FAULTS)["$defs"]
_KIND = re.compile(r"(?<=\w):(?:id|models|version)(?=\})")
ROOT = Path(__file__).parents[2]
_OPTION = re.compile(r'`options\["(\w+)"\]`')


def fill_tables(page: str) -> str:
    """Return the page with each of its tables as the code has it now."""
    return _MARKED.sub(lambda found: f"{found['name']}{found['arrow']}\n{TABLES[found['name']]()}\n\n", page)


def list_tables(page: str) -> Iterator[str]:
    """Return the names of the tables that stand in a page."""
    return (found["name"] for found in _MARKED.finditer(page))


def _list_fields() -> str:
    known = _SCHEMA["when"]
    examples = {**known["properties"], **{_read_family(key): each for key, each in known["patternProperties"].items()}}
    return write_table(
        ("field", "type", "value", "example"),
        [
            (f"`{name}`", KINDS[field.kind].words, field.doc, _write_example(examples[name.partition("<")[0]]))
            for name, field in FIELDS.items()
        ],
    )


def _read_family(pattern: str) -> str:
    """Return the start of the keys that a pattern matches, such as `param.`."""
    return pattern[1:].partition("\\.")[0] + "."


def _write_example(schema: Mapping[str, Any]) -> str:
    """Return the example that editors show for a key, as in a rules file."""
    found = schema if "examples" in schema else _SCHEMA.get(str(schema.get("$ref")).rpartition("/")[2], {})
    shown = found.get("examples", [])
    return f"`{write_yaml(shown[0])}`" if shown else ""


def _list_predicates() -> str:
    kinds = {"text": "text", "number": "numbers", "boolean": "true/false", "list": "lists", "json": "JSON"}
    rows = [
        (f"`{name}`", ", ".join(kinds[kind] for kind in predicate.kinds), predicate.doc)
        for name, predicate in PREDICATES.items()
    ]
    return write_table(("predicate", "applies to", "matches if the field"), rows)


def _make_about_table(head: Sequence[str], abouts: Mapping[str, str]) -> Callable[[], str]:
    rows = [(f"`{name}`", about) for name, about in abouts.items()]
    return partial(_write_list, rows) if len(rows) <= SHORT else partial(write_table, head, rows)


def _write_list(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {name}: {about}" for name, about in rows)


def _find_keys(table: type[BaseTable]) -> Mapping[str, str]:
    """Return the keys of a table of the rules file, each with what it is."""
    return {field.alias or name: field.description or "" for name, field in table.model_fields.items()}


def _make_key_table(table: type[BaseTable]) -> Callable[[], str]:
    return _make_about_table(("key", "meaning"), _find_keys(table))


def _make_rules_table(table: type[BaseTable]) -> Callable[[], str]:
    """Return what writes the keys of a table of the rules file, with the examples that editors show."""
    properties = _SCHEMA[table.__name__.removesuffix("Spec")]["properties"]
    rows = [(f"`{key}`", about, _write_example(properties[key])) for key, about in _find_keys(table).items()]
    return partial(write_table, ("key", "meaning", "example"), rows)


def _make_type_table(tables: Any) -> Callable[[], str]:
    """Return what writes tables that differ by their `type`: each type and its keys, the required ones first."""
    return lambda: write_table(("type", "keys"), _list_types(tables))


def _list_actions() -> str:
    return ", ".join(f"{kind} ({keys})" if keys else kind for kind, keys in _list_types(Action)) + "."


def _list_types(tables: Any) -> Iterator[tuple[str, str]]:
    for table in get_args(get_args(get_args(tables)[1].annotation)[0]):
        (kind,) = get_args(table.model_fields["type"].annotation)
        fields = {name: field for name, field in table.model_fields.items() if name != "type"}
        keys = sorted(fields, key=lambda name: fields[name].default is not ...)
        shown = (f"**`{name}`**" if fields[name].default is ... else f"`{name}`" for name in keys)
        yield f"`{kind}`", ", ".join(shown)


def _list_answers() -> str:
    """Return the keys that are answers only; those that also go with another answer are in the table of these."""
    also, examples = frozenset().union(*BESIDE.values()), _SCHEMA["Then"]["properties"]
    rows = [
        (f"`{key}`", about, _write_example(examples[key]))
        for key, about in _find_keys(ThenSpec).items()
        if key in OUTCOMES and key not in also
    ]
    return write_table(("answer", "meaning", "example"), rows)


def _list_keys_beside() -> str:
    examples = _SCHEMA["Then"]["properties"]
    goes = {key: [answer for answer, kind in OUTCOMES.items() if key in BESIDE[kind]] for key in examples}
    rows = [
        (f"`{key}`", about, _list_companions(goes[key]), _write_example(examples[key]))
        for key, about in _find_keys(ThenSpec).items()
        if any(key in beside for beside in BESIDE.values())
    ]
    return write_table(("key", "meaning", "goes with", "example"), rows)


def _list_companions(answers: Sequence[str]) -> str:
    others = [answer for answer in OUTCOMES if answer not in answers]
    these = list(dict.fromkeys("content" if OUTCOMES[answer] == "content" else f"`{answer}`" for answer in answers))
    return (
        "all but " + ", ".join(f"`{answer}`" for answer in others) if len(others) + 2 < len(these) else ", ".join(these)
    )


def _list_generators() -> str:
    abouts = {name: (GENERATORS[name].__doc__ or "").partition("\n")[0] for name in KINDS_OF_TEXT}
    return write_table(
        ("kind", "generates"),
        [(f"`{name}`", _OPTION.sub(r"`\1`", about)) for name, about in abouts.items()],
    )


def _list_settings() -> str:
    rows = [
        (f"`{name}`", _write_default(name), f"`MOCKSERVER_{name.upper()}`", field.description or "")
        for name, field in Settings.model_fields.items()
    ]
    return write_table(("setting", "default", "variable", "meaning"), rows)


def _write_default(name: str) -> str:
    shown = Settings.model_json_schema()["properties"][name].get("default")
    return "none" if shown is None or isinstance(shown, dict) else f"`{json.dumps(shown).strip(chr(34))}`"


def _list_published_models() -> str:
    """Return well-known models, those with the same limits in one row."""
    alike: dict[Sequence[str], list[str]] = {}
    for pattern, model in PUBLISHED.items():
        alike.setdefault(_write_limits(model), []).append(f"`{pattern}`")
    head = ("models", "context window", "longest answer", "tokenizer", "efforts", "lacks")
    whole = write_table(head, [(", ".join(patterns), *row) for row, patterns in alike.items() if any(row[1:])])
    windows = _write_list((row[0], ", ".join(patterns)) for row, patterns in alike.items() if not any(row[1:]))
    return f"{whole}\n\nOf others, only the context window is known:\n\n{windows}"


def _write_limits(model: PublishedModel) -> Sequence[str]:
    lacks = [f"`{key}`" for key in ("tools", "vision", "json_schema") if getattr(model, key) is False]
    lacks += [f"({name})" for key, name in _LACKING_IN_LIVE.items() if getattr(model, key) not in (None, True)]
    return (
        f"{model.context_window:,}",
        f"{model.max_output_tokens:,}" if model.max_output_tokens else "",
        f"`{model.tokenizer}`" if model.tokenizer else "",
        ", ".join(f"`{effort}`" for effort in model.efforts or ()),
        ", ".join(lacks),
    )


_LACKING_IN_LIVE = {
    "reasoning": "`reasoning`",
    "sampling": "`sampling`",
    "usual_effort": "`sampling` while it reasons",
    "max_tokens": "`max_tokens`",
    "verbosity": "`verbosity`",
    "parallel_choice": "`parallel_tool_calls`",
    "reasoning_with_tools": "reasoning with tools in chats",
    "cache_retention": "`prompt_cache_retention`",
}


_PLACES = {  # of others: in the page of the table
    **{name: f"anthropic-and-gemini.md#{name}" for name in ("anthropic", "gemini")},
    **{name: f"cohere-and-rerank.md#{name}" for name in ("cohere", "jina", "voyage")},
    **{name: f"ollama-and-mistral.md#{name}" for name in ("mistral", "ollama")},
    "bedrock": "bedrock.md",
    "compatible": "compatible-hosts.md",
}


def _list_dialects() -> str:
    rows = [
        (
            f"[`{dialect.name}`]({_PLACES.get(dialect.name, f'#{dialect.name}')})",
            ", ".join(f"`{mount}`" for mount in _list_mounts(dialect)),
            _list_credentials(dialect),
            ", ".join(dict.fromkeys(each.name for each in dialect.operations if each.name in ASKED)),
        )
        for dialect in discover().values()
    ]
    return write_table(("dialect", "mounted at", "credential", "what it answers"), rows)


def _list_mounts(dialect: Dialect) -> Iterator[str]:
    """Yield the mounts of a dialect, and the first of each of its hosts."""
    yield from dialect.mounts
    yield from (host.mounts[0] for host in list_hosts(dialect.name).values() if host.name != host.label)


def _list_hosts_of_compatible() -> str:
    """Return the hosts of `compatible`: where they are, what else they answer, and which models they list."""
    rows = [
        (
            f"`{name}`",
            ", ".join(f"`{mount}`" for mount in host.mounts),
            ", ".join(f"`{model}`" for model in host.models),
            ", ".join(dict.fromkeys(f"`{each.path}`" for each in host.operations if each.name not in _EVERYWHERE)),
        )
        for name, host in list_hosts("compatible").items()
    ]
    return write_table(("host", "base paths", "models that it lists", "more"), rows)


_EVERYWHERE = ("chat", "models", "model")


def _list_variables() -> str:
    """Return the variables that are set, those with the same value in one row."""
    alike: dict[str, list[str]] = {}
    for dialect in discover_all().values():
        for name, text in dialect.variables.items():
            value = text.replace("{address}", "ADDRESS").replace("{key}", "KEY")
            alike.setdefault(value, []).append(f"`{name}`")
    return write_table(
        ("value", "variables"),
        [(f"`{value}`" if value else "empty", ", ".join(named)) for value, named in alike.items()],
    )


def _list_operations(dialect: Dialect) -> str:
    """Return where each operation of a dialect stands, below its mount, but for those on OpenAI's objects."""
    places: dict[str, list[str]] = {}
    kept = _find_operations_on_objects() if dialect.name in ("openai", "azure_openai") else {}
    for operation in dialect.operations:
        if operation.name in kept:
            continue
        places.setdefault(operation.name, []).append(f"`{operation.method} {_KIND.sub('', operation.path) or '/'}`")
    return write_table(("operation", "requests"), [(f"`{name}`", ", ".join(where)) for name, where in places.items()])


def _find_operations_on_objects() -> dict[str, str]:
    """Return where each operation on OpenAI's objects stands; chats, as runs are, do not count."""
    api = ObjectsApi(dialect="openai", lines=lambda http, call: "", fail=discover()["openai"].fail, operations=())
    made = [each for each in make_object_operations(api) if each.name not in ASKED]
    return {each.name: f"`{each.method} {each.path}`" for each in reversed(made)}


def _list_operations_on_objects() -> str:
    rows = [(f"`{name}`", path) for name, path in reversed(_find_operations_on_objects().items())]
    return write_table(("operation", "request"), rows)


def _list_features() -> str:
    rows = [(f"`{name}`", about, ", ".join(_list_dialects_without(name))) for name, about in FEATURES.items()]
    return write_table(("feature", "meaning", "not in"), rows)


def _list_dialects_without(feature: str) -> Iterator[str]:
    return (f"`{dialect.name}`" for dialect in discover().values() if feature not in dialect.features)


_WITHOUT_CODES = ("cohere", "jina", "voyage")  # whose errors are a message


def _list_errors() -> str:
    spoken = [dialect for dialect in discover().values() if dialect.name not in _WITHOUT_CODES]
    rows = [
        (f"`{name}`", str(status), *(_write_error(dialect, name) for dialect in spoken))
        for name, status in REASONS.items()
        if _is_short(name)
    ]
    return write_table(("short form", "status", *(dialect.name for dialect in spoken)), rows)


def _list_errors_of_bedrock() -> str:
    """Return what a short form is for AWS's clients, each of which names its exceptions so."""
    bedrock = discover()["bedrock"]
    rows = []
    for name in filter(_is_short, REASONS):
        reply = bedrock.fail(HttpRequest("POST", "/model/m/converse"), Failure(name), None)
        rows.append((f"`{name}`", str(reply.status), f"`{_find_code(reply)}`", json.loads(reply.body)["message"]))
    return write_table(("short form", "status", "exception", "message"), rows)


def _list_statuses() -> str:
    return ", ".join(f"{status} `{name}`" for status, name in REASON_OF_STATUS.items()) + "."


def _is_short(name: str) -> bool:
    """Return whether a rule may name this error."""
    document = Document.from_data({"version": 1, "rules": [{"then": {"error": name}}]}, "rules.yaml")
    try:
        return bool(load((document,), {}))
    except RuleError:
        return False


def _write_error(dialect: Dialect, reason: str) -> str:
    reply = dialect.fail(HttpRequest("POST", "/chat/completions"), Failure(reason), None)
    return f"`{_find_code(reply)}`" if reply.status == REASONS[reason] else f"{reply.status} `{_find_code(reply)}`"


def _list_error_bodies() -> str:
    """Return the body of one error in each dialect, those that are alike in one row."""
    failure = Failure("server_error", message="Out of order.")
    alike: dict[str, list[str]] = {}
    for name, dialect in discover().items():
        body = dialect.fail(HttpRequest("POST", "/chat/completions"), failure, None).body
        alike.setdefault(f"`{json.dumps(json.loads(body))}`", []).append(name)
    return write_table(("dialect", "body"), [(_join_names(names), body) for body, names in alike.items()])


def _find_code(reply: Reply) -> str:
    """Return what a client can tell the failure by: its code or type, Azure's header, or what little there is."""
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


def _list_faults() -> str:
    rows = [
        (
            f"`{name}`",
            (fault.__doc__ or "").partition("\n")[0],
            _write_usual_place(fault),
            ". ".join(_list_options(fault)),
        )
        for name, fault in {**FAULTS, **ANSWER_FAULTS}.items()
    ]
    return write_table(("fault", "what it does", "default position", "options (with defaults)"), rows)


def _list_positions() -> str:
    rows = [(f"`{where}: {3 if is_counted(where) else 'true'}`", about) for where, about in POSITIONS.items()]
    return write_table(("position", "meaning"), rows)


def _list_run_outcomes() -> str:
    rows = [(f"`{word}`", about, "bad" if word in BAD else "") for word, about in RUN_OUTCOMES.items()]
    return write_table(("outcome", "what happened", "verdict"), rows)


def _write_usual_place(fault: type[Any]) -> str:
    place = next((each.default for each in list_options(fault) if each.kind == "position"), None)
    return "" if place is None else f"`{place.where}: {place.count}`" if is_counted(place.where) else f"`{place.where}`"


def _list_options(fault: type[Any]) -> Iterator[str]:
    for each in list_options(fault):
        if each.kind != "position":
            words = f" ({', '.join(f'`{word}`' for word in each.among)})" if each.among else ""
            yield f"`{each.name}{_write_usual(each)}`: {each.about}{words}"


def _write_usual(each: Option) -> str:
    """Return the default of an option, unless its description says it."""
    match each.kind, each.default:
        case _, None | 0.0 | math.inf:
            return ""
        case "duration", seconds:
            return f": {seconds * 1000:g}ms"
        case _, float(number):
            return f": {number:g}"
    return f": {each.default}"


def _list_profiles() -> str:
    head = "profile", "first token", "tokens per second", "jitter", "per 1,000 prompt tokens"
    return write_table(head, [(f"`{name}`", *_write_timing(timing)) for name, timing in PROFILES.items()])


def _write_timing(timing: Timing) -> Sequence[str]:
    speed = f"{1 / timing.per_token:.0f}" if timing.per_token else "all at once"
    spread, later = f"{timing.distribution} {timing.jitter:.0%}", timing.prompt_per_1k
    return f"{timing.first_token or 0:g} s", speed, spread if timing.jitter else "none", f"{later * 1000:.0f} ms"


def _read_measured(question: str) -> Iterator[tuple[str, str, float]]:
    """Yield what the last release cost: the name of each row, what it is compared with, and the ratio."""
    measured = json.loads((ROOT / "benchmarks/released.json").read_text())
    for name, ratio in measured[question].items():
        row, slash, than = name.partition(" / ")
        if slash:
            yield row, than, ratio


def _list_kinds() -> str:
    rows = [(row, f"{ratio:.1f}") for row, than, ratio in _read_measured("kinds") if than == "bare"]
    return write_table(("request", "CPU"), rows)


def _list_apis() -> str:
    """Return the other APIs, each beside OpenAI's chats."""
    ratios: dict[str, dict[str, str]] = {}
    for api, than, ratio in _read_measured("kinds"):
        if than != "bare":
            ratios.setdefault(api, {})[than] = f"{ratio:.1f}"
    kinds = tuple(next(iter(ratios.values())))
    return write_table(("API", *kinds), [(api, *map(found.__getitem__, kinds)) for api, found in ratios.items()])


def _write_speed() -> str:
    """Return a sentence that leaves nothing out: it names the dearest row of the whole table."""
    kinds = {row: ratio for row, than, ratio in _read_measured("kinds") if than == "bare"}
    dearest = max(kinds, key=kinds.__getitem__)
    text = (
        f"A chat that a rule answers costs {kinds['constant text']:.1f} times the CPU of a bare uvicorn app that "
        f"answers with fixed bytes, and the dearest of [{len(kinds)} kinds](docs/guides/load-tests.md#performance) "
        f"({dearest}) {kinds[dearest]:.1f} times. Measure it: `make bench`."
    )
    return textwrap.fill(text, width=120, break_long_words=False, break_on_hyphens=False)


def _list_startup() -> str:
    ratios = {row: f"{ratio:.1f}" for row, _, ratio in _read_measured("startup")}
    rows = [(f"`{row}`", ratios[row], ratios[f"{row}, no bytecode"]) for row in ratios if "," not in row]
    return write_table(("command", "CPU", "no bytecode"), rows)


def _list_credentials(dialect: Dialect) -> str:
    """Return how a dialect reads the client's key, found by trying."""
    return ", ".join(shown for shown, http in _KEYS_SENT.items() if dialect.read_credential(http) == "KEY")


_KEYS_SENT: Mapping[str, HttpRequest] = {
    "`Authorization: Bearer KEY`": HttpRequest("POST", "/", {}, ((b"authorization", b"Bearer KEY"),)),
    **{
        f"`{name}: KEY`": HttpRequest("POST", "/", {}, ((name.encode(), b"KEY"),))
        for name in ("api-key", "x-api-key", "x-goog-api-key")
    },
    "`?key=KEY`": HttpRequest("POST", "/", {"key": "KEY"}),
}


def _list_limit_headers() -> str:
    """Return the headers of each dialect's answers that say what is left, and those that only a refusal has."""
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
        alike.setdefault((_join_names(left), _join_names(more)), []).append(name)
    rows = [(_join_names(dialects), *headers) for headers, dialects in alike.items()]
    return write_table(("dialect", "on a success and on a refusal", "on a refusal only"), rows)


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


TABLES: Mapping[str, Callable[[], str]] = {
    **INTERFACES,
    "actions": _list_actions,
    "answers": _list_answers,
    "apis": _list_apis,
    "beside": _list_keys_beside,
    "dialects": _list_dialects,
    "hosts": _list_hosts_of_compatible,
    "host-settings": _make_key_table(HostSettings),
    "error": _make_rules_table(ErrorSpec),
    "error-bodies": _list_error_bodies,
    "errors": _list_errors,
    "errors-bedrock": _list_errors_of_bedrock,
    "failed": _make_rules_table(FailedSpec),
    "faults": _list_faults,
    "features": _list_features,
    "fields": _list_fields,
    "filter": _make_rules_table(FilterSpec),
    "generators": _list_generators,
    "groups": _make_about_table(("group", "matches if"), GROUPS),
    "how-often": _make_about_table(("key", "meaning"), FAULT_KEYS),
    "items": _make_type_table(ItemSpec),
    "key": _make_key_table(KeySettings),
    "kinds": _list_kinds,
    "limit-headers": _list_limit_headers,
    "limits": _make_key_table(LimitsTable),
    "mcp-change": _make_rules_table(McpChangeSpec),
    "mcp-log": _make_rules_table(LogSpec),
    "mcp-progress": _make_rules_table(ProgressSpec),
    "mcp-prompt": _make_rules_table(McpPromptSpec),
    "mcp-question": _make_rules_table(QuestionSpec),
    "mcp-resource": _make_rules_table(McpResourceSpec),
    "mcp-server": _make_rules_table(McpServerSpec),
    "mcp-tool": _make_rules_table(McpToolSpec),
    "model": _make_key_table(ModelSettings),
    "modifiers": _make_about_table(("option", "effect"), MODIFIERS),
    "outcomes": _list_run_outcomes,
    "positions": _list_positions,
    "predicates": _list_predicates,
    "profiles": _list_profiles,
    "published-models": _list_published_models,
    "rule": _make_rules_table(RuleSpec),
    "settings": _list_settings,
    "statuses": _list_statuses,
    "objects": _list_operations_on_objects,
    **{f"operations-{name}": partial(_list_operations, dialect) for name, dialect in discover().items()},
    "speed": _write_speed,
    "startup": _list_startup,
    "state": _make_rules_table(StateSpec),
    "usage": _make_rules_table(UsageSpec),
    "raw": _make_rules_table(RawSpec),
    "timing": _make_key_table(TimingSpec),
    "tool-call": _make_rules_table(ToolCallSpec),
    "variables": _list_variables,
}
