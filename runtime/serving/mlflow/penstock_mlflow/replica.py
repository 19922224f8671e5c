"""One replica of an MLflow model: MLflow's own scoring server under uvicorn, in one or more worker processes.

The first worker is the process the zygote forked. Further workers are forked from it before the model is loaded (numeric
libraries don't survive a fork once they have run), and load it only when the first one has measured that there is memory.
"""

import dataclasses
import os
import resource
import signal
import socket
import sys
import threading

PIPE_BYTES = 65_536


@dataclasses.dataclass
class Launch:
    """What a keeper asks for."""

    model: str
    host: str
    port: int
    # One counters file per worker that may be started; their number is the most workers.
    counters_files: list[str]
    # Most requests in flight over all workers, or None.
    max_in_flight: int | None
    # Memory allotted to the replica, or None: then a half of what the machine has free may be taken by further workers.
    memory_bytes: int | None
    # The header that marks the keeper's own requests, and its value.
    probe_header: str
    probe_secret: str
    # The header of a refusal.
    refused_header: str
    scratch: str
    # A request that the model's author saved with it, told in the model's metadata; or None.
    example_request: dict | None


def run(launch: Launch, keeper: socket.socket, imported: int) -> int:
    """Serves until told to end. Returns the exit status."""
    threading.Thread(target=die_with, args=(keeper,), daemon=True).start()
    # Until it serves there is nothing to drain.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    os.chdir(launch.scratch)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((launch.host, launch.port))
    known = set(sys.modules)
    further = [fork_worker(launch, index, listener) for index in range(1, len(launch.counters_files))]
    before = private_bytes()
    app = load(launch, 0)
    workers = count_workers(launch, private_bytes() - before)
    print(f"model loaded, {workers} worker(s) of at most {len(launch.counters_files)}", flush=True)
    for index, (_, writer) in enumerate(further, start=1):
        os.write(writer, b"go" if index < workers else b"no")
    tell_imports(imported, known)
    pids = [pid for pid, _ in further]
    if pids:
        signal.signal(signal.SIGCHLD, lambda *_: on_child_end(pids))
    serve(app, listener)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for pid in pids:
        # Its last requests; the zygote kills what is left of the group when this process has ended.
        os.waitpid(pid, 0)
    return 0


def die_with(keeper: socket.socket) -> None:
    while keeper.recv(4096):
        pass
    os.killpg(0, signal.SIGKILL)


def fork_worker(launch: Launch, index: int, listener: socket.socket) -> tuple[int, int]:
    """The worker's process id, and the pipe on which it is told `go` or `no`."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid != 0:
        os.close(reader)
        return pid, writer
    os.close(writer)
    status = 0
    try:
        if os.read(reader, 2) == b"go":
            serve(load(launch, index), listener)
    except BaseException:
        import traceback

        traceback.print_exc()
        status = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def on_child_end(workers: list[int]) -> None:
    """A worker that ends by itself ends the replica: half a replica would serve on unseen. Other children are the model's."""
    for worker in list(workers):
        pid, status = os.waitpid(worker, os.WNOHANG)
        if pid == 0:
            continue
        workers.remove(worker)
        if status != 0:
            print(f"a worker ended with status {status}", flush=True)
            os.killpg(0, signal.SIGKILL)


def load(launch: Launch, index: int):
    """The ASGI app of the model, with Penstock's gate around it."""
    from mlflow.pyfunc import scoring_server

    from penstock_mlflow import gate
    from penstock_mlflow.counters import Counters, InFlight

    model = scoring_server.load_model_with_mlflow_config(launch.model)
    app = scoring_server.init(model)
    counters = Counters(launch.counters_files[index])
    return gate.Gate(app, model, counters, InFlight(launch.counters_files), launch)


def serve(app, listener: socket.socket) -> None:
    import uvicorn

    # Idle connections are the router's to close: one that closes here as a request comes would fail that request.
    keep_alive_seconds = 3600
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="off", timeout_keep_alive=keep_alive_seconds, backlog=1024
    )
    # uvicorn drains on SIGTERM and then raises it again; the end after a drain is an orderly one.
    signal.signal(signal.SIGTERM, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listener])


def count_workers(launch: Launch, model_bytes: int) -> int:
    """As many as allowed (one per core of the allotment) and as fit into memory, each holding the model once."""
    most = len(launch.counters_files)
    if most == 1:
        return 1
    free = launch.memory_bytes - private_bytes() if launch.memory_bytes is not None else available_bytes() // 2
    return max(1, min(most, 1 + free // max(model_bytes, 1)))


def private_bytes() -> int:
    """Memory that is this process's alone, not shared with the zygote."""
    try:
        with open("/proc/self/smaps_rollup") as rollup:
            lines = [line.split() for line in rollup if line.startswith("Private_")]
        return sum(int(fields[1]) for fields in lines) * 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def available_bytes() -> int:
    try:
        with open("/proc/meminfo") as meminfo:
            return next(int(line.split()[1]) for line in meminfo if line.startswith("MemAvailable")) * 1024
    except (OSError, StopIteration):
        return 0


def tell_imports(pipe: int, known: set[str]) -> None:
    """Tells the zygote which modules of the environment the model needed; the model's own code is not among them."""
    fresh = [
        name
        for name, module in list(sys.modules.items())
        if name not in known and (getattr(module, "__file__", None) or "").startswith(sys.prefix)
    ]
    # At most what a pipe holds: the zygote may be busy, and no replica waits for it.
    os.write(pipe, "\n".join(fresh).encode()[:PIPE_BYTES].rsplit(b"\n", 1)[0])
    os.close(pipe)
