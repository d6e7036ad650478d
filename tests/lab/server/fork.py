"""What would happen if: a piece of work in a copy of this process, of which nothing but its result stays.

A simulated machine is full of running generators, so that it cannot be copied; a process can. The caller holds every
lock that the work takes: no other thread of this process lives on in the copy.
"""

from __future__ import annotations

import gc
import os
import pickle
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import BinaryIO, TypeVar

T = TypeVar("T")


class ForkFailed(Exception):  # noqa: N818 - what it says
    """The work in the copy raised; the text is its traceback."""


def in_copies(works: Sequence[Callable[[], T]], width: int = 2) -> list[T]:
    """The result of each work (it must be picklable), `width` of them at a time, in their order."""
    results: list[T] = []
    running: list[tuple[int, BinaryIO]] = []
    for work in works:
        if len(running) == width:
            results.append(_result(*running.pop(0)))
        running.append(_start(work))
    results.extend(_result(*one) for one in running)
    return results


def _start(work: Callable[[], T]) -> tuple[int, BinaryIO]:
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python warns of locks that other threads may hold; see the module.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        os.close(writer)
        return pid, os.fdopen(reader, "rb")
    try:
        gc.disable()  # it would touch, and so copy, everything
        os.close(reader)
        with os.fdopen(writer, "wb") as stream:
            try:
                answer: tuple[bool, object] = (True, work())
            except BaseException:
                answer = (False, traceback.format_exc())
            pickle.dump(answer, stream)
    finally:
        os._exit(0)


def _result(pid: int, stream: BinaryIO) -> T:  # type: ignore[type-var]
    with stream:
        data = stream.read()
    os.waitpid(pid, 0)
    if not data:
        raise ForkFailed(f"the copy {pid} ended without a word")
    good, value = pickle.loads(data)
    if not good:
        raise ForkFailed(str(value))
    return value  # type: ignore[no-any-return]
