# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes to which a text leads, and which a look at the node or the cluster finds as well."""

from __future__ import annotations

from .cause import ERROR, NOTE, WARNING, Area, Cause
from .logged import logged
from .remedies import (
    FLANNEL_FILES,
    KUBE_PROXY,
    LAUNCH_FLANNELD,
    REJOIN,
    REMOVE_ENDPOINTS,
    RESTART_FLANNELD,
    START_HNS,
    START_VMCOMPUTE,
    SWITCH_MODE,
    advice,
    converge,
    playbook,
)
from .remedy import Ends

GMSA_FOLLOWS = ("pod.*", "container.gmsa", "container.gmsa-domain")
"""What follows from a gMSA that cannot be used."""

CAUSES: tuple[Cause, ...] = (
    Cause(
        "kubelet.certificate-late",
        WARNING,
        "The kubelet has not renewed a certificate",
        "It renews when 70 to 90 % of its life are over. Its request waits for an approval, or does not reach the API "
        "server.",
        advice(
            "kubectl get csr shows the node's requests that wait: kubectl certificate approve NAME; "
            "kubelet's log says what becomes of them."
        ),
        area=Area.PROGRAMS,
    ),
    Cause(
        "cni.absent",
        ERROR,
        "There is no cni.conf",
        "flanneld's network did not come, so it was not written; or somebody removed it.",
        FLANNEL_FILES.said(
            "Start flanneld: cni.conf is written when its network is there; else write it into containerd's "
            "conf_dir (C:\\etc\\cni\\net.d)."
        ),
        explains=("node.not-ready", "node.taint", "pod.*"),
    ),
    Cause(
        "cni.pods-on-nat",
        ERROR,
        "Pods are in the machine's nat network",
        "containerd took a configuration of its own plugin nat, when these pods were started: nobody outside of the "
        "machine reaches them.",
        advice(
            "Look into the folder of CNI configurations: remove the one of nat (0-containerd-nat.conf, .json), then "
            "delete these pods.",
            Ends.PODS,
        ),
        "kubernetes/kubernetes#101680",
        explains=("hns.pod-without-endpoint", "traffic.*", "pod.*"),
    ),
    Cause(
        "calico.encapsulation",
        ERROR,
        "A pool of addresses is not VXLAN",
        "Windows has neither IPIP nor cross-subnet; the operator refuses the Installation or the nodes do not reach "
        "each other.",
        playbook(
            (
                "Set encapsulation: VXLAN of the pool (Installation, or vxlanMode: Always and ipipMode: Never "
                "of the IPPool)."
            ),
            "calico",
            variables=("winkube_calico_adopt",),
        ),
        "tigera/docs#1547",
        explains=("cni.absent", "node.not-ready", "node.taint", "pod.*"),
    ),
    Cause(
        "hns.endpoint-not-attached",
        WARNING,
        "An endpoint is detached or degraded",
        "HNS could not plug it into the virtual switch, or took it out.",
        advice(
            "Delete the pod; if many endpoints are like this, drain the node and restart it.", Ends.PODS, Ends.MACHINE
        ),
        "projectcalico/calico#12795",
        explains=("traffic.*", "pod.*"),
    ),
    Cause(
        "hns.endpoint-duplicate-address",
        ERROR,
        "Two endpoints have one address",
        "A remote endpoint was left behind when a pod of this node got its address, or an endpoint outlived its pod.",
        REMOVE_ENDPOINTS.said(
            "Find which of the two has no pod (kubectl get pods -o wide): hnsdiag delete endpoints ID for that one."
        ),
        "Azure/AKS#5653",
        explains=("traffic.*",),
    ),
    Cause(
        "flannel.bridge-endpoint",
        ERROR,
        "The host has no endpoint in its own pod network",
        "After a restart flanneld could not attach it again (0x803b0014), or it is of an old range.",
        RESTART_FLANNELD.said("Restart-Service flanneld: it attaches the host's endpoint again."),
        "flannel-io/flannel#1391",
        explains=("traffic.*",),
    ),
    Cause(
        "flannel.net-conf-backend",
        ERROR,
        "flanneld has another backend",
        "The cluster's flannel and the node's network mode differ.",
        FLANNEL_FILES.said("Write the Backend of ConfigMap kube-flannel-cfg into net-conf.json, and restart flanneld."),
        explains=("hns.no-network", "flannel.*"),
    ),
    Cause(
        "flannel.net-conf-vxlan",
        ERROR,
        "flanneld on Windows cannot use these settings of vxlan",
        "Linux' defaults (VNI 1, port 8472) were left in net-conf.json.",
        advice(
            "Set VNI 4096 and Port 4789 in flannel's ConfigMap, on Linux nodes too, and start flannel again on each."
        ),
        "MicrosoftDocs/Virtualization-Documentation#1013",
        explains=("hns.no-network", "hns.network-vni"),
    ),
    Cause(
        "flannel.net-conf-network",
        ERROR,
        "net-conf.json has another network for pods",
        "It was copied from another cluster, or the cluster's was changed.",
        FLANNEL_FILES.said("Write the Network of ConfigMap kube-flannel-cfg into net-conf.json, and restart flanneld."),
        explains=("flannel.stopped", "flannel.crashes"),
    ),
    Cause(
        "flannel.no-subnet-env",
        ERROR,
        "flanneld has no lease",
        "flanneld did not come up to where it writes subnet.env, or somebody removed the file.",
        LAUNCH_FLANNELD.said(
            "Start flanneld: it writes C:\\run\\flannel\\subnet.env when it has its lease; if it does not, its "
            "log says why."
        ),
        explains=("node.not-ready", "kube-proxy.*", "pod.*"),
    ),
    Cause(
        "kube-proxy.network-name",
        ERROR,
        "kube-proxy looks for another network",
        "--network-name or KUBE_NETWORK is not what HNS has: kube-proxy waits, or makes no rules.",
        KUBE_PROXY.said(
            "Set --network-name, or KUBE_NETWORK of the service, to the Name that hnsdiag list networks "
            "shows, and restart kube-proxy."
        ),
        "kubernetes/kubernetes#101680",
        explains=("kube-proxy.*", "traffic.*"),
    ),
    Cause(
        "kube-proxy.source-vip",
        ERROR,
        "kube-proxy has no usable source VIP",
        "Overlay networks need an address of the node's range that no pod gets.",
        KUBE_PROXY.said(
            "Reserve an address of the node's range (host-local, as the plugin does), give it to kube-proxy "
            "as --source-vip, and restart it."
        ),
        "kubernetes/kubernetes#78338",
        explains=("kube-proxy.rule-source-vip", "kube-proxy.no-rules", "kube-proxy.crashes", "traffic.*"),
    ),
    Cause(
        "kube-proxy.hostname-override",
        ERROR,
        "kube-proxy runs under another name",
        "Without --hostname-override it takes the machine's name: it deletes endpoints of pods as remote ones.",
        KUBE_PROXY.said("Give kube-proxy --hostname-override with the Node's name, and restart it."),
        explains=("hns.pod-without-endpoint", "hns.endpoint-*"),
    ),
    Cause(
        "flannel.iface",
        ERROR,
        "flanneld looks for an address that the host does not have",
        "The host's address has changed, or --iface was copied from another node.",
        FLANNEL_FILES.said("Set flanneld's --iface to an address of Get-NetIPAddress, and restart it."),
        "MicrosoftDocs/Virtualization-Documentation#1013",
        explains=("flannel.*", "hns.no-network"),
    ),
    Cause(
        "hns.absent",
        ERROR,
        "There is no HNS",
        "The feature Containers is not installed, or the machine was not restarted since.",
        converge(
            "host",
            text="Install-WindowsFeature Containers, then restart the machine.",
            cuts_off="The machine restarts.",
            ends=(Ends.MACHINE,),
        ),
        explains=("hns.*", "flannel.*", "cni.*", "kube-proxy.*", "node.not-ready", "node.taint", "pod.*"),
    ),
    Cause(
        "hns.stopped",
        ERROR,
        "The service hns does not run",
        "Somebody stopped it, or it crashed; endpoints are lost with it.",
        START_HNS,
        explains=("hns.*", "flannel.*", "cni.*", "kube-proxy.*", "node.not-ready", "node.taint", "pod.*"),
    ),
    Cause(
        "hns.vmcompute-stopped",
        ERROR,
        "The service vmcompute does not work",
        "The feature Containers is incomplete, or someone stopped or disabled the service.",
        START_VMCOMPUTE,
        explains=("pod.*",),
    ),
    Cause(
        "host.no-adapter",
        ERROR,
        "The adapter that the pod network should be on is not there",
        "The host's adapter is not called Ethernet, or was renamed.",
        converge(
            "flannel",
            text=(
                "Name the adapter that has the host's address (Get-NetIPAddress, flanneld's --iface), or give "
                "it its name back (Rename-NetAdapter)."
            ),
            variables=("winkube_interface_name",),
        ),
        explains=("hns.*", "flannel.*", "kube-proxy.*", "node.not-ready", "node.address"),
    ),
    Cause(
        "hns.no-management-address",
        ERROR,
        "The pod network has no management address",
        "HNS has not learnt the host's address: flanneld waits for the network to be created.",
        LAUNCH_FLANNELD.said(
            "Restart-Service flanneld: it makes the network again; hnsdiag list networks -df shows its ManagementIP."
        ),
        "MicrosoftDocs/Virtualization-Documentation#1013",
        explains=("flannel.*", "kube-proxy.*", "node.not-ready"),
    ),
    Cause(
        "hns.management-address-stale",
        ERROR,
        "HNS knows the host by an address that it does not have",
        "The host's address has changed since the network was made.",
        FLANNEL_FILES.said(
            "Give flanneld the present address (--iface), cni.conf the same in ProviderAddress, and restart "
            "flanneld, which makes the network again."
        ),
        explains=("flannel.iface", "cni.provider-address", "node.address", "kube-proxy.*"),
    ),
    logged(
        "kube-proxy.rule-too-many",
        "A rule has more backends than Windows takes",
        "Without DSR the virtual switch takes 64 backends for a rule; a Service with more pods gets none at all.",
        converge(
            "flannel",
            "kube_proxy",
            text=(
                "Let kube-proxy use DSR (--enable-dsr=true, and loopbackDSR in cni.conf) on a node that was drained, "
                "since endpoints made before have no loopback policy. Or scale the Service below 65 pods."
            ),
            ends=(Ends.PODS,),
            variables=("winkube_kube_proxy_dsr", "winkube_drain"),
        ),
    ),
    Cause(
        "hns.ports-exhausted",
        ERROR,
        "Too few free ports are left",
        "Each endpoint and rule takes a block of 64 ports; leaked blocks come back with a restart of the machine only.",
        advice(
            "Drain the node and restart it; a larger range (netsh int ipv4 set dynamicportrange) only puts it off.",
            Ends.PODS,
            Ends.MACHINE,
        ),
        "Azure/AKS#1375",
        explains=("hns.endpoint-*", "kube-proxy.*", "pod.*"),
    ),
    Cause(
        "hns.no-network",
        ERROR,
        "The pod network is not there",
        "flanneld has not made it, or it was lost: an overlay network does not outlive a restart of the machine.",
        LAUNCH_FLANNELD.said("Restart-Service flanneld: it makes the network; if it does not come, its log says why."),
        "kubernetes-sigs/sig-windows-tools#89",
        explains=(
            "cni.network-name",
            "hns.no-host-adapter",
            "flannel.*",
            "kube-proxy.*",
            "hns.endpoint-*",
            "hns.pod-without-endpoint",
            "node.not-ready",
            "node.taint",
            "pod.*",
        ),
    ),
    Cause(
        "hns.network-type",
        ERROR,
        "The pod network is of another type",
        "The node was switched between l2bridge and overlay without removing the old network.",
        SWITCH_MODE,
        explains=(
            *("hns.no-network", "hns.network-other-mode", "cni.plugin-type", "cni.network-name", "cni.exceptions"),
            *("flannel.*", "kube-proxy.*", "hns.endpoint-*", "node.not-ready", "pod.*"),
        ),
    ),
    Cause(
        "node.absent",
        ERROR,
        "The cluster has no Node of this name",
        "The kubelet did not register, or somebody deleted the Node.",
        REJOIN.said(
            "kubectl get nodes; kubelet's log says why it does not register. A Node that was deleted comes "
            "back when the kubelet starts; one whose kubelet.conf is refused joins again (kubeadm reset, "
            "kubeadm join)."
        ),
        explains=("hns.network-pod-cidr", "node.earlier-life", "flannel.*"),
        area=Area.NODE,
    ),
    Cause(
        "node.no-pod-cidr",
        ERROR,
        "The Node has no podCIDR",
        "The controller manager gives none, or its range is used up: flannel cannot give pods addresses.",
        advice("Give the controller manager --allocate-node-cidrs=true and a --cluster-cidr with room left."),
        explains=("flannel.*", "hns.no-network", "hns.no-host-adapter", "kube-proxy.*", "node.not-ready"),
        area=Area.NODE,
    ),
    Cause(
        "node.address",
        ERROR,
        "The cluster knows the node by another address",
        "The kubelet has another --node-ip, or none: logs, exec and metrics go astray.",
        converge("kubelet", text="Give the kubelet --node-ip with the node's address, and restart it."),
        area=Area.NODE,
    ),
    Cause(
        "node.not-ready",
        ERROR,
        "The Node is not Ready",
        "The kubelet says why in its condition and its log.",
        advice("Read the kubelet's log, and the condition's message above."),
        explains=("node.taint", "pod.*"),
        area=Area.NODE,
    ),
    Cause(
        "services.deleting",
        ERROR,
        "A service is marked for deletion",
        "Somebody has deleted it while it was held open: it can be neither started nor recreated.",
        converge(
            text=(
                "Close what holds it open (services.msc, Task Manager), or restart the machine; then make the "
                "service again."
            ),
            ends=(Ends.MACHINE,),
        ),
        explains=("*.stopped", "*.not-installed"),
        area=Area.PROGRAMS,
    ),
    Cause(
        "traffic.names",
        ERROR,
        "Names do not resolve in pods",
        "Pods ask another DNS server than the cluster's, or nothing answers there.",
        converge(
            "kubelet",
            text=(
                "Set clusterDNS of the kubelet's configuration to the address of Service kube-system/kube-dns; "
                "look that its pods are Ready. Pods that run keep what they have."
            ),
            variables=("winkube_dns_service_ip",),
        ),
        area=Area.WORKLOADS,
    ),
    Cause(
        "traffic.names-limits",
        NOTE,
        "Which names resolve in pods",
        "",
        advice("Write names whole: SERVICE.NAMESPACE.svc.DOMAIN."),
        area=Area.WORKLOADS,
    ),
    Cause(
        "host.proxy",
        ERROR,
        "The node does not reach registries",
        "A proxy or a firewall is on the way that the machine does not know of, or the proxy that it knows does not "
        "answer.",
        advice("Look at the proxy, the firewall and DNS."),
        explains=("image.registry-unreachable", "image.pause", "pod.stuck"),
        area=Area.WORKLOADS,
    ),
    Cause(
        "pod.stuck",
        ERROR,
        "A pod does not start, or restarts over and over",
        "",
        advice("kubectl describe pod says more."),
        area=Area.WORKLOADS,
    ),
    Cause(
        "pod.port-forward",
        ERROR,
        "kubectl port-forward does not work",
        "The node's end of it is wincat.exe in the pause image.",
        converge(
            "containerd",
            text=(
                "Set sandbox_image (pinned_images.sandbox) of config.toml to registry.k8s.io/pause 3.6 or "
                "newer; an image of your own has to have wincat.exe in it."
            ),
            variables=("winkube_pause_image",),
        ),
        area=Area.WORKLOADS,
    ),
    Cause(
        "pod.cpu-zero",
        ERROR,
        "A busy container's CPU usage is 0",
        "containerd or the kubelet computes it from counters of different times.",
        advice("Take a containerd that has it mended: the 'source' of the finding names the defect."),
        "containerd/containerd#9531",
        area=Area.WORKLOADS,
    ),
    Cause(
        "gmsa.no-crd",
        ERROR,
        "The cluster does not know gMSA",
        "The CRD and the webhook of kubernetes-sigs/windows-gmsa are not installed.",
        advice("Install the chart of kubernetes-sigs/windows-gmsa."),
        explains=GMSA_FOLLOWS,
        area=Area.WORKLOADS,
    ),
    Cause(
        "gmsa.spec-missing",
        ERROR,
        "A pod names a credential spec that is not there",
        "The webhook refuses such pods when they are made again.",
        advice("Correct gmsaCredentialSpecName, or create the GMSACredentialSpec."),
        explains=GMSA_FOLLOWS,
        area=Area.WORKLOADS,
    ),
    Cause(
        "gmsa.spec-invalid",
        ERROR,
        "A credential spec cannot be used",
        "Windows refuses it when the container starts, or finds no account by it.",
        advice("Make it again with New-CredentialSpec (PowerShell module CredentialSpec) in the account's domain."),
        explains=GMSA_FOLLOWS,
        area=Area.WORKLOADS,
    ),
    Cause(
        "gmsa.not-allowed",
        ERROR,
        "A pod's account may not use its credential spec",
        "The webhook asks for the verb use.",
        advice("Bind a ClusterRole with verbs [use] on gmsacredentialspecs of windows.k8s.io, resourceNames the spec."),
        explains=GMSA_FOLLOWS,
        area=Area.WORKLOADS,
    ),
    Cause(
        "gmsa.plugin-missing",
        ERROR,
        "The node lacks the plugin that a credential spec names",
        "The Container Credential Guard starts only plugins that are on its list and that COM knows.",
        advice("Install the plugin as its publisher says, on every Windows node that may run such pods."),
        "microsoft/Windows-Containers#196",
        explains=GMSA_FOLLOWS,
        area=Area.WORKLOADS,
    ),
)
