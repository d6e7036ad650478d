"""What a provisioner shall replace: one item or a list, and what is known of a program by its name."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.provision import provision
from ansible_collections.winkube.node.plugins.plugin_utils.provision.provision_items import list_warnings, parse_items
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import load_spec

from tests.unit.components.nodes import LAYOUT
from tests.unit.node_yaml import samples

from .test_provision import URL, item


@pytest.mark.row("PV-02", "PV-08", "PV-09", "PV-19", "PV-20")
def test_the_module_takes_an_item_of_a_node_yaml_as_it_is() -> None:
    spec = load_spec("win_k8s_provisioner")
    of_item = spec["provisioners"]["options"]
    fields = {"name", "version", "sourceURL", "destination", "overwrite", "checksum", "service_name"}
    assert set(of_item) == fields | {"verify_version", "wait_for", "service_missing", "state"}
    assert set(of_item) <= set(spec), "one item may be written without a list"
    assert of_item["sourceURL"]["aliases"] == spec["sourceURL"]["aliases"] == ["source_url"]
    # Nothing that is there is replaced, and a build of another version is refused, unless somebody says so.
    defaults = {name: option["default"] for name, option in of_item.items() if "default" in option}
    assert defaults == {
        "overwrite": False,
        "verify_version": "true",
        "wait_for": "service",
        "service_missing": "fail",
        "state": "present",
    }
    (back,) = parse_items({"name": "kubelet", "state": "previous", "service_missing": "copy_only"}, LAYOUT)
    assert (back.previous, back.copy_only) == (True, True)
    (lenient,) = parse_items({"name": "kubelet", "sourceURL": URL, "verify_version": "Warn", "overwrite": True}, LAYOUT)
    assert (lenient.verify, lenient.overwrite) == ("warn", True)
    (plain,) = parse_items({"name": "kubelet", "sourceURL": URL}, LAYOUT)
    assert (plain.overwrite, plain.verify, plain.wait_for, plain.copy_only, plain.previous) == (
        False,
        "true",
        "service",
        False,
        False,
    )


@pytest.mark.row("PV-02", "PV-03", "PV-04", "PV-06")
def test_the_documents_two_items_are_taken_as_they_stand() -> None:
    given = samples.effective(samples.SAMPLE)["winkube_provisioners"]
    containerd, kubelet = parse_items({"provisioners": given}, LAYOUT)
    assert (containerd.name, containerd.version, containerd.source, containerd.destination, containerd.overwrite) == (
        "containerd",
        "1.7.11",
        "http://xyz/containerd.exe",
        r"c:\Program Files\containerd\bin\containerd.exe",
        True,
    )
    assert (kubelet.name, kubelet.version, kubelet.source, kubelet.destination, kubelet.overwrite) == (
        "kubelet",
        "1.29.0",
        "http://xyz/kubelet.exe",
        r"c:\k\kubelet.exe",
        True,
    )
    assert (containerd.service, kubelet.service) == ("containerd", "kubelet")


@pytest.mark.row("PV-21", "PV-06")
@pytest.mark.parametrize(
    ("name", "runs", "destination"),
    [
        ("containerd", "containerd", r"C:\Program Files\containerd\bin\containerd.exe"),
        ("kubelet", "kubelet", r"C:\k\kubelet.exe"),
        ("Kubelet", "kubelet", r"C:\k\kubelet.exe"),
        ("kube-proxy", "kube-proxy", r"C:\k\kube-proxy.exe"),
        ("flanneld", "flanneld", r"C:\flannel\flanneld.exe"),
        ("csi-proxy", "csiproxy", r"C:\k\csi-proxy.exe"),
    ],
)
def test_destination_and_service_of_known_names_may_be_left_out(name: str, runs: str, destination: str) -> None:
    found = item(name)
    assert (found.service, found.destination) == (runs, destination)
    assert item(name, service_name="other").service == "other"


@pytest.mark.row("PV-06", "PV-13")
def test_an_unknown_name_is_that_of_its_service_and_needs_a_destination() -> None:
    assert item("agent", destination=r"C:\k\agent.exe").service == "agent"
    with pytest.raises(Refused, match="agent: no destination is given, and it is known for containerd, kubelet"):
        item("agent")
    with pytest.raises(Refused, match="is not an absolute Windows path"):
        item("agent", destination="agent.exe")
    assert list_warnings([item("agent", destination=r"C:\k\agent")]) != []
    assert list_warnings([item()]) == []


@pytest.mark.row("PV-02", "PV-18")
def test_one_item_or_a_list_and_no_name_or_place_twice() -> None:
    (single,) = parse_items({"name": "kubelet", "sourceURL": URL, "overwrite": True, "provisioners": None}, LAYOUT)
    assert single == item()
    assert parse_items({"provisioners": []}, LAYOUT) == ()
    first = {"name": "kubelet", "sourceURL": URL}
    for second, sentence in (
        ({"name": "Kubelet", "sourceURL": URL}, "Kubelet: it is in the list of provisioners twice"),
        ({"name": "x", "sourceURL": URL, "destination": "c:/K/kubelet.exe"}, "x: kubelet has the same destination"),
        ({"name": "kube-proxy"}, "kube-proxy: no sourceURL is given"),
    ):
        with pytest.raises(Refused, match=sentence):
            parse_items({"provisioners": [first, second]}, LAYOUT)
    with pytest.raises(Refused, match="There is nothing to provision"):
        parse_items({}, LAYOUT)
    with pytest.raises(Refused, match="given both"):
        parse_items({"provisioners": [first], "name": "kubelet"}, LAYOUT)


@pytest.mark.row("PV-09", "PV-21")
@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("containerd", ["--version"]),
        ("kubelet", ["--version"]),
        ("kube-proxy", ["--version"]),
        ("flanneld", ["--version"]),
        ("csi-proxy", None),
        ("agent", None),
    ],
)
def test_how_a_program_is_asked_for_its_version(name: str, asks: list[str] | None) -> None:
    """One of which it is not known how is not started: csi-proxy would begin to serve."""
    found = provision.ask(item(name, destination=r"C:\k\x.exe"), r"C:\staged.exe")
    assert [op.args["args"] for op in found] == ([] if asks is None else [asks])
    assert all(op.args["ok_exit"] == [0, 1, 2, 3] and op.args["timeout_s"] == 30 for op in found)
