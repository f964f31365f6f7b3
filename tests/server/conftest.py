"""A real Redis for tests of servers that share their state."""

from tests.kit.shared import running_redis, shared, start_redis

__all__ = ["running_redis", "shared", "start_redis"]
