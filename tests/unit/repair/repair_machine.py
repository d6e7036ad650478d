"""A simulated node with the services and networks of a Kubernetes node, and the link to it, in-process: for the tests
of rejoin, repair and reset. Its services do nothing but run."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan, make_plan, reads, reads_for_undo
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query, Reading, system_query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Resource
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import Link

from tests.lab.machine.builds import build
from tests.lab.twin.modules import run_module
from tests.lab.twin.node import LabNode
from tests.unit.components.nodes import LAYOUT

SC = "C:\\Windows\\System32\\sc.exe"
SUBNET_ENV = r"C:\run\flannel\subnet.env"
VIP, REQUEST = r"C:\k\SourceVip.json", r"C:\k\SourceVipRequest.json"
OLD, NEW = "10.244.3.0/24", "10.244.9.0/24"
PROGRAMS = {
    "containerd": LAYOUT.containerd_binary,
    "kubelet": LAYOUT.kubelet_binary,
    "flanneld": LAYOUT.flanneld_binary,
    "kube-proxy": LAYOUT.kube_proxy_binary,
}


def env(subnet: str = OLD) -> bytes:
    first = subnet.replace(".0/24", ".1/24")
    rows = ("FLANNEL_NETWORK=10.244.0.0/16", f"FLANNEL_SUBNET={first}", "FLANNEL_MTU=1500", "FLANNEL_IPMASQ=true")
    return "".join(f"{row}\n" for row in rows).encode()


def vip(subnet: str = OLD) -> bytes:
    return json.dumps({"cniVersion": "0.2.0", "ip4": {"ip": subnet.replace(".0/24", ".2/24")}}).encode()


def request(subnet: str = OLD) -> bytes:
    return json.dumps({"ipam": {"type": "host-local", "ranges": [[{"subnet": subnet}]]}}).encode()


class Machine:
    """`node` and `link`; every service of a node runs, made as `sc.exe create` makes it."""

    def __init__(self, *, services: Sequence[str] = tuple(PROGRAMS), files: dict[str, bytes] | None = None) -> None:
        self.node = LabNode("win1")
        self.session = self.node.open_session()
        for name in services:
            path = PROGRAMS[name]
            self.write(path, build("worker", "1"))
            self.node.services.create(name, f'"{path}" --run 1000000', start=2)
            assert self.node.run(SC, ["start", name]).exit_code == 0
        for path, content in (files or {}).items():
            self.write(path, content)
        self.node.clock.advance(5)
        clock = Clock(self.node.clock.now, self.node.clock.advance)
        self.link = Link(self._execute, lambda: None, LAYOUT.state_dir, runner_mode="task", clock=clock)

    def _execute(self, module: str, args: dict[str, Any]) -> dict[str, Any]:
        if self.session.killed:
            self.session = self.node.open_session()
        return run_module(self.node, self.session, module, args, False)

    def write(self, path: str, content: bytes) -> None:
        self.node.drive.mkdir(self.node.drive.parent(path), "S-1-5-18")
        self.node.drive.write(path, content)

    def there(self, path: str) -> bool:
        return self.node.drive.kind(path) is not None

    def state(self, name: str) -> str:
        return str(self.node.services.state(name))

    def network(self, name: str, subnet: str, kind: str = "L2Bridge", **more: Any) -> dict[str, Any]:
        """A network of HNS, as flanneld makes it; the connection that the first one breaks is recreated."""
        part: dict[str, Any] = {"AddressPrefix": subnet, "GatewayAddress": subnet.replace(".0/", ".1/").split("/")[0]}
        if kind == "Overlay":
            part["Policies"] = [{"Type": "VSID", "VSID": 4096}]
        made = self.node.hns.create_network(
            {"Name": name, "Type": kind, "NetworkAdapterName": "Ethernet", "Subnets": [part], **more}
        )
        self.node.clock.advance(90)
        self.session = self.node.open_session()
        return made

    def endpoint(self, network: dict[str, Any], name: str, **more: Any) -> dict[str, Any]:
        return self.node.hns.create_endpoint({"Name": name, "VirtualNetwork": network["ID"], **more})

    def pod(self, network: dict[str, Any], name: str = "pod") -> dict[str, Any]:
        """An endpoint in a namespace of its own."""
        made, space = self.endpoint(network, name), self.node.hns.create_namespace()
        return self.node.hns.attach_endpoint(made["ID"], space["ID"])

    def networks(self) -> list[str]:
        return [str(each["Name"]) for each in self.node.hns.networks]

    def addresses(self, adapter: str) -> list[str]:
        """What the adapter of this name has; nothing if there is none."""
        found = self.node.adapters.named(adapter)
        return [] if found is None else [each.address for each in self.node.adapters.addresses(found)]

    def read(self, queries: Sequence[Query]) -> Reading:
        asked = (system_query(), *queries)
        return Reading().merge(self.link.probe(asked), asked)

    def send(self, batch: Batch) -> Answer:
        """The node's answer, with its time going on until the batch has an end."""
        return self.link.apply(batch, uuid.uuid4().hex)

    def plan(self, component: str, resources: Sequence[Resource], reading: Reading) -> Plan:
        for asked in (reads(resources), ()):
            asked = asked or reads_for_undo(resources, reading)
            reading = reading.merge(self.link.probe(asked), asked)
        return make_plan(component, resources, reading)
