"""What the disk does by itself: sequential direct writes and reads, and durable writes one behind the other.

Buffers are anonymous mappings, so that they lie on page boundaries as O_DIRECT wants. Every file is written once before it is
timed: the first write of a block of a new file costs the file system more.
"""

import mmap
import os
import queue
import threading
import time
from contextlib import contextmanager

from .bench import MB

CHUNK = MB


@contextmanager
def reserved(folder, name, file_bytes, flags=0):
    """A file with its space reserved and nothing written, open with O_DIRECT."""
    path = folder / name
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_DIRECT | flags, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, file_bytes)
        yield descriptor
    finally:
        os.close(descriptor)
        path.unlink()


@contextmanager
def scratch(folder, file_bytes, flags=0):
    """A file of blocks that were written before, open with O_DIRECT."""
    with reserved(folder, "disk-scratch", file_bytes, flags) as descriptor:
        _each_chunk(file_bytes, 4, lambda buffer, offset: os.pwrite(descriptor, buffer, offset))
        os.fsync(descriptor)
        yield descriptor


def _each_chunk(file_bytes, in_flight, work):
    """`work(buffer, offset)` for every chunk of the file, so many at a time."""
    offsets = iter(range(0, file_bytes, CHUNK))
    lock = threading.Lock()

    def worker():
        buffer = mmap.mmap(-1, CHUNK)
        buffer.write(os.urandom(CHUNK))
        while True:
            with lock:
                offset = next(offsets, None)
            if offset is None:
                return
            work(buffer, offset)

    threads = [threading.Thread(target=worker) for _ in range(in_flight)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _rate(file_bytes, in_flight, work):
    begin = time.monotonic()
    _each_chunk(file_bytes, in_flight, work)
    return file_bytes / MB / (time.monotonic() - begin)


def sequential_writes(descriptor, file_bytes, in_flight):
    """MB/s of direct writes of 1 MB."""
    return _rate(file_bytes, in_flight, lambda buffer, offset: os.pwrite(descriptor, buffer, offset))


def sequential_reads(descriptor, file_bytes, in_flight):
    """MB/s of direct reads of 1 MB."""
    return _rate(file_bytes, in_flight, lambda buffer, offset: os.preadv(descriptor, [buffer], offset))


def copying(source, target, file_bytes, reads_in_flight, writes_in_flight):
    """MB/s of a file read while what was read is written to another on the same disk, durable in the end.

    Direct reads and writes of 1 MB; twice as many buffers as transfers in flight.
    """
    free, full = queue.Queue(), queue.Queue()
    for _ in range(2 * (reads_in_flight + writes_in_flight)):
        free.put(mmap.mmap(-1, CHUNK))
    offsets = iter(range(0, file_bytes, CHUNK))
    lock = threading.Lock()

    def reader():
        while True:
            with lock:
                offset = next(offsets, None)
            if offset is None:
                return
            buffer = free.get()
            os.preadv(source, [buffer], offset)
            full.put((buffer, offset))

    def writer():
        while (job := full.get()) is not None:
            buffer, offset = job
            os.pwrite(target, buffer, offset)
            free.put(buffer)

    readers = [threading.Thread(target=reader) for _ in range(reads_in_flight)]
    writers = [threading.Thread(target=writer) for _ in range(writes_in_flight)]
    begin = time.monotonic()
    for thread in readers + writers:
        thread.start()
    for thread in readers:
        thread.join()
    for _ in writers:
        full.put(None)
    for thread in writers:
        thread.join()
    os.fdatasync(target)
    return file_bytes / MB / (time.monotonic() - begin)


def durable_writes(descriptor, file_bytes, write_bytes, count):
    """Durable writes a second, one after the other, onward through the file; its descriptor has O_DSYNC."""
    buffer = memoryview(mmap.mmap(-1, write_bytes))
    places = file_bytes // write_bytes
    begin = time.monotonic()
    for index in range(count):
        os.pwrite(descriptor, buffer, index % places * write_bytes)
    return count / (time.monotonic() - begin)


def forget_cached(folder):
    """Puts the files of a folder on the disk and out of the page cache, as after the machine's own start."""
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
