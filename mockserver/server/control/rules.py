"""The rules: listed with their lines in the files, added, removed, and written to a file if the setting allows it."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from hashlib import sha256
from itertools import count
from textwrap import dedent, indent
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response

from mockserver.cassettes.locked_file import replace_file
from mockserver.config.errors import Mistake, MockserverError, SourceLocation
from mockserver.config.settings import Settings
from mockserver.config.source import Document, did_you_mean, read
from mockserver.config.source import Path as KeyPath
from mockserver.core.json import Json
from mockserver.core.json_diff import write_path
from mockserver.engine.counters import select_counters
from mockserver.engine.offload import on_thread
from mockserver.rules.lint.remarks import review
from mockserver.rules.load import Rule
from mockserver.server.control.requests import ControlRequest, RefusedError, RuleRemarks, make_json_response
from mockserver.server.live import Live
from mockserver.server.namespaces import ADDED, Namespace
from mockserver.server.reload import reload
from mockserver.server.sources import Sources, check_cassettes, compile_rules, find_rules
from mockserver.server.unreachable_rules import find_unreachable

MAX_RULES = 10_000  # rules that a namespace may have of its own
MAX_VALUES = 100_000  # of the YAML of one request: texts, numbers, lists and tables
MAX_BYTES = 1_000_000  # of a file that is changed here


class RuleLines(Struct, frozen=True):
    """Where a rule is in its file: its first and last line, from 1, and the column of its dash."""

    first: int
    last: int
    dash: int


class WrittenRule(Struct, frozen=True):
    """A rule as a file states it, and its lines; None if it is not an item of a block list."""

    spec: Json
    lines: RuleLines | None


class EditedRulesFile(Struct, frozen=True):
    """A rules file as it is now; `rules` by the line at which each begins."""

    document: Document
    lines: tuple[str, ...]  # with their ends
    sha256: str
    rules: Mapping[int, WrittenRule]

    def cut_text(self, where: RuleLines) -> str:
        """Return the text of a rule, without its indentation."""
        return dedent("\n".join(line.rstrip("\r\n") for line in self.lines[where.first - 1 : where.last])) + "\n"


@lru_cache(maxsize=16)
def read_rules_file(data: bytes, shown: str) -> EditedRulesFile:
    """Read a rules file. Raises MockserverError if it is not YAML."""
    document = read(data, shown)
    lines = tuple(data.decode("utf-8", "replace").splitlines(keepends=True))
    found = dict[int, WrittenRule]()
    for at, spec in enumerate(find_rules(document)):
        place = document.find_place(("rules", at))
        if place is not None:
            found[place.line] = WrittenRule(spec, _find_lines(lines, place.line, place.column))
    return EditedRulesFile(document, lines, sha256=sha256(data).hexdigest(), rules=found)


def _find_lines(lines: Sequence[str], first: int, column: int) -> RuleLines | None:
    """Return the lines of an item of a block list; None if it is written in another way."""
    before = lines[first - 1][: column - 1]
    if before.strip() != "-":
        return None
    dash = before.index("-")
    last = first
    for number, line in enumerate(lines[first:], first + 1):
        written = line.strip()
        if len(line) - len(line.lstrip()) > dash:
            last = number if written else last
        elif written and not written.startswith("#"):
            break
    return RuleLines(first, last, dash)


async def list_rules(request: ControlRequest) -> Response:
    """List rules in the order in which they are tried."""
    live = request.live
    name = request.one_namespace
    own = live.namespaces.get(name)
    hits = live.journal.count_hits(name)
    after = request.read_number("after") or 0
    limit = request.read_number("limit")
    rules = own.find_engine(live.engine).rules
    last = {row.source: row.seq for row in live.journal.list_rows(name) if row.source.startswith("rule ")}
    remarks, files = await on_thread(lambda: (_find_remarks(rules, request), _read_files(live.sources)))
    shown = list[Json]()
    for at, rule in enumerate(rules[after:] if limit is None else rules[after : after + limit], after):
        shown.append(
            {
                "name": rule.name,
                "source": rule.source,
                "added": at < len(own.rules),
                "hits": hits[rule.source],
                "counts": rule.counts or "attempt" in rule.when.uses,
                "spec": rule.spec,
                "last_call": last.get(rule.source),
                "remarks": remarks.get(id(rule), []),
                **_show_place(rule, files),
            }
        )
    return await on_thread(make_json_response, {"rules": shown})


def join_rules(answers: Sequence[Any], _: ControlRequest) -> dict[str, Json]:
    """Join the hits and the last calls of rules at several servers."""
    hits = Counter[str]()
    last = dict[str, int]()
    for answer in answers:
        hits.update({rule["source"]: rule["hits"] for rule in answer["rules"]})
        for rule in answer["rules"]:
            last[rule["source"]] = max(last.get(rule["source"], 0), rule["last_call"] or 0)
    rules = answers[0]["rules"]
    found = [{**rule, "hits": hits[rule["source"]], "last_call": last[rule["source"]] or None} for rule in rules]
    return {**answers[0], "rules": found}


def _find_remarks(rules: Sequence[Rule], request: ControlRequest) -> Mapping[int, list[str]]:
    """Return the remarks on rules by their ids, kept as long as the rules are the same."""
    known = request.cache.remarks
    if known is None or known.rules is not rules:
        texts = dict[int, list[str]]()
        hidden = (each for each in review(rules) if each.before)
        for remark in (*hidden, *find_unreachable(rules, request.live.settings.dialect)):
            texts.setdefault(id(remark.rule), []).append(remark.text)
        known = RuleRemarks(rules, texts)
        request.cache.remarks = known
    return known.texts


def _read_files(sources: Sources) -> Mapping[str, EditedRulesFile]:
    """Return the rules files as they are now, but for those that are being changed."""
    found = dict[str, EditedRulesFile]()
    for path in sources.files:
        shown = sources.shown(path)
        with suppress(OSError, MockserverError):
            found[shown] = read_rules_file(path.read_bytes(), shown)
    return found


def _show_place(rule: Rule, files: Mapping[str, EditedRulesFile]) -> dict[str, Json]:
    """Return where a rule is written, and its text, if that has not changed in the file."""
    place = rule.place
    if place is None or not place.line:
        return {}
    where: dict[str, Json] = {"file": place.file, "line": place.line}
    file = files.get(place.file)
    written = None if file is None else file.rules.get(place.line)
    if file is None or written is None or written.lines is None or written.spec != rule.spec:
        return {"where": where}
    lines = written.lines
    return {"where": {**where, "end": lines.last, "sha256": file.sha256}, "text": file.cut_text(lines)}


class AddedRules(NamedTuple):
    """Rules that were sent, and how many of them got a name here."""

    rules: tuple[Rule, ...]
    named: int


def read_rules(request: ControlRequest, named: int) -> AddedRules:
    """Return the rules of the body; those without a name get one, after `named` before. Raises RefusedError."""
    document = _read_document(request)
    nameless = [rule for rule in _list_specs(document) if isinstance(rule, Mapping) and rule.get("name") is None]
    document = _name_rules(document, named)
    settings = request.live.settings
    try:
        rules = compile_rules((document,), settings)
        check_cassettes((document,), request.live.player.store)
    except MockserverError as error:
        raise refuse_mistakes(_place_mistakes(document, error, settings)) from error
    if not rules:
        words = 'there is no rule in the body; send {"rules": [{"when": {...}, "then": {...}}]}, or one rule'
        raise RefusedError(400, words)
    return AddedRules(rules, len(nameless))


def refuse_mistakes(mistakes: Sequence[Mistake], status: int = 400) -> RefusedError:
    """Return the refusal of rules with these mistakes."""
    more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    return RefusedError(status, f"nothing was added: {mistakes[0]}{more}", mistakes=mistakes)


class JsonPlace(SourceLocation, frozen=True):
    """A place in a body of JSON: `file` is its path there."""

    def __str__(self) -> str:
        return self.file

    where = property(__str__)


class JsonDocument(Document, frozen=True):
    """A document without lines: places are paths."""

    def find_place(self, path: KeyPath, *, key: bool = False) -> SourceLocation:
        return JsonPlace(write_path(path) or "the body", 0, 0)


def _read_document(request: ControlRequest) -> Document:
    try:
        if "yaml" in request.kind:
            document = read(request.body, ADDED, MAX_VALUES)
        else:
            document = Document.from_data(request.read_content(), ADDED)
    except MockserverError as error:
        raise refuse_mistakes(error.mistakes) from error
    data = document.data
    if isinstance(data, Mapping) and "rules" not in data and {"name", "when", "then"} & data.keys():
        return Document.from_data({"rules": [data]}, ADDED)
    if isinstance(data, Mapping) and data.get("settings"):
        raise RefusedError(400, 'settings belong in a file or in flags; take "settings" out of the body')
    return document


def _list_specs(document: Document) -> Sequence[Json]:
    listed = document.data.get("rules") if isinstance(document.data, Mapping) else None
    return listed if isinstance(listed, list) else ()


def _name_rules(document: Document, named: int) -> Document:
    """Return a document of rules with a name for each, by which it can be removed."""
    listed = _list_specs(document)
    if len(listed) > MAX_RULES:
        raise RefusedError(
            409, f"a namespace has at most {MAX_RULES} rules of its own, and the body holds {len(listed)}"
        )
    if not listed:
        return document
    rules = list[Json]()
    numbers = count(named + 1)
    for rule in listed:
        is_nameless = isinstance(rule, Mapping) and rule.get("name") is None
        rules.append({**rule, "name": f"added {next(numbers)}"} if is_nameless else rule)
    return replace(document, data={**document.data, "rules": rules})


def _place_mistakes(document: Document, error: MockserverError, settings: Settings) -> Sequence[Mistake]:
    if not any(mistake.place is not None for mistake in error.mistakes):
        try:
            compile_rules((JsonDocument(document.data, ADDED),), settings)
        except MockserverError as again:
            return again.mistakes
    return error.mistakes


async def add_rules(request: ControlRequest) -> Response:
    """Add rules in front of all others: all, or none if one has a mistake."""
    live = request.live
    name = request.one_namespace
    replaces = request.read_switch("replace")
    async with live.reloading.lock:
        added = await on_thread(read_rules, request, live.namespaces.get(name).named)
        rules = added.rules
        _check_names(rules, live.namespaces.get(name), live.engine.rules, replace=replaces)
        names = [rule.name for rule in rules]
        own = frozenset(names)
        async with live.change(name) as space:
            gone = [rule for rule in space.rules if rule.name in own]
            space.named += added.named
            space.rules = (*rules, *(rule for rule in space.rules if rule.name not in own))
            await _reset_counters(request, space, gone)
        await on_thread(space.find_engine, live.engine)  # indexes the rules, which the next call needs
        return make_json_response({"names": names, "rules": len(space.rules) + len(live.engine.rules)}, 201)


async def remove_rule(request: ControlRequest) -> Response:
    """Remove an added rule."""
    space = request.live.namespaces.get(request.one_namespace)
    if not any(rule.name == request.item for rule in space.rules):
        raise RefusedError(404, _explain_missing(request.item, space, request.live.engine.rules))
    return await _remove(request, {request.item})


async def remove_rules(request: ControlRequest) -> Response:
    """Remove all added rules."""
    return await _remove(request, None)


async def _remove(request: ControlRequest, names: Container[str] | None) -> Response:
    """Remove the rules of these names; None: all."""
    async with request.live.change(request.one_namespace) as space:
        gone = [rule for rule in space.rules if names is None or rule.name in names]
        space.rules = tuple(rule for rule in space.rules if names is not None and rule.name not in names)
        await _reset_counters(request, space, gone)
    return make_json_response({"removed": [rule.name for rule in gone]})


async def _reset_counters(request: ControlRequest, space: Namespace, rules: Iterable[Rule]) -> None:
    """Reset the counters of removed rules: one that is added again by the same name starts over."""
    live = request.live
    namespace = request.namespace
    counted = await live.counters.list_entries(namespace)
    gone = list[str]()
    for rule in rules:
        if live.fleet is None:
            live.journal.forget_hits(namespace, rule.source)
        if rule.counts or rule.then.order_dependent:
            gone += select_counters(rule.name, counted)
    if live.fleet is None:
        await live.counters.forget(namespace, gone)
    else:
        space.forgotten = tuple(gone)  # in one step with the change


def _check_names(rules: Sequence[Rule], space: Namespace, others: Sequence[Rule], *, replace: bool) -> None:
    own = {rule.name for rule in space.rules}
    filed = {rule.name: rule.where for rule in others}
    found = [(rule.name, f" at {filed[rule.name]}") for rule in rules if rule.name in filed]
    if not replace:
        added = " by a rule that was added; use ?replace=true to replace it"
        found += [(rule.name, added) for rule in rules if rule.name in own]
    taken = [f'the name "{name}" is already used{words}' for name, words in found]
    if taken:
        raise refuse_mistakes([Mistake(words) for words in taken], 409)
    if len(rules) + len(space.rules) > MAX_RULES:
        raise RefusedError(409, f"a namespace has at most {MAX_RULES} rules of its own; remove some with DELETE rules")


def _explain_missing(name: str, space: Namespace, others: Sequence[Rule]) -> str:
    filed = next((rule.where for rule in others if rule.name == name), None)
    if filed is not None:
        return f'the rule "{name[:120]}" is in {filed}; only rules that were added can be removed'
    hint = did_you_mean(name, (rule.name for rule in space.rules))
    return f'there is no added rule "{name[:120]}"{hint}'


async def write_rule(request: ControlRequest) -> Response:
    """Replace the lines of a rule in the first rules file, or put one in, if `inspector_writes` allows it."""
    live = request.live
    wanted = request.read_table("from", "to", "text", "sha256")
    if not live.settings.inspector_writes:
        raise RefusedError(403, "rules files cannot be changed here; to allow it, set inspector_writes")
    if request.item != "0" or not live.sources.files:
        raise RefusedError(404, "only the first rules file can be changed: PUT files/0")
    first = wanted.get("from")
    last = wanted.get("to")
    texts = all(isinstance(wanted.get(name), str) for name in ("text", "sha256"))
    if type(first) is not int or type(last) is not int or not texts:
        raise RefusedError(400, 'the body must be {"from": 5, "to": 7, "text": "- name: ...", "sha256": "..."}')
    async with live.reloading.lock:
        written = await on_thread(partial(_write_rule, live, wanted, first=first, last=last))
    with suppress(MockserverError):  # a cassette may be broken; `ready` says so
        await reload(live, live.sources)
    return make_json_response(written)


def _write_rule(live: Live, wanted: Mapping[str, Json], *, first: int, last: int) -> Json:
    path = live.sources.files[0]
    shown = live.sources.shown(path)
    if path.is_symlink() or not path.is_file():
        raise RefusedError(409, f"{shown} is a link, or not a regular file")
    data = path.read_bytes()
    if sha256(data).hexdigest() != wanted["sha256"]:
        raise RefusedError(409, f"{shown} has changed in the meantime; read the rules again")
    try:
        before = read_rules_file(data, shown)
        text = _replace_lines(before, wanted["text"], first=first, last=last)
        if len(text) > MAX_BYTES:
            raise RefusedError(409, f"{shown} would be larger than {MAX_BYTES} bytes")
        after = read_rules_file(text, shown)
        _check_others(before, after, replaced=first <= last, shown=shown)
        documents = [after.document, *live.sources.read_documents()[1:]]
        compile_rules(documents, live.settings)
        check_cassettes(documents, live.player.store)
    except MockserverError as error:
        words = f"nothing was saved: {error.mistakes[0]}"
        raise RefusedError(400, words, mistakes=error.mistakes) from error
    try:
        replace_file(path, text)
    except OSError as error:
        raise RefusedError(409, f"{shown} cannot be written: {error.strerror or error}") from error
    written = after.rules[first].lines
    assert written is not None  # it is an item of a block list, as the one before it
    return {"file": shown, "from": first, "to": written.last, "sha256": after.sha256}


def _replace_lines(file: EditedRulesFile, text: str, *, first: int, last: int) -> bytes:
    """Return the file with a rule in the place of these lines. Raises RefusedError if they are not those of a rule."""
    known = [rule.lines for rule in file.rules.values() if rule.lines is not None]
    at = next((each for each in known if first in (each.first, each.last + 1)), None)
    whole = last == first - 1 or any((each.first, each.last) == (first, last) for each in known)
    if at is None or not whole:
        raise RefusedError(409, f"lines {first} to {last} are neither one whole rule nor the gap between two rules")
    if not text.lstrip().startswith("-"):
        raise RefusedError(400, '"text" must be one item of `rules`: - name: ...')
    rule = indent(dedent(text).strip("\n"), " " * at.dash)
    before = "".join(file.lines[: first - 1])
    after = "".join(file.lines[max(last, first - 1) :])
    end = "\r\n" if file.lines[min(first, len(file.lines)) - 1].endswith("\r\n") else "\n"
    if before and len((before + "x").splitlines()) < first:  # the last line of the file has no end
        before += end
    return (before + "".join(line + end for line in rule.splitlines()) + after).encode()


def _check_others(before: EditedRulesFile, after: EditedRulesFile, *, replaced: bool, shown: str) -> None:
    """Refuse a text that changes anything but one rule."""
    old, new = (each.document.data for each in (before, after))
    rest = [{key: value for key, value in data.items() if key != "rules"} for data in (old, new)]
    one, other = ([rule.spec for rule in file.rules.values()] for file in (before, after))
    same = sum(spec in one for spec in other)
    if rest[0] != rest[1] or len(other) != len(one) + (not replaced) or same < len(other) - 1:
        raise RefusedError(409, f"the text would change more than one rule of {shown}")
