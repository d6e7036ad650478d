"""Nodes set up by others: what changes in their kubelet, and nothing restarts where nothing differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.network import WITHOUT_CLUSTER
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet
from ansible_collections.winkube.node.plugins.plugin_utils.engine import command_line
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key, service_key

from .nodes import LAYOUT, file, lines
from .test_kubelet import EXE, PROGRAM, arguments, bare_node, installed, plan, settings

ROOT = Path(__file__).parents[3]
POWERSHELL = r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe"
IMAGE_BUILDER = (
    r'"C:\k\kube-log-runner.exe" --log-file=C:/var/log/kubelet/kubelet.log C:\k\kubelet.exe --windows-service '
    "--cert-dir=C:/var/lib/kubelet/pki --config=C:/var/lib/kubelet/config.yaml "
    "--bootstrap-kubeconfig=C:/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=C:/etc/kubernetes/kubelet.conf "
    "--enable-debugging-handlers --cgroups-per-qos=false --enforce-node-allocatable= "
    '--container-runtime-endpoint="npipe:////./pipe/containerd-containerd" --resolv-conf='
)
PLAIN: dict[str, Any] = {
    "name": "kubelet",
    "display_name": "kubelet",
    "start": 2,
    "delayed": False,
    "account": "LocalSystem",
    "depends_on": [],
    "environment": [],
    "failure": None,
    "deleting": False,
    "state": "running",
}
REGISTER_SVC = PLAIN | {
    "image_path": r"C:\k\nssm.exe",
    "nssm": {
        "Application": r"C:\k\kubelet.exe",
        "AppParameters": r'--hostname-override=win1 --v=6 --resolv-conf="" --kubeconfig=c:\k\config --log-dir=C:\k',
        "AppDirectory": r"C:\k",
    },
}
PREPARE_NODE = PLAIN | {
    "image_path": r"C:\k\nssm.exe",
    "depends_on": ["containerd"],
    "nssm": {
        "Application": POWERSHELL,
        "AppParameters": r"-ExecutionPolicy Bypass -NoProfile C:\k\StartKubelet.ps1",
        "AppDirectory": r"C:\Windows\System32\WindowsPowerShell\v1.0",
        "AppStdout": r"C:\var\log\kubelet\kubelet.out.log",
        "AppStderr": r"C:\var\log\kubelet\kubelet.err.log",
        "AppRotateFiles": 1,
        "AppRotateOnline": 1,
        "AppRotateSeconds": 86400,
        "AppRotateBytes": 10485760,
    },
}
WITH_SC = PLAIN | {"image_path": IMAGE_BUILDER, "nssm": None, "depends_on": ["containerd"]}


def adopted(service: dict[str, Any], args: kubelet.KubeletArgs) -> Reading:
    """A joined node whose files are as wanted already, with another's service."""
    reading = installed(args, joined=True)
    return reading.merge({service_key("kubelet"): service})


def settings_changed(made: Plan) -> set[str]:
    (text,) = (step.text for step in made.steps if step.text.startswith("change "))
    return set(text.removeprefix("change ").removesuffix(" of the service kubelet").split(", "))


def test_the_documents_service_is_kept_and_set_right() -> None:
    args = arguments("nssm", configured=True)
    made = plan(adopted(REGISTER_SVC, args), args)
    changed = settings_changed(made)
    assert "AppParameters" in changed
    assert not {"Application", "AppDirectory", "Start", "DisplayName", "nssm.exe"} & changed, "these are as wanted"
    assert "restart kubelet" in [step.text for step in made.steps]
    assert not any("convert" in step.text for step in made.steps)
    assert made.batch is not None
    assert not [line for line in lines(made.batch.ops) if " install " in line or " remove kubelet" in line]


def test_prepare_nodes_powershell_becomes_the_kubelet_itself() -> None:
    args = arguments("nssm", configured=True)
    made = plan(adopted(PREPARE_NODE, args), args)
    assert {"Application", "AppParameters", "AppDirectory", "AppStdout", "AppStderr"} <= settings_changed(made)
    assert made.batch is not None
    waits = [op.args["path"] for op in made.batch.ops if op.op == "wait" and op.args["for"] == "process_gone"]
    assert waits == [EXE], "the runner is powershell.exe as well: nobody waits until none of these runs"
    service = made.predicted.service("kubelet") or {}
    assert service["nssm"]["Application"] == EXE


@pytest.mark.row("SV-17")
def test_image_builders_wrapper_becomes_ours_and_the_kubelet_is_waited_for() -> None:
    args = arguments("sc", configured=True)
    made = plan(adopted(WITH_SC, args), args)
    assert "command line" in settings_changed(made)
    assert made.batch is not None
    waits = [op.args["path"] for op in made.batch.ops if op.op == "wait" and op.args["for"] == "process_gone"]
    assert waits == [EXE], "kube-log-runner may stand before kube-proxy as well"
    (config,) = (op for op in made.batch.ops if op.args.get("args", [])[:3] == ["config", "kubelet", "binPath="])
    assert config.undo[0].args["args"][-1] == IMAGE_BUILDER
    to_nssm = plan(adopted(WITH_SC, arguments(configured=True)), arguments(configured=True))
    assert "convert the service kubelet from a service of its own to nssm" in [step.text for step in to_nssm.steps]


@pytest.mark.row("SV-16", "SV-14", "SV-12")
@pytest.mark.parametrize("manager", ["nssm", "sc"])
def test_other_letters_and_quotes_are_no_difference(manager: str) -> None:
    args = arguments(manager, configured=True)
    node = installed(args, joined=True)
    service = dict(node.service("kubelet") or {})
    if manager == "nssm":
        words = command_line.split(f"x {service['nssm']['AppParameters']}")[1:]
        quoted = " ".join(f'"{word}"' for word in words)
        service["nssm"] = service["nssm"] | {"Application": EXE.upper(), "AppParameters": quoted}
        service["image_path"] = service["image_path"].upper()
    else:
        program, *words = command_line.split(service["image_path"])
        service["image_path"] = " ".join(f'"{word}"' for word in (program.upper(), *words))
    found = plan(node.merge({service_key("kubelet"): service}), args)
    assert found.batch is None
    assert found.steps == ()


@pytest.mark.parametrize("manager", ["nssm", "sc"])
def test_what_is_in_force_at_once_restarts_nothing(manager: str) -> None:
    """Start type, display name and recovery belong to the service control manager, which reads them when it needs
    them."""
    args = arguments(manager, configured=True)
    node = installed(args, joined=True)
    service = {**(node.service("kubelet") or {}), "start": 3}
    if manager == "sc":
        service["failure"] = None
    made = plan(node.merge({service_key("kubelet"): service}), args)
    assert made.batch is not None
    assert not [step.text for step in made.steps if "restart" in step.text]
    assert not [line for line in lines(made.batch.ops) if " stop kubelet" in line or " start kubelet" in line]


def test_an_nssm_that_lies_elsewhere_is_noticed() -> None:
    args = arguments("nssm", configured=True)
    node = installed(args, joined=True)
    service = {**(node.service("kubelet") or {}), "image_path": r'"C:\Program Files\nssm\nssm.exe"'}
    made = plan(node.merge({service_key("kubelet"): service}), args)
    assert made.batch is not None
    (config,) = (op for op in made.batch.ops if op.args.get("args", [])[:1] == ["config"])
    assert config.args["args"] == ["config", "kubelet", "binPath=", r"C:\k\nssm.exe"]
    assert config.undo[0].args["args"][-1] == r'"C:\Program Files\nssm\nssm.exe"'
    assert "restart kubelet" in [step.text for step in made.steps]


def test_a_service_that_never_ran_is_converted_and_stays_down() -> None:
    stopped = WITH_SC | {"state": "stopped"}
    args = arguments("nssm")
    reading = bare_node(stopped).merge({file_key(EXE): file(PROGRAM)})
    made = plan(reading, replace(args, wanted=settings()))
    assert "convert the service kubelet from a service of its own to nssm" in [step.text for step in made.steps]
    assert made.batch is not None
    assert not [line for line in lines(made.batch.ops) if " start kubelet" in line]
    assert (made.predicted.service("kubelet") or {})["state"] == "stopped"


@pytest.mark.row("SV-10", "NW-34")
def test_the_five_parameters_of_the_documents_script_are_variables_with_its_defaults() -> None:
    shared = yaml.safe_load((ROOT / "roles" / "winkube" / "defaults" / "main.yml").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "hand-written-nodes.md").read_text(encoding="utf-8")
    wanted = {
        "NetworkMode": ("winkube_network_mode", "l2bridge"),
        "ManagementIP": ("winkube_management_ip", ""),
        "ClusterCIDR": ("winkube_cluster_cidr", ""),  # the cluster's; without one the document's, below
        "KubeDnsServiceIP": ("winkube_dns_service_ip", ""),
        "LogDir": ("winkube_log_dir", r"C:\k"),
    }
    for parameter, (variable, default) in wanted.items():
        assert f"| `-{parameter}` | `{variable}` |" in page
        found = shared[variable].replace("{{ winkube_root }}", shared["winkube_root"])
        assert found == default, variable
    assert WITHOUT_CLUSTER["cluster_cidr"] == "10.244.0.0/16"
    assert WITHOUT_CLUSTER["dns_service_ip"] == "10.96.0.10"
    assert LAYOUT.log_dir == r"C:\k"
