"""Which episodes a server has played: asked of the server, or read from a file with its journal."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mockserver.cli.cassette.folder import Folder, read_file
from mockserver.cli.cassette.telling import line
from mockserver.config.errors import ConfigError
from mockserver.core.json import Json

ANSWERS = ("/__mockserver__/api/cassette?namespace=*", "/__mockserver__/api/calls?namespace=*")
PATIENCE = 10  # seconds


@dataclass(frozen=True, slots=True)
class Played:
    """The episodes that were played, as `chat.yaml#3`."""

    episodes: frozenset[str]

    @classmethod
    def of(cls, journal: str, where: Folder) -> "Played":
        """Those of a server at this address, or of a file with what one says. Raises ConfigError."""
        online = journal.startswith(("http://", "https://"))
        text = _asked(journal, where.settings.control_token) if online else read_file(journal)
        try:
            return cls(frozenset(_episodes(json.loads(text))))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            words = f"{journal}: is no journal: give the address of a server, or what its {ANSWERS[1]} says"
            raise ConfigError(words) from None

    def of_cassette(self, file: str) -> frozenset[int]:
        """The numbers of the episodes of this file that were played."""
        found = (_EPISODE.fullmatch(episode) for episode in self.episodes)
        return frozenset(int(episode[2]) for episode in found if episode and episode[1] == file)


def _episodes(said: Json) -> Iterator[str]:
    """The episodes by either answer of a server, those too that it has recorded."""
    if "played" in said:
        yield from said["played"].keys()
        return
    for call in said["calls"]:
        yield str(call.get("recorded") or call["source"]).removeprefix("cassette ")


def _asked(address: str, token: str | None) -> Json:
    import httpx

    headers = {} if token is None else {"x-mockserver-token": token}
    try:
        answer = httpx.get(address.rstrip("/") + ANSWERS[0], headers=headers, timeout=PATIENCE, trust_env=False)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ConfigError(f"{address}: no server answers: {error}") from None
    if answer.status_code == _UNAUTHORIZED:
        told = "its control paths want another token" if token else "its control paths want a token"
        raise ConfigError(f"{address}: {told}; set --control-token or MOCKSERVER_CONTROL_TOKEN")
    if answer.status_code != 200:
        raise ConfigError(f"{address}: no journal there: {answer.status_code} {_words(answer)}")
    return answer.content


def _words(answer: Json) -> str:
    """What a server says of its refusal."""
    try:
        return line(str(answer.json()["error"]), 300)
    except (ValueError, KeyError, TypeError):
        return line(answer.reason_phrase)


_UNAUTHORIZED = 401
_EPISODE = re.compile(r"(.+)#(\d{1,9})")
