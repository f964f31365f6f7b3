"""Code between a prefix and a suffix, as editors ask for it: what ends the line, or begins the block, at the cursor."""

from mockserver.core.call import Prompt
from mockserver.core.lazy import compile_lazily


def fill_middle(prompt: Prompt) -> str | None:
    """Return the code between a prompt and its suffix; None if it has none, or if neither is code."""
    suffix = prompt.suffix
    if suffix is None or not _CODE.search(f"{prompt.text}\n{suffix}"):
        return None
    *above, line = prompt.text.split("\n")
    said = line.rstrip()
    braces = _BRACES.search(f"{prompt.text}\n{suffix}") is not None
    head = next((each for each in (line, *reversed(above)) if _FUNCTION.search(each)), "")
    value = _find_value(head, braces=braces)
    statement = _write_statement(head, suffix, braces=braces)
    if not said:
        return statement
    gap = "" if line != said else " "
    if said[-1] in "([,":
        given = "" if _FUNCTION.search(said) else f"{gap if said[-1] == ',' else ''}{value}"
        return given + _close_brackets(said, suffix)
    if said[-1] in ":{":
        indent = line[: len(line) - len(line.lstrip())]
        inner = f"{indent}  " if braces else f"{indent}    "
        end = f"\n{indent}}}" if said[-1] == "{" and "}" not in suffix else ""
        return f"\n{inner}{statement}{end}"
    if _WANTS_VALUE.search(said):
        return f"{gap}{value}{';' if braces and not suffix.startswith(';') else ''}"
    return _close_brackets(said, suffix) or f"\n{statement}"


def _close_brackets(line: str, suffix: str) -> str:
    """Return what closes the brackets of a line that the rest of it does not close."""
    opened: list[str] = []
    for sign in line:
        if sign in _CLOSING:
            opened.append(_CLOSING[sign])
        elif opened and sign == opened[-1]:
            opened.pop()
    rest = suffix.partition("\n")[0]
    return "".join([sign for sign in reversed(opened) if sign not in rest])


def _write_statement(head: str, suffix: str, *, braces: bool) -> str:
    """Return the first statement of a block: it gives what the suffix returns a value, or returns one itself."""
    end = ";" if braces else ""
    if wanted := _RETURNS.match(suffix):
        return f"{'const ' if braces else ''}{wanted['name']} = {_find_value(head, braces=braces)}{end}"
    if head:
        return f"return {_find_value(head, braces=braces)}{end}"
    return "return;" if braces else "pass"


def _find_value(head: str, *, braces: bool) -> str:
    """Return what a function may return: its parameters, by the operation of which its name speaks."""
    listed = _FUNCTION.search(head)
    found = [_NAME.search(each) for each in listed["parameters"].split(",")] if listed else []
    names = [name[0] for name in found if name and name[0] not in ("self", "cls", "this")]
    sign = next((sign for word, sign in _OPERATIONS.items() if word in head.lower()), "+")
    return f" {sign} ".join(names) or ("null" if braces else "None")


_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPERATIONS = {"sub": "-", "diff": "-", "mul": "*", "prod": "*", "div": "/", "ratio": "/", "equal": "=="}
_NAME = compile_lazily(r"[A-Za-z_]\w*")
_FUNCTION = compile_lazily(r"\b(?:def|function|fn|func)\b[^(\n]{0,200}\((?P<parameters>[^)\n]*)")
_RETURNS = compile_lazily(r"\s*return\s+(?P<name>[A-Za-z_]\w*)\s*;?\s*(?:\n|$)")
_WANTS_VALUE = compile_lazily(r"(?:\b(?:return|in|and|or|not|if|await)|[=+*/%<>-])$")
_BRACES = compile_lazily(r"(?m)[{;]\s*$|=>|\b(?:const|let|var)\b")
_CODE = compile_lazily(
    r"(?m)^[^\S\n]*(?:def|class|function|fn|func|import|from|const|let|var|for|if|while|return|public)\b.*[(:{;=\w]"
    r"|[{;]\s*$|\w\(|\w\s*=\s"
)
