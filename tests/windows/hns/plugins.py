"""What win-bridge.exe and win-overlay.exe ask HNS for a pod, with what the role makes of cni.conf.

    python -m tests.windows.hns.plugins         records it on Wine, in tests/recorded/cni

Their HNS is the lab's (server.py), their host-local.exe the real one.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.lab.machine.hns import Object
from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.node import LabNode
from tests.windows.hns import library
from tests.windows.hns.server import HnsServer
from tests.windows.programs import Programs
from tests.wine.prefix import Prefix

RECORDED = Path(__file__).resolve().parents[2] / "recorded" / "cni"
VERSION = "1.9.0"
MODES = {"l2bridge": "win-bridge", "overlay": "win-overlay"}
SANDBOX = "c0ffee"
SUBNET, GATEWAY = "10.244.2.0/24", "10.244.2.1"
BIN = r"C:\opt\cni\bin"
RUNTIME = {"dns": {"servers": ["10.96.0.10"], "searches": ["default.svc.cluster.local", "svc.cluster.local"]}}
"""What containerd adds for the capability `dns`."""


@dataclass(frozen=True)
class Story:
    """conf: what the plugin was given; network, namespace: what HNS had; asked: calls that change something, with their
    documents; result: what ADD printed; left: names of the endpoints after DEL."""

    plugin: str
    conf: Object
    network: Object
    namespace: str
    asked: tuple[tuple[str, Object], ...]
    result: Object
    left: tuple[str, ...]


def machine(mode: str) -> SimulatedNode:
    """A node with flannel's network."""
    node = LabNode("win1")
    request: Object = {
        "Name": "vxlan0" if mode == "overlay" else "cbr0",
        "Type": "Overlay" if mode == "overlay" else "L2Bridge",
        "NetworkAdapterName": "Ethernet",
        "Subnets": [{"AddressPrefix": SUBNET, "GatewayAddress": GATEWAY}],
    }
    if mode == "overlay":
        request["Subnets"][0]["Policies"] = [{"Type": "VSID", "VSID": 4096}]
    node.hns.create_network(request)
    while not node.hns.networks[0]["ManagementIP"]:
        node.clock.advance(1)
    return node


def delegated(conf: str) -> Object:
    """What flannel.exe hands to the delegate of a configuration, on a node with the range SUBNET.

    Source: flannel-io/cni-plugin v1.2.0 flannel_windows.go, doCmdAdd.
    """
    given: Any = json.loads(conf)
    ipam = {"type": "host-local", "subnet": SUBNET, "routes": [{"dst": "10.244.0.0/16"}]}
    return {**given["delegate"], "name": given["name"], "cniVersion": given["cniVersion"], "ipam": ipam}


def tell(windows: Programs, node: SimulatedNode, conf: Object, version: str = VERSION) -> Story:
    """ADD and DEL of one pod. AssertionError with its words when the plugin does not end well.

    host-local.exe is in BIN already, and HNS in the prefix.
    """
    plugin = str(conf["type"])
    space = str(node.hns.create_namespace()["ID"])
    network = node.hns.networks[0]
    environment = {"CNI_CONTAINERID": SANDBOX, "CNI_NETNS": space, "CNI_IFNAME": "eth0", "CNI_PATH": BIN}
    results = {}
    with HnsServer(node) as server:
        for command in ("ADD", "DEL"):
            told = {**environment, **server.environment, "CNI_COMMAND": command}
            done = windows.run(plugin, version, [], environment=told, stdin=json.dumps(conf).encode())
            assert done.exit == 0, done.said
            results[command] = done.out
        asked = tuple((one.call, one.document) for one in server.asked)
    left = tuple(str(one["Name"]) for one in node.hns.endpoints)
    return Story(plugin, conf, network, space, asked, json.loads(results["ADD"]), left)


def recorded() -> dict[str, Story]:
    """By the mode."""
    found = {}
    for path in sorted(RECORDED.glob("*.json")):
        read = json.loads(path.read_text(encoding="utf-8"))["story"]
        asked = tuple((str(call), document) for call, document in read["asked"])
        found[path.stem] = Story(**{**read, "asked": asked, "left": tuple(read["left"])})
    return found


def rendered(mode: str, management_ip: str) -> Object:
    """The delegate's configuration, out of our cni.conf for a host with this address."""
    from tests.unit.components import test_cni_conf

    host = {"management_ip": management_ip, "subnet": str(ipaddress.ip_network(f"{management_ip}/24", strict=False))}
    conf = test_cni_conf.render(test_cni_conf.settings(mode=mode, **host))
    return {**delegated(conf), "runtimeConfig": RUNTIME}


def prepare(windows: Programs) -> None:
    """HNS and host-local."""
    from tests.real import build

    library.place(windows.prefix)
    windows.prefix.place(build.program("host-local", VERSION, "windows"), rf"{BIN}\host-local.exe")


def main() -> int:
    from tests.conftest import import_as_collection

    import_as_collection()
    RECORDED.mkdir(exist_ok=True)
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    with tempfile.TemporaryDirectory() as folder, Prefix(Path(folder) / "prefix") as prefix:
        windows = Programs(prefix)
        prepare(windows)
        for mode, name in MODES.items():
            node = machine(mode)
            story = tell(windows, node, rendered(mode, node.hns.networks[0]["ManagementIP"]))
            where = f"{name}.exe {VERSION} on Wine {prefix.version()}, {today}; its HNS is the lab's"
            text = json.dumps({"on": where, "story": asdict(story)}, indent=1) + "\n"
            (RECORDED / f"{mode}.json").write_text(text, encoding="utf-8")
            print(RECORDED / f"{mode}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
