"""`mockserver serve`: the dev server and its banner."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click

from mockserver.cli.log_lines import log_errors, log_unmatched, make_remark_logger, make_request_logger, write_line
from mockserver.cli.options import GroupedCommand, add_setting_flags, find_sources, rules_argument
from mockserver.config.settings import Settings
from mockserver.config.spelling import FLAGS
from mockserver.core.episode import name_file
from mockserver.core.http import CONTROL
from mockserver.core.json import Json
from mockserver.core.origins import is_loopback
from mockserver.core.text import count_noun
from mockserver.dialects import list_client_configs
from mockserver.rules.lint.remarks import find_without_upstream
from mockserver.server.client_environment import list_mcp_addresses, make_bare_url, make_base_url, write_openai_hint
from mockserver.server.compose import start
from mockserver.server.live import Live
from mockserver.server.recording.player import CassetteChoice, explain_nowhere
from mockserver.server.sources import Sources


@click.command(name="serve", cls=GroupedCommand)
@rules_argument
@add_setting_flags(*Settings.model_fields)
def serve_command(rules: tuple[Path, ...], **flags: Json) -> None:
    """Start a server with RULES (default: rules.yaml, if it exists). Stop it with Ctrl-C.

    You can also set each option as an environment variable (MOCKSERVER_PORT) or under `settings:` in a rules file.
    """
    from mockserver.server.run import (  # uvicorn is slow to import; report mistakes in rules first
        allow_open_files,
        bind,
        check_certificate,
        serve,
    )

    given = find_sources(rules, flags)
    live = start(given)
    if live.settings.state != "memory":
        from mockserver.server.shared_state import join_fleet

        join_fleet(live)
    if live.settings.workers > 1:
        from mockserver.server.workers import check_stateless, run_workers

        if live.fleet is None:
            check_stateless(live.settings.workers, live.settings, live.engine)
    say = log_server(live)
    allow_open_files()
    check_certificate(live.settings)
    listener = bind(live.settings.host, live.settings.port)
    text = write_banner(live, given, listener.getsockname()[1])
    if live.settings.workers > 1:
        run_workers(live, log_server, listener=listener, announce=partial(say, text))
    else:
        say(text)
        serve(live, given, listener=listener, say=say)


def log_server(live: Live) -> Callable[[str], None]:
    """Log the requests and errors of a server; return what prints its messages. Workers name themselves."""
    name = "" if live.worker is None else f"worker {live.worker.number}: "
    live.journal.on_close = make_request_logger(live.settings.log, worker=live.worker) or log_unmatched
    live.journal.on_remark = make_remark_logger()
    log_errors(name=name)
    return lambda message: write_line(name + message, err=True)


def write_banner(live: Live, given: Sources, port: int) -> str:
    """Return where the server listens, what it answers with, and the base URL of each dialect."""
    host = f"[{live.settings.host}]" if ":" in live.settings.host else live.settings.host
    address = f"{live.settings.scheme}://{host}:{port}"
    default = live.settings.dialect
    bases = [f"  {name:<12} {make_base_url(address, name)}{write_openai_hint(name)}" for name in list_client_configs()]
    bases.append(f"  {'':<12} {make_bare_url(address, default)}{write_openai_hint(default)}  (speaks {default})")
    servers = list_mcp_addresses(address, live.engine.servers)
    bases += [f"  {f'mcp {name}':<12} {url}" for name, url in servers.items()]
    name = live.player.choice.name
    stated = live.settings.unmatched
    unmatched = stated if isinstance(stated, str) else f"error {stated.status or ''}".rstrip()
    otherwise = f"unmatched: {unmatched}" if name is None else f"then cassette {name_file(name)}"
    files = ", ".join(map(str, given.files))
    rules = f"{count_noun(len(live.engine.rules), 'rule')} from {files}" if files else "no rules"
    first = f"mockserver listens on {address}  ({rules}; {otherwise})"
    several = live.settings.workers > 1
    alone = " without shared state: answers are not stored" if live.fleet is None else ""
    workers = [f"  {live.settings.workers} workers{alone}"] if several else []
    return "\n".join(
        (first, *workers, *_describe_recording(live), *bases, *_describe_inspector(live, address), *list_warnings(live))
    )


def _describe_inspector(live: Live, address: str) -> Iterator[str]:
    """Yield where the inspector is; a generated token is in the fragment, which no server and no log gets."""
    generated = live.settings.control_token is None and live.control_token is not None
    if live.settings.inspector:
        yield f"  {'inspector':<12} {address}{CONTROL}/{f'#token={live.control_token}' if generated else ''}"


def _describe_recording(live: Live) -> Iterator[str]:
    choice = live.player.choice
    parts = list[str]()
    if choice.name is not None:
        cassette = live.player.store.get(choice.name)
        count = 0 if cassette is None else cassette.size
        size = count_noun(count, "episode") if live.player.store.exists(choice.name) else "does not exist yet"
        parts += [f"cassette {name_file(choice.name)}: {size}", f"record: {choice.record}"]
    if live.settings.upstream:
        from mockserver.cassettes.redaction.credential_fields import CredentialFields  # slow, as are its patterns

        shown = {name: CredentialFields().redact_url(url) for name, url in live.settings.upstream.items()}
        parts.append("upstream: " + ", ".join(f"{name}={url}" for name, url in shown.items()))
    if parts:
        yield f"  {'; '.join(parts)}"


def list_warnings(live: Live) -> Iterator[str]:
    """Yield why recording cannot work, which recordings were edited, and who can reach the server.

    Only this and the inspector's address print a generated control token.
    """
    settings = live.settings
    record = f"  record is {live.settings.record}, but"
    yield from () if live.fleet is None else (f"  {warning}" for warning in live.fleet.warnings)
    if settings.record != "none" and settings.cassette is None:
        yield f"  {explain_nowhere(settings.record, FLAGS)}"
    elif live.player.choice.forwards and not settings.upstream:
        yield f"{record} no upstream is set; set --upstream DIALECT=URL"
    if _may_record(live.player.choice) and not _is_writable(Path(settings.cassettes)):
        yield f"{record} {settings.cassettes} is not writable; set --cassettes FOLDER"
    yield from (f"  {remark.line}" for remark in find_without_upstream(live.engine.rules, settings.upstream))
    yield from (f"  {line}" for line in live.player.store.list_edited())
    if is_loopback(settings.host):
        return
    who = "anyone" if settings.keys is None else "anyone with an API key"
    yield f"  open to the network: {who} can use this server; --host 127.0.0.1 limits it to this machine"
    if settings.control_token is None:
        yield f"  /__mockserver__ requires the header authorization: Bearer {live.control_token}"


def _may_record(choice: CassetteChoice) -> bool:
    """Return whether anything may be recorded; `once` records nothing into a cassette that has episodes."""
    return choice.name is not None and (choice.forwards or choice.record == "new_episodes")


def _is_writable(folder: Path) -> bool:
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
