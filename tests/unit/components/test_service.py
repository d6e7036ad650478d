"""A program as a service: which managers, which flag, which command."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS
from ansible_collections.winkube.node.plugins.plugin_utils.components.service import ServiceArgs, definition
from ansible_collections.winkube.node.plugins.plugin_utils.engine.environment import Entry
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.task import argument_spec

KUBELET = ServiceArgs(
    component="kubelet",
    kind=DAEMONS["kubelet"].kind,
    name="kubelet",
    manager="sc",
    program=r"C:\Program Files\k\kubelet.exe",
    arguments=("--v=6", r"--cert-dir=C:\var\lib\my pki", "--resolv-conf="),
    display_name="kubelet",
    directory=r"C:\k",
    nssm=r"C:\k\nssm.exe",
)


@pytest.mark.row("SV-01")
def test_kubelet_and_kube_proxy_run_under_both_managers_flanneld_under_nssm_alone() -> None:
    for component in ("kubelet", "kube-proxy"):
        assert DAEMONS[component].kind.managers == ("nssm", "sc")  # nssm is the default
        assert {
            definition(replace(KUBELET, component=component, kind=DAEMONS[component].kind, manager=manager)).manager
            for manager in ("nssm", "sc")
        } == {"nssm", "sc"}
    flanneld = replace(KUBELET, component="flanneld", kind=DAEMONS["flanneld"].kind)
    with pytest.raises(Refused, match=r"flanneld cannot run under the service manager 'sc', only under nssm.*1053"):
        definition(replace(flanneld, manager="sc"))
    assert definition(replace(flanneld, manager="nssm")).manager == "nssm"


@pytest.mark.parametrize("manager", ["sc", "nssm"])
def test_a_variable_with_a_nul_is_refused_and_its_value_is_not_shown(manager: str) -> None:
    with pytest.raises(Refused, match=r"environment: TOKEN of the service kubelet holds a NUL") as refused:
        definition(
            replace(KUBELET, manager=manager, environment=(Entry.plain("A", "b"), Entry.plain("TOKEN", "open\0sesame")))
        )
    assert "sesame" not in str(refused.value) and "open" not in str(refused.value)


@pytest.mark.row("SV-01")
def test_the_module_offers_the_managers_that_containerd_can_run_under() -> None:
    manager = argument_spec.load_spec("win_containerd")["service"]["options"]["manager"]
    assert (manager["default"], tuple(manager["choices"])) == (
        DAEMONS["containerd"].kind.managers[0],
        DAEMONS["containerd"].kind.managers,
    )
    assert manager["choices"] == ["registered", "nssm"]


@pytest.mark.row("SV-01")
def test_only_containerd_makes_its_own_service() -> None:
    containerd = replace(
        KUBELET,
        component="containerd",
        kind=DAEMONS["containerd"].kind,
        name="containerd",
        arguments=("--config", r"C:\c.toml"),
    )
    made = definition(replace(containerd, manager="registered", program=r"C:\c\containerd.exe"))
    assert made.manager == "registered"
    assert made.create()[0].args["program"] == r"C:\c\containerd.exe"
    assert made.create()[0].args["args"] == ["--register-service", "--config", r"C:\c.toml"]
    assert definition(replace(containerd, manager="nssm")).create()[0].args["program"] == r"C:\k\nssm.exe"
    for component in ("kubelet", "kube-proxy", "flanneld"):
        with pytest.raises(Refused, match="cannot run under the service manager 'registered'"):
            definition(replace(KUBELET, component=component, kind=DAEMONS[component].kind, manager="registered"))


@pytest.mark.row("SV-02", "SV-04", "SV-22")
def test_sc_create_gets_the_option_and_its_value_as_two_arguments() -> None:
    create = definition(KUBELET).create()[0]
    assert create.args["program"] == r"C:\Windows\System32\sc.exe"
    assert create.args["args"] == [
        "create",
        "kubelet",
        "binPath=",
        r'"C:\Program Files\k\kubelet.exe" --windows-service --v=6 "--cert-dir=C:\var\lib\my pki" --resolv-conf=',
        "start=",
        "auto",
        "DisplayName=",
        "kubelet",
    ]


@pytest.mark.row("SV-12", "SV-15")
def test_nssm_lets_go_of_a_log_that_is_no_longer_wanted() -> None:
    wanted = definition(replace(KUBELET, manager="nssm"))
    found = wanted.predict()
    assert wanted.differences(found) == ()
    logged = {**found, "nssm": {**found["nssm"], "AppStdout": r"C:\k\old.log"}}
    (difference,) = wanted.differences(logged)
    (reset,) = difference.ops
    assert reset.args["args"] == ["reset", "kubelet", "AppStdout"]
    assert [op.args["args"] for op in reset.undo] == [["set", "kubelet", "AppStdout", r"C:\k\old.log"]]


@pytest.mark.row("SV-03")
@pytest.mark.parametrize("component", ["kubelet", "kube-proxy"])
def test_the_flag_is_windows_service_and_not_the_documents_service(component: str) -> None:
    native = definition(replace(KUBELET, component=component)).predict()["image_path"]
    assert " --windows-service " in native
    assert " --service " not in native
    under_nssm = definition(replace(KUBELET, component=component, manager="nssm"))
    assert "--windows-service" not in under_nssm.command
