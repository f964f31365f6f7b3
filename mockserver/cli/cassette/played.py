"""Which episodes a server has played, as its journal tells: asked of the server, or read from a file."""

import json
import re
from dataclasses import dataclass

from mockserver.cli.cassette.folder import read_file
from mockserver.core.errors import ConfigError
from mockserver.core.json_text import Json

PATH = "/__mockserver__/api/calls?namespace=*"
PATIENCE = 10  # seconds


@dataclass(frozen=True, slots=True)
class Played:
    """The sources of a journal's calls."""

    sources: frozenset[str]

    @classmethod
    def of(cls, journal: str) -> "Played":
        """Those of a server at this address, or of a file with its calls. Raises ConfigError."""
        text = _asked(journal) if journal.startswith(("http://", "https://")) else read_file(journal)
        try:
            calls = json.loads(text)["calls"]
            return cls(frozenset(str(call["source"]) for call in calls))
        except (ValueError, KeyError, TypeError, RecursionError):
            words = f"{journal}: is no journal: give the address of a server, or what its {PATH} says"
            raise ConfigError(words) from None

    def of_cassette(self, file: str) -> frozenset[int]:
        """The numbers of the episodes of this file that were played."""
        found = (_EPISODE.fullmatch(source) for source in self.sources)
        return frozenset(int(source[2]) for source in found if source and source[1] == file)


def _asked(address: str) -> Json:
    import httpx

    try:
        answer = httpx.get(address.rstrip("/") + PATH, timeout=PATIENCE, trust_env=False)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ConfigError(f"{address}: no server answers: {error}") from None
    if answer.status_code != 200:
        raise ConfigError(f"{address}: no journal there: {answer.status_code} {answer.reason_phrase}")
    return answer.content


_EPISODE = re.compile(r"cassette (.+)#(\d{1,9})")
