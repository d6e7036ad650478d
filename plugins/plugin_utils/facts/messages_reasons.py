# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons that anybody may give, by whose they are: certificates, names, ports, permissions, accounts (message.py).

A certificate that a webhook's client does not trust is not the node's CA; a socket that cannot be bound is not a port.
"""

from __future__ import annotations

from . import windows_codes as win
from .message import Message, Rule
from .message_places import (
    ANY_CONTAINER,
    API,
    CLUSTER,
    CNS,
    ETCD,
    GMSA,
    KUBELET,
    LISTENING,
    METADATA,
    OWN_PORT,
    POD_NETWORK,
    PROBE,
    PROCESS,
    PROXY,
    PULL,
    SERVICE,
    SHARE,
    SOCKET,
    SPOKEN,
    STAGE,
    VOLUME,
    WEBHOOK,
)

_GO_X509 = "Go crypto/x509 verify.go"
_GO_NET = "Go net/dial.go"
_UNKNOWN_CA = "x509: certificate (?:signed by unknown authority|relies on legacy Common Name)"
_OTHER_NAME = (
    r"x509: (?:certificate is (?:valid for .*, not |not valid for any names)|cannot validate certificate for )"
)
_TIME = "certificate (?:has expired|is not valid yet|is not within its validity period)"
_NO_HOST = (
    r"server misbehaving|(?:lookup \S+: |dial tcp: )?(?<!\S)\S* ?no such host|Name or service not known|"
    r"temporary failure in name resolution"
)
_NO_ANSWER = (
    r"i/o timeout|connectex: |connect: .*refused|connection refused|actively refused|no route to host|TLS handshake "
    r"timeout|connection timed out|reset by peer|forcibly closed|Client\.Timeout|http2: (?:no cached connection was "
    "available|client connection lost)|unreachable (?:network|host)"
)
_OTHERS = (WEBHOOK, PULL, KUBELET, SHARE, METADATA, CNS, PROBE, ETCD, PROXY)
"""Those whose answers say nothing of the API server."""

PEERS: tuple[Message | Rule, ...] = (
    Message(
        "cluster.webhook-denied",
        r"admission webhook \S+ denied the request(?!.{0,80}g?msa|.{0,80}cred ?spec)",
        "kubernetes/apiserver pkg/admission/plugin/webhook/errors/statuserror.go",
    ),
    Rule("cluster.webhook-certificate", ("x509: |tls: ",), _GO_X509, doing=(WEBHOOK,)),
    Rule(
        "cluster.webhook-unreachable",
        (
            *(
                _NO_ANSWER,
                _NO_HOST,
                "context deadline exceeded|no endpoints available for service|EOF|service .* not found",
            ),
            "unable to handle the request|canceled while waiting",
        ),
        "kubernetes/apiserver pkg/admission/plugin/webhook/errors; kubernetes-sigs/windows-gmsa#29",
        doing=(WEBHOOK,),
    ),
    Rule(
        "start.cloud-metadata",
        (_NO_ANSWER, "context deadline exceeded|connection was aborted"),
        "aws-ia/terraform-aws-eks-blueprints#193; rancher/rancher#20156",
        doing=(METADATA,),
    ),
    Message(
        "start.cloud-metadata",
        "EC2 instance metadata is not available",
        "kubernetes-sigs/aws-ebs-csi-driver pkg/cloud/metadata",
    ),
    Rule(
        "cni.azure-cns",
        (_NO_ANSWER, "dial tcp|http request failed|timeout|EOF"),
        "Azure/AKS#4342; Azure/azure-container-networking cns/client/client.go",
        doing=(CNS,),
    ),
    Message(
        "flannel.etcd",
        r"(?:flannel|SubnetManager|network config|acquire (?:subnet|lease)).{0,300}(?:etcd cluster is unavailable or "
        r"misconfigured|given peers are not reachable|dial tcp 127\.0\.0\.1:(?:2379|4001))",
        "flannel-io/flannel main.go, pkg/subnet/etcd; etcd-io/etcd client/v2",
    ),
    Rule("image.registry-certificate", ("x509: |tls: ",), _GO_X509, doing=(PULL,)),
    Message(
        "image.platform",
        "no match for platform in manifest|no matching manifest for (?:windows|unknown)|"
        "no image found in (?:image index|manifest list) for |"
        "image operating "
        r"system \"?linux\"? cannot be used",
        "containerd/containerd core/images/image.go",
        over=("image.missing",),
    ),
    Message(
        "image.pause",
        "failed to (?:get|inspect|pull) (?:and unpack )?sandbox image",
        "containerd/containerd internal/cri/server/sandbox_run.go: it asks for no image but sandbox_image",
        over=("image.registry-unreachable", "image.registry-denied", "image.missing"),
    ),
    Rule(
        "image.registry-unreachable",
        (r"\b50[24] (?:Bad Gateway|Gateway Time-?out)|status(?: code)?:? 50[24]\b",),
        "RFC 9110, 15.6.3, 15.6.5: what stands between answers; containerd/containerd#5588",
        doing=(PULL,),
    ),
    Message(
        "image.registry-denied",
        r"toomanyrequests: |pull rate limit|unauthorized: authentication required",
        "distribution/distribution registry/api/errcode; docs.docker.com/docker-hub/usage/pulls",
    ),
    Rule(
        "image.registry-denied",
        (
            r"pull access denied|insufficient_scope|toomanyrequests|unexpected status(?: code)?\S*(?: from \S+ "
            r"request to "
            r"\S+)?(?: \S+)?: (?:401|403|404|429)|no basic auth "
            r"credentials|"
            r"unauthorized: |denied: |\b40[13] (?:Unauthorized|Forbidden)|"
            r"\"code\": ?\"(?:UNAUTHORIZED|DENIED|TOOMANYREQUESTS)\"",
        ),
        "containerd/containerd core/remotes/docker/resolver.go",
        doing=(PULL,),
    ),
    Rule(
        "image.missing",
        (
            r"(?:failed to resolve reference|Failed to pull|pull).{0,200}: not found|manifest unknown|(?:MANIFEST|"
            r"NAME)_UNKNOWN|repository "
            r"does not exist|[Tt]ag \S+ (?:was )?not found\b|[Mm]anifest for \S+ not found\b",
        ),
        "containerd/containerd core/remotes/docker/resolver.go",
        doing=(PULL,),
    ),
    Rule(
        "image.registry-unreachable",
        ("failed to do request: (?:Head|Get)|proxyconnect tcp|(?:407 )?Proxy Authentication", _NO_ANSWER, _NO_HOST),
        "containerd/containerd core/remotes/docker/resolver.go",
        doing=(PULL,),
    ),
    Rule("cluster.proxy", ("proxyconnect tcp",), "Go net/http transport.go, dialConn", doing=(API,)),
    Rule("host.proxy", ("proxyconnect tcp|407 Proxy Authentication",), "Go net/http transport.go, dialConn"),
    Message(
        "cluster.tunnel",
        r"No agent available|konnectivity-server.{0,200}(?:fail|error|time(?:d )?out|refused)|"
        r"proxy error from \S+ while dialing|websocket.{0,80}tunnel(?: is)? (?:not connected|closed|disconnect)|"
        "failed to find Session for client",
        "kubernetes-sigs/apiserver-network-proxy pkg/server/server.go; k3s pkg/daemons/control/tunnel.go",
    ),
    Rule(
        "cluster.serving-certificate",
        ("remote error: tls: internal error", "x509: "),
        "kubernetes/kubernetes pkg/kubelet/certificate/kubelet.go; kubernetes-sigs/metrics-server#196",
        doing=(KUBELET,),
        never=(WEBHOOK, PULL),
    ),
    Message(
        "cluster.serving-certificate",
        "no serving certificate available for the kubelet",
        "kubernetes/kubernetes pkg/kubelet/certificate/kubelet.go",
    ),
    Rule(
        "cluster.node-name",
        (_NO_HOST, "no preferred addresses found"),
        "kubernetes/apiserver pkg/util/proxy; kubernetes-sigs/metrics-server pkg/utils/address_resolver.go",
        doing=(KUBELET,),
        never=(WEBHOOK, PULL),
    ),
    Rule(
        "host.firewall-kubelet",
        (rf":10250\b.*(?:{_NO_ANSWER}|timed out|no route)",),
        "kubernetes/kubernetes#71130; Azure/ACS#108; microsoft/SDN#264",
        doing=(KUBELET,),
        never=(WEBHOOK, PROBE),
    ),
    Rule(
        "cluster.proxy",
        (
            r"\b(?:Get|Post|Put|Patch|Head|Delete) \"?https://[^\"\s]+\"?: (?:Forbidden|Proxy Authentication Required|"
            r"Bad Gateway|Service Unavailable|Gateway Timeout)\s*$",
        ),
        "Go net/http transport.go, dialConn: the proxy's answer to CONNECT; kubernetes/kubernetes#96171",
        doing=CLUSTER,
        never=(PULL, WEBHOOK),
    ),
    Rule(
        "container.gmsa",
        (
            "failed to .{0,80}credential ?spec|credential ?spec.{0,80}(?:not found|failed|denied|does not exist)|"
            r"gmsa.{0,80}(?:denied|not authorized)|cred ?spec .{0,80}(?:does not exist|not found|invalid)|"
            "not authorized to use g?MSA",
        ),
        "kubernetes-sigs/windows-gmsa admission-webhook; microsoft/hcsshim internal/hcsoci/credentials.go",
        doing=(GMSA,),
    ),
    Rule(
        "container.gmsa-domain",
        (
            *(win.ERROR_NO_SUCH_DOMAIN, win.ERROR_NO_LOGON_SERVERS, win.ERROR_TRUSTED_RELATIONSHIP_FAILURE),
            r"No credentials are available in the security|0x8009030e|cannot contact a domain controller|"
            r"ERROR_NO_LOGON_SERVERS|ERROR_NO_SUCH_DOMAIN|NERR_DCNotFound|0x51f\b|0x54b\b",
        ),
        "learn.microsoft.com Troubleshoot gMSAs for Windows containers, nltest; microsoft/SDN#339",
        doing=(GMSA, ANY_CONTAINER),
        never=(SHARE, PROCESS),
    ),
)
"""Of one peer each: they stand over what is said in general."""

GENERAL: tuple[Message | Rule, ...] = (
    Rule(
        "container.linux-user",
        (r"user ?name or password is incorrect.{0,600}\"User\\*\": ?\\*\"\d",),
        "prometheus-operator/prometheus-operator#2712: runAsUser becomes the name of a user",
        never=(SHARE, STAGE, VOLUME, SERVICE),
    ),
    Rule(
        "container.user",
        (
            *(win.ERROR_NONE_MAPPED, win.ERROR_LOGON_FAILURE, win.ERROR_ACCOUNT_RESTRICTION),
            *(win.ERROR_PASSWORD_EXPIRED, win.ERROR_ACCOUNT_DISABLED, win.ERROR_PASSWORD_MUST_CHANGE),
            "user name could not be found",
        ),
        "learn.microsoft.com ERROR_LOGON_FAILURE (1326) to ERROR_ACCOUNT_DISABLED (1331), ERROR_NONE_MAPPED (1332), "
        "ERROR_PASSWORD_MUST_CHANGE (1907), NERR_UserNotFound (2221): what LogonUser answers",
        doing=(ANY_CONTAINER, PROCESS),
        never=(SHARE, STAGE, VOLUME, SERVICE),
    ),
    Rule("host.not-elevated", (win.ERROR_ACCESS_DENIED,), "learn.microsoft.com Service Security", doing=(SERVICE,)),
    Rule(
        "start.timeout",
        (
            win.ERROR_SERVICE_REQUEST_TIMEOUT,
            r"timeout was reached \(\d+ milliseconds\) while waiting for the \S+ service|"
            r"timeout \(\d+ milliseconds\) was reached while waiting for a transaction response",
        ),
        "kubernetes/kubernetes#125119; Azure/aks-engine#351; Service Control Manager, events 7009 and 7011",
    ),
    Rule(
        "start.account",
        (
            *(win.ERROR_SERVICE_LOGON_FAILED, win.ERROR_INVALID_SERVICE_ACCOUNT, win.ERROR_LOGON_TYPE_NOT_GRANTED),
            "did not start due to a logon failure",
        ),
        "learn.microsoft.com ERROR_SERVICE_LOGON_FAILED (1069), ERROR_INVALID_SERVICE_ACCOUNT (1057)",
    ),
    Rule(
        "start.dependency",
        (
            *(win.ERROR_SERVICE_DEPENDENCY_FAIL, win.ERROR_SERVICE_DEPENDENCY_DELETED),
            r"dependency service or group failed to start|StartService (?:failed|error) \((?:code )?1068|"
            r"service depends on the .{1,80} service which failed to start",
        ),
        "learn.microsoft.com ERROR_SERVICE_DEPENDENCY_FAIL (1068), event 7001 of the Service Control Manager",
    ),
    Rule(
        "services.deleting",
        (win.ERROR_SERVICE_MARKED_FOR_DELETE, "specified service has been marked for deletion"),
        "learn.microsoft.com ERROR_SERVICE_MARKED_FOR_DELETE (1072)",
    ),
    Rule(
        "start.socket-left",
        (
            *(win.WSAEADDRINUSE, win.WSAEACCES, win.ERROR_CANT_ACCESS_FILE),
            r"(?:kubelet|csi)\S{0,260}\.sock\b.*cannot be accessed by the system",
        ),
        "kubernetes/kubernetes#107258; learn.microsoft.com ERROR_CANT_ACCESS_FILE (1920)",
        doing=(SOCKET,),
    ),
    Rule(
        "start.port-in-use",
        (
            win.WSAEADDRINUSE,
            r"\bPort \d+ is in use|address already in use|(?<!provided )port is already allocated|"
            "Ports are not available",
        ),
        "learn.microsoft.com WSAEADDRINUSE (10048)",
        never=(SOCKET,),
    ),
    Message(
        "start.port-in-use",
        r"\blisten (?:tcp|udp)\d? \S*: bind: .{0,60}forbidden by its access|"
        r"(?:Sockets\.SocketException \(10013\)|\[WinError 10013\])(?!.{0,600}\bConnect)",
        "learn.microsoft.com WSAEACCES (10013); Go net/listen.go",
    ),
    Rule(
        "start.port-in-use",
        (win.WSAEACCES,),
        "learn.microsoft.com WSAEACCES (10013)",
        doing=(LISTENING, "starting", SPOKEN),
        never=(SOCKET,),
    ),
    Rule("cluster.certificate-time", (_TIME,), "Go crypto/x509 verify.go (CertificateInvalidError)", never=_OTHERS),
    Rule("cluster.wrong-ca", (_UNKNOWN_CA,), _GO_X509, doing=CLUSTER, never=_OTHERS),
    Rule("cluster.certificate-name", (_OTHER_NAME,), _GO_X509, doing=CLUSTER, never=_OTHERS),
    Rule(
        "cni.plugin-denied",
        (r"\bunauthorized\b|provide credentials|token (?:has |is )?expired", _UNKNOWN_CA),
        "projectcalico/calico#5712, #8379; Go crypto/x509: its kubeconfig has the CA of a cluster that is gone",
        doing=(POD_NETWORK,),
        never=(PULL,),
    ),
    Rule(
        "start.no-login",
        (r": Unauthorized\b|provide credentials",),
        "kubernetes/kubeadm#809: a bootstrap token that has run out",
        doing=("getting its certificate",),
        over=("cluster.denied",),
    ),
    Rule(
        "cluster.denied",
        (
            r"is forbidden: (?:User|node) |(?:cannot|is not allowed to) modify node\b|"
            r"(?:User \"[^\"]*\" cannot|is not allowed to) (?:get|list|watch|create|update|patch|delete|use|"
            r"impersonate) |system:anonymous|unknown (?:node|user) for|"
            r"(?:: |err=\"?)Unauthorized\b|the server "
            r"has asked for the client to provide credentials|connection is unauthorized",
        ),
        "kubernetes/apiserver pkg/endpoints/handlers/responsewriters/errors.go",
        doing=CLUSTER,
        never=(WEBHOOK, PULL, SHARE, KUBELET, GMSA),
    ),
    Rule(
        "cluster.unreachable",
        (
            rf"dial tcp \S+: (?:{_NO_ANSWER})|dial tcp: lookup \S+: no such host|net/http: TLS handshake timeout|"
            r"no route to host|context deadline exceeded \(Client\.Timeout|http2: (?:no cached connection was "
            r"available|"
            "client connection lost)",
        ),
        _GO_NET,
        doing=CLUSTER,
        never=(*_OTHERS, OWN_PORT, SOCKET, VOLUME, STAGE),
    ),
)
"""Of the cluster and of the machine, where no peer claims it."""
