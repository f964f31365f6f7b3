"""Files of rules, and the command that serves one."""

import tempfile
from pathlib import Path


def serve(rules: Path, port: int, *settings: str) -> tuple[str, ...]:
    """The arguments of Python that serve these rules on this port."""
    return "-m", "mockserver", "serve", str(rules), f"--port={port}", "--no-reload", *settings


def write(text: str) -> Path:
    """Write rules to a new file."""
    path = Path(tempfile.mkdtemp()) / "rules.yaml"
    path.write_text(text)
    return path


def write_many(count: int) -> Path:
    """Write so many rules, of which the last but one answers `hello`, and the last `fifty` with as many words."""
    shapes = ('"*topic {}-*"', "{{contains: 'subject {} of'}}", '"question {}"')
    rules = [_rule(f"rule {n}", shapes[n % 3].format(n), f"answer {n}") for n in range(count - 2)]
    rules.append(_rule("hello", '"*hello*"', "Hello! How can I help you today?"))
    rules.append(_rule("stream", '"*fifty*"', "fifty" + " words" * 49))
    return write("version: 1\nrules:\n" + "".join(rules))


def _rule(name: str, condition: str, text: str) -> str:
    return f"  - name: {name}\n    when: {{last_user: {condition}}}\n    then: {{text: {text!r}}}\n"
