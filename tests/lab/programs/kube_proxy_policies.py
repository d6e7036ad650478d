"""kube-proxy.exe's policy lists, judged by kubernetes v1.37.1 pkg/proxy/winkernel/proxier.go.

The policy lists of one kube-proxy: one for each port of a Service that has endpoints.

Source: kubernetes pkg/proxy/winkernel/proxier.go (syncProxyRules, cleanupAllPolicies).
"""

from __future__ import annotations

from typing import Any

from tests.lab.cluster.client import NodeClient
from tests.lab.machine.hns import INVALID_PARAMETER
from tests.lab.machine.hns_errors import HnsError
from tests.lab.programs.daemon import Daemon

Object = dict[str, Any]
_PROTOCOLS = {"TCP": 6, "UDP": 17, "SCTP": 132}


class Policies:
    def __init__(self, daemon: Daemon, source_vip: str, dsr: bool) -> None:
        self._daemon, self._source_vip, self._dsr = daemon, source_vip, dsr
        self._hns = daemon.node.hns
        self._network = ""
        self._made: dict[tuple[str, int, int], tuple[str, tuple[str, ...]]] = {}
        """(address, port, protocol) -> the policy list's ID, and the addresses behind it."""

    def sync(self, api: NodeClient, name: str) -> None:
        """HnsError, RefusedError, UnreachableError."""
        wanted = self._wanted(api)
        found = self._hns.network(name)
        identity = str(found["ID"]) if found else ""
        if identity != self._network:
            if self._network:
                self._daemon.log(f'"The HNS network id has changed, cleaning up" hnsNetworkName="{name}"')
            self._drop_all()
            self._network = identity
        if found is None:
            return
        if self._source_vip and found["Type"] == "Overlay" and self._endpoint(self._source_vip) is None:
            self._make_endpoint(self._source_vip, remote=False)
        for key in [key for key, (_, behind) in self._made.items() if wanted.get(key, (0, ()))[1] != behind]:
            self._drop(key)
        for key, (target, behind) in wanted.items():
            if key not in self._made:
                self._try(key, target, behind)

    def health_checks(self, api: NodeClient) -> dict[int, bool]:
        """healthCheckNodePort -> whether one of the Service's endpoints is on this network."""
        slices, found = api.get("/apis/discovery.k8s.io/v1/endpointslices")["items"], {}
        for service in api.get("/api/v1/services")["items"]:
            if port := service["spec"].get("healthCheckNodePort"):
                own = [end for item in slices if _is_of(item, service) for end in item.get("endpoints") or []]
                local = [self._endpoint(one) for end in own for one in end["addresses"]]
                found[int(port)] = any(item is not None and not item.get("IsRemoteEndpoint") for item in local)
        return found

    def _wanted(self, api: NodeClient) -> dict[tuple[str, int, int], tuple[int, tuple[str, ...]]]:
        slices = api.get("/apis/discovery.k8s.io/v1/endpointslices")["items"]
        wanted: dict[tuple[str, int, int], tuple[int, tuple[str, ...]]] = {}
        for service in api.get("/api/v1/services")["items"]:
            address = str(service["spec"].get("clusterIP") or "")
            if not address or address == "None":
                continue
            own = [item for item in slices if _is_of(item, service) and item.get("addressType", "IPv4") == "IPv4"]
            behind = tuple(
                sorted(one for item in own for end in item.get("endpoints") or [] for one in end["addresses"])
            )
            for port in service["spec"].get("ports") or []:
                protocol = _PROTOCOLS[str(port.get("protocol") or "TCP")]
                target = port.get("targetPort")
                if behind:
                    number = target if isinstance(target, int) else int(port["port"])
                    wanted[address, int(port["port"]), protocol] = (number, behind)
        return wanted

    def _try(self, key: tuple[str, int, int], target: int, behind: tuple[str, ...]) -> None:
        """A rule that HNS takes from nobody is logged, and the next one made. HnsError for the others."""
        try:
            self._make(key, target, behind)
        except HnsError as error:
            if error.code != INVALID_PARAMETER:
                raise
            self._daemon.log(f'"Policy creation failed" err="hcnCreateLoadBalancer failed in Win32: {error}"', "E")

    def _make(self, key: tuple[str, int, int], target: int, behind: tuple[str, ...]) -> None:
        address, port, protocol = key
        ends = [self._endpoint(one) or self._make_endpoint(one, remote=True) for one in behind]
        policy: Object = {
            "Type": "ELB",
            "Protocol": protocol,
            "InternalPort": target,
            "ExternalPort": port,
            "IsDSR": self._dsr,
            "VIPs": [address],
        }
        if self._source_vip:
            policy["SourceVIP"] = self._source_vip
        references = [f"/endpoints/{end['ID'].lower()}" for end in ends]
        made = self._hns.create_policy_list({"References": references, "Policies": [policy]})
        self._made[key] = (str(made["ID"]), behind)

    def _endpoint(self, address: str) -> Object | None:
        return next((item for item in self._hns.endpoints_of(self._network) if item.get("IPAddress") == address), None)

    def _make_endpoint(self, address: str, *, remote: bool) -> Object:
        mac = "02-11-" + "-".join(f"{int(part):02x}" for part in address.split("."))
        request: Object = {"VirtualNetwork": self._network, "IPAddress": address, "MacAddress": mac}
        return self._hns.create_endpoint({**request, "IsRemoteEndpoint": True} if remote else request)

    def _drop_all(self) -> None:
        for key in list(self._made):
            self._drop(key)

    def _drop(self, key: tuple[str, int, int]) -> None:
        identity, _ = self._made.pop(key)
        try:
            self._hns.delete_policy_list(identity)
        except HnsError as error:
            self._daemon.log(f'"Failed to delete policy" err="{error}"', "E")


def _is_of(item: Object, service: Object) -> bool:
    metadata = service["metadata"]
    named = (item["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == metadata["name"]
    return bool(named) and item["metadata"].get("namespace") == metadata.get("namespace")
