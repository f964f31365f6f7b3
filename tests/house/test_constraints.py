"""The pinned distributions: complete, hashed, and tied to no address."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PINNED = re.compile(r"^([a-z0-9.-]+)==\S+", re.MULTILINE)
_NAME = re.compile(r"^[A-Za-z0-9._-]+")


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_dependency_is_pinned_with_hashes() -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[a-z])", text, flags=re.MULTILINE)[1:]
    pinned = {found[1] for block in blocks if (found := _PINNED.match(block)) and "--hash=sha256:" in block}
    assert len(pinned) == len(blocks)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    asked = [*project["dependencies"], *(requirement for extra in extras for requirement in extra)]
    missing = {normal(found[0]) for requirement in asked if (found := _NAME.match(requirement))} - pinned
    assert not missing, f"not in constraints.txt, run `make lock`: {', '.join(sorted(missing))}"


def test_constraints_name_no_address() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if re.search(r"://|^\s*-(?!-hash=)|@ ", line) and not line.startswith("#")] == []
