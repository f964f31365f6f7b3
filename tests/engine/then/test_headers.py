import pytest

from mockserver.rules.answer.errors import compile_headers
from tests.kit.rules import context, said


def test_names_in_lower_case_values_as_text():
    here = context()
    assert compile_headers({"X-A": "b", "retry-after": 2}, here) == (("x-a", "b"), ("retry-after", "2"))
    assert compile_headers(None, here) == ()
    assert said(here) == []


NAMES = "use only letters, digits and !#$%&'*+.^_`|~-"

BAD = {
    ("a b", "x"): f'"a b" is not a valid header name: {NAMES}',
    ("", "x"): f'"" is not a valid header name: {NAMES}',
    ("ü", "x"): f'"ü" is not a valid header name: {NAMES}',
    ("a\r\nb", "x"): f'"a\\r\\nb" is not a valid header name: {NAMES}',
    ("Content-Length", "3"): 'the server writes "content-length" itself; leave it out',
    ("transfer-encoding", "chunked"): 'the server writes "transfer-encoding" itself; leave it out',
    ("a", "b\r\nc: d"): '"b\\r\\nc: d" is not a valid header value: it must be one line without control characters',
    ("a", "b\0"): '"b\\u0000" is not a valid header value: it must be one line without control characters',
    ("a", "b\x1b[2J"): '"b\\u001b[2J" is not a valid header value: it must be one line without control characters',
    ("a", "b\x7f"): '"b\\u007f" is not a valid header value: it must be one line without control characters',
    ("a", "b\tc"): '"b\\tc" is not a valid header value: it must be one line without control characters',
    ("Connection", "close"): 'the server writes "connection" itself; leave it out',
    ("Upgrade", "h2c"): 'the server writes "upgrade" itself; leave it out',
    ("trailer", "x"): 'the server writes "trailer" itself; leave it out',
    ("a", " b"): '" b" is not a valid header value: use ASCII without leading or trailing spaces',
    ("a", "{{ last_user }}"): "templates are not supported here: this is sent unchanged",
    ("a", "bü"): '"bü" is not a valid header value: use ASCII without leading or trailing spaces',
}


@pytest.mark.parametrize(("header", "message"), BAD.items())
def test_what_cannot_go_over_the_wire(header, message):
    here = context()
    compile_headers(dict([header]), here)
    assert said(here) == [message]
