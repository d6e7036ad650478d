# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What HNS, HCS and those who ask them say when something is wrong (message.py)."""

from __future__ import annotations

from . import windows_codes as win
from .message import Message
from .windows_codes import pattern as written

_MAKES_NETWORK = (
    "(?:create.{0,12}(?:HNS ?Network|HostComputeNetwork)|hcnCreateNetwork|antrea-hnsnetwork|"
    "New-HNSNetwork|POST.{0,20}/networks)"
)
_MAKES_RULE = "(?:Policy creation failed|hcnCreateLoadBalancer|hcnModifyLoadBalancer|load ?balancer.{0,30}failed)"
_NO_RPC = "The RPC server is unavailable|service has not been started"
_HNS = (
    r"(?:hnsCall|hcn\w+|HNS failed with error|Invoke-HnsRequest|HNSEndpoint|"
    "HostComputeEndpoint)"
)

MESSAGES: tuple[Message, ...] = (
    Message(
        "hns.no-free-adapter",
        written(
            win.HCN_E_ADAPTER_NOT_FOUND,
            win.GCN_E_NETADAPTER_NOT_FOUND,
            text="An adapter was not found",
        ),
        "microsoft/SDN#269",
    ),
    Message(
        "hns.name-exists",
        written(
            win.HCN_E_NETWORK_ALREADY_EXISTS,
            text="A network with this name already exists",
        ),
        "microsoft/hcsshim#850",
    ),
    Message(
        "hns.name-exists",
        f"{_MAKES_NETWORK}.*{written(win.ERROR_OBJECT_ALREADY_EXISTS, win.ERROR_ALREADY_EXISTS)}",
        "kubernetes-sigs/sig-windows-tools#128",
    ),
    Message("container.linux-pod", r"network host not found|cannot run as .*hostNetwork", "aws/containers-roadmap#227"),
    Message(
        "container.linux-pod",
        r"(?:failed for volume|hostPath type check failed).*(?<![\w:])/(?:run|lib|proc|sys|dev|etc|usr|boot)\b",
        "kubernetes/kubernetes#71130",
    ),
    Message(
        "container.pipe-mount",
        r"failed to (?:generate spec|resolve symlink).*pipe\\.*(?:pipe instances are busy|cannot find the file)",
        "kubernetes-csi/csi-proxy#55",
    ),
    Message(
        "container.csi-proxy",
        r"pipe\\+csi-proxy\S*: .*(?:cannot find the file|Access is denied)",
        "kubernetes-csi/csi-driver-smb#233",
    ),
    Message(
        "container.wins",
        r"pipe\\+rancher_wins\S*: .*(?:cannot find the file|Access is denied)",
        "kubernetes-sigs/sig-windows-tools kubeadm/flannel/flannel-overlay.yml; rancher/wins",
    ),
    Message(
        "container.csi-driver",
        r"not found in the list of registered CSI drivers|csi\.sock: connect: ",
        "kubernetes-csi/csi-driver-smb#427, #148",
    ),
    Message(
        "start.program-missing",
        r'exec: "?(?:\S*[\\/])?(?:containerd|kubelet|kube-proxy|flanneld|calico-node)(?:\.exe)?"?: (?:\w+ )?file '
        "(?:not found|does not exist)",
        "rancher/rke2#2300",
    ),
    Message(
        "hns.network-refused",
        written(win.HCN_E_INVALID_NETWORK, text="provided network configuration is invalid or missing parameters"),
        "microsoft/containers-toolkit#24",
    ),
    Message(
        "hns.absent",
        r"(?:hcs|hcsshim|hns|hcn)\w*(?:::\w+)*.*specified (?:module|procedure) could not be found",
        "microsoft/hcsshim#1445",
    ),
    Message(
        "hns.vmcompute-stopped",
        r"(?:hcs|hcsshim)::.*(?:remote procedure call failed|RPC server is unavailable|\(0x6b[aef]\))",
        "microsoft/hcsshim#1472",
    ),
    Message(
        "kube-proxy.rule-too-many",
        "invalid number of destinations",
        "kubernetes/kubernetes#98680",
    ),
    Message(
        "cni.antrea-uplink",
        "MSFT_NetAdapter.{0,400}'br-int'",
        "antrea-io/antrea#1528",
    ),
    Message(
        "host.no-adapter",
        r"No (?:matching )?MSFT_NetAdapter\w* objects found",
        "learn.microsoft.com Get-NetAdapter; antrea-io/antrea#1528",
    ),
    Message(
        "host.firewall-stopped",
        written(win.HCN_E_ICS_DISABLED, text="Internet Connection Sharing.{0,20}(?:disabled|not)"),
        "golang.org/x/sys windows/zerrors_windows.go",
    ),
    Message(
        "hns.endpoint-refused",
        "(?:creat\\w* (?:hns ?)?endpoint|hcnCreateEndpoint|ProvisionEndpoint).*(?:"
        f"{written(win.ERROR_INVALID_PARAMETER)}|The parameter is incorrect)",
        "Azure/aks-engine#807",
    ),
    Message(
        "hns.network-refused",
        f"{_MAKES_NETWORK}.*(?:{written(win.ERROR_INVALID_PARAMETER)}|The parameter is incorrect)",
        "flannel-io/flannel#1966",
    ),
    Message(
        "hns.network-refused",
        f"hnsCallRawResponse.*(?:{written(win.ERROR_INVALID_PARAMETER)}|The parameter is incorrect)",
        "antrea-io/antrea#2213",
    ),
    Message(
        "hns.network-refused",
        r"HNS failed with error ?: (?:The parameter is incorrect|Failed to create network)|"
        "Error=The parameter is incorrect",
        "microsoft/SDN#177",
    ),
    Message(
        "hns.adapter-slow",
        written(
            win.GCN_E_NETADAPTER_TIMEOUT,
            win.GCN_E_NETINTERFACE_NOT_FOUND,
        ),
        "golang.org/x/sys windows/zerrors_windows.go",
    ),
    Message(
        "hns.adapter-slow",
        r"interface bound to \S+ took too long to get ready",
        "flannel-io/flannel pkg/backend/vxlan/vxlan_windows.go",
    ),
    Message(
        "hns.no-management-address",
        "failed to get management IP from (?:HNSNetwork|HostComputeNetwork)",
        "flannel-io/flannel#1066",
    ),
    Message(
        "hns.no-management-address",
        "failed to get net interface for (?:HNSNetwork|HostComputeNetwork)|Failed to parse "
        r"management ip \(",
        "flannel-io/flannel pkg/backend/hostgw/hostgw_windows.go",
    ),
    Message(
        "flannel.bridge-endpoint",
        written(
            win.HCN_E_ENDPOINT_ALREADY_ATTACHED,
            text="endpoint (?:has|is) already (?:been )?attached",
        ),
        "flannel-io/flannel#1391",
    ),
    Message(
        "flannel.bridge-endpoint",
        "failed to hot attach bridge HNSEndpoint",
        "flannel-io/flannel#1112",
    ),
    Message(
        "flannel.forwarding",
        "failed to enable forwarding on|failed to find interface for IP Address",
        "flannel-io/flannel#1858",
    ),
    Message(
        "kube-proxy.source-vip",
        "Source Vip endpoint creation failed",
        "kubernetes/kubernetes#100962",
    ),
    Message(
        "kube-proxy.source-vip",
        "source-vip flag not set",
        "kubernetes/kubernetes pkg/proxy/winkernel/proxier.go",
    ),
    Message(
        "kube-proxy.rule-exists",
        f"{_MAKES_RULE}"
        ".*(?:"
        f"{written(win.ERROR_ALREADY_EXISTS, win.ERROR_OBJECT_ALREADY_EXISTS, win.HCN_E_POLICY_ALREADY_EXISTS)}"
        r"|already exists\.? \(0xb7\))",
        "kubernetes/kubernetes#139519",
    ),
    Message(
        "hns.ports-exhausted",
        "(?:"
        f"{_HNS}"
        "|"
        f"{_MAKES_RULE}"
        ").*"
        f"{written(win.ERROR_OUTOFMEMORY, text='Not enough memory resources|Not enough storage is available')}",
        "Azure/AKS#1375",
    ),
    Message(
        "hns.ports-exhausted",
        r"Error\W+Not enough memory resources are available|ErrorCode\W+2147942414",
        "Azure/AKS#1375",
    ),
    Message(
        "kube-proxy.rule-port-taken",
        written(
            win.HCN_E_PORT_ALREADY_EXISTS,
            text="The specified port already exists",
        ),
        "kubernetes/community#8883",
    ),
    Message(
        "kube-proxy.rule-reference",
        written(
            win.HCN_E_INVALID_JSON_REFERENCE,
            text="reference is invalid in the JSON document",
        ),
        "microsoft/Windows-Containers#103",
    ),
    Message(
        "kube-proxy.rule-target-gone",
        written(
            win.HCN_E_PORT_NOT_FOUND,
            win.HCN_E_POLICY_NOT_FOUND,
            text="The switch-port was not found|An expected policy was not found",
        ),
        "microsoft/SDN#273",
    ),
    Message(
        "kube-proxy.rule-reference",
        f"{_MAKES_RULE}"
        ".*(?:"
        f"{written(win.ERROR_NOT_FOUND, win.HCN_E_ENDPOINT_NOT_FOUND)}"
        "|Element not found|endpoint was not found)",
        "kubernetes/kubernetes#67827",
    ),
    Message(
        "hns.endpoint-gone",
        r"(?:docker_sandbox|Type:docker|networkPlugin cni failed).*failed to find HNSEndpoint \S+: Endpoint \S+ not "
        "found",
        "kubernetes-sigs/sig-windows-tools#171",
    ),
    Message(
        "cni.dockershim-form",
        r"error while \w+\(.*failed to find HNSEndpoint \S+: Endpoint \S+ not found",
        "kubernetes/kubernetes#94924; microsoft/hcsshim#1698",
    ),
    Message(
        "hns.no-network",
        written(
            win.HCN_E_NETWORK_NOT_FOUND,
            win.HCN_E_SUBNET_NOT_FOUND,
            text="The network was not found",
        ),
        "golang.org/x/sys windows/zerrors_windows.go",
    ),
    Message(
        "hns.no-network",
        "Unable to find HNS Network sp",
        "kubernetes/kubernetes pkg/proxy/winkernel/proxier.go",
    ),
    Message(
        "hns.no-network",
        r"(?:network|Network name|Network ID) \S+ (?:is )?not found",
        "containernetworking/plugins plugins/main/windows/win-overlay/win-overlay_windows.go",
    ),
    Message(
        "hns.no-network",
        r"^\+ .*\$(?:hns)?network\w*\.(?:Subnets|ManagementIP)\b",
        "PowerShell quotes the line of a script that failed: kubernetes-sigs/sig-windows-tools#336",
    ),
    Message(
        "hns.no-network",
        "Could not find HNS network|could not find vxlan0|didn't find any HNS networks? matching",
        "kubernetes/kubernetes pkg/proxy/winkernel/proxier.go; projectcalico/calico#9120",
    ),
    Message(
        "hns.network-type",
        r"network \S+ is of (?:an )?unexpected type",
        "containernetworking/plugins plugins/main/windows/win-bridge/win-bridge_windows.go",
    ),
    Message(
        "hns.network-type",
        written(
            win.HCN_E_INVALID_NETWORK_TYPE,
            text="invalid network type",
        ),
        "microsoft/SDN#238",
    ),
    Message(
        "hns.endpoint-not-attached",
        written(win.HCN_E_DEGRADED_OPERATION, text="action in a degraded object|Endpoint is in invalid state"),
        "projectcalico/felix#2893; docker/for-win#3558",
    ),
    Message(
        "hns.switch-in-use",
        written(
            win.HCN_E_SHARED_SWITCH_MODIFICATION,
            win.HCN_E_ENTITY_HAS_REFERENCES,
        ),
        "golang.org/x/sys windows/zerrors_windows.go",
    ),
    Message(
        "hns.no-switch-extension",
        written(
            win.HCN_E_SWITCH_EXTENSION_NOT_FOUND,
            win.HCN_E_SWITCH_NOT_FOUND,
        ),
        "golang.org/x/sys windows/zerrors_windows.go",
    ),
    Message(
        "hns.address-refused",
        written(
            win.HCN_E_INVALID_IP,
            win.HCN_E_ADDR_INVALID_OR_RESERVED,
            text="An address provided is invalid or reserved|IP address is either invalid or not part of "
            "any configured subnet",
        ),
        "aws/amazon-vpc-cni-k8s#1103",
    ),
    Message(
        "hns.policy-refused",
        written(
            win.HCN_E_INVALID_POLICY,
            win.HCN_E_INVALID_POLICY_TYPE,
            win.HCN_E_INVALID_JSON,
            win.HCN_E_MAPPING_NOT_SUPPORTED,
            text="provided policy configuration is invalid or missing parameters",
        ),
        "projectcalico/calico#8465",
    ),
    Message(
        "hns.namespace-refused",
        "requested operation for attach namespace failed",
        "containerd/containerd#5729",
    ),
    Message(
        "hns.namespace-refused",
        written(
            win.HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS,
            win.HCN_E_NAMESPACE_ATTACH_FAILED,
        ),
        "golang.org/x/sys windows/zerrors_windows.go",
    ),
    Message(
        "hns.namespace-refused",
        r"failed to add HostComputeEndpoint \S+ to HostComputeNamespace|failed to setup "
        "networking for pod",
        "containerd/containerd#5729",
    ),
    Message(
        "hns.endpoint-exists",
        "(?:"
        f"{_HNS}"
        ").*(?:"
        f"{written(win.ERROR_OBJECT_ALREADY_EXISTS, win.ERROR_ALREADY_EXISTS)}"
        r"|The object already exists)|HNSEndpoint \S+ is already existed",
        "kubernetes/kubernetes#72696",
    ),
    Message(
        "hns.endpoint-gone",
        written(
            win.HCN_E_ENDPOINT_NOT_FOUND,
            win.HCN_E_INVALID_ENDPOINT,
            text="The endpoint was not found",
        ),
        "kubernetes-sigs/sig-windows-tools#91",
    ),
    Message(
        "hns.endpoints-lost",
        "Failed to look up one or more HNS endpoints",
        "projectcalico/calico#5164",
    ),
    Message(
        "hns.endpoint-gone",
        r"Local endpoint not found|Endpoint \S+ not found on network",
        "kubernetes/kubernetes pkg/proxy/winkernel/proxier.go",
    ),
    Message(
        "hns.element-not-found",
        f"(?:{_HNS}|ProvisionEndpoint|create endpoint).*(?:{written(win.ERROR_NOT_FOUND)}|Element not found)",
        "Azure/aks-engine#853",
    ),
    Message(
        "host.firewall-stopped",
        f"(?:{_HNS}|hns).*{written(win.EPT_S_NOT_REGISTERED, text='no more endpoints available from the endpoint')}",
        "microsoft/WSL#11306",
    ),
    Message(
        "hns.stopped",
        f"(?:{_HNS}|hns).*{written(win.RPC_S_SERVER_UNAVAILABLE, win.ERROR_SERVICE_NOT_ACTIVE, text=_NO_RPC)}|"
        f"{written(win.HCN_E_MANAGER_STOPPED)}",
        "kubernetes/kubernetes#139519",
    ),
    Message(
        "hns.absent",
        r"(?:vmcompute|computenetwork)\.dll.*(?:could not be found|not found)|(?:"
        f"{_HNS}"
        ").*"
        f"{written(win.ERROR_MOD_NOT_FOUND, win.ERROR_PROC_NOT_FOUND)}",
        "microsoft/hcsshim internal/hcserror/hcserror.go (DLLError)",
    ),
    Message(
        "hns.not-supported",
        "(?:"
        f"{_HNS}"
        r"|hcs\w*).*"
        f"{written(win.ERROR_NOT_SUPPORTED)}"
        "|"
        f"{written(win.HCN_E_REQUEST_UNSUPPORTED)}"
        "|platform does not support",
        "microsoft/hcsshim hcn/hcn.go",
    ),
    Message(
        "host.not-elevated",
        f"(?:{_HNS}).*(?:{written(win.ERROR_ACCESS_DENIED)}|Access is denied)|{written(win.HCS_E_ACCESS_DENIED)}",
        "microsoft/hcsshim internal/hcs/errors.go",
    ),
    Message(
        "host.no-adapter",
        "virtual network creation|no network adapter (?:is )?found|Failed to find a suitable network adapter",
        "kubernetes.io v1.20 Intro to Windows support (No network adapter is found when starting Kubelet)",
    ),
)
