"""Writes a replica's counters in the layout of serving/replica-counters.ts: little-endian float64 slots in a file."""

import math
import mmap
import os
import struct
import time

LAYOUT_VERSION = 1
MAX_REQUEST_CLASSES = 8
HEADER_SLOTS = 16
CLASS_SLOTS = 8
FILE_BYTES = (HEADER_SLOTS + CLASS_SLOTS * MAX_REQUEST_CLASSES) * 8

LAYOUT, REFUSED = 0, 1
# Slots of what other engines know (sequences, KV cache, tokens, batches): NaN says that this one does not.
UNKNOWN = range(2, 8)
STARTED, FINISHED, FAILED, PROGRESS, PROGRESS_GAP_MS_MAX, SERVICE_MS = range(6)


class Counters:
    """Counters of one worker process with a single request class. Only the event loop's thread writes."""

    def __init__(self, path: str):
        self._map = open_map(path)
        self._slots = memoryview(self._map).cast("d")
        self._since = 0.0
        for slot in UNKNOWN:
            self._slots[slot] = math.nan
        self._slots[LAYOUT] = LAYOUT_VERSION

    def in_flight(self) -> int:
        return int(self._get(STARTED) - self._get(FINISHED))

    def started(self) -> float:
        now = time.monotonic()
        if self.in_flight() == 0:
            self._since = now
        self._add(STARTED, 1)
        return now

    def finished(self, started_at: float, failed: bool, answered: bool) -> None:
        now = time.monotonic()
        if answered:
            gap = (now - self._since) * 1000
            self._slots[HEADER_SLOTS + PROGRESS_GAP_MS_MAX] = max(self._get(PROGRESS_GAP_MS_MAX), gap)
            self._since = now
            self._add(PROGRESS, 1)
        self._add(FINISHED, 1)
        if failed:
            self._add(FAILED, 1)
        self._add(SERVICE_MS, (now - started_at) * 1000)

    def refused(self) -> None:
        self._slots[REFUSED] += 1

    def _get(self, slot: int) -> float:
        return self._slots[HEADER_SLOTS + slot]

    def _add(self, slot: int, by: float) -> None:
        self._slots[HEADER_SLOTS + slot] += by


class InFlight:
    """Requests in flight over all workers of a replica, read from their files."""

    def __init__(self, paths: list[str]):
        self._maps = [open_map(path) for path in paths]

    def total(self) -> int:
        at = HEADER_SLOTS * 8
        return sum(int(started - finished) for started, finished in (struct.unpack_from("<dd", m, at) for m in self._maps))


def open_map(path: str) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.ftruncate(descriptor, FILE_BYTES)
        return mmap.mmap(descriptor, FILE_BYTES)
    finally:
        os.close(descriptor)
