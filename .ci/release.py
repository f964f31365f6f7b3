"""What a release needs besides its distributions.

python .ci/release.py check v0.1.0      fail unless the tag, the package and the changelog name the same version
python .ci/release.py address URL       write the URL of the repository into pyproject.toml and clients/js/package.json
python .ci/release.py notes             print the newest section of the changelog
python .ci/release.py sbom FOLDER       print a CycloneDX list of mockserver and its dependencies in a site-packages
"""

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
DISTRIBUTION = "mockserver-llm"
_SECTION = re.compile(r"^## (?P<title>.+)\n(?P<body>(?:(?!## ).*\n?)*)", re.MULTILINE)


def check(tag: str, root: Path = ROOT) -> None:
    found = version(root)
    title = newest(root)[0]
    if tag != f"v{found}":
        sys.exit(f"the tag is {tag}, but mockserver/__init__.py says {found}")
    if (package := json.loads((root / "clients/js/package.json").read_text(encoding="utf-8"))["version"]) != found:
        sys.exit(f"clients/js/package.json says {package}, but mockserver/__init__.py says {found}")
    if not re.fullmatch(rf"{re.escape(found)} - \d{{4}}-\d\d-\d\d", title):
        sys.exit(f'the newest section of CHANGELOG.md is "{title}"; call it "{found} - YYYY-MM-DD"')


def name_repository(url: str, root: Path = ROOT) -> None:
    """Forks and mirrors have other URLs, so that only the workflow knows it, which runs in the repository."""
    at = f"v{version(root)}"
    urls = {"Source": url, "Documentation": f"{url}/tree/{at}/docs", "Changelog": f"{url}/blob/{at}/CHANGELOG.md"}
    project, package = root / "pyproject.toml", root / "clients/js/package.json"
    table = "".join(f'{name} = "{each}"\n' for name, each in urls.items())
    project.write_text(f"{project.read_text(encoding='utf-8')}\n[project.urls]\n{table}", encoding="utf-8")
    about = json.loads(package.read_text(encoding="utf-8"))
    # npm compares it with where the package is published from.
    about["repository"] = {"type": "git", "url": f"git+{url}.git", "directory": "clients/js"}
    about["homepage"] = f"{url}/tree/{at}/clients/js"
    package.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def version(root: Path = ROOT) -> str:
    text = (root / "mockserver" / "__init__.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]


def newest(root: Path = ROOT) -> tuple[str, str]:
    """Title and text of the newest section of the changelog."""
    found = next(_SECTION.finditer((root / "CHANGELOG.md").read_text(encoding="utf-8")))
    return found["title"], found["body"].strip()


def sbom(folder: str) -> dict[str, Any]:
    """CycloneDX 1.6, the same for the same packages: neither a time nor a random serial number."""
    installed = {canonicalize_name(each.name): each for each in distributions(path=[folder])}
    reached = {DISTRIBUTION: sorted(_needs(installed[DISTRIBUTION]))}
    todo = [*reached[DISTRIBUTION]]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached[name] = sorted(_needs(installed[name]))
            todo += reached[name]
    first, *others = (_component(installed[name]) for name in (DISTRIBUTION, *sorted({*reached} - {DISTRIBUTION})))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**first, "type": "application"}},
        "components": others,
        "dependencies": [
            {"ref": _purl(installed[name]), "dependsOn": [_purl(installed[each]) for each in needs]}
            for name, needs in sorted(reached.items())
        ],
    }


def _needs(distribution: Distribution) -> Iterator[str]:
    for text in distribution.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)


def _component(distribution: Distribution) -> dict[str, Any]:
    purl, licence = _purl(distribution), distribution.metadata.get("License-Expression")
    named = {"name": distribution.name, "version": distribution.version, "purl": purl}
    return {"type": "library", "bom-ref": purl, **named, **({"licenses": [{"expression": licence}]} if licence else {})}


def _purl(distribution: Distribution) -> str:
    return f"pkg:pypi/{canonicalize_name(distribution.name)}@{distribution.version}"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check", tag]:
            check(tag)
        case ["address", url]:
            name_repository(url)
        case ["notes"]:
            print(newest()[1])
        case ["sbom", folder]:
            print(json.dumps(sbom(folder), indent=2))
        case _:
            sys.exit(__doc__)
