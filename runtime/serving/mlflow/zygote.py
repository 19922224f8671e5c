"""Imports MLflow once and forks a ready process per replica: a wake-up costs a fork and a model load, no imports.

One zygote per environment and thread setting in a region. It is started by the first keeper that needs it, holds a lock
so that there is no second, and ends with the region's agent (whose process id it is given), never with a keeper.

Protocol on its unix socket, one connection per replica. The keeper sends one line of JSON (see replica.Launch). The zygote
answers with lines that begin with a NUL byte: `pid N` at the fork and `exit CODE SIGNAL` at the end. All other lines are
the replica's own output, which has the socket as stdout and stderr. When the keeper's end closes, the replica is killed:
a replica never outlives its keeper.

Usage: zygote.py SOCKET AGENT_PID [MODULE ...]
"""

import fcntl
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import time

from penstock_mlflow import replica

# An environment that no replica was started from for this long gives its memory back; the next start imports again.
IDLE_SECONDS = 6 * 3600
# How soon the agent's end is noticed, at one wake-up a second.
WATCH_SECONDS = 1.0
MAX_LAUNCH_BYTES = 1 << 20


class Child:
    """A forked replica, its keeper's connection and the pipe on which it tells what it had to import."""

    def __init__(self, pid: int, connection: socket.socket, imported: int):
        self.pid = pid
        self.connection = connection
        self.imported = imported

    def kill(self) -> None:
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Zygote:
    def __init__(self, listener: socket.socket, agent_pid: int):
        self.listener = listener
        self.agent_pid = agent_pid
        self.children: dict[int, Child] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ, self.accept)
        self.last_start = time.monotonic()
        self.to_import: list[str] = []
        wake_reader, wake_writer = os.pipe()
        os.set_blocking(wake_writer, False)
        os.set_blocking(wake_reader, False)
        signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.selector.register(wake_reader, selectors.EVENT_READ, lambda: self.reap(wake_reader))

    def run(self) -> None:
        while self.is_needed():
            ready = self.selector.select(0 if self.to_import else WATCH_SECONDS)
            for key, _ in ready:
                key.data()
            if not ready and self.to_import:
                # One at a time: a start or an end that comes in between is served first.
                preload([self.to_import.pop(0)])
        for child in self.children.values():
            child.kill()

    def is_needed(self) -> bool:
        try:
            os.kill(self.agent_pid, 0)
        except ProcessLookupError:
            return False
        return bool(self.children) or time.monotonic() - self.last_start < IDLE_SECONDS

    def accept(self) -> None:
        connection, _ = self.listener.accept()
        # A keeper sends its line at once; one that does not may not hold up the others.
        connection.settimeout(2.0)
        line = b""
        try:
            while not line.endswith(b"\n") and len(line) < MAX_LAUNCH_BYTES:
                piece = connection.recv(65536)
                if not piece:
                    return connection.close()
                line += piece
            launch = replica.Launch(**json.loads(line))
        except (OSError, ValueError, TypeError) as error:
            print(f"a launch that can't be read: {error}", flush=True)
            return connection.close()
        connection.setblocking(True)
        self.fork(connection, launch)

    def fork(self, connection: socket.socket, launch: "replica.Launch") -> None:
        self.last_start = time.monotonic()
        imported_reader, imported_writer = os.pipe()
        # Objects that live now are left alone by the collector, so that a child's collection copies no shared page.
        gc.freeze()
        pid = os.fork()
        if pid == 0:
            os.close(imported_reader)
            self.become_replica(connection, launch, imported_writer)
        os.close(imported_writer)
        # Both sides set the group, so that it exists whoever runs first.
        set_group(pid)
        child = Child(pid, connection, imported_reader)
        self.children[pid] = child
        self.tell(child, f"pid {pid}")
        self.selector.register(connection, selectors.EVENT_READ, lambda: self.hear(child))
        self.selector.register(imported_reader, selectors.EVENT_READ, lambda: self.learn(child))

    def become_replica(self, connection: socket.socket, launch: "replica.Launch", imported: int) -> None:
        status = 1
        try:
            set_group(0)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.selector.close()
            self.listener.close()
            for other in self.children.values():
                other.connection.close()
                os.close(other.imported)
            os.dup2(connection.fileno(), 1)
            os.dup2(connection.fileno(), 2)
            status = replica.run(launch, connection, imported)
        except SystemExit as exit:
            status = exit.code if isinstance(exit.code, int) else 1
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def hear(self, child: Child) -> None:
        """A keeper says nothing after its launch, so what is heard is its end."""
        try:
            gone = child.connection.recv(4096) == b""
        except OSError:
            gone = True
        if gone:
            self.selector.unregister(child.connection)
            child.kill()

    def learn(self, child: Child) -> None:
        """Notes what the replica had to import to load its model, so that the next one need not."""
        names = os.read(child.imported, 1 << 16)
        if names:
            self.to_import.extend(names.decode().split("\n"))
        else:
            self.selector.unregister(child.imported)

    def reap(self, wake_reader: int) -> None:
        try:
            os.read(wake_reader, 4096)
        except BlockingIOError:
            pass
        while self.children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = self.children.pop(pid, None)
            if child is not None:
                self.bury(child, status)

    def bury(self, child: Child, status: int) -> None:
        # Further workers of the replica share its group.
        child.kill()
        code = os.waitstatus_to_exitcode(status)
        self.tell(child, f"exit {code if code >= 0 else '-'} {signal.Signals(-code).name if code < 0 else '-'}")
        for source in (child.connection, child.imported):
            try:
                self.selector.unregister(source)
            except KeyError:
                pass
        child.connection.close()
        os.close(child.imported)

    def tell(self, child: Child, message: str) -> None:
        try:
            child.connection.sendall(b"\0" + message.encode() + b"\n")
        except OSError:
            pass


def set_group(pid: int) -> None:
    try:
        os.setpgid(pid, 0)
    except (PermissionError, ProcessLookupError):
        pass


def preload(modules: list[str]) -> None:
    """Imports what can be imported; what can't is the model's own affair when it loads."""
    for name in modules:
        try:
            importlib.import_module(name)
        except BaseException as error:
            print(f"not preloaded: {name}: {error}", flush=True)


def main() -> None:
    path, agent_pid, *modules = sys.argv[1:]
    lock = open(f"{path}.lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        # Another keeper's zygote is starting or there.
        return
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1024)
    preload(["fastapi", "uvicorn", "uvicorn.loops.auto", "uvicorn.protocols.http.auto"])
    preload(["mlflow.pyfunc", "mlflow.pyfunc.scoring_server", "penstock_mlflow.gate", *modules])
    Zygote(listener, int(agent_pid)).run()
    os.unlink(path)


if __name__ == "__main__":
    main()
