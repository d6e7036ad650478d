"""Deltas, reassembled by the lab's own reading of docs/protocol.md."""

from __future__ import annotations

import hashlib
import random
import struct
from collections.abc import Callable

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.delta import (
    MAX_PIECE,
    Add,
    Copy,
    Instruction,
    Literal,
    delta,
    difference,
    encode,
    output_length,
    parts,
    segments,
    whole,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op

ROOT = "C:\\build"


def node() -> SimulatedNode:
    made_node = LabNode("win1")
    made_node.drive.mkdir(ROOT)
    return made_node


NODE = node()


def assembled(old: bytes | None, new: bytes, pieces: list[bytes]) -> dict[str, object]:
    """What the simulated node says when it has old and the parts."""
    drive = NODE.drive
    args: dict[str, object] = {"path": f"{ROOT}\\new", "sha256": hashlib.sha256(new).hexdigest(), "size": len(new)}
    if drive.kind(f"{ROOT}\\new") == "file":
        drive.delete(f"{ROOT}\\new")
    if old is not None:
        drive.write(f"{ROOT}\\old", old)
        args["base"] = f"{ROOT}\\old"
    for number, data in enumerate(pieces):
        drive.write(f"{ROOT}\\{number}", data)
    return execute_op(NODE, "assemble", {**args, "delta": [f"{ROOT}\\{n}" for n in range(len(pieces))]})


def program(seed: int, functions: int, changed: frozenset[int] = frozenset(), start: int = 0x1000) -> bytes:
    """Something like a program: functions that call each other by relative address, a table of their starts, texts.

    The `changed` ones are longer, so that everything after them moves.
    """
    rng = random.Random(seed)
    sizes = [rng.randrange(40, 400) & ~15 for _ in range(functions)]
    bodies = [bytearray(rng.choices(b"\x48\x89\x8b\x24\x0f\x44\xc3\x90\x05\x8d\x7c", k=size)) for size in sizes]
    calls = [(n, rng.randrange(0, sizes[n] - 8), rng.randrange(functions)) for n in range(functions) for _ in range(6)]
    for n in changed:
        bodies[n] += b"\xcc" * 64
    starts = [start]
    for body in bodies:
        starts.append(starts[-1] + len(body))
    for n, at, to in calls:
        bodies[n][at : at + 5] = b"\xe8" + struct.pack("<i", starts[to] - starts[n] - at - 5)
    table = b"".join(struct.pack("<II", begin, n * 40) for n, begin in enumerate(starts))
    texts = b"".join(b"package/path.Function%d\x00" % rng.randrange(10**6) for _ in range(functions))
    return b"MZ" + b"".join(map(bytes, bodies)) + table + texts


edits = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.integers(0, 300), st.binary(max_size=200)),
    max_size=6,
)


def edited(data: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    for at, drop, more in changes:
        place = at % (len(data) + 1)
        data = data[:place] + more + data[place + drop :]
    return data


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=3000), st.binary(max_size=3000))
def test_any_two_files(old: bytes, new: bytes) -> None:
    assert assembled(old, new, list(parts(delta(old, new)))).get("sha256") == hashlib.sha256(new).hexdigest()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 5), st.integers(1, 60), edits, st.integers(50, 4000))
def test_edited_programs(seed: int, functions: int, changes: list[tuple[int, int, bytes]], limit: int) -> None:
    old = program(seed, functions)
    new = edited(old, changes)
    pieces = list(parts(delta(old, new), limit=limit))
    assert assembled(old, new, pieces).get("sha256") == hashlib.sha256(new).hexdigest()


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=5000))
def test_a_whole_file(new: bytes) -> None:
    pieces = list(parts(whole(new), limit=100))
    assert assembled(None, new, pieces).get("sha256") == hashlib.sha256(new).hexdigest()


@given(
    st.integers(0, 40).flatmap(
        lambda n: st.tuples(st.binary(min_size=n, max_size=n), st.binary(min_size=n, max_size=n))
    )
)
def test_a_difference_is_what_has_to_be_added(pair: tuple[bytes, bytes]) -> None:
    new, old = pair
    total = int.from_bytes(old, "little") + int.from_bytes(difference(new, old), "little")
    assert total % (1 << 8 * len(new)) == int.from_bytes(new, "little")


def test_addresses_that_moved_cost_next_to_nothing() -> None:
    """The reason for `add`: a function has grown, and nearly everything else is equal except for addresses."""
    old, new = program(1, 1500), program(1, 1500, frozenset({100, 700}))
    sent = sum(map(len, parts(delta(old, new))))
    plain = sum(map(len, parts(whole(new))))
    assert len(new) > 350_000
    assert sent < plain / 8
    assert assembled(old, new, list(parts(delta(old, new))))["changed"] is True


def test_an_equal_file_is_a_copy() -> None:
    data = program(2, 300)
    assert list(delta(data, data)) == [Copy(0, len(data))]


def test_what_only_moved_is_found() -> None:
    old = program(3, 500)
    new = b"x" * 100 + old
    assert {segment.shift for segment in segments(old, new)} == {-100}
    assert sum(output_length(item) for item in delta(old, new) if isinstance(item, Copy)) > len(old) * 0.99


@pytest.mark.parametrize(
    ("instruction", "data", "makes"),
    [
        (Copy(5, 7), bytes.fromhex("02 0500000000000000 07000000"), 7),
        (Add(1 << 33, b"\x01\xff"), bytes.fromhex("03 0000000002000000 02000000 01ff"), 2),
        (Literal(b"abc"), bytes.fromhex("01 0000000000000000 03000000 616263"), 3),
    ],
)
def test_the_bytes_of_an_instruction(instruction: Instruction, data: bytes, makes: int) -> None:
    assert encode(instruction) == data
    assert output_length(instruction) == makes


@pytest.mark.parametrize("change", [lambda data: data, lambda data: bytes(reversed(data))])
def test_no_piece_is_longer_than_the_node_takes(change: Callable[[bytes], bytes]) -> None:
    rng = random.Random(4)
    old = rng.randbytes(2_500_000)
    new = bytes(byte ^ (at % 64 == 0) for at, byte in enumerate(change(old)))
    longest = max(output_length(item) for item in delta(old, new) if not isinstance(item, Copy))
    assert longest <= MAX_PIECE
    assert sum(output_length(item) for item in delta(old, new)) == len(new)


def test_a_part_ends_near_its_limit() -> None:
    data = random.Random(5).randbytes(5_000_000)
    sizes = [len(part) for part in parts(whole(data), limit=1_500_000)]
    assert len(sizes) == 3
    assert max(sizes) < 1_500_000 + MAX_PIECE + 2000
    assert len(list(parts(whole(b"")))) == 1
