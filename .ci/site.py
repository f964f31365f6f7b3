"""What mkdocs.yml cannot say of the documentation site: its version, and where the repository's other files are."""

import os
import posixpath
import re
from typing import Any

from mockserver import __version__

REPOSITORY = os.environ.get("REPOSITORY_URL", "https://github.com/OWNER/mockserver")
_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?P<path>(?:\.\./)+[^)#\s]*)")


def on_config(config: Any) -> None:
    """Show the version beside the name, and lead from each page to its source."""
    config.site_name += f" {__version__}"
    config.edit_uri_template = f"{REPOSITORY}/edit/main/docs/{{path}}"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links that leave docs/ to the repository; the first page needs no navigation."""
    folder = posixpath.dirname(page.file.src_uri)
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]  # of one page

    def led(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", folder, link["path"]))
        return link[0] if path.startswith("docs/") else f"]({REPOSITORY}/blob/main/{path}"

    return "".join(part if at % 2 else _LINK.sub(led, part) for at, part in enumerate(_CODE.split(markdown)))
