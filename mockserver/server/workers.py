"""Several worker processes on one socket: uvicorn's supervisor starts, replaces and stops them.

Without shared state they may only answer what every process answers alike; `check_stateless` refuses the rest.
"""

import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from multiprocessing import parent_process
from threading import Thread
from typing import Any

import uvicorn
from msgspec.structs import replace
from uvicorn.supervisors import Multiprocess

from mockserver.config.errors import ConfigError, MockserverError
from mockserver.config.settings import Settings
from mockserver.core.episode import name_file
from mockserver.engine.engine import Engine
from mockserver.media.large_data import find_folder, share_folder
from mockserver.server.compose import compose, start
from mockserver.server.limits import Limiter
from mockserver.server.live import Live, Worker
from mockserver.server.recording.player import Player
from mockserver.server.run import COLLECT, DRAIN, GRACE, configure_uvicorn, watch_sources
from mockserver.server.shared_state import check_state, join_fleet
from mockserver.server.sources import Sources, find_cassettes
from mockserver.state.in_memory import MemoryCounters

_NAMED = 5  # of the reasons against workers that share nothing
_PATIENCE = 30  # seconds that a successor may take to start
_SILENT = 5  # seconds that a worker may take to answer its parent

log = logging.getLogger("mockserver")
Prepare = Callable[[Live], Callable[[str], None]]  # makes a worker log; returns what prints its messages


def check_stateless(workers: int, settings: Settings, engine: Engine) -> None:
    """Raise ConfigError if anything counts or is kept, which workers that share nothing cannot do together."""
    if settings.record != "none":
        raise ConfigError(f"record is {settings.record}, but recording needs one process; use --workers 1")
    if found := list(_find_stateful(settings, engine)):
        why = "; ".join(found[:_NAMED] + ([f"{len(found) - _NAMED} more"] if len(found) > _NAMED else []))
        raise ConfigError(f"--workers {workers} needs shared state: {why}; add --state redis://HOST:6379/0")


def _find_stateful(settings: Settings, engine: Engine) -> Iterator[str]:
    """Yield each setting, rule and cassette by which something counts or is kept."""
    for rule in engine.rules:
        if names := rule.order_dependence:
            yield f"{rule.where}{rule.quoted_name} has {', '.join(names)}"
    if settings.ids == "unique":
        yield "ids is unique"
    limiter = Limiter()
    limiter.configure(settings.limits, settings.keys, engine.policy.models)
    if limiter.active:
        yield "there are limits"
    if settings.stored_answers and "stored_answers" in settings.model_fields_set:
        yield f"stored_answers is {settings.stored_answers}"
    assert isinstance(engine.player, Player)  # `compose` made it
    named = (name for rule in engine.rules for name in find_cassettes(rule.spec["then"]))
    for name in dict.fromkeys(filter(None, (settings.cassette, *named))):
        cassette = engine.player.store.get(name)
        if cassette is not None and (repeated := cassette.repeated):
            first, second = repeated
            yield f"cassette {name_file(name)} answers a request several times (episodes {first} and {second})"


def run_workers(live: Live, prepare: Prepare, listener: socket.socket, announce: Callable[[], None]) -> None:
    """Start the workers, and keep as many running until a signal; `live` is what this process has compiled."""
    worker = Worker(0, live.settings.workers)
    folder = find_folder()
    supervisor = _Supervisor(
        _WorkerConfig(live.sources, worker, prepare=prepare, token=live.made_token, uploads=folder), [listener]
    )
    announce()
    gc.enable()
    supervisor.run()


class _WorkerConfig(uvicorn.Config):
    """uvicorn's configuration; pickled it is the sources and a number, from which a worker makes all else.

    `uploads` is the folder of the parent, for the files of all workers.
    """

    def __init__(self, sources: Sources, worker: Worker, prepare: Prepare, token: str, uploads: str) -> None:
        super().__init__("mockserver", workers=worker.count, log_config=None, timeout_worker_healthcheck=_SILENT)
        self.sources = sources
        self.worker = worker
        self.prepare = prepare
        self.token = token
        self.uploads = uploads
        self.next_number: Callable[[], int] = lambda: worker.number

    def __reduce__(self) -> tuple[Any, ...]:
        sources = replace(self.sources, environ=dict(self.sources.environ))
        return type(self), (sources, Worker(self.next_number(), self.workers), self.prepare, self.token, self.uploads)

    def load(self) -> None:
        """Compile the sources and make the application, in the worker. Ends the process if they have mistakes."""
        Thread(target=_end_with_parent, daemon=True).start()
        share_folder(self.uploads)
        try:
            live = start_worker(self.sources, self.worker, self.token)
        except MockserverError as error:
            log.error("worker %s: %s", self.worker.number, error.mistakes[0])  # a mistake of the user
            sys.exit(1)
        say = self.prepare(live)
        configured = configure_uvicorn(live, watch_sources(live, live.sources, say), grace=GRACE, drain=DRAIN)
        self.__dict__.update(configured.__dict__)
        super().load()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECT)


def start_worker(sources: Sources, worker: Worker, token: str) -> Live:
    """Return what one worker runs with. Without shared state it keeps no answers. Raises MockserverError."""
    live = start(sources)
    if live.settings.state != "memory":
        join_fleet(live)
    else:
        live = start(replace(sources, flags={**sources.flags, "stored_answers": 0}))
        live.reloading.check = partial(check_stateless, worker.count)
        live.reloading.check(live.settings, live.engine)
    live.worker = worker
    live.made_token = token
    return live


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


class _Supervisor(Multiprocess):
    """uvicorn's, except that it starts no worker while the sources have mistakes, and numbers workers from 1."""

    config: _WorkerConfig

    def __init__(self, config: _WorkerConfig, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        config.next_number = self._next_number
        self._replaced = count(1)  # by SIGHUP, one after another
        self._logged = ""  # the latest message, which is not repeated

    def _next_number(self) -> int:
        dead = (at for at, each in enumerate(self.processes, 1) if each.exitcode is not None)
        beginning = len(self.processes) < self.processes_num
        return next(dead, None) or (len(self.processes) + 1 if beginning else next(self._replaced))

    def keep_subprocess_alive(self) -> None:
        if all(each.process.is_alive() for each in self.processes) or self._compiles("a worker that ended is not"):
            before = list(self.processes)
            super().keep_subprocess_alive()
            for number, (old, new) in enumerate(zip(before, self.processes, strict=True), 1):
                if old is not new:
                    log.error("worker %s ended (exit code %s); another one starts", number, old.exitcode)

    def handle_hup(self) -> None:
        if self._compiles("workers are not"):
            self._replaced = count(1)
            self.config.timeout_worker_healthcheck = _PATIENCE
            super().handle_hup()
            self.config.timeout_worker_healthcheck = _SILENT

    def _compiles(self, what: str) -> bool:
        """Return whether the sources have no mistakes; else log that `what`, such as `workers are not`, replaced."""
        try:
            settings, engine = compose(self.config.sources, MemoryCounters())
            if settings.state == "memory":
                check_stateless(self.config.workers, settings, engine)
            else:
                check_state(settings.state)
        except MockserverError as error:
            message = f"{what} replaced: {error.mistakes[0]}"
            if message != self._logged:
                log.error("%s", message)  # a mistake of the user
            self._logged = message
            return False
        self._logged = ""
        return True

    def terminate_all(self) -> None:
        for listener in self.sockets:  # else clients would connect to nobody until the last worker has ended
            listener.close()
        super().terminate_all()

    def handle_ttin(self) -> None:
        """Do nothing: the number of workers is a setting."""

    handle_ttou = handle_ttin
