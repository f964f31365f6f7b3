"""The rules with their lines in the files, and a rule changed or put in there, if the setting allows it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from textwrap import dedent, indent

from msgspec import Struct
from starlette.responses import Response

from mockserver.cassettes.cassette_file import replace_file
from mockserver.config.errors import MockserverError
from mockserver.config.source import Document, read
from mockserver.core.json import Json
from mockserver.engine.offload import on_thread
from mockserver.rules.lint.remarks import review
from mockserver.rules.load import Rule
from mockserver.server.cassette_store import check_cassettes
from mockserver.server.control.requests import ControlRequest, RefusedError, json_response
from mockserver.server.live import Live, reload
from mockserver.server.sources import compiled, rules_in
from mockserver.server.stubs import unreachable

MOST_BYTES = 1_000_000  # of a file that is changed here


class RuleLines(Struct, frozen=True):
    """Where a rule is in its file: its first and last line, from 1, and the column of its dash."""

    first: int
    last: int
    dash: int


class RulesFile(Struct, frozen=True):
    """A rules file as it is now; `rules` by the line at which each begins, with its text as written there."""

    document: Document
    lines: tuple[str, ...]  # with their ends
    sha256: str
    rules: Mapping[int, tuple[Json, RuleLines | None]]

    def text(self, where: RuleLines) -> str:
        return dedent("\n".join(line.rstrip("\r\n") for line in self.lines[where.first - 1 : where.last])) + "\n"


@lru_cache(maxsize=16)
def rules_file(data: bytes, shown: str) -> RulesFile:
    """Raises MockserverError if it is no YAML."""
    document, lines = read(data, shown), tuple(data.decode("utf-8", "replace").splitlines(keepends=True))
    found = dict[int, tuple[Json, RuleLines | None]]()
    for at, spec in enumerate(rules_in(document)):
        place = document.find_place(("rules", at))
        if place is not None:
            found[place.line] = spec, _lines(lines, place.line, place.column)
    return RulesFile(document, lines, sha256(data).hexdigest(), found)


def _lines(lines: Sequence[str], first: int, column: int) -> RuleLines | None:
    """The lines of an item of a block list; None if it is written in another way."""
    before = lines[first - 1][: column - 1]
    if before.strip() != "-":
        return None
    dash, last = before.index("-"), first
    for number, line in enumerate(lines[first:], first + 1):
        written = line.strip()
        if len(line) - len(line.lstrip()) > dash:
            last = number if written else last
        elif written and not written.startswith("#"):
            break
    return RuleLines(first, last, dash)


async def list_rules(asked: ControlRequest) -> Response:
    """List rules in the order in which they are tried."""
    live, name = asked.live, asked.one_namespace
    own, hits = live.namespaces.get(name), live.journal.hits(name)
    after, limit = asked.number("after") or 0, asked.number("limit")
    rules = own.engine(live.engine).rules
    last = {row.source: row.seq for row in live.journal.rows(name) if row.source.startswith("rule ")}
    remarks, files = await on_thread(_known, rules, asked)
    shown = list[Json]()
    for at, rule in enumerate(rules[after:] if limit is None else rules[after : after + limit], after):
        counts = rule.counts or "attempt" in rule.when.uses
        more = {"added": at < len(own.rules), "hits": hits[rule.source], "counts": counts, "spec": rule.spec}
        found = {"last_call": last.get(rule.source), "remarks": remarks.get(id(rule), [])}
        shown.append({"name": rule.name, "source": rule.source, **more, **found, **_written(rule, files)})
    return await on_thread(json_response, {"rules": shown})


def _known(rules: Sequence[Rule], asked: ControlRequest) -> tuple[Mapping[int, list[str]], Mapping[str, RulesFile]]:
    """The remarks on rules, kept as long as these are the same, and the rules files as they are now."""
    looks, live = asked.looks, asked.live
    if looks.remarks is None or looks.remarks[0] is not rules:
        texts = dict[int, list[str]]()
        for remark in (*(each for each in review(rules) if each.before), *unreachable(rules, live.settings.dialect)):
            texts.setdefault(id(remark.rule), []).append(remark.text)
        looks.remarks = rules, texts
    read = {live.sources.shown(path): _file(path, live.sources.shown(path)) for path in live.sources.files}
    return looks.remarks[1], {name: file for name, file in read.items() if file is not None}


def _file(path: Path, shown: str) -> RulesFile | None:
    try:
        return rules_file(path.read_bytes(), shown)
    except (OSError, MockserverError):  # it is being changed
        return None


def _written(rule: Rule, files: Mapping[str, RulesFile]) -> dict[str, Json]:
    """Where a rule is written, and its text, if the file still says the same there."""
    place = rule.place
    if place is None or not place.line:
        return {}
    where: dict[str, Json] = {"file": place.file, "line": place.line}
    file = files.get(place.file)
    spec, lines = (None, None) if file is None else file.rules.get(place.line, (None, None))
    if file is None or lines is None or spec != rule.spec:
        return {"where": where}
    return {"where": {**where, "end": lines.last, "sha256": file.sha256}, "text": file.text(lines)}


async def put(asked: ControlRequest) -> Response:
    """Replace the lines of a rule in the first rules file, or put one in, if `inspector_writes` allows it."""
    live, wanted = asked.live, asked.table("from", "to", "text", "sha256")
    if not live.settings.inspector_writes:
        raise RefusedError(403, "rules files are not changed here; the setting inspector_writes allows it")
    if asked.item != "0" or not live.sources.files:
        raise RefusedError(404, "only the first rules file can be changed: PUT files/0")
    first, last = wanted.get("from"), wanted.get("to")
    texts = all(isinstance(wanted.get(name), str) for name in ("text", "sha256"))
    if type(first) is not int or type(last) is not int or not texts:
        raise RefusedError(400, 'the body must be {"from": 5, "to": 7, "text": "- name: ...", "sha256": "..."}')
    async with live.changing:
        made = await on_thread(_changed, live, wanted, (first, last))
    with suppress(MockserverError):  # of a cassette, for one; `ready` says it
        await reload(live, live.sources)
    return json_response(made)


def _changed(live: Live, wanted: Mapping[str, Json], lines: tuple[int, int]) -> Json:
    path = live.sources.files[0]
    shown = live.sources.shown(path)
    if path.is_symlink() or not path.is_file():
        raise RefusedError(409, f"{shown} is a link or no file")
    data = path.read_bytes()
    if sha256(data).hexdigest() != wanted["sha256"]:
        raise RefusedError(409, f"{shown} has changed meanwhile; read the rules again")
    try:
        before = rules_file(data, shown)
        text = _with(before, wanted["text"], lines)
        if len(text) > MOST_BYTES:
            raise RefusedError(409, f"{shown} would be larger than {MOST_BYTES} bytes")
        after = rules_file(text, shown)
        _check_others(before, after, replaced=lines[0] <= lines[1], shown=shown)
        documents = [after.document, *live.sources.documents()[1:]]
        compiled(documents, live.settings.profiles)
        check_cassettes(documents, live.player.store)
    except MockserverError as error:
        words = f"nothing was saved: {error.mistakes[0]}"
        raise RefusedError(400, words, mistakes=error.mistakes) from error
    try:
        replace_file(path, text)
    except OSError as error:
        raise RefusedError(409, f"{shown} cannot be written: {error.strerror or error}") from error
    return {"file": shown, "from": lines[0], "to": after.rules[lines[0]][1].last, "sha256": after.sha256}  # type: ignore[union-attr]


def _with(file: RulesFile, text: str, lines: tuple[int, int]) -> bytes:
    """The file with a rule in the place of these lines. Raises RefusedError if they are not those of a rule."""
    first, last = lines
    known = [where for _, where in file.rules.values() if where is not None]
    at = next((each for each in known if first in (each.first, each.last + 1)), None)
    whole = last == first - 1 or any((each.first, each.last) == lines for each in known)
    if at is None or not whole:
        raise RefusedError(409, f"lines {first} to {last} are not those of one rule, nor a place between rules")
    if not text.lstrip().startswith("-"):
        raise RefusedError(400, '"text" must be one item of `rules`: - name: ...')
    rule = indent(dedent(text).strip("\n"), " " * at.dash)
    before, after = "".join(file.lines[: first - 1]), "".join(file.lines[max(last, first - 1) :])
    end = "\r\n" if file.lines[min(first, len(file.lines)) - 1].endswith("\r\n") else "\n"
    if before and len((before + "x").splitlines()) < first:  # the last line of the file has no end
        before += end
    return (before + "".join(line + end for line in rule.splitlines()) + after).encode()


def _check_others(before: RulesFile, after: RulesFile, *, replaced: bool, shown: str) -> None:
    """Refuse a text that changes anything but one rule."""
    old, new = (each.document.data for each in (before, after))
    rest = [{key: value for key, value in data.items() if key != "rules"} for data in (old, new)]
    one, other = ([spec for spec, _ in file.rules.values()] for file in (before, after))
    same = sum(spec in one for spec in other)
    if rest[0] != rest[1] or len(other) != len(one) + (not replaced) or same < len(other) - 1:
        raise RefusedError(409, f"the text would change more of {shown} than one rule")
