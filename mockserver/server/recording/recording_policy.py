"""What a recording must not hold: secrets are masked, and what may still hold some is refused."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from mockserver.config.errors import CassetteError
from mockserver.config.settings import Settings
from mockserver.core.episode import Episode

if TYPE_CHECKING:
    from mockserver.cassettes.redaction.redact import Redactor


class RecordingPolicy:
    """How recordings are redacted, and live requests before they are looked up.

    What redacts has a hundred patterns and is imported when first used: most servers have no cassette.
    """

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = environ

    @cached_property
    def redactor(self) -> "Redactor":
        from mockserver.cassettes.redaction.credential_fields import find_environment_secrets
        from mockserver.cassettes.redaction.redact import Redactor

        settings = self._settings
        compared = tuple(name.partition(".")[2] for name in settings.match.also if name.startswith("header."))
        return Redactor(
            settings.scrub, find_environment_secrets(self._environ), allowed=settings.allow_secrets, headers=compared
        )

    def prepare(self) -> "Redactor":
        """Make what redacts, so that the first call need not wait for it; return it."""
        return self.redactor

    def redact(self, episode: Episode) -> Episode:
        """Return the episode to record. Raises CassetteError if it may still hold secrets."""
        from mockserver.cassettes.redaction.detect import find_leaks

        redacted = self.redactor.redact_episode(episode)
        if found := find_leaks(redacted, self._settings.allow_secrets):
            raise CassetteError(*map(str, found))
        return redacted
