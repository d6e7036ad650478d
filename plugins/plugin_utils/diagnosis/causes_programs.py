# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What logs alone tell of programs that do not start, of the cluster and of joining it."""

from __future__ import annotations

from .check import Check
from .checks_logs import said
from .finding import WARNING

REJOIN_IT = "Let the node join again: playbooks/repair.yml -e winkube_repair=rejoin; drain it first."

CHECKS: tuple[Check, ...] = (
    said(
        "host.not-elevated",
        "A program has no rights to do it",
        "It does not run as an administrator or as SYSTEM, or a folder's ACL leaves SYSTEM out.",
        "Run the service as LocalSystem (sc.exe config <service> obj= LocalSystem); run tools in an elevated session.",
    ),
    said(
        "start.unknown-flag",
        "A program does not know one of its arguments",
        "The argument was removed in the release that was swapped in, is misspelt, or belongs to another "
        "program; kubeadm-flags.env may have it (--pod-infra-container-image is gone in 1.35).",
        "Run site.yml with the service's tag: it leaves out what the release does not know. Look into "
        "C:\\var\\lib\\kubelet\\kubeadm-flags.env too.",
    ),
    said(
        "start.feature-gate",
        "A feature gate is unknown or locked in this release",
        "Gates are removed some releases after they are done; a locked one may not be set to another value.",
        "Take the gate out of the arguments or the configuration.",
    ),
    said(
        "start.kubelet-config",
        "kubelet's configuration cannot be used",
        "The file is not there (the node has not joined yet), has a key that this release does not know, "
        "or a value that Windows does not have (cgroups, enforceNodeAllocatable).",
        "Join the node (site.yml with the tag join), or mend the key that the line names.",
    ),
    said(
        "start.client-ca",
        "kubelet does not find the cluster's CA file",
        "The path in its configuration is taken from the drive's root or kubelet's folder, and the file "
        "lies elsewhere.",
        "Put ca.crt where the line says, or write a full path (C:/etc/kubernetes/pki/ca.crt) into clientCAFile.",
    ),
    said(
        "start.no-login",
        "kubelet has no way to log in",
        "kubelet.conf is not there or its certificate has run out, and there is no bootstrap kubeconfig: "
        "the join was not finished, or the node was off too long.",
        REJOIN_IT,
    ),
    said(
        "cluster.certificate-time",
        "A certificate is not valid at this time",
        "The node's clock is wrong, or a certificate has run out.",
        "Compare the clock (w32tm /query /status); if it is right, renew the certificate (rejoin for kubelet's).",
    ),
    said(
        "cluster.wrong-ca",
        "A certificate is not of the expected CA",
        "A kubeconfig of another cluster, an old CA after the cluster was made anew, or a proxy that opens TLS.",
        REJOIN_IT,
    ),
    said(
        "cluster.serving-certificate",
        "kubelet has no certificate to serve with",
        "With serverTLSBootstrap kubelet asks for one, and nobody has approved it: logs and exec fail.",
        "kubectl get csr, then kubectl certificate approve <name> of those with signer kubelet-serving.",
    ),
    said(
        "host.firewall-kubelet",
        "The API server does not reach kubelet",
        "Port 10250 of the node is closed by Windows' firewall or the cloud's, or the cluster has a wrong address of "
        "the node: logs and exec fail.",
        "Run site.yml with the tag kubelet, which opens the port; compare kubectl get node -o wide with the host.",
    ),
    said(
        "cluster.denied",
        "The cluster does not let the program do it",
        "Its token or certificate is not accepted, or it has no role: another node's name, a deleted "
        "Node, flanneld without its ClusterRole.",
        "Compare the name in the message with the Node's; run site.yml with the tags join, flannel and kube_proxy.",
    ),
    said(
        "start.runtime-pipe",
        "kubelet does not reach containerd",
        "containerd does not run, listens on another pipe, or kubelet was given another endpoint.",
        "Look at containerd's service and log; compare its address with --container-runtime-endpoint.",
    ),
    said(
        "start.runtime-api",
        "containerd does not speak kubelet's CRI",
        "The CRI plugin is disabled or failed in config.toml, or containerd is older than 1.6 (kubelet "
        "1.26 and newer want CRI v1).",
        "Look for 'skip loading plugin' in containerd's log; run site.yml with the tag containerd.",
    ),
    said(
        "start.port-in-use",
        "A port that the program listens on is taken",
        "Another process of the same service still runs, or Windows has reserved the port (excludedportrange).",
        "netstat -ano shows who has it; netsh interface ipv4 show excludedportrange tcp what is reserved.",
    ),
    said(
        "start.node-ip",
        "kubelet's --node-ip is none of the host's addresses",
        "The host's address has changed, or the argument was copied.",
        "Run site.yml with the tag kubelet, or give the host its address back.",
    ),
    said(
        "cluster.unreachable",
        "The API server cannot be reached",
        "No route, a firewall, a wrong address in the kubeconfig, a name that DNS does not know, or a proxy setting.",
        "curl.exe -k https://<address>:6443/healthz on the node; then the kubeconfig, DNS and NO_PROXY.",
    ),
    said(
        "start.no-kubeconfig",
        "A program knows no cluster",
        "It was given neither --kubeconfig nor the token of a service account. In a HostProcess container containerd "
        "before 1.7 lays that token below $CONTAINER_SANDBOX_MOUNT_POINT, where the program does not look.",
        "Give it a kubeconfig, or the pod its service account; for HostProcess containers take containerd 1.7 or "
        "newer.",
    ),
    said(
        "cluster.proxy",
        "A proxy answers in place of the API server",
        "HTTPS_PROXY is set for the program, or for the machine, and NO_PROXY has neither the API server's name nor "
        "its address: the proxy refuses the way to it.",
        "Add the API server to winkube_no_proxy and run site.yml; for a program outside of it to NO_PROXY in its "
        "environment.",
    ),
    said(
        "host.no-listener",
        "A program of the machine itself does not answer at its port",
        "Nothing listens there: the program did not start, ended, or listens on another port.",
        "The line names the port; start the program that it belongs to and read its log.",
    ),
    said(
        "host.connection-cut",
        "Windows ended a connection of the host",
        "Making the first network moves the host's address to a virtual adapter, which ends what goes over the old "
        "one; a firewall's or antivirus' filter does the same.",
        "Try again: a switch is made once. If it goes on, look for programs that filter the network.",
        severity=WARNING,
    ),
    said(
        "start.ends-at-once",
        "A service is paused by nssm",
        "Its program ended right after each start, so that nssm waits ever longer.",
        "Read the end of the program's log for the reason, mend it, then start the service again.",
    ),
    said(
        "start.timeout",
        "A service did not answer Windows in time",
        "The program was registered as a service without --windows-service or log-runner, or takes more than 30 s.",
        "Run site.yml with the service's tag, which registers it rightly.",
    ),
    said(
        "start.account",
        "A service's account cannot log on",
        "Its password has changed, or the account may not log on as a service.",
        "Run the service as LocalSystem (sc.exe config <service> obj= LocalSystem), or give the account its password "
        "and the right to log on as a service.",
    ),
    said(
        "start.dependency",
        "A service that another one needs did not start",
        "A service starts only after those that it depends on; one of them failed, is disabled, or is not there.",
        "sc.exe qc <service> names them; start those first. Run site.yml with the service's tag, which "
        "sets them right.",
    ),
    said(
        "start.service-state",
        "A service is not in the state that was expected",
        "It is disabled, not installed, installed already, stopped, or runs already.",
        "sc.exe query and sc.exe qc <service> show what it is; run site.yml with the service's tag.",
    ),
    said(
        "start.ended",
        "A service's program ended by itself",
        "Windows says no more than that.",
        "Read the end of the program's log; if there is none, start the program by hand with the service's arguments.",
    ),
    said(
        "start.kube-proxy-gate",
        "kube-proxy needs a feature gate for this network",
        "An overlay network or DSR needs WinOverlay or WinDSR in this old release.",
        "Run site.yml with the tag kube_proxy, which sets the gates that the release needs.",
    ),
    said(
        "host.disk-full",
        "The disk is full",
        "Images, logs or a dump have filled the drive.",
        "Free space (crictl rmi --prune), or move containerd's root to a larger drive.",
    ),
    said(
        "host.no-memory",
        "The machine has no memory left",
        "Windows promises memory up to RAM and page file together; pods without limits, a small page file or a leak "
        "use it up.",
        "Get-Counter '\\Memory\\Committed Bytes' says how much; give pods limits, make the page file larger.",
    ),
    said(
        "host.firewall-stopped",
        "A service that HNS needs does not answer",
        "HNS sets rules of Windows' firewall: the services mpssvc, BFE or, for nat, SharedAccess are disabled, often "
        "by a policy; or HNS itself does not run.",
        "Set mpssvc, BFE and hns to start and start them; switch the firewall's profiles off instead of its service.",
    ),
    said(
        "kubelet.pleg",
        "kubelet waits for containerd",
        "Listing the pods' containers takes minutes: HCS or a CNI plugin hangs, the disk is too slow, or too many pods "
        "start at once.",
        "crictl ps on the node shows whether containerd answers; if it hangs, drain the node and restart it. Else "
        "start fewer pods at once, and containerd's root excluded from scans.",
    ),
    said(
        "start.socket-left",
        "A socket of the program's last run is in its way",
        "The machine went down without it being removed, and Windows opens such a file only as a socket.",
        "Stop the service, remove the file that the line names, start the service again.",
    ),
    said(
        "start.program-missing",
        "A program is not where it is looked for",
        "It was not installed, or its folder is not in the Path that its service was started with.",
        "Run site.yml with the program's tag; restart the machine after the machine's Path has changed.",
    ),
    said(
        "start.cloud-metadata",
        "The cloud's metadata cannot be reached",
        "Making the virtual switch took the route to 169.254.169.254, or the machine may not ask.",
        "Add the route again (New-NetRoute -DestinationPrefix 169.254.169.254/32 on the host's adapter) and start the "
        "service again.",
    ),
    said(
        "start.panic",
        "A program crashed",
        "A mistake in the program itself: the lines after the message say where.",
        "Look for the first line of its own package among the program's issues; install a release that has it mended. "
        "kube-proxy: restart the service hns first.",
    ),
    said(
        "start.failed",
        "A program says why it ended",
        "Its own reason stands at the end of the line.",
        "Mend what the line says; then start the service again.",
    ),
    said(
        "start.containerd-config",
        "containerd refuses its configuration",
        "config.toml is no TOML, of a version that this containerd does not know, or has keys of another version.",
        "Run site.yml with the tag containerd; containerd.exe config dump says what it reads.",
    ),
    said(
        "start.containerd-twice",
        "containerd's pipe or database is in use",
        "Another containerd runs: started by hand, by Docker, or not yet ended.",
        "Stop the other one; then start the service.",
    ),
    said(
        "join.token",
        "The join's token is not valid",
        "Tokens end after 24 hours.",
        "Make a new one on the control plane (kubeadm token create) and join again.",
    ),
    said(
        "join.ca-hash",
        "The cluster's CA is not the expected one",
        "The hash is of another cluster, or its CA was changed.",
        "Take the hash anew (kubeadm token create --print-join-command).",
    ),
    said(
        "join.leftovers",
        "Something of an earlier join is there",
        "Files, a running kubelet or a Ready Node of that name.",
        REJOIN_IT,
    ),
    said(
        "join.not-admin",
        "kubeadm does not see that it is an administrator",
        "Up to 1.30 it cannot tell for SYSTEM; or the session is not elevated.",
        "Take kubeadm 1.31 or newer, or run it elevated as a user.",
    ),
    said(
        "join.preflight",
        "kubeadm stops the join",
        "Its own reason stands in the line: a check of the machine, or a step, that failed.",
        "Mend what the line says; then run site.yml with the tag join again.",
    ),
)
