"""The other package of our name: PyPI's `mockserver-client` installs a package `mockserver` too, over ours."""

import sys

OVERWRITTEN = (
    "the unrelated package mockserver-client has overwritten or removed files of mockserver-llm, as both have a module "
    "mockserver: pip uninstall mockserver-client, then install mockserver-llm again, with --force-reinstall"
)


def find_overwriting() -> str | None:
    """Return what happened and what to do, if `mockserver/__init__.py` is not ours: both packages have that file."""
    ours = getattr(sys.modules["mockserver"], "DISTRIBUTION", None) == "mockserver-llm"
    return None if ours else OVERWRITTEN
