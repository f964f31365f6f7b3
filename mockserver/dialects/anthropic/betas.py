"""The betas that a request asks for (`anthropic-beta`), and those whose fields this dialect knows."""

from collections.abc import Iterable

from mockserver.core.http import HttpRequest

INTERLEAVED_THINKING = "interleaved-thinking-2025-05-14"
FILES = "files-api-2025-04-14"


def betas_of(http: HttpRequest) -> tuple[str, ...]:
    """Return the names in all headers of that name."""
    if b"anthropic-beta" not in http.fields:
        return ()
    values = [value.decode("latin-1") for name, value in http.headers if name == b"anthropic-beta"]
    return tuple([beta for value in values for named in value.split(",") if (beta := named.strip())])


def unknown_betas(betas: Iterable[str]) -> tuple[str, ...]:
    return tuple([beta for beta in betas if beta not in KNOWN])


# Those that the official client names, whose types say which fields they bring.
KNOWN = frozenset(
    (
        "admin-user-sign-out-2026-10-08",
        "advisor-tool-2026-03-01",
        "agent-memory-2026-07-22",
        "analytics-usage-cost-2026-08-24",
        "cache-diagnosis-2026-04-07",
        "ce-claude-code-managed-settings-2026-10-06",
        "ce-plugins-2026-09-01",
        "ce-user-management-2026-07-13",
        "code-execution-2025-05-22",
        "compact-2026-01-12",
        "compact-2026-09-04",
        "computer-use-2024-10-22",
        "computer-use-2025-01-24",
        "computer-use-2025-11-24",
        "context-1m-2025-08-07",
        "context-management-2025-06-27",
        "dev-full-thinking-2025-05-14",
        "dreaming-2026-04-21",
        "experimental-claude-tag-2026-10-21",
        "extended-cache-ttl-2025-04-11",
        "fallback-credit-2026-06-01",
        "fallback-credit-2026-07-01",
        "fast-mode-2026-02-01",
        FILES,
        "inline-tools-2026-09-15",
        INTERLEAVED_THINKING,
        "managed-agents-2026-04-01",
        "mcp-client-2025-04-04",
        "mcp-client-2025-11-20",
        "mcp-client-2026-09-15",
        "mcp-tunnels-2026-06-22",
        "message-batches-2024-09-24",
        "message-threads-2026-08-12",
        "mid-conversation-output-config-2026-07-01",
        "mid-conversation-system-clear-at-2026-08-21",
        "mid-conversation-tool-changes-2026-07-01",
        "model-context-window-exceeded-2025-08-26",
        "output-128k-2025-02-19",
        "output-300k-2026-03-24",
        "pdfs-2024-09-25",
        "prompt-caching-2024-07-31",
        "server-side-fallback-2026-06-01",
        "server-side-fallback-2026-07-01",
        "skills-2025-10-02",
        "spend-limit-reads-2026-09-26",
        "structured-outputs-2025-11-13",
        "task-budgets-2026-03-13",
        "telemetry-destinations-2026-08-11",
        "thinking-binding-controls-2026-08-01",
        "thinking-display-updates-2026-08-18",
        "thinking-token-count-2026-05-13",
        "token-counting-2024-11-01",
        "token-efficient-tools-2025-02-19",
        "user-profiles-2026-03-24",
        "user-profiles-2026-08-18",
        "user-profiles-2026-09-04",
        "user-profiles-billing-2026-10-01",
        "webhooks-2026-10-07",
    )
)
