"""What ctr, tasklist, hcsdiag and a container's own files say, parsed and joined."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cri import containers
from ansible_collections.winkube.node.plugins.plugin_utils.cri.containers import Hosts, PodAdapter, Process, Seen, Task

ID = "03f68fd87079e79116818242b12a9f4ba06510dae4740087f07a3adc97e207f3"
ENDPOINT = "a9f5cf921ea270074c43af661312016dee9e7f5d59b949e6e21ce9a0a3846236_Calico"
POD = "cpulimittest-57aeaf8c-406e-4568-bba7-5ba86e390b04"
NAMESPACE = "cpu-resources-test-windows-7116"

# The document's own outputs, as it prints them: it has lost every IPv4 address, and with them some ends of lines.
TASKS = f"""TASK                                                                PID      STATUS
{ID}    24436    RUNNING
"""
HOSTS = f"""
# Kubernetes-managed hosts file.       localhost
::1     localhost ip6-localhost ip6-loopback
fe00::0 ip6-localnet
fe00::0 ip6-mcastprefix
fe00::1 ip6-allnodes
fe00::2 ip6-allrouters  {POD}
"""
IPCONFIG = f"""
Windows IP Configuration

Ethernet adapter vEthernet ({ENDPOINT}):

Connection-specific DNS Suffix  . : {NAMESPACE}.svc.cluster.local
Link-local IPv6 Address . . . . . : fe80::9055:ad42:5090:120f%45
IPv4 Address. . . . . . . . . . . :
Subnet Mask . . . . . . . . . . . :
Default Gateway . . . . . . . . . :
"""

# The same with the addresses that a node prints.
WHOLE_HOSTS = (
    "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"
    f"10.1.18.67\t{POD}\n\n# Entries added by HostAliases.\n10.9.9.9\tdb\n"
)
WHOLE_IPCONFIG = (
    f"\r\nWindows IP Configuration\r\n\r\n\r\nEthernet adapter vEthernet ({ENDPOINT}):\r\n\r\n"
    f"   Connection-specific DNS Suffix  . : {NAMESPACE}.svc.cluster.local\r\n"
    "   Link-local IPv6 Address . . . . . : fe80::9055:ad42:5090:120f%45\r\n"
    "   IPv4 Address. . . . . . . . . . . : 10.1.18.67\r\n"
    "   Subnet Mask . . . . . . . . . . . : 255.255.255.192\r\n"
    "   Default Gateway . . . . . . . . . : 10.1.18.65\r\n"
)
LABELS = {
    "io.kubernetes.pod.namespace": NAMESPACE,
    "io.kubernetes.pod.name": POD,
    "io.kubernetes.container.name": POD,
}
TASKLIST = (
    '"System Idle Process","0","Services","0","8 K","Unknown","NT AUTHORITY\\SYSTEM","53:12:01","N/A"\r\n'
    '"pwsh.exe","24436","Services","0","3,664 K","Unknown","User Manager\\ContainerAdministrator","0:02:05","N/A"\r\n'
)


@pytest.mark.row("CT-24")
def test_tasks_of_containerd() -> None:
    assert containers.tasks(TASKS) == (Task(ID, 24436, "RUNNING"),)
    assert containers.tasks("TASK    PID    STATUS\n") == ()
    assert containers.tasks(TASKS.replace("RUNNING", "STOPPED")) == (Task(ID, 24436, "STOPPED"),)


@pytest.mark.row("CT-25")
def test_processes_are_joined_by_pid() -> None:
    found = containers.processes(TASKLIST)
    (task,) = containers.tasks(TASKS)
    assert found[task.pid] == Process(24436, "pwsh.exe", "User Manager\\ContainerAdministrator", 125)
    assert found[0].cpu_s == 53 * 3600 + 12 * 60 + 1
    data = containers.as_data(Seen(task, LABELS, found.get(task.pid)), None, "cluster.local")
    assert data["process"] == {"name": "pwsh.exe", "user": "User Manager\\ContainerAdministrator", "cpu_s": 125}
    assert data["findings"] == []
    (gone,) = containers.findings(Seen(task, LABELS), None, "cluster.local")
    assert gone.endswith("containerd says that it runs as process 24436, and Windows has no such process.")
    stopped = Seen(replace(task, status="STOPPED"), LABELS)
    assert containers.findings(stopped, None, "cluster.local") == (
        f"container {POD} of pod {NAMESPACE}/{POD}: its task is STOPPED.",
    )


@pytest.mark.row("CT-26")
def test_the_layer_below_containerd() -> None:
    shim = r"C:\Program Files\containerd\bin\containerd-shim-runhcs-v1.exe"
    assert containers.SHIM == "containerd-shim-runhcs-v1.exe" and containers.HCS_SERVICE == "vmcompute"
    assert containers.below(shim, shim_there=True, hcs={"state": "running"}, in_use=True) == ()
    assert containers.below(shim, shim_there=True, hcs={"state": "stopped"}, in_use=False) == ()
    assert containers.below(shim, shim_there=False, hcs={"state": "stopped"}, in_use=True) == (
        f"There is no {shim}, with which containerd starts containers; no pod can start.",
        "The service vmcompute (Host Compute Service), which makes the containers, is stopped.",
    )
    (absent,) = containers.below(shim, shim_there=True, hcs=None, in_use=False)
    assert "is not there" in absent


@pytest.mark.row("CT-27")
@pytest.mark.parametrize(
    "text",
    ["", ID[:-1], ID + "0", ID.upper(), f"{ID}\n", f'{ID[:-3]}" &', "../../../../etc/passwd", "g" * 64],
)
def test_only_an_id_becomes_an_argument(text: str) -> None:
    with pytest.raises(ValueError, match="is not a container id; it has 64 hexadecimal digits"):
        containers.container_id(text)


@pytest.mark.row("CT-27", "CT-29")
def test_the_documents_ipconfig() -> None:
    assert containers.container_id(ID) == ID
    (adapter,) = containers.adapters(IPCONFIG)
    assert adapter == PodAdapter(
        f"vEthernet ({ENDPOINT})", ENDPOINT, "Calico", f"{NAMESPACE}.svc.cluster.local", "", "", ""
    )
    assert adapter.cni == "Calico"


@pytest.mark.row("CT-27")
def test_ipconfig_with_addresses() -> None:
    (adapter,) = containers.adapters(WHOLE_IPCONFIG)
    assert (adapter.address, adapter.mask, adapter.gateway) == ("10.1.18.67", "255.255.255.192", "10.1.18.65")
    assert adapter.suffix == f"{NAMESPACE}.svc.cluster.local"


@pytest.mark.row("CT-29")
@pytest.mark.parametrize(
    ("name", "network", "cni"),
    [
        (f"vEthernet ({ENDPOINT})", "Calico", "Calico"),
        (f"vEthernet ({ID}_cbr0)", "cbr0", "flannel, host-gw"),
        (f"vEthernet ({ID}_flannel.4096)", "flannel.4096", "flannel, overlay"),
        (f"vEthernet ({ID}_mine_too)", "mine_too", ""),
        ("vEthernet (Ethernet)", "", ""),
        ("Ethernet", "", ""),
    ],
)
def test_whose_adapter_it_is(name: str, network: str, cni: str) -> None:
    (adapter,) = containers.adapters(f"Ethernet adapter {name}:\n")
    assert (adapter.name, adapter.network, adapter.cni) == (name, network, cni)


@pytest.mark.row("CT-28")
def test_the_documents_hosts_file_and_a_whole_one() -> None:
    assert containers.hosts(HOSTS) == Hosts(True, {})
    assert containers.hosts(WHOLE_HOSTS) == Hosts(True, {"10.1.18.67": (POD,)})
    assert not containers.hosts("127.0.0.1 localhost\n").managed
    six = containers.hosts("# Kubernetes-managed hosts file.\n::1 localhost\nfd00::5 me\nfe00::2 ip6-allrouters\n")
    assert six == Hosts(True, {"fd00::5": ("me",)})


def seen(hosts: str = WHOLE_HOSTS, ipconfig: str = WHOLE_IPCONFIG) -> Seen:
    return Seen(
        Task(ID, 24436, "RUNNING"),
        LABELS,
        Process(24436, "pwsh.exe", "", 0),
        containers.hosts(hosts),
        containers.adapters(ipconfig),
    )


def hns(*found: dict[str, Any]) -> dict[str, str]:
    return containers.endpoints({"available": True, "endpoints": json.dumps({"Success": True, "Output": list(found)})})


@pytest.mark.row("CT-28")
def test_hosts_file_adapter_and_hns_agree_or_not() -> None:
    good = hns({"Name": ENDPOINT.upper(), "IPAddress": "10.1.18.67"})
    assert containers.findings(seen(), good, "cluster.local") == ()
    assert containers.findings(seen(), None, "cluster.local") == ()

    other = containers.findings(seen(), hns({"Name": ENDPOINT, "IPAddress": "10.1.18.99"}), "cluster.local")
    assert [text.partition(": ")[2] for text in other] == [
        f"vEthernet ({ENDPOINT}) has the address 10.1.18.67, its HNS endpoint 10.1.18.99.",
        "its hosts file says that the pod is 10.1.18.67, its HNS endpoint has 10.1.18.99.",
    ]
    remote = hns({"Name": ENDPOINT, "IPAddress": "10.1.18.67", "IsRemoteEndpoint": True})
    (none,) = containers.findings(seen(), remote, "cluster.local")
    assert f"HNS has no endpoint {ENDPOINT}" in none

    (foreign,) = containers.findings(seen(hosts="127.0.0.1 localhost\n10.1.18.67 me\n"), good, "cluster.local")
    assert "its hosts file is not the kubelet's" in foreign
    (empty,) = containers.findings(seen(hosts=HOSTS), good, "cluster.local")
    assert "its hosts file has no line for the pod" in empty


@pytest.mark.row("CT-29")
def test_the_dns_suffix_is_the_namespaces() -> None:
    good = hns({"Name": ENDPOINT, "IPAddress": "10.1.18.67"})
    wrong = WHOLE_IPCONFIG.replace(f"{NAMESPACE}.svc", "default.svc")
    (finding,) = containers.findings(seen(ipconfig=wrong), good, "cluster.local")
    assert finding.endswith(f"is default.svc.cluster.local, not {NAMESPACE}.svc.cluster.local.")
    (domain,) = containers.findings(seen(), good, "corp.example")
    assert domain.endswith(f"not {NAMESPACE}.svc.corp.example.")


def test_hns_that_refuses_says_so() -> None:
    with pytest.raises(ValueError, match="Not enough memory"):
        containers.endpoints({"endpoints": json.dumps({"Success": False, "Error": "Not enough memory"})})
    with pytest.raises(ValueError, match="HNS is not there"):
        containers.endpoints({"available": False})
    with pytest.raises(ValueError, match="too slow"):
        containers.endpoints({"endpoints": {"error": "too slow"}})


@pytest.mark.row("CT-21")
def test_whose_container_it_is_crictl_says() -> None:
    pods = json.dumps({"items": [{"id": "a" * 64, "labels": {"io.kubernetes.pod.name": "burner"}}]})
    known = containers.labels(pods, json.dumps({"containers": [{"id": ID, "labels": LABELS}]}))
    assert known == {"a" * 64: {"io.kubernetes.pod.name": "burner"}, ID: LABELS}
    assert containers.labels("", "time=... level=fatal") == containers.labels('{"items": null}', "[]") == {}
