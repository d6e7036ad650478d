# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What logs alone tell of HNS, flannel, CNI plugins and rules."""

from __future__ import annotations

from .cause import WARNING, Cause
from .logged import logged
from .remedies import MEND_CNI_CONF, advice, converge
from .remedy import Ends

CAUSES: tuple[Cause, ...] = (
    logged(
        "hns.name-exists",
        "HNS says that a network of this name is there",
        "A network of that name was made before. Where HNS lists none of it, its data still has it: it "
        "was removed while HNS could not finish, or the machine went down meanwhile.",
        advice(
            (
                "Remove a network of that name if HNS lists one (hnsdiag list networks). If there is none: "
                "restart the service hns (pods lose their endpoints), then flanneld. If it comes back: drain "
                "the node, stop hns, move C:\\ProgramData\\Microsoft\\Windows\\HNS\\HNS.data away and restart the "
                "machine; that removes all networks."
            ),
            Ends.CONNECTIONS,
            Ends.MACHINE,
        ),
    ),
    logged(
        "hns.no-free-adapter",
        "HNS finds no adapter to put the network on",
        "Every adapter already has a virtual switch of another kind, the name given is not that of a "
        "physical adapter (a vEthernet, a VPN, a team, or a name cut at its space), or only a wireless "
        "one has the address.",
        converge(
            "flannel",
            text=(
                "Compare the name with Get-NetAdapter and name the adapter that has the host's address; remove "
                "networks of another type that hold it (Docker's transparent or l2bridge networks, an old "
                "External)."
            ),
            ends=(Ends.CONNECTIONS,),
            variables=("winkube_interface_name",),
        ),
    ),
    logged(
        "hns.network-refused",
        "HNS refuses the network that was asked for",
        "The adapter is a vEthernet of a switch that is there already, its range overlaps another "
        "network's, or this build does not know a setting: since flannel 0.24.1 an overlay names its "
        "adapter, which a placeholder network has turned into a vEthernet.",
        advice(
            (
                "List the networks (hnsdiag list networks): remove the unused ones on this adapter, the "
                "placeholder External of an overlay among them, then start flanneld again."
            ),
            Ends.CONNECTIONS,
        ),
    ),
    logged(
        "hns.endpoint-refused",
        "HNS refuses the endpoint that was asked for",
        "Its address lies outside of the network's range, a policy is not known to this release of Windows, or the "
        "plugin is too new or too old for it.",
        "Compare the pod's address with the network's range, and cni.conf's policies with what the plugin's release "
        "knows for this Windows.",
    ),
    logged(
        "hns.switch-in-use",
        "The virtual switch cannot be changed",
        "Another network, a virtual machine or an endpoint uses the switch or the object.",
        advice(
            "Remove what refers to it first (endpoints before their network), or restart the machine.",
            Ends.CONNECTIONS,
            Ends.MACHINE,
        ),
    ),
    logged(
        "hns.adapter-slow",
        "An adapter took too long to come back",
        "Making a virtual switch takes the adapter away for some seconds; drivers, teaming or an agent "
        "of a security product make it longer.",
        "Start the program again. If it happens each time, look at the adapter's driver and at what "
        "filters it (Get-NetAdapterBinding).",
    ),
    logged(
        "hns.no-switch-extension",
        "An extension of the virtual switch is not there",
        "The network needs a driver (VFP, Open vSwitch) that is not installed or was not enabled on the switch.",
        advice(
            (
                "Install or repair what brings the extension (Antrea: ovs-vswitchd; VFP: the feature "
                "Containers), then recreate the network."
            ),
            Ends.CONNECTIONS,
        ),
    ),
    logged(
        "hns.endpoint-exists",
        "An endpoint that should be made is there already",
        "It was left by a sandbox whose removal failed, or the CNI plugin was called twice for one sandbox.",
        advice(
            (
                "Delete the pod. If its successor fails as well: drain the node, restart the service hns, then "
                "kube-proxy."
            ),
            Ends.PODS,
            Ends.CONNECTIONS,
        ),
    ),
    logged(
        "hns.endpoint-gone",
        "An endpoint that a program needs is gone",
        "HNS was restarted, the network was recreated, or a kube-proxy under another name took the pod's "
        "endpoint for a remote one and deleted it.",
        advice(
            "Start kube-proxy again (with the Node's name), then delete the pods whose endpoints are gone.", Ends.PODS
        ),
    ),
    logged(
        "hns.endpoints-lost",
        "HNS lost the endpoints of running pods",
        "The service hns was restarted: pods go on without a network, and no CNI plugin makes endpoints "
        "for pods that run.",
        advice(
            (
                "Delete the pods of this node (kubectl delete pod), or drain and uncordon it; each successor "
                "gets an endpoint."
            ),
            Ends.PODS,
        ),
    ),
    logged(
        "hns.element-not-found",
        "HNS does not find what the endpoint needs",
        "The network was lost or recreated at a restart while the CNI plugin goes by its memory of it, "
        "or the adapter below it is gone.",
        advice(
            (
                "Compare hnsdiag list networks with cni.conf. Recreate the network (flannel: start flanneld "
                "again; Azure: remove azure-vnet.json and restart kubelet), then delete the pods."
            ),
            Ends.PODS,
            Ends.CONNECTIONS,
        ),
    ),
    logged(
        "hns.address-refused",
        "HNS refuses an address",
        "It is outside the network's range, reserved (the gateway, the first ones), or in use by another "
        "endpoint: often a source VIP of an old range.",
        converge(
            "kube_proxy",
            text=(
                "Compare the address with the network's range (hnsdiag list networks -df). For kube-proxy "
                "reserve an address of the node's range as --source-vip; for a pod delete the pod."
            ),
        ),
    ),
    logged(
        "hns.policy-refused",
        "HNS refuses a policy",
        "A policy in cni.conf is not of the form that its apiVersion wants, has a value that was never "
        "filled in, or is of no type that an endpoint has; for a rule: the Service's or the source "
        "address is not usable.",
        MEND_CNI_CONF.said(
            "Compare the policies of cni.conf with what the plugin's release takes: under apiVersion 2 Type "
            "and Settings, without it the old form; then delete the pods that wait."
        ),
    ),
    logged(
        "hns.namespace-refused",
        "An endpoint and a pod's namespace do not come together",
        "The sandbox has gone meanwhile, or the endpoint is in a namespace already: cni.conf of "
        "dockershim's form (no apiVersion 2) makes endpoints without one.",
        MEND_CNI_CONF.said("Set apiVersion 2 in cni.conf for containerd, then delete the pods that wait."),
    ),
    logged(
        "kube-proxy.rule-exists",
        "kube-proxy makes a rule that HNS has already",
        "HNS was restarted and restored its rules while kube-proxy believed them gone.",
        advice(
            (
                "Start kube-proxy again: it reads HNS' rules at its start. If it goes on: restart the service "
                "hns, then kube-proxy."
            ),
            Ends.CONNECTIONS,
        ),
    ),
    logged(
        "kube-proxy.rule-port-taken",
        "A port of a rule is in use",
        "A rule without endpoints was left behind, a program of the host listens on the node port, or "
        "the health check's port is forwarded on Windows Server 2019.",
        advice(
            (
                "Look who has the port (netstat -ano); where hnsdiag list loadbalancers shows a rule that no "
                "Service has, hnsdiag delete loadbalancers ID; then start kube-proxy again."
            ),
            Ends.CONNECTIONS,
        ),
    ),
    logged(
        "kube-proxy.rule-reference",
        "A rule leads to endpoints that HNS does not have",
        "kube-proxy knows endpoints that went with a restart of HNS or were deleted.",
        "Start kube-proxy again.",
    ),
    logged(
        "kube-proxy.rule-refused",
        "HNS refuses a rule or an endpoint of kube-proxy",
        "HNS' own reason and code stand at the end of the line.",
        advice(
            "Start kube-proxy again; if it goes on, restart the service hns with the node drained, then kube-proxy.",
            Ends.PODS,
            Ends.CONNECTIONS,
        ),
        severity=WARNING,
    ),
    logged(
        "kube-proxy.rule-target-gone",
        "HNS does not find the port or policy of a rule",
        "The network was recreated under kube-proxy, or Windows is older than overlay needs (1809 with KB4489899).",
        "Start kube-proxy again after the network is there.",
    ),
    logged(
        "hns.not-supported",
        "This Windows cannot do what was asked of HNS",
        "The build is older than the setting (DSR, overlay, IPv6), or the setting is not for this kind of network.",
        "Install the newest cumulative update; take the setting away that the build does not know.",
    ),
    logged(
        "flannel.no-net-conf",
        "flanneld has no net-conf.json that it can read",
        "The file is not where --net-config-path says, is not JSON, or its folder does not let flanneld in.",
        converge(
            "flannel",
            text=(
                "Write net-conf.json (Network, Backend) as ConfigMap kube-flannel-cfg has it to where "
                "flanneld's --net-config-path says, and start flanneld."
            ),
        ),
    ),
    logged(
        "flannel.no-external-network",
        "flanneld finds no network on the host's adapter",
        "Releases of flannel before 0.12 make their overlay beside a network that is there already; after a restart "
        "or on a new machine there is none with the host's address.",
        converge(
            "flannel",
            text=(
                "Take flannel 0.12 or newer; with an older one make a network External of type Overlay on the "
                "adapter first, as SDN's start.ps1 does."
            ),
            variables=("winkube_flannel_version",),
        ),
    ),
    logged(
        "flannel.node-name",
        "flanneld does not know which Node it is",
        "The variable NODE_NAME is not set, or is not the Node's name.",
        converge(
            "flannel",
            text=(
                "Give flanneld's service NODE_NAME with the Node's name in its environment (nssm.exe set "
                "flanneld AppEnvironmentExtra NODE_NAME=NAME), and start it."
            ),
        ),
    ),
    logged(
        "flannel.etcd",
        "flanneld looks for etcd instead of the cluster",
        "It was started without --kube-subnet-mgr.",
        converge("flannel", text="Add --kube-subnet-mgr to flanneld's arguments and start it."),
    ),
    logged(
        "flannel.forwarding",
        "flanneld cannot set up the host's adapter",
        "IPv4 is not bound to the adapter, or the adapter went away while it was set.",
        "Look whether Get-NetIPInterface -AddressFamily IPv4 has the adapter (Enable-NetAdapterBinding "
        "-ComponentID ms_tcpip), then start flanneld again.",
    ),
    logged(
        "flannel.public-ip",
        "flanneld sees a NAT between the node and the others",
        "--public-ip differs from the interface's address, which host-gw cannot work with.",
        "Take --public-ip away, or use vxlan.",
    ),
    logged(
        "cni.addresses-used-up",
        "No address is free in the node's range",
        "host-local keeps addresses of pods that went while it could not work, below \\var\\lib\\cni\\networks; or the "
        "node's range, with a cloud's plugin its subnet, is too small for so many pods.",
        "Remove the files of addresses that no pod has, or lower maxPods; with a cloud's plugin look at the subnet.",
    ),
    logged(
        "cni.address-taken",
        "An address is handed out already",
        "Two sandboxes or the source VIP ask for one address: a reservation below \\var\\lib\\cni\\networks "
        "outlived its holder.",
        "Remove the file with that address below \\var\\lib\\cni\\networks if no pod has it.",
    ),
    logged(
        "cni.azure-lock",
        "Azure's plugin waits for its own lock",
        "Another call of the plugin holds the store: it hangs in HNS, or ended without giving the lock back.",
        advice(
            (
                "Look for azure-vnet.exe processes that do not end (Get-Process azure-vnet), restart the "
                "service hns with the node drained, remove azure-vnet.json.lock if no process has it."
            ),
            Ends.PODS,
            Ends.CONNECTIONS,
        ),
    ),
    logged(
        "cni.azure-cns",
        "Azure's plugin does not reach azure-cns",
        "The pod azure-cns of the node does not run or is not ready yet: pods get no addresses.",
        "kubectl -n kube-system get pods -o wide shows it (azure-cns-win); read its log, delete it to restart it.",
    ),
    logged(
        "cni.plugin-old",
        "The CNI plugin does not know containerd's networks",
        "It expects Docker's names of network namespaces (container:<id>); containerd gives the id of HNS' namespace.",
        "Install a release of the plugin that supports containerd (EKS: vpc-bridge in place of vpc-shared-eni).",
    ),
    logged(
        "cni.eks-address",
        "Amazon's CNI got no address for the pod",
        "Nothing in the cluster hands out vpc.amazonaws.com/PrivateIPv4Address: Windows support is not "
        "enabled (the VPC resource controller's role lacks AmazonEKSVPCResourceController, or the "
        "ConfigMap amazon-vpc-cni lacks enable-windows-ipam), the pod has no nodeSelector for Windows, or the "
        "subnet has no free address or block.",
        "Enable Windows support for the cluster, give pods kubernetes.io/os: windows, and delete the pods that wait.",
    ),
    logged(
        "cni.calico-api",
        "Calico's plugin does not know the API server",
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT were empty when Calico wrote its kubeconfig.",
        "Set both in the ConfigMap calico-windows-config (kubernetes-services-endpoint for the operator), then start "
        "Calico's pod on the node again.",
    ),
    logged(
        "cni.calico-bgp",
        "Windows' BGP router was not set up",
        "Calico's backend windows-bgp needs the service RemoteAccess with its routing part, and confd, which tells it "
        "the peers.",
        "Get-Service RemoteAccess; Install-WindowsFeature Routing, then Install-RemoteAccess -VpnType RoutingOnly; "
        "read confd's log; or let Calico use vxlan.",
    ),
    logged(
        "cni.calico-affinity",
        "Calico's blocks are not bound to nodes",
        "Windows needs blocks of addresses that no other node borrows from: strictAffinity is off.",
        "calicoctl ipam configure --strictaffinity=true (the operator sets it with windowsDataplane: HNS).",
    ),
    logged(
        "cni.calico-endpoint",
        "Calico waits for its own endpoint",
        "Calico_ep or the network Calico was not made: the node has no block of addresses yet, "
        "strictAffinity is off, or an older network holds the adapter.",
        advice(
            (
                "Set strictAffinity (calicoctl ipam configure --strictaffinity=true), remove networks of other "
                "CNIs, and start Calico on the node again."
            ),
            Ends.CONNECTIONS,
        ),
    ),
    logged(
        "cni.antrea-uplink",
        "Antrea cannot use its uplink",
        "Open vSwitch does not run or its extension is off, or another HNS network holds the adapter.",
        advice(
            "Remove other networks on the adapter, start ovsdb-server and ovs-vswitchd, then antrea-agent.",
            Ends.CONNECTIONS,
        ),
    ),
    logged(
        "flannel.not-registered",
        "flanneld could not make or join the pod network",
        "The reason is at the end of the line.",
        "Mend what the line says; then start flanneld again.",
    ),
    logged(
        "hns.compartments",
        "Windows makes no network compartment for a container",
        "Each container has a compartment; those of containers that did not end are left until Windows has no more "
        "resources for one.",
        advice(
            (
                "Get-NetCompartment counts them; end containers that hang (hcsdiag list), else drain the node "
                "and restart the machine; install the newest cumulative update."
            ),
            Ends.PODS,
            Ends.MACHINE,
        ),
    ),
    logged(
        "hns.broken-state",
        "HNS fails without a reason",
        "Its own state is damaged: a network, a switch or an endpoint that was half removed, or an adapter that went "
        "away (Unspecified error, 0x80004005).",
        advice(
            (
                "Restart the service hns with the node drained, then what makes the network; if it stays: "
                "remove the network (Remove-HnsNetwork), or move HNS.data away and restart the machine."
            ),
            Ends.CONNECTIONS,
            Ends.PODS,
            Ends.MACHINE,
        ),
    ),
    logged(
        "cni.plugin-crashed",
        "A CNI plugin gave no answer",
        "It ended without a word, crashed, or printed what is not JSON: a plugin of another architecture or release, a "
        "missing DLL, an antivirus.",
        "Run it by hand with CNI_COMMAND=VERSION; look into the Application event log and the plugin's own log.",
    ),
    logged(
        "cni.file-missing",
        "A file that a CNI plugin needs is not there",
        "The part of the network that runs on the node (its DaemonSet or service) has not written it yet, or was given"
        " another folder.",
        "See that the network's own pod or service runs on this node; compare its folders with containerd's and the "
        "plugin's.",
    ),
    logged(
        "cni.plugin-denied",
        "A CNI plugin's kubeconfig is not accepted",
        "Its token has run out, or its token or CA is of a cluster that is gone: the network's node program renews it, "
        "and does not run; or the file was left behind.",
        "Restart the network's node pod (calico-node, cilium, ovn), which writes the kubeconfig again; look at its "
        "log.",
    ),
    logged(
        "cni.calico-not-ready",
        "calico-node has not set the node up",
        "The plugin looks for nodename, which calico-node writes when it has started: it does not run, waits for its "
        "datastore, or has another CALICO_NODENAME_FILE.",
        "kubectl -n calico-system logs of this node's calico-node-windows pod (or the service CalicoNode); mend the "
        "first error there.",
    ),
    logged(
        "cni.calico-datastore",
        "Calico does not reach or may not use its datastore",
        "CALICO_DATASTORE_TYPE, KUBERNETES_SERVICE_HOST or the etcd settings are wrong, its CRDs are missing, or its "
        "token has no role.",
        "Compare config.ps1 or the ConfigMap with a Linux node's; kubectl get crd | findstr projectcalico; restart "
        "calico-node.",
    ),
    logged(
        "cni.calico-addresses",
        "Calico hands out no address",
        "No pool selects this node, its blocks are full or bound to other nodes, or strictAffinity is off.",
        "calicoctl ipam show --show-blocks; calicoctl ipam check; set strictAffinity; look at the pools' nodeSelector "
        "and blockSize.",
    ),
    logged(
        "cni.calico-node-address",
        "Calico finds no address of the node",
        "Its autodetection sees no adapter that fits (IP_AUTODETECTION_METHOD), or the adapter has become a vEthernet.",
        "Set IP or IP_AUTODETECTION_METHOD (interface=vEthernet.*, or can-reach=ADDRESS) for calico-node and restart "
        "it.",
    ),
    logged(
        "cni.antrea-controller",
        "antrea-agent does not reach antrea-controller",
        "The controller's Service is not reached before rules of Services are there, or its CA has changed.",
        "Set serviceAddress or ANTREA_SERVICE_HOST to an address that the node reaches; look at the controller's pod; "
        "restart antrea-agent.",
    ),
    logged(
        "cni.antrea-ovs",
        "Antrea does not reach Open vSwitch",
        "ovsdb-server or ovs-vswitchd does not run, its driver is not signed or installed, or the bridge is missing.",
        "Get-Service ovsdb-server, ovs-vswitchd; Get-VMSwitchExtension shows whether OVS is enabled; run Antrea's "
        "Install-OVS.ps1 again.",
    ),
    logged(
        "cni.eks-adapter",
        "The adapter of an ENI is not found",
        "vpc-bridge looks for the ENI by its MAC address: it is not attached, or Windows has not brought it up.",
        advice(
            "Get-NetAdapter on the node; compare with the instance's ENIs; restart the machine if one is missing.",
            Ends.MACHINE,
        ),
    ),
    logged(
        "cni.azure-ipam",
        "azure-cns has no address for the pod",
        "Its pool has not grown yet: the subnet is full, the NodeNetworkConfig does not come, or Azure's host agent "
        "does not answer.",
        "kubectl get nodenetworkconfig -n kube-system NODE -o yaml; look at azure-cns' log and at the subnet's free "
        "addresses.",
    ),
    logged(
        "cni.plugin-failed",
        "A CNI plugin failed",
        "The plugin's own reason stands at the end of the line; without one it crashed, or printed something else than "
        "its answer.",
        "Look into the plugin's own log and the event log for its crash; run it by hand with the line's arguments.",
        severity=WARNING,
    ),
    logged(
        "hns.refused",
        "HNS refuses what it was asked for",
        "HNS' own reason and code stand at the end of the line.",
        (
            "Look at the event log Microsoft-Windows-Host-Network-Service-Admin at that time; hnsdiag list "
            "networks and endpoints shows what HNS has."
        ),
        severity=WARNING,
    ),
)
