"""Which headers of a request and of its answer are recorded."""

import pytest

from mockserver.cassettes.redaction.redact import ACCOUNT, NEVER, REPLY, REQUEST

SENT = {
    "content-type": True,
    "Accept": True,
    "openai-beta": True,
    "anthropic-version": True,
    "x-stainless-retry-count": True,
    "extra-parameters": True,
    "authorization": False,
    "api-key": False,
    "x-api-key": False,
    "cookie": False,
    "openai-organization": False,
    "openai-project": False,
    "user-agent": False,
    "x-stainless-os": False,
    "x-ms-client-request-id": False,
    "host": False,
    "content-length": False,
    "x-forwarded-for": False,
    "x-tenant": False,
}

CAME = {
    "content-type": True,
    "Retry-After": True,
    "retry-after-ms": True,
    "x-should-retry": True,
    "x-ratelimit-remaining-tokens": True,
    "x-ratelimit-limit-tokens-prompt": True,
    "anthropic-ratelimit-requests-reset": True,
    "openai-processing-ms": True,
    "openai-version": True,
    "x-request-id": True,
    "request-id": True,
    "apim-request-id": True,
    "x-ms-error-code": True,
    "x-ms-client-request-id": True,
    "fireworks-prompt-tokens": True,
    "allow": True,
    "openai-organization": False,
    "set-cookie": False,
    "x-ms-token": False,
    "x-ms-client-secret": False,
    "content-length": False,
    "content-encoding": False,
    "transfer-encoding": False,
    "connection": False,
    "www-authenticate": False,
    "server": False,
    "cf-ray": False,
    "date": False,
    "x-mockserver-source": False,
}


@pytest.mark.parametrize("name", SENT)
def test_of_a_request(name: str) -> None:
    assert REQUEST.of(((name, "v"),)) == (((name.lower(), "v"),) if SENT[name] else ())


@pytest.mark.parametrize("name", CAME)
def test_of_an_answer(name: str) -> None:
    assert REPLY.of(((name, "v"),)) == (((name.lower(), "v"),) if CAME[name] else ())


def test_what_is_asked_for_is_kept_too_but_for_what_never_is() -> None:
    headers = (("X-Tenant", "a"), ("x-tenant", "b"), ("set-cookie", "c"), ("x-other", "d"))
    assert REQUEST.of(headers, ("x-tenant", "set-cookie")) == (("x-tenant", "a"), ("x-tenant", "b"))


def test_no_table_has_what_is_never_kept() -> None:
    for kept in (REQUEST, REPLY):
        assert not kept.names & (NEVER | ACCOUNT)
        assert not any(map(kept.has, NEVER | ACCOUNT))
