"""kubeadm.exe's input, judged by kubernetes v1.37.1 cmd/kubeadm/app/util/config/joinconfiguration.go.

What `kubeadm join` is told: its configuration file or its flags.

Sources: kubernetes cmd/kubeadm/app/util/config/joinconfiguration.go, app/apis/kubeadm/{v1beta3,v1beta4}/types.go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from tests.lab.cluster.client import windows
from tests.lab.machine import image
from tests.lab.machine.errors import WinError
from tests.lab.programs.flags import Flags

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

DEFAULT_SOCKET = "npipe:////./pipe/containerd-containerd"
GROUP = "kubeadm.k8s.io/"
_TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}")


class JoinError(Exception):
    """kubeadm ends with 1; the text is its error."""


@dataclass(frozen=True)
class Join:
    """hostname: the computer's; extra: kubeletExtraArgs."""

    server: str
    token: str
    tls_token: str
    ca_hashes: tuple[str, ...]
    unsafe: bool
    name: str
    hostname: str
    socket: str
    taints: tuple[dict[str, str], ...] = ()
    extra: dict[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    ca_path: str = "C:\\etc\\kubernetes\\pki\\ca.crt"
    file: str = ""
    """The kubeconfig of file discovery."""
    patches: str = ""
    """The folder of patches."""


def api_versions(minor: int) -> list[str]:
    """The forms that a release reads without a switch. Source: doc.go of v1beta3 (1.22) and v1beta4 (1.31)."""
    return ["v1beta3", *(["v1beta4"] if minor >= 31 else []), *(["v1beta2"] if minor < 27 else [])]


def read(node: SimulatedNode, minor: int, flags: Flags) -> Join:
    """JoinError with kubeadm's words."""
    document = _document(node, minor, flags.text("config")) if flags.given("config") else _of_flags(flags)
    discovery = document.get("discovery") or {}
    bootstrap = discovery.get("bootstrapToken") or {}
    file = str((discovery.get("file") or {}).get("kubeConfigPath") or "")
    if not bootstrap and not file:
        raise JoinError('discovery: Invalid value: "": bootstrapToken or file must be set')
    if bootstrap and file:
        raise JoinError('discovery: Invalid value: "": bootstrapToken and file cannot both be set')
    if file:
        invalid = f'discovery.file.kubeConfigPath: Invalid value: "{file}": '
        if re.match(r"(?!https:)[A-Za-z][A-Za-z0-9+.-]*:", file):
            # Go's url.Parse takes the drive for a scheme. Source: apis/kubeadm/validation/validation.go,
            # ValidateDiscoveryKubeConfigPath, v1.22.17 to v1.37.2.
            raise JoinError(f"{invalid}if a URL is used, the scheme must be https")
        if not node.drive.is_file(windows(file, "C:\\")):
            raise JoinError(f"{invalid}not a valid HTTPS URL or a file on disk")
        return _join(
            node, document, flags, file=windows(file, "C:\\"), tls_token=str(discovery.get("tlsBootstrapToken") or "")
        )
    token = str(bootstrap.get("token") or "")
    if not _TOKEN.fullmatch(token):
        raise JoinError(
            f'discovery.bootstrapToken.token: Invalid value: "{_shown(token)}": the bootstrap token is invalid'
        )
    hashes = tuple(str(item) for item in bootstrap.get("caCertHashes") or [])
    unsafe = bool(bootstrap.get("unsafeSkipCAVerification"))
    if not hashes and not unsafe:
        raise JoinError(
            'discovery.bootstrapToken.caCertHashes: Invalid value: "": using token-based discovery without '
            "caCertHashes can be unsafe. Set unsafeSkipCAVerification as true in your kubeadm config file or pass "
            "--discovery-token-unsafe-skip-ca-verification flag to continue"
        )
    endpoint = str(bootstrap.get("apiServerEndpoint") or "")
    if ":" not in endpoint:
        raise JoinError(
            f'discovery.bootstrapToken.apiServerEndpoint: Invalid value: "{endpoint}": address: missing port'
        )
    return _join(
        node,
        document,
        flags,
        server=f"https://{endpoint}",
        token=token,
        tls_token=str(discovery.get("tlsBootstrapToken") or token),
        ca_hashes=hashes,
        unsafe=unsafe,
    )


def _join(
    node: SimulatedNode,
    document: dict[str, Any],
    flags: Flags,
    *,
    server: str = "",
    token: str = "",
    tls_token: str = "",
    ca_hashes: tuple[str, ...] = (),
    unsafe: bool = False,
    file: str = "",
) -> Join:
    """What does not hang on the way of discovery. JoinError."""
    own = document.get("nodeRegistration") or {}
    hostname = image.computer_name(node.registry).lower()
    extra = own.get("kubeletExtraArgs") or {}
    if isinstance(extra, list):
        extra = {str(item["name"]): str(item["value"]) for item in extra}
    name = str(extra.get("hostname-override") or own.get("name") or hostname)
    ignored = [*(own.get("ignorePreflightErrors") or []), *flags.text("ignore-preflight-errors").split(",")]
    ca_path = str(document.get("caCertPath") or "C:/etc/kubernetes/pki/ca.crt")
    rooted = ca_path[1:3] in {":/", ":\\"} or ca_path[:1] in {"/", "\\"}
    if not rooted or not ca_path.endswith(".crt"):  # app/apis/kubeadm/validation/validation.go
        raise JoinError(f'caCertPath: Invalid value: "{ca_path}": the ca certificate path must be an absolute path')
    patches = str((document.get("patches") or {}).get("directory") or "")
    return Join(
        server,
        token,
        tls_token,
        ca_hashes,
        unsafe,
        name,
        hostname,
        str(own.get("criSocket") or DEFAULT_SOCKET),
        tuple(dict(item) for item in own.get("taints") or []),
        {str(key): str(value) for key, value in extra.items()},
        frozenset(item.strip().lower() for item in ignored if item.strip()),
        windows(ca_path, "C:\\"),
        file,
        windows(patches, "C:\\") if patches else "",
    )


def _shown(token: str) -> str:
    return f"{token[:6]}..." if token else ""


def _document(node: SimulatedNode, minor: int, given: str) -> dict[str, Any]:
    try:
        content = node.drive.read(windows(given, "C:\\")).decode("utf-8-sig", errors="replace")
    except WinError as error:
        raise JoinError(f'unable to read config from "{given}": open {given}: {error.text}') from error
    try:
        documents = [item for item in yaml.safe_load_all(content) if isinstance(item, dict)]
    except yaml.YAMLError as error:
        raise JoinError(f"error converting YAML to JSON: yaml: {' '.join(str(error).split())}") from error
    found = next((item for item in documents if item.get("kind") == "JoinConfiguration"), None)
    if found is None:
        raise JoinError("no JoinConfiguration found in config file")
    version = str(found.get("apiVersion") or "")
    known = api_versions(minor)
    if version.removeprefix(GROUP) not in known or not version.startswith(GROUP):
        raise JoinError(
            f'no kind "JoinConfiguration" is registered for version "{version}" in scheme '
            '"k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm/scheme/scheme.go"'
        )
    extra = (found.get("nodeRegistration") or {}).get("kubeletExtraArgs")
    if extra and isinstance(extra, list) != (version == f"{GROUP}v1beta4"):
        raise JoinError(
            'error unmarshaling configuration schema.GroupVersionKind{Group:"kubeadm.k8s.io", Version:'
            f'"{version.removeprefix(GROUP)}", Kind:"JoinConfiguration"}}: json: cannot unmarshal kubeletExtraArgs'
        )
    return found


def _of_flags(flags: Flags) -> dict[str, Any]:
    if not flags.rest:
        raise JoinError('discovery: Invalid value: "": bootstrapToken or file must be set')
    token = {
        "token": flags.text("discovery-token") or flags.text("token"),
        "apiServerEndpoint": flags.rest[0],
        "caCertHashes": [item for item in flags.text("discovery-token-ca-cert-hash").split(",") if item],
        "unsafeSkipCAVerification": flags.on("discovery-token-unsafe-skip-ca-verification"),
    }
    discovery = {"bootstrapToken": token, "tlsBootstrapToken": flags.text("tls-bootstrap-token") or flags.text("token")}
    registration = {"name": flags.text("node-name"), "criSocket": flags.text("cri-socket")}
    return {"discovery": discovery, "nodeRegistration": registration}
