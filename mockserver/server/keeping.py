"""What recordings go through: what is secret is taken out, and what still looks so is not recorded at all.

The same takes it out of live requests, so that they equal what was recorded.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mockserver.cassettes.leaks import leaks
from mockserver.cassettes.scrubbing import Scrubber
from mockserver.core.episode import Episode, Sent
from mockserver.core.errors import CassetteError
from mockserver.core.secrets import known
from mockserver.settings import Settings


@dataclass(frozen=True, slots=True)
class Keeping:
    """What the settings and the environment say of it."""

    scrubber: Scrubber
    allowed: tuple[str, ...] = ()

    def live(self, sent: Sent) -> Sent:
        """A request as it would have been recorded; the very object, if that is the same."""
        return self.scrubber.request(sent)

    def kept(self, episode: Episode) -> Episode:
        """What is recorded of an episode. Raises CassetteError where something in it looks like a secret."""
        kept = self.scrubber.episode(episode)
        if found := leaks(kept, self.allowed):
            raise CassetteError(*map(str, found))
        return kept


def keeping(settings: Settings, environ: Mapping[str, str]) -> Keeping:
    """What recordings go through by these settings; headers that are compared are kept."""
    compared = tuple(name.partition(".")[2] for name in settings.match.also if name.startswith("header."))
    return Keeping(Scrubber(settings.scrub, known(environ), settings.allow_secrets, compared), settings.allow_secrets)
