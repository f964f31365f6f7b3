"""What the documentation's tables say of timings: a head and rows."""

from collections.abc import Sequence

from mockserver.config.timing import PROFILES
from mockserver.core.plan import Timing


def profiles() -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Every profile that is built in."""
    head = "profile", "first token", "tokens per second", "jitter", "per 1,000 prompt tokens"
    return head, [(f"`{name}`", *_paced(timing)) for name, timing in PROFILES.items()]


def _paced(timing: Timing) -> Sequence[str]:
    speed = f"{1 / timing.per_token:.0f}" if timing.per_token else "all at once"
    spread, later = f"{timing.distribution} {timing.jitter:.0%}", timing.prompt_per_1k
    return f"{timing.first_token or 0:g} s", speed, spread if timing.jitter else "none", f"{later * 1000:.0f} ms"
