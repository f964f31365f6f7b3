"""Variables of the environment that are set for a while."""

import os

import pytest

from mockserver.testing.clients import EnvironmentPatch, unpatched_environ


def test_they_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_THERE", "before")
    monkeypatch.setenv("X_CHANGED", "before")
    monkeypatch.delenv("X_NEW", raising=False)
    environs = EnvironmentPatch()
    environs.set({"X_THERE": "now", "X_NEW": "now", "X_CHANGED": "now"})
    environs.set({"X_THERE": "later"})
    assert (os.environ["X_THERE"], os.environ["X_NEW"]) == ("later", "now")
    os.environ["X_CHANGED"] = "by somebody else"
    environs.restore()
    assert (os.environ["X_THERE"], os.environ.get("X_NEW")) == ("before", None)
    assert os.environ["X_CHANGED"] == "by somebody else"
    environs.restore()
    assert os.environ["X_THERE"] == "before"


def test_what_somebody_had_changed_is_put_back_once_that_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_THERE", "before")
    environs = EnvironmentPatch()
    environs.set({"X_THERE": "now"})
    with pytest.MonkeyPatch.context() as other:
        other.setenv("X_THERE", "by somebody else")
        environs.restore()
    assert os.environ["X_THERE"] == "now"
    environs.restore()
    assert os.environ["X_THERE"] == "before"


def test_what_it_is_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_THERE", "before")
    monkeypatch.delenv("X_NEW", raising=False)
    outer, inner = EnvironmentPatch(), EnvironmentPatch()
    outer.set({"X_THERE": "now", "X_NEW": "now"})
    inner.set({"X_THERE": "later"})
    assert (unpatched_environ()["X_THERE"], unpatched_environ().get("X_NEW")) == ("before", None)
    assert (os.environ["X_THERE"], os.environ["X_NEW"]) == ("later", "now")
    inner.restore()
    outer.restore()
    assert unpatched_environ()["X_THERE"] == os.environ["X_THERE"] == "before"
