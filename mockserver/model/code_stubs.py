"""Stubs of code, where a prompt orders code: programs parse or run what they get."""

from collections.abc import Mapping

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
from mockserver.model.prose import ENGLISH, content_words
from mockserver.model.vocabulary import english, singular


def write_stub(text: str, rules: str = "") -> str | None:
    """Return a stub in the language that a prompt, or else its rules, asks for; None if no code is ordered.

    It is fenced unless only code may be written.
    """
    said = _CODE.search(text)
    alone = _CODE_ALONE.search(text) or _CODE_ALONE.search(rules)
    spoken = [found[1] for each in (text, rules) if (found := _LANGUAGES.search(each.lower()))]
    if said is None and any(map(_SQL_ORDERED.search, (text, rules))):
        return write_sql(text, rules)
    if said is None and (alone is None or not spoken):
        return None
    named = next(iter(spoken), "python")
    language = "sql" if named.endswith("sql") else _ALIASES.get(named, named)
    stub = _fill_stub(language, text)
    return stub if alone else f"```{language}\n{stub}\n```"


def _fill_stub(language: str, text: str) -> str:
    signed = _SIGNATURE.search(text)
    silent = english("said_of_code", "formats")
    about = [word for word in content_words(text, ENGLISH) if word.lower() not in silent]
    name = signed[1] if signed else "_".join([*map(singular, about[:1]), *about[1:3]])
    form = (english(language, "code") or english("python", "code"))[0]
    stub = form.format(name=name or "main", about=" ".join(text.split()).rstrip(".?!")[:_MAX_REPEATED]).strip()
    if signed:
        stub = stub.replace("*values", signed[2]).replace("return values", f"return {signed[2].split(',')[0]}")
    return stub


def write_code_values(properties: Mapping[str, Json], said: str, context: str) -> dict[str, Json]:
    """Return stubs for the properties that are described as SQL or code, if the text that wants them has no code."""
    made: dict[str, Json] = {}
    for name, inner in properties.items():
        if not isinstance(inner, Mapping) or inner.get("type") != "string":
            continue
        about = f"{name} {inner.get('description', '')}"[:_LONGEST_NOTE]
        if _SQL.search(about) and not _HAS_SQL.search(said):
            made[name] = write_sql(said, context)
        elif _COMMAND_MENTION.search(about) and not _HAS_COMMAND.search(said):
            made[name] = _fill_stub("bash", said.replace('"', "'"))
        elif _CODE_MENTION.search(about) and not _HAS_CODE.search(said):
            made[name] = _fill_stub("python", said)
    return made


def write_sql(said: str, context: str) -> str:
    """Return a query of the table that a question names, of those that the context or the question itself shows."""
    tables = [table for text in (context, said) for table in _TABLE.findall(text)]
    tables = tables or [table for line in _ROW_OF_NAMES.findall(context) for table in line.split(", ")]
    about = [singular(word) for word in content_words(_TABLE.sub(" ", said), ENGLISH)]
    silent = english("said_of_code", "formats")
    named = next((table for table in tables if singular(table) in about), None)
    table = named or next(iter((*tables, *(word for word in about if word not in silent))), "items")
    return " ".join(("SELECT", "COUNT(*)" if _COUNTS.search(said) else "*", "FROM", table, "LIMIT 10"))


_MAX_REPEATED = 100  # characters of a prompt that a stub repeats
_LONGEST_NOTE = 300
_SQL = lazy_pattern(r"(?i)\bsql\b|_sql\b|\bsql_")
_SQL_ORDERED = lazy_pattern(
    r"(?i)\b(?:generate|write|create|return|produce)\b[^.?!\n]{0,60}\b\w{0,10}sql(?:ite)? quer(?:y|ies)\b"
)
_HAS_SQL = lazy_pattern(r"(?is)\bselect\b.{1,200}\bfrom\b|\b(?:insert into|update \w+ set|delete from)\b")
_CODE_MENTION = lazy_pattern(
    r"(?i)\bcode (?:block|snippet)s?\b|\b(?:python|source|executable)[ _]code\b|\bcode to (?:run|execute)\b"
)
_COMMAND_MENTION = lazy_pattern(r"(?i)\b(?:bash|shell|terminal) commands?\b")
_HAS_COMMAND = lazy_pattern(
    r"(?im)[`$|]|--|\./|(?:^|[.:;,]\s+|\b(?:please|then|and|use)\s+)(?:run|execute|ls|cd|pwd|cat|git|grep|echo)\b"
)
_HAS_CODE = lazy_pattern(r"[`'\"()=;{}]|\d\s?[-+*/^]")
_TABLE = lazy_pattern(r"(?i)\bcreate table (?:if not exists )?[\[\"`]?(\w{1,60})")
_ROW_OF_NAMES = lazy_pattern(r"(?m)^(\w{1,60}(?:, \w{1,60}){0,200})$")
_COUNTS = lazy_pattern(r"(?i)\bhow many\b")
_CODE = lazy_pattern(
    r"(?i)\b(?:write|create|implement|generate|make|give me|show me|provide)\b[^.?!\n]{0,60}?"
    r"\b(?:functions?|scripts?|programs?|class|code|snippet|sql quer(?:y|ies)|regex|command|one-liner)\b(?! of\b)"
)
_CODE_ALONE = lazy_pattern(
    r"(?i)\b(?:only|just|nothing but|raw)\b[^.\n]{0,30}\b(?:code|commands?|sql|regex|quer(?:y|ies)|functions?)\b"
    r"|\b(?:code|command|sql|query|regex) only\b|\b(?:no|without)\b[^.\n]{0,20} (?:markdown|fences?|backticks)\b"
)
_LANGUAGES = lazy_pattern(
    r"\b(python|javascript|typescript|js|ts|java|rust|golang|ruby|php|bash|shell|\w{0,10}sql|sqlite|html|css|regex"
    r"|dockerfile|(?<=in )(?:go|c))\b(?![+#])"
)
_ALIASES = {"js": "javascript", "ts": "typescript", "golang": "go", "sqlite": "sql", "shell": "bash"}
_SIGNATURE = lazy_pattern(r"\b([A-Za-z_]\w{1,60})\(([\w, ]{1,80})\)")
