# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What logs alone tell of programs that do not start, of the cluster and of joining it."""

from __future__ import annotations

from .cause import WARNING, Cause
from .logged import logged
from .remedies import REJOIN, advice, converge
from .remedy import Ends

CAUSES: tuple[Cause, ...] = (
    logged(
        "host.not-elevated",
        "A program has no rights to do it",
        "It does not run as an administrator or as SYSTEM, or a folder's ACL leaves SYSTEM out.",
        "Run the service as LocalSystem (sc.exe config SERVICE obj= LocalSystem); run tools in an elevated session.",
    ),
    logged(
        "start.unknown-flag",
        "A program does not know one of its arguments",
        "The argument was removed in the release that was swapped in, is misspelt, or belongs to another "
        "program; kubeadm-flags.env may have it (--pod-infra-container-image is gone in 1.35).",
        converge(
            text=(
                "Take the argument out of the service's command line (sc.exe qc SERVICE, nssm.exe get SERVICE "
                "AppParameters), or out of C:\\var\\lib\\kubelet\\kubeadm-flags.env, and start the service."
            )
        ),
    ),
    logged(
        "start.feature-gate",
        "A feature gate is unknown or locked in this release",
        "Gates are removed some releases after they are done; a locked one may not be set to another value.",
        converge(
            "kubelet",
            text=(
                "Take the gate out of --feature-gates, of a file in config.d, of config.yaml, and of ConfigMap "
                "kube-system/kubelet-config, from which each join writes config.yaml."
            ),
        ),
    ),
    logged(
        "start.kubelet-config",
        "kubelet's configuration cannot be used",
        "The file is not there (the node has not joined yet), a drop-in lacks apiVersion and kind, or a key has a "
        "value that this release or Windows refuses (userNamespaces, singleProcessOOMKill, enforceNodeAllocatable).",
        converge(
            "join",
            text=(
                "Without C:\\var\\lib\\kubelet\\config.yaml: join the node (kubeadm join). Else mend the key that "
                "the line names: in config.d, in config.yaml, or in ConfigMap kube-system/kubelet-config, from "
                "which each join writes config.yaml."
            ),
        ),
    ),
    logged(
        "start.client-ca",
        "kubelet does not find the cluster's CA file",
        "The path in its configuration is taken from the drive's root or kubelet's folder, and the file "
        "lies elsewhere.",
        "Put ca.crt where the line says, or write a full path (C:/etc/kubernetes/pki/ca.crt) into clientCAFile.",
    ),
    logged(
        "start.no-login",
        "kubelet has no way to log in",
        "kubelet.conf is not there or its certificate has run out, and there is no bootstrap kubeconfig: "
        "the join was not finished, or the node was off too long.",
        REJOIN.said(
            "Make a new token (kubeadm token create --print-join-command); with the node drained remove "
            "/etc/kubernetes/kubelet.conf and C:\\var\\lib\\kubelet\\pki on it, and join it again."
        ),
    ),
    logged(
        "cluster.certificate-time",
        "A certificate is not valid at this time",
        "The node's clock is wrong, or a certificate has run out.",
        "Compare the clock (w32tm /query /status); if it is right, renew the certificate that the line names (of the "
        "control plane: kubeadm certs renew all).",
    ),
    logged(
        "cluster.wrong-ca",
        "A certificate is not of the expected CA",
        "A kubeconfig of another cluster, an old CA after the cluster was recreated, or a proxy that opens TLS.",
        REJOIN.said(
            "Compare certificate-authority-data of the kubeconfig with ConfigMap kube-root-ca.crt; write "
            "the cluster's CA into the kubeconfig, and for the kubelet into /etc/kubernetes/pki/ca.crt. "
            "Where a proxy opens TLS, put the API server into NO_PROXY. A node of a cluster that was made "
            "anew joins again."
        ),
    ),
    logged(
        "cluster.certificate-name",
        "The API server's certificate is not for the address that is used",
        "The kubeconfig names the API server by an address or a name that its certificate does not have: a load "
        "balancer, a new address, an alias.",
        "Write an address that the certificate has into the kubeconfig, or add this one to the API server's "
        "certificate "
        "(kubeadm: apiServer.certSANs).",
    ),
    logged(
        "cluster.serving-certificate",
        "kubelet has no serving certificate that the cluster trusts",
        "With serverTLSBootstrap kubelet asks for one, and it was not approved; without it kubelet serves with one "
        "that it signed itself, without its address: logs, exec and metrics-server fail.",
        (
            "kubectl get csr, then kubectl certificate approve NAME of those with signer kubelet-serving; "
            "without serverTLSBootstrap set it, or give metrics-server --kubelet-insecure-tls."
        ),
    ),
    logged(
        "cluster.node-name",
        "The cluster does not resolve the Node's name",
        "The API server, or metrics-server, asks kubelet by the Node's name, which its DNS does not know, as the Node "
        "has no address of another type.",
        "kubectl get node -o wide: give the Node an InternalIP (--node-ip), or let the API server prefer it "
        "(--kubelet-preferred-address-types=InternalIP); or add the name to the DNS.",
    ),
    logged(
        "cluster.tunnel",
        "The tunnel to the node is not there",
        "This API server reaches kubelet by a tunnel that an agent on the node, or in the cluster, opens "
        "(konnectivity, "
        "k3s, RKE2): no agent is connected, so logs and exec fail.",
        "Look at the agent's pods or service and its log; restart it; let the node out to the server's tunnel port "
        "(k3s and RKE2: 6443 and 9345; konnectivity: 8132).",
    ),
    logged(
        "cluster.webhook-certificate",
        "A webhook's certificate is not trusted",
        "The API server calls an admission webhook, and its certificate is not of the CA in the configuration's "
        "caBundle, has run out, or has another name. No node is at fault.",
        "Renew the webhook's certificate and its caBundle together (its installer does, or cert-manager).",
    ),
    logged(
        "cluster.webhook-unreachable",
        "A webhook does not answer",
        "The API server calls an admission webhook whose pods do not run or cannot be reached: often one that runs "
        "on a "
        "Windows node, or on nodes that the API server does not reach.",
        "Look at the pods of the webhook's Service (kubectl get endpointslices); keep them on Linux nodes; set its "
        "failurePolicy for as long as it is away.",
    ),
    logged(
        "cluster.webhook-denied",
        "An admission webhook refuses the object",
        "A policy of the cluster does not allow it as it is; the line has its reason.",
        "Change what the line names, or exempt Windows workloads from the policy.",
        severity=WARNING,
    ),
    logged(
        "host.firewall-kubelet",
        "The API server does not reach kubelet",
        "Port 10250 of the node is closed by Windows' firewall or the cloud's, or the cluster has a wrong address of "
        "the node: logs and exec fail.",
        converge(
            "kubelet",
            text=(
                "Open TCP 10250 (New-NetFirewallRule -DisplayName kubelet -Direction Inbound -Protocol TCP "
                "-LocalPort 10250 -Action Allow), and in the cloud's rules; compare kubectl get node -o wide "
                "with the host."
            ),
        ),
    ),
    logged(
        "cluster.denied",
        "The cluster does not let the program do it",
        "Its token or certificate is not accepted, or it has no role: another node's name, a deleted "
        "Node, flanneld without its ClusterRole.",
        converge(
            "join",
            "flannel",
            "kube_proxy",
            text=(
                "Compare the name in the message with the Node's (kubectl get nodes); kubectl auth can-i with "
                "--as of that name shows what is missing: give it the role, or the program its own kubeconfig."
            ),
        ),
    ),
    logged(
        "start.runtime-pipe",
        "kubelet does not reach containerd",
        "containerd does not run, listens on another pipe, or kubelet was given another endpoint: one of Linux "
        "(unix://), or a pipe that is not written as a URL.",
        "Look at containerd's service and log; compare the address in its config.toml with "
        "--container-runtime-endpoint (containerRuntimeEndpoint in kubelet's file), which on Windows is "
        "npipe:////./pipe/containerd-containerd.",
    ),
    logged(
        "start.runtime-api",
        "containerd does not speak kubelet's CRI",
        "The CRI plugin is disabled or failed in config.toml, or containerd is older than 1.6 (kubelet "
        "1.26 and newer want CRI v1).",
        converge(
            "containerd",
            text=(
                "Look for 'skip loading plugin' in containerd's log; take cri out of disabled_plugins in "
                "config.toml; install containerd 1.6 or newer."
            ),
        ),
    ),
    logged(
        "start.port-in-use",
        "A port that the program listens on is taken",
        "Another process of the same service still runs, or Windows has reserved the port (excludedportrange).",
        "netstat -ano shows who has it; netsh interface ipv4 show excludedportrange tcp what is reserved.",
    ),
    logged(
        "start.node-ip",
        "kubelet's --node-ip is not an address of the host",
        "The host's address has changed, or the argument was copied.",
        converge(
            "kubelet",
            text=(
                "Write an address of Get-NetIPAddress into the kubelet's --node-ip and start it, or give the "
                "host its address back."
            ),
        ),
    ),
    logged(
        "cluster.unreachable",
        "The API server cannot be reached",
        "No route, a firewall, a wrong address in the kubeconfig, a name that DNS does not know, or a proxy setting.",
        "curl.exe -k https://ADDRESS:6443/healthz on the node; then the kubeconfig, DNS and NO_PROXY.",
    ),
    logged(
        "cluster.own-address",
        "The address of the API is the node's own",
        "The kubeconfig says 127.0.0.1 or localhost, where nothing listens on a Windows node: kubespray's nginx is on "
        "Linux nodes alone, and ConfigMaps kube-system/kube-proxy and kube-public/cluster-info may say it.",
        converge(
            "join",
            "flannel",
            "kube_proxy",
            text=(
                "Write an address that other machines reach into server: of the kubeconfigs, and of ConfigMaps "
                "kube-system/kube-proxy and kube-public/cluster-info, from which they are made."
            ),
            variables=("winkube_api_server",),
        ),
    ),
    logged(
        "cluster.tls-version",
        "Two programs have no TLS version in common",
        "tlsMinVersion of the kubelet's configuration (ConfigMap kube-system/kubelet-config, a file in config.d) or "
        "--tls-min-version of another server is higher than what its caller speaks.",
        converge(
            "kubelet",
            text="Bring the caller up to date, or lower tlsMinVersion where it is set and restart the kubelet.",
        ),
    ),
    logged(
        "start.no-kubeconfig",
        "A program knows no cluster",
        "It was given neither --kubeconfig nor the token of a service account. In a HostProcess container containerd "
        "before 1.7 lays that token below $CONTAINER_SANDBOX_MOUNT_POINT, where the program does not look.",
        "Give it a kubeconfig, or the pod its service account; for HostProcess containers take containerd 1.7 or "
        "newer.",
    ),
    logged(
        "cluster.proxy",
        "A proxy answers in place of the API server",
        "HTTPS_PROXY is set for the program, or for the machine, and NO_PROXY has neither the API server's name nor "
        "its address: the proxy does not answer, or refuses the way to it.",
        converge(
            text=(
                "Add the API server's name and address to NO_PROXY of the machine, or of the service, and start "
                "it again; services see the machine's at their start."
            ),
            variables=("winkube_no_proxy",),
        ),
    ),
    logged(
        "host.no-listener",
        "A program of the machine itself does not answer at its port",
        "Nothing listens there: the program did not start, ended, or listens on another port.",
        "The line names the port; start the program that it belongs to and read its log.",
    ),
    logged(
        "host.connection-cut",
        "Windows ended a connection of the host",
        "Making the first network moves the host's address to a virtual adapter, which ends what goes over the old "
        "one; a firewall's or antivirus' filter does the same.",
        "Try again: a switch is made once. If it goes on, look for programs that filter the network.",
        severity=WARNING,
    ),
    logged(
        "start.ends-at-once",
        "A service is paused by nssm",
        "Its program ended right after each start, so that nssm waits ever longer.",
        "Read the end of the program's log for the reason, mend it, then start the service again.",
    ),
    logged(
        "start.timeout",
        "A service did not answer Windows in time",
        "The program was registered as a service without --windows-service or log-runner, or takes more than 30 s.",
        converge(
            text=(
                "Give a program that knows it --windows-service, or register it by nssm.exe or "
                "kube-log-runner.exe; look at the disk where it takes more than 30 s."
            )
        ),
    ),
    logged(
        "start.account",
        "A service's account cannot log on",
        "Its password has changed, or the account may not log on as a service.",
        (
            "Run the service as LocalSystem (sc.exe config SERVICE obj= LocalSystem), or give the account "
            "its password and the right to log on as a service."
        ),
    ),
    logged(
        "start.dependency",
        "A service that another one needs did not start",
        "A service starts only after those that it depends on; one of them failed, is disabled, or is not there.",
        converge(text="sc.exe qc SERVICE names them: start those first; sc.exe config SERVICE depend= sets others."),
    ),
    logged(
        "start.service-state",
        "A service is not in the state that was expected",
        "It is disabled, not installed, installed already, stopped, or runs already.",
        converge(
            text=(
                "sc.exe query SERVICE and sc.exe qc SERVICE show what it is; sc.exe config SERVICE start= auto "
                "for one that is disabled."
            )
        ),
    ),
    logged(
        "start.ended",
        "A service's program ended by itself",
        "Windows says no more than that.",
        "Read the end of the program's log; if there is none, start the program by hand with the service's arguments.",
    ),
    logged(
        "start.kube-proxy-gate",
        "kube-proxy needs a feature gate for this network",
        "An overlay network or DSR needs WinOverlay or WinDSR in this old release.",
        converge(
            "kube_proxy",
            text=(
                "Give kube-proxy --feature-gates=WinOverlay=true (for DSR WinDSR=true), which releases before "
                "1.20 (1.33) need."
            ),
        ),
    ),
    logged(
        "host.disk-full",
        "The disk is full",
        "Images, logs or a dump have filled the drive.",
        "Free space (crictl rmi --prune), or move containerd's root to a larger drive.",
    ),
    logged(
        "host.no-memory",
        "The machine has no memory left",
        "Windows promises memory up to RAM and page file together; pods without limits, a small page file or a leak "
        "use it up.",
        "Get-Counter '\\Memory\\Committed Bytes' says how much; give pods limits, make the page file larger.",
    ),
    logged(
        "host.firewall-stopped",
        "A service that HNS needs does not answer",
        "HNS sets rules of Windows' firewall: the services mpssvc, BFE or, for nat, SharedAccess are disabled, often "
        "by a policy; or HNS itself does not run.",
        "Set mpssvc, BFE and hns to start and start them; switch the firewall's profiles off instead of its service.",
    ),
    logged(
        "kubelet.pleg",
        "kubelet waits for containerd",
        "Listing the pods' containers takes minutes: HCS or a CNI plugin hangs, the disk is too slow, or too many pods "
        "start at once.",
        advice(
            (
                "crictl ps on the node shows whether containerd answers; if it hangs, drain the node and "
                "restart it. Else start fewer pods at once, and containerd's root excluded from scans."
            ),
            Ends.PODS,
            Ends.MACHINE,
        ),
    ),
    logged(
        "start.socket-left",
        "A socket of the program's last run is in its way",
        "The machine went down without it being removed, and Windows opens such a file only as a socket.",
        "Stop the service, remove the file that the line names, start the service again.",
    ),
    logged(
        "start.program-missing",
        "A program is not where it is looked for",
        "It was not installed, or its folder is not in the Path that its service was started with.",
        converge(
            text=(
                "Put the program where the line looks for it, or its folder into the machine's Path; restart "
                "the machine after that, since services see the Path of its last start."
            ),
            ends=(Ends.MACHINE,),
        ),
    ),
    logged(
        "start.cloud-metadata",
        "The cloud's metadata cannot be reached",
        "Making the virtual switch took the route to 169.254.169.254, or the machine may not ask.",
        "Add the route again (New-NetRoute -DestinationPrefix 169.254.169.254/32 on the host's adapter) and start the "
        "service again.",
    ),
    logged(
        "start.config",
        "A program's configuration cannot be used",
        "A file, or a value in it, is missing, is not JSON, YAML or TOML, or is not allowed.",
        converge(text="The line names the file and the key: mend it there, and start the service."),
    ),
    logged(
        "start.kubeconfig",
        "A kubeconfig cannot be used",
        "The file is not there, names a user, a cluster or a certificate file that it does not have, or its credential"
        " plugin fails.",
        converge(
            "join",
            text=(
                "kubectl --kubeconfig FILE get nodes shows it: write the user, cluster or file that it names; "
                "kubeadm kubeconfig user makes one."
            ),
        ),
    ),
    logged(
        "start.key-pair",
        "A certificate or a key cannot be used",
        "The file is missing or empty, is not PEM, has a password, or the key is of another certificate.",
        advice(
            (
                "The line names the file: write certificate and key together again. kubelet's own: with a new "
                "bootstrap kubeconfig remove C:\\var\\lib\\kubelet\\pki\\kubelet-client-current.pem and start it."
            ),
            Ends.MEMBERSHIP,
        ),
    ),
    logged(
        "start.state-file",
        "A program's state file cannot be used",
        "It is damaged, or of another policy or release: kubelet's cpu_manager_state and memory_manager_state after a "
        "change of the policy, a checkpoint after a power loss.",
        "Stop the service, remove the file that the line names, start the service again.",
    ),
    logged(
        "start.database",
        "containerd's database is damaged",
        "meta.db was cut by a power loss, a full disk or two programs at once.",
        advice(
            "Drain the node, stop containerd, move its root away, start it again: all images are pulled again.",
            Ends.PODS,
        ),
    ),
    logged(
        "start.pipe",
        "A program cannot open its own pipe or socket",
        "Another program serves it already, an earlier one has not ended, or the account may not create it.",
        "Look which process serves it (handle.exe, or Get-Process of the same name), end it; run the service as "
        "LocalSystem.",
    ),
    logged(
        "start.instance",
        "The cloud does not know this machine",
        "kubelet or the cloud's controller looks the machine up by its Node's name, which is not the instance's, or "
        "lacks the rights to ask.",
        "Compare the Node's name with what the cloud calls the machine (AWS: the private DNS name); look at the "
        "machine's role.",
    ),
    logged(
        "join.version",
        "The releases of kubeadm, kubelet and the cluster do not fit",
        "kubeadm joins clusters of its own minor and one older, and a kubelet that is not newer than the API server.",
        converge(
            "kubelet",
            "join",
            text="Install kubeadm and kubelet of the control plane's release, then join.",
            variables=("winkube_kubernetes_version",),
        ),
    ),
    logged(
        "cluster.api-missing",
        "The cluster does not serve what is asked for",
        "The kind or its version is not there: a CustomResourceDefinition was not installed, or the API was removed in"
        " this release of Kubernetes.",
        "kubectl api-resources shows what there is; install the CRD, or a release of the program that fits the "
        "cluster.",
    ),
    logged(
        "cluster.overloaded",
        "The API server or etcd answers too slowly or with errors",
        "It is starting, overloaded, or its etcd is slow, full or without a leader (429, 5xx, leader changed).",
        "kubectl get --raw '/readyz?verbose'; look at the control plane's CPU and disk. No node is at fault.",
        severity=WARNING,
    ),
    logged(
        "cluster.not-https",
        "The other side does not speak TLS",
        "The address leads to a port without TLS: http in place of https, or a proxy.",
        "Compare scheme and port of the address with what listens there.",
    ),
    logged(
        "kubelet.request-denied",
        "kubelet refuses a request to its port",
        "The caller shows a certificate or a token that kubelet's webhook or CA does not accept, or has no role on "
        "nodes/proxy.",
        "Give the API server --kubelet-client-certificate of the cluster's CA, the caller a role on nodes/metrics and "
        "nodes/proxy; look at kubelet's authentication.",
    ),
    logged(
        "node.pressure",
        "kubelet evicts pods, as memory or disk is short",
        "A threshold of evictionHard was met: pods without limits, images, logs.",
        "kubectl describe node shows the condition; free disk (crictl rmi --prune) or give pods limits.",
        severity=WARNING,
    ),
    logged(
        "node.device",
        "A device is not handed to a pod",
        "The device plugin or the DRA driver does not run on this node, lost its registration when kubelet started, or"
        " has no healthy device.",
        "kubectl describe node shows what is allocatable; restart the plugin's pod, after kubelet.",
    ),
    logged(
        "host.counters",
        "Windows' performance counters cannot be read",
        "The counters are damaged, or their service is off: kubelet and exporters have no figures.",
        "lodctr /R as administrator, twice, then winmgmt /resyncperf; restart the program.",
    ),
    logged(
        "host.time",
        "The clocks of the machine and its peer differ",
        "A token or a certificate is not valid yet, or not any more, at the machine's time.",
        "w32tm /query /status and w32tm /resync; compare with a control plane node.",
    ),
    logged(
        "start.binary-held",
        "A program's file cannot be replaced",
        "The program runs, or an antivirus holds the file: Windows changes no image that is in use.",
        advice(
            (
                "Stop its service and end what is left of it (Get-Process), then do it again; a file that runs "
                "can be renamed out of the way."
            ),
            Ends.PODS,
        ),
    ),
    logged(
        "host.script-policy",
        "Windows runs no scripts of this kind",
        "The execution policy, mostly by a group policy, allows signed scripts only, or none.",
        "Get-ExecutionPolicy -List shows who set it; sign the script, or let the policy allow it (Set-ExecutionPolicy "
        "RemoteSigned).",
    ),
    logged(
        "host.cloud-denied",
        "The cloud refuses a request",
        "The machine or pod has no identity, or its identity lacks the role for it.",
        "The line names who asked and for what: give that role or policy, or the pod the identity that has it.",
    ),
    logged(
        "cluster.extension-api",
        "An API of an extension does not answer",
        "What serves it (metrics-server, an adapter, a webhook's server) does not run, cannot be reached by the API "
        "server, or is not ready, as it does not trust kubelet's certificates.",
        "kubectl get apiservices shows which; read the log of the pods behind its Service. The node is not at fault.",
    ),
    logged(
        "start.panic",
        "A program crashed",
        "A mistake in the program itself: the lines after the message say where.",
        (
            "Look for the first line of its own package among the program's issues; install a release that "
            "has it mended."
        ),
    ),
    logged(
        "start.failed",
        "A program says why it ended",
        "Its own reason stands at the end of the line.",
        "Mend what the line says; then start the service again.",
    ),
    logged(
        "start.containerd-config",
        "containerd refuses its configuration",
        "config.toml is not TOML, of a version that this containerd does not know, or has keys of another version.",
        converge(
            "containerd",
            text=(
                "containerd.exe config dump says what it reads: mend the line that it names; containerd.exe "
                "config migrate turns an older version into its own."
            ),
        ),
    ),
    logged(
        "start.containerd-twice",
        "containerd's pipe or database is in use",
        "Another containerd runs: started by hand, by Docker, or not yet ended.",
        "Stop the other one; then start the service.",
    ),
    logged(
        "join.token",
        "The join's token is not valid",
        "Tokens end after 24 hours.",
        "Make a new one on the control plane (kubeadm token create) and join again.",
    ),
    logged(
        "join.bindings",
        "Machines that join lack rights in the cluster",
        "The bindings of kubeadm for the group of bootstrap tokens are missing (rke2, k3s), or the token is of another "
        "group.",
        (
            "On a control plane node of kubeadm's: kubeadm init phase bootstrap-token. Elsewhere bind group "
            "system:bootstrappers:kubeadm:default-node-token to ClusterRoles system:node-bootstrapper and "
            "system:certificates.k8s.io:certificatesigningrequests:nodeclient, and let it read ConfigMaps "
            "kubeadm-config and kubelet-config."
        ),
    ),
    logged(
        "join.not-kubeadm",
        "The cluster lacks the ConfigMaps that kubeadm reads",
        "It was not made by kubeadm (rke2, k3s, k0s), or somebody has deleted kubeadm-config or kubelet-config of "
        "kube-system.",
        converge(
            "join",
            text=(
                "Where kubeadm made the cluster: kubeadm init phase upload-config all writes both ConfigMaps. "
                "Elsewhere give the kubelet a bootstrap kubeconfig (--bootstrap-kubeconfig) in place of kubeadm "
                "join."
            ),
            variables=("winkube_join",),
        ),
    ),
    logged(
        "join.anonymous",
        "The cluster answers nobody without credentials",
        "kubeadm asks for ConfigMap kube-public/cluster-info without any: the RoleBinding for system:anonymous was "
        "removed (kubespray's hardening), or kube-apiserver has --anonymous-auth=false.",
        converge(
            "join",
            text=(
                "Join by a discovery file with the token in it (discovery.file of JoinConfiguration); or let "
                "system:anonymous read kube-public/cluster-info again (RoleBinding "
                "kubeadm:bootstrap-signer-clusterinfo)."
            ),
        ),
    ),
    logged(
        "join.no-credentials",
        "kubeadm has no credentials for the join",
        "The kubeconfig of discovery.file has an address and a CA, and no token.",
        "Put the token into the user of that file, or into discovery.tlsBootstrapToken of the JoinConfiguration.",
    ),
    logged(
        "join.ca-hash",
        "The cluster's CA is not the expected one",
        "The hash is of another cluster, or its CA was changed.",
        "Take the hash again (kubeadm token create --print-join-command).",
    ),
    logged(
        "join.leftovers",
        "Something of an earlier join is there",
        "Files, a running kubelet or a Ready Node of that name.",
        REJOIN,
    ),
    logged(
        "join.not-admin",
        "kubeadm does not see that it is an administrator",
        "Up to 1.30 it cannot tell for SYSTEM; or the session is not elevated.",
        "Take kubeadm 1.31 or newer, or run it elevated as a user.",
    ),
    logged(
        "join.preflight",
        "kubeadm stops the join",
        "Its own reason stands in the line: a check of the machine, or a step, that failed.",
        converge("join", text="Mend what the line says; then join again."),
    ),
)
