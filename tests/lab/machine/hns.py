"""The Host Networking Service: networks, endpoints, namespaces and policy lists, in the JSON shapes of its v1 API.

    network = node.hns.create_network({"Name": "cbr0", "Type": "L2Bridge", "NetworkAdapterName": "Ethernet",
        "Subnets": [{"AddressPrefix": "10.244.3.0/24", "GatewayAddress": "10.244.3.1"}]})
    node.hns.networks                       # HNS's own objects, as copies; also endpoints, namespaces, policy_lists
    node.hns.network("cbr0")                # by name or ID, without regard to case; None when it is not there
    endpoint = node.hns.create_endpoint({"Name": "cbr0_ep", "VirtualNetwork": network["ID"], "IPAddress": "10.244.3.2"})
    node.hns.attach_endpoint(endpoint["ID"])        # to the host: makes the adapter `vEthernet (cbr0_ep)`
    node.hns.create_policy_list({"References": ["/endpoints/<id>"], "Policies": [{"Type": "ELB", ..}]})
    node.hns.call("GET", "/networks/", "")          # as HNSCall does: the JSON answer as text

All raise `HnsError` (code: HRESULT). The first network of type L2Bridge, Overlay, Transparent or L2Tunnel on a NIC cuts
every connection of the machine: a process that runs in a remote session does not live to see `create_network` return.
"""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.lab.machine import hns_errors as errors
from tests.lab.machine.adapters import Adapter, Address, Settings
from tests.lab.machine.hns_errors import HnsError
from tests.lab.machine.hns_subnets import (
    ENDPOINT,
    LIST,
    check_address,
    check_policies,
    free_address,
    prefix_of,
    read_subnet,
)
from tests.lab.machine.switches import Switches

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

Object = dict[str, Any]
NON_PERSISTENT = 8
TYPES = {"l2bridge": "L2Bridge", "overlay": "Overlay", "transparent": "Transparent", "l2tunnel": "L2Tunnel"}
INTERNAL = {"nat": "nat", "ics": "ICS", "internal": "Internal", "private": "Private"}
MANAGEMENT_IP_S = 5.0
DESTINATIONS = 64
INVALID_PARAMETER = 0x80070057
KINDS = ("networks", "endpoints", "policylists", "namespaces")


def adapter_of(request: Object) -> str:
    """The adapter that a network is asked for: by its field (API v1), or a policy (v2)."""
    policies = [item for item in request.get("Policies") or [] if item.get("Type") == "NetAdapterName"]
    settings = (policies[0].get("Settings") or {}) if policies else request
    return str(settings.get("NetworkAdapterName") or "")


class Hns:
    """One machine's HNS. Nothing of it can be used unless the service `hns` runs (0x800706ba)."""

    def __init__(self, node: SimulatedNode) -> None:
        self._node = node
        self.switches = Switches(node)
        self._objects: dict[str, dict[str, Object]] = {kind: {} for kind in KINDS}
        self._management_at: dict[str, float] = {}
        self._adapters: dict[str, Adapter] = {}
        """ID of a network or endpoint -> the adapter that the host has through it."""

    # -- looking -------------------------------------------------------------------------------------------------

    @property
    def available(self) -> bool:
        """Whether the Containers feature has brought it: the service is there."""
        return self._node.services.exists("hns")

    @property
    def running(self) -> bool:
        return self._node.powered and self._node.services.state("hns") == "running"

    @property
    def networks(self) -> list[Object]:
        return self.objects("networks")

    @property
    def endpoints(self) -> list[Object]:
        return self.objects("endpoints")

    @property
    def namespaces(self) -> list[Object]:
        return self.objects("namespaces")

    @property
    def policy_lists(self) -> list[Object]:
        return self.objects("policylists")

    def objects(self, kind: str) -> list[Object]:
        self._need_service()
        return [self._shown(kind, item) for item in self._objects[kind].values()]

    def network(self, name: str) -> Object | None:
        return self._named("networks", name)

    def endpoint(self, name: str) -> Object | None:
        return self._named("endpoints", name)

    def endpoints_of(self, network: str) -> list[Object]:
        """The endpoints of the network with this ID."""
        return [item for item in self.endpoints if item["VirtualNetwork"].lower() == network.lower()]

    def _named(self, kind: str, name: str) -> Object | None:
        wanted = name.lower()
        return next(
            (item for item in self.objects(kind) if wanted in {item["ID"].lower(), str(item.get("Name")).lower()}), None
        )

    def _shown(self, kind: str, item: Object) -> Object:
        found = copy.deepcopy(item)
        if kind == "networks":
            found["ManagementIP"] = self._management_ip(item)
            found["TotalEndpoints"] = sum(
                1 for one in self._objects["endpoints"].values() if one["VirtualNetwork"] == item["ID"]
            )
        return found

    def _management_ip(self, network: Object) -> str:
        """The address of the switch's `vEthernet (..)`; empty for some seconds after the network was made."""
        switch = self.switches.of_network(network["ID"])
        if switch is None or self._node.clock.now() < self._management_at.get(network["ID"], 0.0):
            return ""
        found = [item for item in self._node.adapters.addresses(switch.host) if not item.link_local]
        return found[0].address if found else ""

    def _need_service(self) -> None:
        if not self.running:
            raise HnsError(errors.NO_SERVICE)

    def _get(self, kind: str, identity: str) -> Object:
        self._need_service()
        found = self._objects[kind].get(identity.upper())
        if found is None:
            raise HnsError(errors.NOT_FOUND)
        return found

    def _add(self, kind: str, item: Object) -> Object:
        self._objects[kind][item["ID"]] = item
        return self._shown(kind, item)

    def _new_id(self, request: Object) -> str:
        given = str(request.get("ID") or "")
        return given.upper() or str(uuid.UUID(int=self._node.random.getrandbits(128), version=4)).upper()

    def _fail_if_told(self, what: str) -> None:
        self._need_service()
        code = self._node.faults.hns_errors.get(what)
        if code is not None:
            raise HnsError(code)

    # -- networks ------------------------------------------------------------------------------------------------

    def create_network(self, request: Object) -> Object:
        """Errors: 0x803b000b (type), 0x803b0010 (name taken; unverified), 0x80070057 (subnets), 0x803b000d (an overlay
        without VSID), 0x803b0006 (adapter), and what `faults.hns_errors` says.
        """
        self._fail_if_told("POST /networks/")
        name, kind = str(request.get("Name") or ""), str(request.get("Type") or "").lower()
        if kind not in TYPES and kind not in INTERNAL:
            raise HnsError(errors.INVALID_NETWORK_TYPE)
        if not name:
            raise HnsError(errors.INVALID)
        if self._named("networks", name) is not None:
            raise HnsError(errors.NETWORK_EXISTS)
        subnets = [read_subnet(item, kind) for item in request.get("Subnets") or []]
        if kind in {"l2bridge", "overlay"} and not subnets:
            raise HnsError(errors.INVALID)
        item: Object = {
            "ID": self._new_id(request),
            "Name": name,
            "Type": TYPES.get(kind) or INTERNAL[kind],
            "ManagementIP": "",
            "NetworkAdapterName": "",
            "Flags": int(request.get("Flags") or 0),
            "State": 1,
            "Policies": copy.deepcopy(request.get("Policies") or []),
            "MacPools": [{"StartMacAddress": "00-15-5D-EB-40-00", "EndMacAddress": "00-15-5D-EB-4F-FF"}],
            "Subnets": subnets,
            "TotalEndpoints": 0,
            "Version": 64424509440,
        }
        if kind == "overlay":
            item["DrMacAddress"] = "-".join(f"{part:02X}" for part in (0, 0x15, 0x5D, *self._node.random.randbytes(3)))
        delay = self._node.faults.management_ip_s
        delay = self._node.random.uniform(1.0, MANAGEMENT_IP_S) if delay is None else delay
        if kind in TYPES:
            switch = self.switches.join(item["ID"], TYPES[kind], adapter_of(request))
            item["NetworkAdapterName"] = switch.nic.name
        elif subnets:
            gateway = Address(subnets[0]["GatewayAddress"], prefix_of(subnets[0]["AddressPrefix"]).prefixlen)
            self._plug(item["ID"], name, gateway)
        self._management_at[item["ID"]] = self._node.clock.now() + delay
        shown = self._add("networks", item)
        self._node.processes.check_alive()
        return shown

    def delete_network(self, identity: str) -> None:
        """With its endpoints. The last network of a NIC takes the switch with it: every connection dies."""
        self._fail_if_told("DELETE /networks/")
        item = self._get("networks", identity)
        for endpoint in self.endpoints_of(item["ID"]):
            self.delete_endpoint(endpoint["ID"])
        del self._objects["networks"][item["ID"]]
        self._unplug(item["ID"])
        self.switches.leave(item["ID"])
        self._node.processes.check_alive()

    # -- endpoints -----------------------------------------------------------------------------------------------

    def create_endpoint(self, request: Object, known: frozenset[str] = ENDPOINT) -> Object:
        """`VirtualNetwork` is the network's ID. Without `IPAddress` it gets a free one of the first subnet. `known`:
        types of policies.

        Errors: 0x80070490 (network), 0x803b002f (address), 0x803b000d (policy).
        """
        self._fail_if_told("POST /endpoints/")
        network = self._get("networks", str(request.get("VirtualNetwork") or ""))
        remote = bool(request.get("IsRemoteEndpoint"))
        check_policies(request.get("Policies") or [], known)
        subnet = network["Subnets"][0] if network["Subnets"] else {}
        taken = {str(one.get("IPAddress")) for one in self.endpoints_of(network["ID"])}
        address = str(request.get("IPAddress") or "") or free_address(network, taken)
        if not remote:
            check_address(network, taken, address)
        item: Object = {
            "ID": self._new_id(request),
            "Name": str(request.get("Name") or ("Ethernet" if remote else "")),
            "IPAddress": address,
            "PrefixLength": prefix_of(subnet["AddressPrefix"]).prefixlen if subnet else 0,
            "MacAddress": str(request.get("MacAddress") or self._new_mac()),
            "GatewayAddress": str(request.get("GatewayAddress") or subnet.get("GatewayAddress") or ""),
            "DNSServerList": str(request.get("DNSServerList") or ""),
            "DNSSuffix": str(request.get("DNSSuffix") or ""),
            "EncapOverhead": 50 if network["Type"] == "Overlay" else 0,
            "Policies": copy.deepcopy(request.get("Policies") or []),
            "VirtualNetwork": network["ID"],
            "VirtualNetworkName": network["Name"],
            "SharedContainers": [],
            "State": 1,
        }
        item = {key: value for key, value in item.items() if value != ""}
        if remote:
            item["IsRemoteEndpoint"] = True
        return self._add("endpoints", item)

    def delete_endpoint(self, identity: str) -> None:
        item = self._get("endpoints", identity)
        del self._objects["endpoints"][item["ID"]]
        self._unplug(item["ID"])

    def attach_endpoint(self, identity: str, namespace: str = "") -> Object:
        """To a namespace, or to the host's own compartment: then the host has `vEthernet (<name>)`.

        Errors: 0x80070490; 0x803b0014 when it is attached already.
        """
        item = self._get("endpoints", identity)
        if item["ID"] in self._adapters or "Namespace" in item:
            raise HnsError(errors.ALREADY_ATTACHED)
        if namespace:
            item["Namespace"] = {"ID": self._get("namespaces", namespace)["ID"]}
        else:
            self._plug(item["ID"], item["Name"], Address(item["IPAddress"], item["PrefixLength"]), item["MacAddress"])
        return self._shown("endpoints", item)

    def detach_endpoint(self, identity: str) -> None:
        """From its namespace, or from the host. Errors: 0x80070490, also when it is attached to nothing."""
        item = self._get("endpoints", identity)
        if item.pop("Namespace", None) is None and item["ID"] not in self._adapters:
            raise HnsError(errors.NOT_FOUND)
        self._unplug(item["ID"])

    def _new_mac(self) -> str:
        last = self._node.random.getrandbits(12)
        return f"00-15-5D-EB-4{last >> 8:X}-{last & 0xFF:02X}"

    # -- namespaces and policy lists -----------------------------------------------------------------------------

    def create_namespace(self, request: Object | None = None) -> Object:
        self._need_service()
        item = {
            "ID": self._new_id(request or {}),
            "CompartmentId": 2 + len(self._objects["namespaces"]),
            "CompartmentGuid": self._new_id({}),
            "IsDefault": False,
            "Containers": [],
            "Policies": [],
            "State": 1,
        }
        return self._add("namespaces", item)

    def delete_namespace(self, identity: str) -> None:
        del self._objects["namespaces"][self._get("namespaces", identity)["ID"]]

    def create_policy_list(self, request: Object) -> Object:
        """`References` are `/endpoints/<ID>` of endpoints that are there (0x80070490), at most DESTINATIONS without DSR
        (kubernetes/kubernetes#98680); `Policies` of known types."""
        self._fail_if_told("POST /policylists/")
        check_policies(request.get("Policies") or [], LIST)
        direct = any(policy.get("IsDSR") for policy in request.get("Policies") or [])
        if not direct and len(request.get("References") or []) > DESTINATIONS:
            raise HnsError(INVALID_PARAMETER, "Unable to initialize VFP LB rule: invalid number of destinations.")
        for reference in request.get("References") or []:
            self._get("endpoints", str(reference).rpartition("/")[2])
        item = {
            "ID": self._new_id(request),
            "References": list(request.get("References") or []),
            "Policies": copy.deepcopy(request.get("Policies") or []),
            "State": 2,
        }
        return self._add("policylists", item)

    def delete_policy_list(self, identity: str) -> None:
        del self._objects["policylists"][self._get("policylists", identity)["ID"]]

    # -- as a program calls it -----------------------------------------------------------------------------------

    def call(self, method: str, path: str, request: str = "") -> str:
        """HNSCall: method, `/<kind>/` or `/<kind>/<ID>`, the request's JSON -> the answer's JSON, of an error too."""
        try:
            output = self._call(method.upper(), [part for part in path.lower().split("/") if part], request)
        except HnsError as error:
            return error.answer()
        document = {"Success": True, "Output": output}
        return json.dumps(document, separators=(",", ":"))

    def _call(self, method: str, parts: list[str], request: str) -> Any:
        create: dict[str, Callable[[Object], Object]] = dict(
            zip(
                KINDS,
                (self.create_network, self.create_endpoint, self.create_policy_list, self.create_namespace),
                strict=True,
            )
        )
        delete = dict(
            zip(
                KINDS,
                (self.delete_network, self.delete_endpoint, self.delete_policy_list, self.delete_namespace),
                strict=True,
            )
        )
        if not parts or parts[0] not in KINDS or len(parts) > 2:
            raise HnsError(errors.NOT_FOUND)
        if method == "POST" and len(parts) == 1:
            try:
                document = json.loads(request)
            except ValueError:
                raise HnsError(errors.INVALID_JSON) from None
            if not isinstance(document, dict):
                raise HnsError(errors.INVALID_JSON)
            return create[parts[0]](document)
        if method == "GET":
            self._fail_if_told(f"GET /{parts[0]}/")
            return self.objects(parts[0]) if len(parts) == 1 else self._shown(parts[0], self._get(*parts))
        if method == "DELETE" and len(parts) == 2:
            delete[parts[0]](parts[1])
            return {}
        raise HnsError(errors.INVALID)

    # -- the host's adapters -------------------------------------------------------------------------------------

    def _plug(self, identity: str, name: str, address: Address, mac: str = "") -> None:
        settings = Settings(dhcp=False, addresses=(address,))
        self._adapters[identity] = self._node.adapters.add(f"vEthernet ({name})", mac or self._new_mac(), settings)

    def _unplug(self, identity: str) -> None:
        adapter = self._adapters.pop(identity, None)
        if adapter is not None:
            self._node.adapters.remove(adapter)

    # -- restarts ------------------------------------------------------------------------------------------------

    def service_ended(self) -> None:
        """The service stopped while the machine runs on: endpoints and what hangs on them are gone, networks stay."""
        for identity in self._objects["endpoints"]:
            self._unplug(identity)
        self._objects["endpoints"].clear()
        self._objects["policylists"].clear()

    def saved(self) -> dict[str, dict[str, Object]]:
        """What it keeps on disk (HNS.data), by ID: networks and endpoints."""
        return {kind: self._objects[kind] for kind in ("networks", "endpoints")}

    def restore(self, saved: dict[str, dict[str, Object]]) -> None:
        """The file of another machine; before it is booted."""
        self._objects.update(saved)

    def boot(self) -> None:
        """After a restart: networks with Flags 8 are gone, the others are there with their endpoints. Namespaces and
        policy lists are gone (unverified).
        """
        networks = self._objects["networks"]
        for identity in [key for key, item in networks.items() if item["Flags"] & NON_PERSISTENT]:
            del networks[identity]
            self._unplug(identity)
        endpoints = self._objects["endpoints"]
        for identity in [key for key, item in endpoints.items() if item["VirtualNetwork"] not in networks]:
            del endpoints[identity]
            self._unplug(identity)
        for item in endpoints.values():
            item.pop("Namespace", None)
        default = [key for key, item in self._objects["namespaces"].items() if not item["IsDefault"]]
        for identity in default:
            del self._objects["namespaces"][identity]
        self._objects["policylists"].clear()
        self.switches.boot(set(networks))

    def dump(self) -> list[list[Any]]:
        """Networks and endpoints without what differs each time they are made."""
        networks = [
            ["network", item["Name"], item["Type"], item["Flags"], [one["AddressPrefix"] for one in item["Subnets"]]]
            for item in self._objects["networks"].values()
        ]
        endpoints = [
            ["endpoint", item.get("Name"), item["VirtualNetworkName"]] for item in self._objects["endpoints"].values()
        ]
        return sorted(networks) + sorted(endpoints, key=str)
