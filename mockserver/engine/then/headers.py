"""Headers that a rule gives: only what can go over the wire, and nothing that the server writes itself."""

import re
from collections.abc import Mapping

from mockserver.core.http import Headers
from mockserver.engine.nearest import shown
from mockserver.engine.then.site import Site

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BROKEN = re.compile(r"[\x00-\x1f\x7f]")
# They frame the answer or rule the connection, so that a word of a rule could break either for the next answer.
_OWN = frozenset(
    (
        *("connection", "content-length", "keep-alive", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    )
)


def compile_headers(table: Mapping[str, str | int] | None, site: Site) -> Headers:
    """The headers of a table, names in lower case; what cannot be one is told to `site`."""
    for name, value in (table or {}).items():
        for complaint in filter(None, (_name(name), _value(str(value)))):
            site.at(name).refuse(complaint)
        site.at(name).refuse_template(str(value))
    return tuple((name.lower(), str(value)) for name, value in (table or {}).items())


def _name(name: str) -> str | None:
    if not _TOKEN.fullmatch(name):
        return f"{shown(name)} cannot be the name of a header: only letters, digits and !#$%&'*+.^_`|~- may stand in it"
    if name.lower() in _OWN:
        return f'the server writes "{name.lower()}" itself; leave it out'
    return None


def _value(value: str) -> str | None:
    if _BROKEN.search(value):
        return f"{shown(value)} cannot be the value of a header: it must be one line without control characters"
    if not value.isascii() or value != value.strip():
        return f"{shown(value)} cannot be the value of a header: only ASCII, without spaces at its ends"
    return None
