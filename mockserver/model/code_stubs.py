"""Stubs of code, where a prompt orders code: programs parse or run what they get."""

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
    if said is None and (alone is None or not spoken):
        return None
    named = next(iter(spoken), "python")
    language = "sql" if named.endswith("sql") else _ALIASES.get(named, named)
    signed = _SIGNATURE.search(text)
    silent = english("said_of_code", "formats")
    about = [word for word in content_words(text, ENGLISH) if word.lower() not in silent]
    name = signed[1] if signed else "_".join([*map(singular, about[:1]), *about[1:3]])
    form = (english(language, "code") or english("python", "code"))[0]
    stub = form.format(name=name or "main", about=" ".join(text.split()).rstrip(".?!")[:_LONGEST]).strip()
    if signed:
        stub = stub.replace("*values", signed[2]).replace("return values", f"return {signed[2].split(',')[0]}")
    return stub if alone else f"```{language}\n{stub}\n```"


_LONGEST = 100  # characters of a prompt that a stub repeats
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
