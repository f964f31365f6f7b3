"""Changes of files in a text (aider): blocks of what is searched for and what replaces it, diffs, or whole files."""

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Message
from mockserver.core.lazy import compile_lazily
from mockserver.model.notations import TextAgent
from mockserver.model.orders import write_stub
from mockserver.model.vocabulary import cut_excerpt


class LineChange(Struct, frozen=True):
    """A line of a file that becomes other lines; a new file has no line yet."""

    path: str
    file: str
    old: str
    new: str

    def write_block(self) -> str:
        old = f"{self.old}\n" if self.old else ""
        return f"{self.path}\n```\n<<<<<<< SEARCH\n{old}=======\n{self.new}\n>>>>>>> REPLACE\n```"

    def write_diff(self) -> str:
        lines = [*(f"-{line}" for line in self.old.splitlines()), *(f"+{line}" for line in self.new.splitlines())]
        return "\n".join(
            ("```diff", f"--- {self.path if self.old else '/dev/null'}", f"+++ {self.path}", "@@ ... @@", *lines, "```")
        )

    def write_file(self) -> str:
        text = self.file.replace(self.old, self.new, 1) if self.old else self.new
        return f"{self.path}\n```\n{text.rstrip()}\n```"


def read(call: Call, prompt: str) -> TextAgent | None:
    form = _FORM.search(prompt)
    if form is None:
        return None
    said = "\n".join(each.text for each in call.messages if each.role == "user")
    files = {shown["path"]: shown["text"] for shown in _FILE.finditer(said)}
    request = cut_excerpt(call.last_user)
    write = {"blocks": LineChange.write_block, "files": LineChange.write_file, "diffs": LineChange.write_diff}[
        form.lastgroup or ""
    ]
    changes = "\n\n".join(map(write, _list_changes(request, files)))
    asked = replace(call, messages=(Message("user", request),))
    return TextAgent(asked, lambda calls: "", lambda answer: changes or answer)


def _list_changes(request: str, files: Mapping[str, str]) -> Iterator[LineChange]:
    """Yield the lines in which something is replaced; else what is ordered of a file, behind its last line."""
    if swap := _SWAP.search(request):
        for path, text in files.items():
            lines = [line for line in text.splitlines() if swap["old"] in line]
            yield from (LineChange(path, text, line, line.replace(swap["old"], swap["new"])) for line in lines[:1])
    elif _CHANGING.search(request):
        named = [path for path in files if path in request] or _PATH.findall(request) or [*files]
        for path in named[:1]:
            text = files.get(path, "").rstrip()
            last = text.rpartition("\n")[2]
            stub = write_stub(path.rpartition(".")[2], request)
            yield LineChange(path, text, last, f"{last}\n\n\n{stub}" if last else stub)


_WRITERS: Mapping[str, Callable[[LineChange], str]] = {  # by the groups of `_FORM`
    "blocks": LineChange.write_block,
    "files": LineChange.write_file,
    "diffs": LineChange.write_diff,
}
_FORM = compile_lazily(
    r"(?i)\bmust use this \W?(?:(?P<blocks>search/replace block)|(?P<files>file listing))\W? format"
    r"|\breturn edits similar to (?P<diffs>unified diffs)\b"
)
_FILE = compile_lazily(
    r"(?m)^(?P<path>[^\s`*]{1,200})\n```\w{0,20}\n(?P<text>(?!<<<<<<<)(?:(?!```)[^\n]*\n){0,5000})```"
)
_SWAP = compile_lazily(
    r"(?i)\b(?:replace|change|rename|turn)\s[^\"'`\n]{0,40}(?P<sign>[\"'`])(?P<old>[^\"'`\n]{1,200})(?P=sign)\s+"
    r"(?:by|with|to|into)\s+(?P=sign)(?P<new>[^\"'`\n]{0,200})(?P=sign)"
)
_CHANGING = compile_lazily(
    r"(?i)\b(?:add|change|create|fix|implement|make|refactor|rename|replace|rewrite|update|write)\b"
)
_PATH = compile_lazily(r"(?<![\w./-])[\w-]{1,60}(?:/[\w-]{1,60}){0,8}\.[a-z]{1,5}\b")
