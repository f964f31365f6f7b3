"""Hosts and origins taken apart: known answers."""

import pytest

from mockserver.core.origins import is_address, is_everywhere, is_loopback, matches_host, read_host, read_origin


@pytest.mark.parametrize(
    ("authority", "host"),
    [
        ("localhost", "localhost"),
        ("LocalHost:8000", "localhost"),
        ("localhost.:8000", "localhost"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]:8000", "::1"),
        ("[::1]", "::1"),
        ("mock_server:8000", "mock_server"),
        ("mock.test:", "mock.test"),
        *(
            (bad, None)
            for bad in ("", ".", "::1", "a b", "a@b", "a/b", "a, b", "a:b", "a:8000:1", "é", "a\n", "[", "[x]")
        ),
    ],
)
def test_the_host_of_an_authority(authority: str, host: str | None) -> None:
    assert read_host(authority) == host


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.10", "::1"])
def test_what_only_this_machine_reaches(host: str) -> None:
    assert is_loopback(host)


PUBLIC_HOSTS = [
    "localhost.evil.test", "127.0.0.1.evil.test", "0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "", "a.localhost",
    "::ffff:127.0.0.1",  # no browser trusts it
]  # fmt: skip


@pytest.mark.parametrize("host", PUBLIC_HOSTS)
def test_what_others_reach_too(host: str) -> None:
    assert not is_loopback(host)


def test_addresses() -> None:
    assert is_address("10.0.0.1")
    assert not is_address("10.0.0.1.evil.test")
    assert [is_everywhere(host) for host in ("0.0.0.0", "::", "127.0.0.1", "a")] == [True, True, False, False]


@pytest.mark.parametrize(
    ("host", "pattern", "expected"),
    [
        ("mock.test", "mock.test", True),
        ("mock.test", "MOCK.test", True),
        ("a.mock.test", "*.mock.test", True),
        ("mock.test", "*.mock.test", False),
        ("evilmock.test", "*.mock.test", False),
        ("anything", "*", True),
        ("mock.test.evil", "mock.test", False),
    ],
)
def test_entries_of_a_list(host: str, pattern: str, expected: bool) -> None:
    assert matches_host(host, pattern) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://app.example", "https://app.example"),
        ("HTTPS://App.Example:443", "https://app.example"),
        ("http://a:80", "http://a"),
        ("http://a:443", "http://a:443"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://[::1]:80", "http://[::1]"),
        ("chrome-extension://abcdef", "chrome-extension://abcdef"),
        *(
            (bad, None)
            for bad in ("null", "", "*", "https://a/", "https://a/b", "https://u@a", "a.example", "https://a b")
        ),
    ],
)
def test_origins(text: str, expected: str | None) -> None:
    assert read_origin(text) == expected
