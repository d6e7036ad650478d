"""CRI over TCP: containerd reads its configuration before anything is stopped, and the port is asked afterwards."""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cri.client import CriError
from ansible_collections.winkube.node.plugins.plugin_utils.cri.client import Tls as ClientTls
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp import node as cri_tcp
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp import proof as cri_tcp_proof
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp.edit import edit
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch, Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from tests.unit.answers import answered
from tests.unit.components.nodes import LAYOUT, lines
from tests.unit.cri_tcp.asked import asked
from tests.unit.cri_tcp.test_cri_tcp import CONFIG, LOOPBACK, arguments, node

# --- the rehearsal ---------------------------------------------------------------------------------------------------


@pytest.mark.row("CT-09")
def test_the_nodes_containerd_reads_the_new_file_before_anything_is_stopped() -> None:
    args, reading = arguments(), node(arguments())
    batch = cri_tcp_proof.rehearsal(args, cri_tcp.build_resources(args, reading), reading)
    assert batch is not None and cri_tcp_proof.is_rehearsal(batch)
    candidate = rf"{LAYOUT.containerd_config}.winkube-candidate"
    assert lines(batch.ops) == [
        f"run containerd.exe --config {LAYOUT.containerd_config} config dump",
        f"write {candidate}",
        f"run containerd.exe --config {candidate} config dump",
        f"remove {candidate}",
    ]
    same = node(args, edit(CONFIG, LOOPBACK))
    assert cri_tcp_proof.rehearsal(args, cri_tcp.build_resources(args, same), same) is None


CANDIDATE = f"{LAYOUT.containerd_config}{cri_tcp_proof.CANDIDATE}"
CLOSED = f"{LAYOUT.containerd_config}{cri_tcp_proof.CLOSED}"


def judged(args: cri_tcp.CriTcp, dumps: dict[str, str], text: str = CONFIG) -> cri_tcp_proof.Rehearsed:
    """What is made of these answers of containerd, by the files that it read."""
    ops = [Op("run", {"program": "c", "args": ["--config", path, "config", "dump"]}) for path in dumps]
    answer = answered({"results": [{"stdout": dump} for dump in dumps.values()]})
    return cri_tcp_proof.judge_rehearsal(args, Batch("x", tuple(ops)), answer, text)


@pytest.mark.row("CT-09")
@pytest.mark.parametrize(
    ("dump", "text", "sentence"),
    [
        (CONFIG, CONFIG, "containerd would say that it listens on no TCP address, not on 127.0.0.1:8888. Nothing was"),
        (CONFIG, f'imports = ["conf.d/*.toml"]\n{CONFIG}', r"Look into what it imports \(conf.d/\*.toml\)"),
        ("no toml", CONFIG, "the answer of containerd to 'config dump' is not TOML"),
    ],
)
def test_a_file_that_would_not_do_is_not_put_in_place(dump: str, text: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        judged(arguments(), {CANDIDATE: dump}, text)


def test_a_file_that_would_do() -> None:
    assert judged(arguments(), {CANDIDATE: edit(CONFIG, LOOPBACK)}).afterwards == ""


def test_the_file_that_closes_the_port_later_is_tried_as_well() -> None:
    """A file that config.toml imports may name the address: config.toml is closed then, and the port is not."""
    args, reading = (
        replace(arguments(), options=asked(expires_after="1h")),
        node(arguments()),
    )
    reading = reading.merge({"system": {"clock": "2026-11-21T08:00:00Z", "machine": "x"}, "task:expiry": {}}, ())
    batch = cri_tcp_proof.rehearsal(args, cri_tcp.build_resources(args, reading), reading)
    assert batch is not None
    assert lines(batch.ops)[4:] == [
        f"write {CLOSED}",
        f"run containerd.exe --config {CLOSED} config dump",
        f"remove {CLOSED}",
    ]
    assert base64.b64decode(batch.ops[4].args["content"]).decode() == CONFIG
    opened = edit(CONFIG, LOOPBACK)
    found = judged(args, {LAYOUT.containerd_config: opened, CANDIDATE: opened, CLOSED: opened})
    assert found.afterwards == "127.0.0.1:8888"
    said = cri_tcp_proof.describe_open_elsewhere([], found.afterwards)
    assert said.startswith("closing config.toml leaves the port open: containerd would listen on 127.0.0.1:8888")
    assert judged(args, {LAYOUT.containerd_config: opened, CANDIDATE: opened, CLOSED: CONFIG}).afterwards == ""


def test_what_else_would_change_is_refused_and_after_closing_told() -> None:
    """A file without a version has settings that containerd 1.x does not read until it gets one."""
    present = CONFIG.replace('sandbox_image = "a:1"', 'sandbox_image = "b:2"')
    said = r"cri.sandbox_image would be 'a:1', and is 'b:2'. Nothing was changed."
    with pytest.raises(Refused, match=said):
        judged(arguments(), {LAYOUT.containerd_config: present, CANDIDATE: edit(CONFIG, LOOPBACK)})
    closed = {LAYOUT.containerd_config: edit(present, LOOPBACK), CANDIDATE: CONFIG}
    found = judged(arguments(None), closed)
    assert len(found.others) == 1 and not found.fault
    same = {LAYOUT.containerd_config: CONFIG, CANDIDATE: edit(CONFIG, LOOPBACK)}
    assert judged(arguments(), same).others == ()


# --- the proof -------------------------------------------------------------------------------------------------------


def fails(code: str) -> cri_tcp_proof.Ask:
    def ask(address: str, tls: ClientTls | None) -> Mapping[str, Any]:
        raise CriError(f"{address} did not like it.", code)

    return ask


def test_an_answer_is_a_proof() -> None:
    found = cri_tcp_proof.proof(
        "h:1", None, required=True, ask=lambda address, tls: {"runtimeName": "containerd", "runtimeVersion": "v2.3.7"}
    )
    assert found == {"proven": True, "runtime": "containerd v2.3.7", "reason": ""}
    assert cri_tcp_proof.warning(found) == ""


def test_a_port_that_nobody_reaches_proves_nothing() -> None:
    found = cri_tcp_proof.proof("h:1", None, required=False, ask=fails("UNAVAILABLE"))
    assert found == {"proven": False, "runtime": "", "reason": "h:1 did not like it"}
    assert cri_tcp_proof.warning(found).endswith("has proved that CRI answers there: h:1 did not like it.")
    with pytest.raises(cri_tcp_proof.ProofError, match="could not be proven: h:1 did not like it"):
        cri_tcp_proof.proof("h:1", None, required=True, ask=fails("UNAVAILABLE"))


@pytest.mark.row("CT-06")
def test_a_port_that_serves_no_cri_is_an_error() -> None:
    with pytest.raises(cri_tcp_proof.ProofError, match="The port was opened, but h:1 did not like it"):
        cri_tcp_proof.proof("h:1", None, required=False, ask=fails("UNIMPLEMENTED"))


def test_a_port_is_forwarded_and_taken_back() -> None:
    asked: list[Sequence[str]] = []

    def command(options: Sequence[str]) -> Sequence[str]:
        asked.append(options)
        return [sys.executable, "-c", ""]

    with cri_tcp_proof.forward_port(command, "::1", 8888) as reached:
        assert reached.startswith("127.0.0.1:")
    way = ["-L", f"{reached}:[::1]:8888"]
    assert asked == [["-O", "forward", *way], ["-O", "cancel", *way]]


def test_a_connection_that_forwards_nothing() -> None:
    def command(options: Sequence[str]) -> Sequence[str]:
        return [sys.executable, "-c", "import sys; sys.exit('Control socket connect: no such file.')"]

    with (
        pytest.raises(
            cri_tcp_proof.UnreachableError, match=r"forwards no port \(Control socket connect: no such file\)"
        ),
        cri_tcp_proof.forward_port(command, "127.0.0.1", 8888),
    ):
        pass
