"""Images are pulled before they are needed: only those that neither a receipt nor containerd knows."""

from __future__ import annotations

import json

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import images
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan, make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from tests.unit.answers import answered

from .nodes import LAYOUT, bare, file, lines

PAUSE, CORE = "registry.k8s.io/pause:3.10", "mcr.microsoft.com/windows/servercore:ltsc2022"
RECEIPT = r"C:\ProgramData\winkube\receipts\images.json"
PULL = r"run ctr.exe --address \\.\pipe\containerd-containerd --namespace k8s.io images pull --hosts-dir"
CERTS = r"C:\ProgramData\containerd\certs.d"


def wanted(*names: str) -> images.Images:
    return images.build_resources(LAYOUT, names, 1800)


def node(*known: str, ctr: bool = True) -> Reading:
    found = bare(wanted(PAUSE).reads())
    receipt = {"schema": 1, "source": {"images": list(known)}, "files": []}
    there = {file_key(RECEIPT): file(json.dumps(receipt).encode())} if known else {}
    return found.merge({file_key(LAYOUT.ctr): file(b"ctr")} | there if ctr else there)


def plan(reading: Reading, *names: str) -> Plan:
    return make_plan(images.NAME, (wanted(*names),), reading)


def test_what_no_receipt_knows_is_pulled_with_mirrors_and_time() -> None:
    made = plan(node(PAUSE), PAUSE, CORE).batch
    assert made is not None
    assert lines(made.ops) == [f"{PULL} {CERTS} {CORE}", f"record {RECEIPT}"]
    pull, note = made.ops
    assert pull.args["timeout_s"] == 1800
    assert note.args["source"] == {"images": [CORE, PAUSE]}
    assert plan(node(PAUSE, CORE), PAUSE, CORE).batch is None


def test_containerd_is_asked_only_where_no_receipt_tells() -> None:
    asked = wanted(PAUSE, CORE).listing(node(PAUSE))
    assert asked is not None
    assert lines(asked.ops) == [r"run ctr.exe --address \\.\pipe\containerd-containerd --namespace k8s.io images ls -q"]
    assert wanted(PAUSE).listing(node(PAUSE)) is None


def test_what_containerd_has_already_is_only_noted() -> None:
    answer = answered({"results": [{"stdout": f"{PAUSE}\r\n{CORE}\r\n\r\n"}]})
    asked = wanted(PAUSE, CORE).listing(node())
    assert asked is not None
    known = node().merge(images.read_listing(asked, answer))
    assert wanted(PAUSE, CORE).listing(known) is None
    made = plan(known, PAUSE, CORE)
    assert made.batch is not None
    assert [op.op for op in made.batch.ops] == ["record"]
    assert made.steps[0].text == f"record that {PAUSE}, {CORE} is there already"
    assert images.PRESENT not in known.to_fact()["parts"], "it is not a fact: another task would believe it"


def test_base_images_that_the_drive_has_no_room_for_are_told_before_the_pull() -> None:
    core, nano = (f"mcr.microsoft.com/windows/{name}:ltsc2022" for name in ("servercore", "nanoserver"))

    def told(free: int, *known: str) -> str:
        system = {"system": {"free_bytes": {"C:": free * 10**9}}}
        return wanted(core, nano, "docker.io/library/golang:1.24").describe_shortage(node(*known).merge(system))

    assert "servercore, nanoserver take about 5.3 GB on C:, which has 4.0 GB free" in told(4)
    assert told(6) == ""
    assert told(4, core) == "", "what is here already"
    assert wanted(core).describe_shortage(node()) == "", "a node that does not tell"


def test_without_ctr_it_is_refused() -> None:
    with pytest.raises(Refused, match="brings it in"):
        plan(node(ctr=False), CORE)


@pytest.mark.parametrize(
    "name", ["golang:1.24", "library/golang:1.24", "mcr.microsoft.com/windows/servercore", "https://a.b/c:1", "a.b/C:1"]
)
def test_a_name_that_is_not_whole_is_refused(name: str) -> None:
    with pytest.raises(Refused, match=f"'{name}' is not a full image name"):
        wanted(name)


@pytest.mark.parametrize("name", [CORE, "localhost/a:1", "r.example.com:5000/a/b__c@sha256:" + "0" * 64])
def test_whole_names(name: str) -> None:
    assert wanted(name, name).wanted == (name,)
