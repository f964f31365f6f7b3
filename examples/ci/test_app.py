import subprocess
import sys

import pytest

from app import translate


@pytest.mark.parametrize(("language", "hello"), [("Danish", "Hej"), ("Welsh", "Helo")])
def test_hello(mockserver, language, hello):
    assert translate("Hello", language) == hello


def test_a_phrase_stays_as_it_is_where_nothing_comes_back(mockserver):
    mockserver.on().reply("")

    assert translate("Hello", "Danish") == "Hello"


def test_the_command(mockserver):
    done = subprocess.run([sys.executable, "app.py", "Danish", "Hello"], capture_output=True, text=True, check=True)

    assert done.stdout == "Hej\n"
    mockserver.assert_called_once()
