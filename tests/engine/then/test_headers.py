import pytest

from mockserver.rules.answer.errors import compile_headers
from tests.kit.rules import context, said


def test_names_in_lower_case_values_as_text():
    here = context()
    assert compile_headers({"X-A": "b", "retry-after": 2}, here) == (("x-a", "b"), ("retry-after", "2"))
    assert compile_headers(None, here) == ()
    assert said(here) == []


NAMES = "only letters, digits and !#$%&'*+.^_`|~- may stand in it"

BAD = {
    ("a b", "x"): f'"a b" cannot be the name of a header: {NAMES}',
    ("", "x"): f'"" cannot be the name of a header: {NAMES}',
    ("ü", "x"): f'"ü" cannot be the name of a header: {NAMES}',
    ("a\r\nb", "x"): f'"a\\r\\nb" cannot be the name of a header: {NAMES}',
    ("Content-Length", "3"): 'the server writes "content-length" itself; leave it out',
    ("transfer-encoding", "chunked"): 'the server writes "transfer-encoding" itself; leave it out',
    ("a", "b\r\nc: d"): '"b\\r\\nc: d" cannot be the value of a header: it must be one line without control characters',
    ("a", "b\0"): '"b\\u0000" cannot be the value of a header: it must be one line without control characters',
    ("a", "b\x1b[2J"): '"b\\u001b[2J" cannot be the value of a header: it must be one line without control characters',
    ("a", "b\x7f"): '"b\\u007f" cannot be the value of a header: it must be one line without control characters',
    ("a", "b\tc"): '"b\\tc" cannot be the value of a header: it must be one line without control characters',
    ("Connection", "close"): 'the server writes "connection" itself; leave it out',
    ("Upgrade", "h2c"): 'the server writes "upgrade" itself; leave it out',
    ("trailer", "x"): 'the server writes "trailer" itself; leave it out',
    ("a", " b"): '" b" cannot be the value of a header: only ASCII, without spaces at its ends',
    ("a", "{{ last_user }}"): "no template can stand here: this is sent as it is",
    ("a", "bü"): '"bü" cannot be the value of a header: only ASCII, without spaces at its ends',
}


@pytest.mark.parametrize(("header", "message"), BAD.items())
def test_what_cannot_go_over_the_wire(header, message):
    here = context()
    compile_headers(dict([header]), here)
    assert said(here) == [message]
