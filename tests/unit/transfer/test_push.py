"""What is sent for a build: nothing, a difference or everything; and the op assembles the build from it."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.provision import provision
from ansible_collections.winkube.node.plugins.plugin_utils.provision.delivery import Delivery
from ansible_collections.winkube.node.plugins.plugin_utils.provision.options import ProvisionerOptions
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.cache import PushCache
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.progress import Progress
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.push import (
    Base,
    Mode,
    Pushed,
    PushError,
    prepare,
    push,
)

from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op
from tests.unit.components.nodes import LAYOUT
from tests.unit.told import told

STAGING = "C:\\ProgramData\\winkube\\staging"
KUBELET = "C:\\k\\kubelet.exe"


class Wire:
    """A connection that puts files onto a simulated drive."""

    def __init__(self, node: SimulatedNode) -> None:
        self.node = node
        self.sent: list[tuple[str, int]] = []

    def put_file(self, in_path: str, out_path: str) -> None:
        data = Path(in_path).read_bytes()
        self.node.drive.write(out_path, data)
        self.sent.append((out_path, len(data)))


class Bench:
    """A node with a staging folder, a controller with a cache, and builds."""

    def __init__(self, folder: Path) -> None:
        self.node = LabNode("win1")
        self.node.drive.mkdir(STAGING)
        self.node.drive.mkdir("C:\\k")
        self.wire = Wire(self.node)
        self.cache = PushCache(folder / "cache")
        self.folder = folder
        self.lines: list[Progress] = []

    def push(self, data: bytes, base: Base | None = None, mode: Mode = "auto") -> Pushed:
        source = self.folder / "kubelet.exe"
        source.write_bytes(data)
        with prepare(source, sha(data), len(data), base, STAGING, self.cache, mode=mode) as ready:
            return push(self.wire, ready, self.lines.append)

    def put_in_place(self, pushed: Pushed) -> None:
        """The op, the parts away, and the build where the service has it."""
        assert pushed.op is not None
        assert "failed" not in execute_op(self.node, pushed.op["op"], pushed.op["args"])
        self.node.drive.rename(pushed.staged, KUBELET, replace=True)
        for part in pushed.parts:
            self.node.drive.delete(part)

    def base(self) -> Base:
        return Base(KUBELET, sha(self.node.drive.read(KUBELET)))


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def build(seed: int, size: int = 300_000) -> bytes:
    return b"MZ" + random.Random(seed).randbytes(size)


def rebuilt(data: bytes) -> bytes:
    return data[:1000] + b"a new function" + data[1000:200_000] + bytes(8) + data[200_010:]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.row("PV-14")
def test_first_whole_then_the_difference_then_nothing(bench: Bench) -> None:
    old, new = build(1), rebuilt(build(1))
    first = bench.push(old)
    assert (first.how, first.op and "base" in first.op["args"]) == ("whole", False)
    assert first.bytes_sent == sum(size for _, size in bench.wire.sent)
    bench.put_in_place(first)
    assert bench.node.drive.read(KUBELET) == old

    second = bench.push(new, bench.base())
    assert second.how == "delta"
    assert second.bytes_sent < len(new) / 20
    assert second.op is not None
    assert second.op["args"]["base_sha256"] == sha(old)
    bench.put_in_place(second)
    assert bench.node.drive.read(KUBELET) == new

    before = len(bench.wire.sent)
    third = bench.push(new, bench.base())
    assert (third.how, third.bytes_sent, third.op, third.staged) == ("unchanged", 0, None, KUBELET)
    assert len(bench.wire.sent) == before


def test_a_build_that_this_controller_never_pushed_is_sent_whole(bench: Bench) -> None:
    bench.node.drive.write(KUBELET, build(2))
    pushed = bench.push(build(3), bench.base())
    assert pushed.how == "whole"
    assert "was not pushed from here" in pushed.why
    bench.put_in_place(pushed)


def test_whole_when_asked_for(bench: Bench) -> None:
    bench.put_in_place(bench.push(build(1)))
    pushed = bench.push(rebuilt(build(1)), bench.base(), mode="whole")
    assert (pushed.how, pushed.why) == ("whole", "whole was asked for")


def test_undo_takes_the_build_and_its_parts_away(bench: Bench) -> None:
    pushed = bench.push(build(1))
    assert pushed.op is not None
    execute_op(bench.node, "assemble", pushed.op["args"])
    for step in pushed.op["undo"]:
        execute_op(bench.node, step["op"], step["args"])
    assert bench.node.drive.listdir(STAGING) == []


def test_a_build_that_is_still_written_is_refused(bench: Bench) -> None:
    source = bench.folder / "kubelet.exe"
    source.write_bytes(b"MZ half")
    ready = prepare(source, sha(b"MZ all"), 6, None, STAGING, bench.cache)
    with pytest.raises(PushError, match=r"kubelet\.exe changed while it was read"), ready:
        pass


def test_a_build_that_is_gone_is_a_sentence(bench: Bench) -> None:
    ready = prepare(bench.folder / "gone.exe", "0" * 64, 6, None, STAGING, bench.cache)
    with pytest.raises(PushError, match=r"gone\.exe could not be prepared for the transfer: .*No such file"), ready:
        pass


def test_a_line_for_each_part(bench: Bench) -> None:
    pushed = bench.push(build(4, 17_000_000))
    assert len(bench.wire.sent) == len(bench.lines) == 3
    assert [(item.part, item.parts) for item in bench.lines] == [(1, 3), (2, 3), (3, 3)]
    assert bench.lines[-1].sent == bench.lines[-1].total == pushed.bytes_sent
    bench.put_in_place(pushed)


def test_many_nodes_share_one_delta(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.put_in_place(bench.push(build(1)))
    bench.push(rebuilt(build(1)), bench.base())
    again = bench.push(rebuilt(build(1)), bench.base())
    assert again.how == "delta"
    made = list((bench.cache.folder / "deltas").glob("*-*/complete"))
    assert len(made) == 2


def test_without_a_cache_everything_is_whole(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    (tmp_path / "file").write_text("in the way")
    bench.cache = PushCache(tmp_path / "file" / "cache")
    bench.put_in_place(bench.push(build(1)))
    pushed = bench.push(rebuilt(build(1)), bench.base())
    assert pushed.how == "whole"
    bench.put_in_place(pushed)
    assert bench.node.drive.read(KUBELET) == rebuilt(build(1))


@pytest.mark.parametrize("known", [True, False])
def test_a_build_on_the_node_is_never_said_not_to_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """Failed before: if the node's build was not in the controller's cache, the result said: there is no build on
    the node."""
    cache = PushCache(tmp_path / "cache")
    monkeypatch.setattr(PushCache, "default", lambda: cache)
    old, new = build(1), rebuilt(build(1))
    if known:
        cache.keep(old, sha(old))
    source = tmp_path / "kubelet.exe"
    source.write_bytes(new)
    found = [(r"C:\k\other.exe", sha(build(2))), (KUBELET, sha(old))]
    monkeypatch.setattr(provision, "list_bases", lambda task, reading: found)
    monkeypatch.setattr(provision, "staging", lambda item, layout: STAGING)
    origin = SimpleNamespace(build=SimpleNamespace(path=source, sha256=sha(new), size=len(new)))
    task: Any = SimpleNamespace(item=SimpleNamespace(name="kubelet"), origin=origin, staged=rf"{STAGING}\kubelet.exe")
    delivery = Delivery(cast("Any", None), LAYOUT, told(ProvisionerOptions, "win_k8s_provisioner"))
    with delivery._prepare(task, "auto", Reading()) as ready:
        assert ready.how == ("delta" if known else "whole")
        expected = sha(old)[:12] if known else sha(build(2))[:12]
        assert f"the build on the node (sha256 {expected})" in ready.why
    monkeypatch.setattr(provision, "list_bases", lambda task, reading: [])
    with delivery._prepare(task, "auto", Reading()) as ready:
        assert (ready.how, ready.why) == ("whole", "there is no build on the node")
