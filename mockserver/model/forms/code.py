"""Code that compiles and does next to nothing, in the programming language that the prompt wants."""

import re

from mockserver.core.seed import Random
from mockserver.model.forms.prompt import Asked
from mockserver.model.vocabulary import vocabulary


def coded(asked: Asked, rng: Random) -> str | None:
    """A fence with code in the language that is asked for; None where nobody asks for code."""
    if not _CODE.search(asked.text):
        return None
    language = _language(asked.text) or _language(asked.rules) or "python"
    name = (_table(asked.text) if language == "sql" else None) or _name(asked)
    fence = block(language, name, _purpose(asked))
    return fence if any(_ALONE.search(order) for order in asked.both) else f"Here is a simple version:\n\n{fence}"


def block(language: str, name: str, purpose: str) -> str:
    """A fence with a function of that name, and a comment that says what it is for."""
    shown, template = _LANGUAGES[language]
    words = [word for word in name.split("_") if word]
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    made = template.replace("NAME", name).replace("CAMEL", camel).replace("PASCAL", camel[:1].upper() + camel[1:])
    return f"```{shown}\n{made.replace('PURPOSE', purpose)}\n```"


def continued(prompt: str) -> str | None:
    """What goes on from a prompt that is code: the body of a function that has just begun; None where it is no code."""
    last = prompt.rstrip().rsplit("\n", 1)[-1][-_LONGEST_LINE:]
    begun = _PYTHON.search(last) or _BRACED.search(last)
    if begun is None:
        return None
    parameters = [
        name for name in re.findall(r"[A-Za-z_]\w*", _ANNOTATION.sub("", begun[1] or "")) if name not in _NO_NAMES
    ]
    indented = last[: len(last) - len(last.lstrip())]
    result = " + ".join(parameters[:4])
    before = "" if prompt.endswith("\n") else "\n"
    if begun.re is _PYTHON:
        return f"{before}{indented}    " + (f"return {result}\n" if result else "pass\n")
    return f"{before}{indented}    return {result or 'null'};\n{indented}}}\n"


def _language(text: str) -> str | None:
    found = _NAMED.search(text)
    return None if found is None else _ALIASES.get(found[1].lower(), found[1].lower())


def _name(asked: Asked) -> str:
    """The name of a function: as the prompt calls it, or what it is to do."""
    called = _CALLED.search(asked.text)
    if called is not None:
        return called[1]
    does = _DOES.search(asked.text)
    words = re.findall(r"[a-z]+", (does[1] if does else " ".join(asked.topic.words)).lower())
    if does and words:
        words[0] = _base(words[0])
    return "_".join([word for word in words if word not in _SMALL][:3]) or "example"


def _table(text: str) -> str | None:
    """The table that a query reads: where the prompt says it is from, or what it wants all of."""
    found = _FROM.search(text) or _ALL_OF.search(text)
    return None if found is None else str(found[found.lastindex or 1]).lower()


def _base(verb: str) -> str:
    """What a function does, as an order: `reverses` is `reverse`, `matches` is `match`."""
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if verb.endswith(("ches", "shes", "sses", "xes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith(("ss", "us", "is")) else verb


def _purpose(asked: Asked) -> str:
    does = _DOES.search(asked.text)
    told = " ".join((does[1] if does else asked.topic.subject or "an example").split())
    plain = " ".join(re.sub(r"[^\w ,-]", " ", told)[:80].split())
    return plain[:1].upper() + plain[1:] + "."


_LONGEST_LINE = 400
_KINDS = (
    r"functions?|code|scripts?|programs?|snippets?|quer(?:y|ies)|methods?|class|components?|algorithms?|"
    r"implementation|"
    r"one-liner|unit tests?|endpoint|command|regex"
)
_CODE_NAMES = (
    r"python|javascript|typescript|java|golang|go|rust|c\+\+|cpp|c#|csharp|ruby|php|swift|kotlin|sql|bash|"
    r"shell|html|css|"
    r"js|ts|regex|c"
)
_CODE = re.compile(
    rf"(?i)\b(?:write|create|implement|generate|give|show|code|make|provide|build|need|want|produce|complete|"
    rf"output|return)\b[^.?!\n]{{0,50}}?"
    rf"(?:\b(?:{_CODE_NAMES})(?!\w)[^.?!\n]{{0,20}}\b(?:{_KINDS})\b|"
    rf"\b(?:{_KINDS})\b[^.?!\n]{{0,60}}?\bin (?:{_CODE_NAMES})(?!\w)|"
    rf"\b(?:functions?|scripts?|code|snippet|algorithm|regex)\b (?:that|to|for|which|called|named|in|snippet|"
    rf"example|block)\b|\b(?:{_CODE_NAMES}) (?:code|function|script)\b|"
    rf"\b(?:some|a) (?:\w+ )?(?:code|script|function)\b|\bhtml page\b)"
)
_NAMED = re.compile(rf"(?i)(?<![\w+#])({_CODE_NAMES})(?![\w+#])")
_ALIASES = {"golang": "go", "c++": "cpp", "c#": "csharp", "shell": "bash", "js": "javascript", "ts": "typescript"}
_ALONE = re.compile(
    r"(?i)\b(?:only|just)\b[^.\n]{0,30}\bcode\b|\bcode only\b|\bno (?:explanations?|comments?|text)\b|"
    r"\bwithout (?:any )?explanations?\b|\bnothing else\b"
)
_CALLED = re.compile(r"(?:\b(?:called|named)\s+[`'\"]?|\bfunction\s+`?(?=\w{1,40}\())([A-Za-z_]\w{0,40})")
_DOES = re.compile(
    rf"(?i)\b(?:{_KINDS})\b(?: in \S+| called \S+| named \S+)?\s+(?:that|to|which|for|of|who)\s+(?:can\s+|"
    rf"will\s+)?([^.?!\n,;:]{{2,80}})"
)
_FROM = re.compile(r"(?i)\bfrom (?:the |a )?[`'\"]?(\w{1,40})[`'\"]?(?: table)?\b|\btable [`'\"]?(\w{1,40})")
_ALL_OF = re.compile(
    r"(?i)\b(?:(?:all|every|how many|number of) (?:of )?|(?:get|list|count|find|show|select|fetch|return) )"
    r"(?:the )?(?!(?:all|every|the|me|how|a|an|number)\b)(\w{2,40})"
)
_SMALL = vocabulary("a an the of in on to for and or with from that it its is two all each any given some your")
_ANNOTATION = re.compile(r":\s*[\w\[\], .|\"']{1,60}?(?=,|\)|$)|=\s*[^,()]{1,40}|->.*")
_NO_NAMES = vocabulary(
    "self cls this int float double string str bool boolean let const mut u8 i32 i64 f64 void var final long "
    "char number any"
)
_PYTHON = re.compile(r"^\s*(?:async )?def \w+\s*\(([^()]{0,200})\)[^:]{0,80}:\s*$")
_BRACED = re.compile(r"\b\w+\s*\(([^()]{0,200})\)[^{};]{0,60}\{\s*$")

_LANGUAGES = {
    "python": ("python", 'def NAME(value):\n    """PURPOSE"""\n    result = value\n    return result'),
    "javascript": ("javascript", "// PURPOSE\nfunction CAMEL(value) {\n  const result = value;\n  return result;\n}"),
    "typescript": ("typescript",
        "// PURPOSE\nfunction CAMEL<T>(value: T): T {\n  const result = value;\n  return "
        "result;\n}"),
    "java": ("java",
        "class Example {\n    // PURPOSE\n    static int CAMEL(int value) {\n        int result = value;\n       "
        " return result;\n    }\n}"),
    "go": ("go", "package main\n\n// PURPOSE\nfunc CAMEL(value int) int {\n\tresult := value\n\treturn result\n}"),
    "rust": ("rust", "/// PURPOSE\nfn NAME(value: i64) -> i64 {\n    let result = value;\n    result\n}"),
    "c": ("c", "/* PURPOSE */\nint NAME(int value) {\n    int result = value;\n    return result;\n}"),
    "cpp": ("cpp", "// PURPOSE\nint NAME(int value) {\n    int result = value;\n    return result;\n}"),
    "csharp": ("csharp",
        "static class Example\n{\n    // PURPOSE\n    public static int PASCAL(int value) => "
        "value;\n}"),
    "ruby": ("ruby", "# PURPOSE\ndef NAME(value)\n  result = value\n  result\nend"),
    "php": ("php", "<?php\n// PURPOSE\nfunction CAMEL($value) {\n    return $value;\n}"),
    "swift": ("swift", "// PURPOSE\nfunc CAMEL(_ value: Int) -> Int {\n    let result = value\n    return result\n}"),
    "kotlin": ("kotlin", "// PURPOSE\nfun CAMEL(value: Int): Int {\n    val result = value\n    return result\n}"),
    "sql": ("sql", "-- PURPOSE\nSELECT *\nFROM NAME;"),
    "bash": ("bash", '#!/usr/bin/env bash\n# PURPOSE\nNAME() {\n  echo "$1"\n}\n\nNAME "$@"'),
    "html": ("html",
        "<!doctype html>\n<html>\n  <head><title>PURPOSE</title></head>\n  "
        "<body><p>PURPOSE</p></body>\n</html>"),
    "regex": ("regex", "[A-Za-z0-9._-]+"),
    "css": ("css", "/* PURPOSE */\n.NAME {\n  margin: 0;\n  padding: 1rem;\n}"),
}  # fmt: skip
