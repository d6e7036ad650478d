"""A program as a service: which managers, which flag, which command."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS
from ansible_collections.winkube.node.plugins.plugin_utils.components.service import service_of
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.services.definition import Definition
from ansible_collections.winkube.node.plugins.plugin_utils.engine.services.nssm import Nssm
from ansible_collections.winkube.node.plugins.plugin_utils.task import argument_spec

from .nodes import LAYOUT, running

BLANKS = replace(LAYOUT, kubelet_binary=r"C:\Program Files\k\kubelet.exe")
ARGUMENTS = ("--v=6", r"--cert-dir=C:\var\lib\my pki", "--resolv-conf=")


def definition(
    component: str = "kubelet", manager: str = "sc", arguments: tuple[str, ...] = ARGUMENTS, **options: Any
) -> Definition:
    """The service of this component under this manager."""
    runs = running(manager, **options)
    return service_of(component, DAEMONS[component], BLANKS, runs, arguments=arguments, ready=()).definition


@pytest.mark.row("SV-01")
def test_kubelet_and_kube_proxy_run_under_both_managers_flanneld_under_nssm_alone() -> None:
    for component in ("kubelet", "kube-proxy"):
        assert DAEMONS[component].kind.managers == ("nssm", "sc")  # nssm is the default
        assert {definition(component, manager).manager for manager in ("nssm", "sc")} == {"nssm", "sc"}
    with pytest.raises(Refused, match=r"flanneld cannot run under the service manager 'sc', only under nssm.*1053"):
        definition("flanneld", "sc")
    assert definition("flanneld", "nssm").manager == "nssm"


@pytest.mark.parametrize("manager", ["sc", "nssm"])
def test_a_variable_with_a_nul_is_refused_and_its_value_is_not_shown(manager: str) -> None:
    with pytest.raises(Refused, match=r"environment: TOKEN of the service kubelet holds a NUL") as refused:
        definition("kubelet", manager, environment={"A": "b", "TOKEN": "open\0sesame"})
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
    arguments = ("--config", r"C:\c.toml")
    made = definition("containerd", "registered", arguments)
    assert made.manager == "registered"
    assert made.create()[0].args["program"] == LAYOUT.containerd_binary
    assert made.create()[0].args["args"] == ["--register-service", "--config", r"C:\c.toml"]
    assert definition("containerd", "nssm", arguments).create()[0].args["program"] == r"C:\k\nssm.exe"
    for component in ("kubelet", "kube-proxy", "flanneld"):
        with pytest.raises(Refused, match="cannot run under the service manager 'registered'"):
            definition(component, "registered")


@pytest.mark.row("SV-02", "SV-04", "SV-22")
def test_sc_create_gets_the_option_and_its_value_as_two_arguments() -> None:
    create = definition().create()[0]
    assert create.args["program"] == r"C:\Windows\System32\sc.exe"
    assert create.args["args"] == [
        "create",
        "kubelet",
        "binPath=",
        LAYOUT.log_runner
        + r" -log-file=C:\k\kubelet.log -log-file-size=10Mi -log-file-age=336h"
        + r' "C:\Program Files\k\kubelet.exe" --windows-service --v=6 "--cert-dir=C:\var\lib\my pki" --resolv-conf=',
        "start=",
        "auto",
        "DisplayName=",
        "kubelet",
    ]


@pytest.mark.row("SV-12", "SV-15")
def test_nssm_lets_go_of_a_log_that_is_no_longer_wanted() -> None:
    made = definition("kubelet", "nssm")
    assert isinstance(made, Nssm)
    wanted = replace(made, log_file=None)
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
    native = definition(component).predict()["image_path"]
    assert " --windows-service " in native
    assert " --service " not in native
    under_nssm = definition(component, "nssm")
    assert "--windows-service" not in under_nssm.command
