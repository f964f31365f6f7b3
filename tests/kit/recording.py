"""A server in this process that records all that it relays, into real files."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.core.episode import Episode
from mockserver.server.compose import start
from mockserver.server.run import Running
from mockserver.server.sources import Sources
from tests.kit.raw import Raw, RawResponse


@dataclass(frozen=True)
class Recording:
    port: int
    cassette: CassetteFile

    def ask(self, request: bytes) -> RawResponse:
        with Raw(self.port) as raw:
            return raw.send(request).receive(to="POST")

    @property
    def episodes(self) -> tuple[Episode, ...]:
        return self.cassette.load() if self.cassette.exists else ()


@contextmanager
def recording(
    upstream: str, folder: Path, *, environ: Mapping[str, str] | None = None, **settings: Any
) -> Iterator[Recording]:
    """A server that has everything answered by this upstream of openai."""
    stated = {"port": 0, "upstream": {"openai": upstream}, "record": "all", "cassette": "chat", **settings}
    with Running(start(Sources((), {**stated, "cassettes": str(folder)}, environ or {}))) as running:
        yield Recording(int(running.address.rpartition(":")[2]), CassetteFile(folder / "chat.yaml"))


@contextmanager
def replaying(folder: Path) -> Iterator[Recording]:
    stated = {"port": 0, "cassette": "chat", "cassettes": str(folder)}
    with Running(start(Sources((), stated, {}))) as running:
        yield Recording(int(running.address.rpartition(":")[2]), CassetteFile(folder / "chat.yaml"))
