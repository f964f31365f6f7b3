"""What is remembered between requests, behind one small protocol."""

from typing import Protocol


class Store(Protocol):
    """Counters and values under keys, each namespace on its own; in memory or shared."""

    async def get(self, namespace: str, key: str) -> str | None:
        """The value, or None."""

    async def set(self, namespace: str, key: str, value: str) -> None:
        """Keep a value."""

    async def incr(self, namespace: str, key: str) -> int:
        """Add one to a counter that starts at 0; the new value."""

    async def clear(self, namespace: str) -> None:
        """Forget all of a namespace."""
