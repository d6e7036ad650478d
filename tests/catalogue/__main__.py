"""Writes plugins/plugin_utils/facts/literals.txt.gz: what upstream's programs for Windows can say, and from where.

    python -m tests.catalogue                    every program of PROGRAMS; needs Go and its module proxy
    python -m tests.catalogue kubelet flannel    these alone, in place of their rows
    python -m tests.catalogue calico=FOLDER      from a checkout, where the module proxy does not hand the project out

Go says which packages and files a build for windows/amd64 is made of; literals/main.go reads those files with Go's own
parser. What is in a file is linked or left out by the linker, so a row says "may", not "does". A row is a fact: which
programs, module, version, file, function, the literal itself, its codes. No other text of a source is kept.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ansible_collections.winkube.node.plugins.plugin_utils.facts.literals import list_constants

from tests.catalogue.table import Row, merged, read, write, write_codes
from tests.lookups.__main__ import packages
from tests.real import build

FACTS = build.ROOT / "plugins" / "plugin_utils" / "facts"
TABLE = FACTS / "literals.txt.gz"
CODES = FACTS / "codes.txt.gz"
READER = Path(__file__).parent / "literals" / "main.go"


@dataclass(frozen=True)
class Program:
    """`package` below a checkout; a project of tests/real/build.py has its own."""

    name: str
    project: str
    versions: tuple[str, ...] = ()
    package: str = ""


KUBERNETES = ("1.22.17", "1.27.4", "1.30.4", "1.33.13", "1.37.1")
CONTAINERD = ("1.7.35", "2.3.7")

PROGRAMS: tuple[Program, ...] = (
    Program("kubelet", "kubernetes", KUBERNETES),
    Program("kube-proxy", "kubernetes", KUBERNETES),
    Program("kubeadm", "kubernetes", KUBERNETES),
    Program("containerd", "containerd", CONTAINERD),
    Program("containerd-shim-runhcs-v1", "hcsshim", ("0.11.7", "0.15.0-rc.1")),
    Program("flanneld", "flannel", ("0.28.4",)),
    Program("win-bridge", "cni-plugins", ("1.0.1", "1.9.0")),
    Program("win-overlay", "cni-plugins", ("1.0.1", "1.9.0")),
    Program("host-local", "cni-plugins", ("1.9.0",)),
    Program("flannel", "cni-plugin", (), "."),
    Program("csi-proxy", "csi-proxy", (), "cmd/csi-proxy"),
    Program("smbplugin", "csi-driver-smb", (), "cmd/smbplugin"),
    Program("gmsa-webhook", "windows-gmsa", (), "admission-webhook"),
    Program("calico", "calico", (), "cmd/calico-windows"),
    Program("antrea-agent", "antrea", (), "cmd/antrea-agent"),
    Program("antrea-cni", "antrea", (), "cmd/antrea-cni"),
    Program("azure-vnet", "azure-container-networking", (), "cni/network/plugin"),
    Program("azure-cns", "azure-container-networking", (), "cns/service"),
    Program("vpc-bridge", "amazon-vpc-cni-plugins", (), "plugins/vpc-bridge"),
    Program("vpc-eni", "amazon-vpc-cni-plugins", (), "plugins/vpc-eni"),
    Program("sdnbridge", "windows-container-networking", (), "plugins/sdnbridge"),
    Program("sdnoverlay", "windows-container-networking", (), "plugins/sdnoverlay"),
)
"""Without versions: from a checkout, whose commit is the version."""


MODULES = re.compile(
    r"^(k8s\.io/|github\.com/containerd/|github\.com/Microsoft/|github\.com/containernetworking/|github\.com/flannel-io/"
    r"|github\.com/kubernetes-csi/|github\.com/kubernetes-sigs/windows-gmsa|github\.com/projectcalico/|antrea\.io/"
    r"|github\.com/Azure/azure-container-networking|github\.com/aws/amazon-vpc-cni-plugins|google\.golang\.org/grpc$"
    r"|golang\.org/x/(net|sys|crypto)$|github\.com/(spf13/pflag|moby/spdystream|opencontainers/.*|gorilla/websocket)$"
    r"|sigs\.k8s\.io/(yaml|json)$|go\.yaml\.in/yaml/v3$|gopkg\.in/yaml\.v3$|github\.com/pelletier/go-toml.*"
    r"|go\.etcd\.io/bbolt$|sigs\.k8s\.io/apiserver-network-proxy/.*)"
)
"""Whose errors a user of a node reads. Other modules are libraries that these wrap."""

NOT_ON_A_NODE = re.compile(
    r"^(k8s\.io/api/|k8s\.io/client-go/(applyconfigurations|kubernetes|listers|informers|testing)(/|$)"
    r"|k8s\.io/(gengo|kms|kube-openapi|csi-translation-lib|legacy-cloud-providers|cloud-provider|kube-scheduler"
    r"|externaljwt|cluster-bootstrap/token/jws|sample)"
    r"|k8s\.io/(kubernetes/)?pkg/apis/(apps|batch|autoscaling|policy|rbac|admission|authentication|authorization"
    r"|certificates|coordination|discovery|events|extensions|flowcontrol|imagepolicy|networking|node|resource"
    r"|scheduling|storage|storagemigration|abac|apidiscovery|apiserverinternal|admissionregistration)(/|$)"
    r"|k8s\.io/kubernetes/pkg/(scheduler(?!/framework/plugins/(nodeaffinity|nodename|nodeports|tainttoleration"
    r"|noderesources))|controlplane|controller|serviceaccount|kubeapiserver|registry|cluster|cloudprovider|quota"
    r"|volume/(rbd|cephfs|glusterfs|quobyte|scaleio|storageos|portworx|flocker|fc|gcepd|awsebs|azure_file|azuredd"
    r"|azuredd|cinder|vsphere_volume|git_repo)|features|printers|proxy/(iptables|ipvs|nftables)|util/(iptables|ipset"
    r"|ipvs|oom|selinux))(/|$)"
    r"|k8s\.io/apiserver/pkg/(admission|apis|audit|cel|endpoints|quota|registry|storage|reconcilers|util/flowcontrol"
    r"|server/(egressselector|filters|httplog|options/encryptionconfig|resourceconfig|storage|mux)|validation)(/|$)"
    r"|k8s\.io/apiextensions-apiserver|k8s\.io/kubernetes/cmd/kubeadm/app/(phases/(etcd|controlplane|addons|uploadconfig"
    r"|certs|upgrade)|util/(etcd|staticpod)|cmd/(phases/init|phases/upgrade|upgrade))(/|$)"
    r"|k8s\.io/(controller-manager|kube-aggregator|cli-runtime|dynamic-resource-allocation/(cel|structured|resourceslice"
    r"|deviceclass))|.*/(fake|testing|testutil|sharding|managedfields)(/|$)|k8s\.io/apiserver/(plugin/pkg/audit"
    r"|pkg/storageversion|pkg/authentication/cel|pkg/authorization/cel)|github\.com/opencontainers/selinux"
    r"|github\.com/projectcalico/calico/(typha|kube-controllers|app-policy|apiserver|confd|calicoctl|goldmane|felix/collector)"
    r"|github\.com/projectcalico/calico/felix/(bpf|nftables|iptables|ipsets|wireguard)"
    r"|antrea\.io/antrea/.*(pkg/(controller|antctl|flowaggregator)|multicluster|flowexporter|multicast|bgp|wireguard|egress|externalnode|nodeportlocal/rules_linux)"
    r"|github\.com/containerd/containerd/.*(plugins/snapshots/(overlay|btrfs|devmapper|zfs|erofs|blockfile)|devmapper|erofs)"
    r"|github\.com/Microsoft/hcsshim/internal/(guest|tools|lcow|ncproxy|devices/drivers)"
    r"|github\.com/Azure/azure-container-networking/(npm|azure-ipam|dropgz|zapai|telemetry|aitelemetry|ebpf|hubble))"
)
"""Packages that are linked in and that no Windows node comes to: the scheduler's, the API server's own, etcd's, volumes
and backends of Linux or of clouds that have left the tree, typha, flow records."""

STANDARD = (
    "crypto/x509", "crypto/tls", "net", "net/http", "net/url", "os", "os/exec", "io/fs", "io", "context", "syscall",
    "strconv", "time", "encoding/json", "encoding/pem", "encoding/hex", "encoding/base64", "archive/tar",
    "compress/gzip", "internal/poll", "internal/syscall/windows",
)  # fmt: skip
"""Packages of Go itself whose errors stand at the end of what programs say."""

FRAMES = frozenset({"rpc error: code = %s desc = %s", "exit status %d"})
"""What only wraps, in words."""

OTHER_CODES = re.compile(
    r"^(SQLITE|DRT|PEERDIST|OSS|XACT|NAP|TPC|FWP|WER|TBSIMP|PLA|FVE|MILAVERR|D3D|DWM|DXGI|WINCODEC|SDIAG|MEM_E|DIGSIG)_"
)
"""Of fields that no node comes to."""

KINDS = frozenset({"error", "log", "info", "event", "stderr", "text"})


@dataclass(frozen=True)
class Package:
    """One that is linked in: its module and release, where its files lie in the module, who has it."""

    path: str
    folder: str
    files: tuple[str, ...]
    module: str
    version: str
    below: str
    program: str


def linked(program: Program, version: str, checkout: Path | None) -> Iterator[Package]:
    """The packages of a build for Windows, as `go list` says, of MODULES and of use on a node."""
    vendored: tuple[str, ...] = ()
    if checkout is None:
        with tempfile.TemporaryDirectory() as temporary:
            folder = build.prepare(program.project, version, Path(temporary) / "module")
            found = list(packages(folder, build.PROJECTS[program.project].package(program.name, version)))
        main = ""
    else:
        inner = (checkout / program.package / "go.mod").exists()
        folder, below = (checkout / program.package, ".") if inner else (checkout, f"./{program.package}")
        vendored = ("-mod=vendor",) if (folder / "vendor").is_dir() else ()
        found = list(packages(folder, below, "-e", *vendored))
        main = described(checkout)
    for one in found:
        module = one.get("Module")
        if not isinstance(module, dict) or not one.get("GoFiles"):
            continue
        path, name = str(one["ImportPath"]), str(module["Path"])
        path = path.partition("/vendor/")[2] or path
        told = module.get("Replace") or module
        if not MODULES.match(name) or NOT_ON_A_NODE.match(path):
            continue
        names = one["GoFiles"]
        assert isinstance(names, list)
        yield Package(
            path,
            str(one["Dir"]),
            tuple(str(each) for each in names),
            name,
            str(told.get("Version") or module.get("Version") or main or f"v{version}"),
            path.removeprefix(name).strip("/"),
            program.name,
        )


def described(checkout: Path) -> str:
    """The release or commit of a checkout; its folder's file VERSION where it has no repository."""
    told = checkout / "VERSION.catalogue"
    if told.exists():
        return told.read_text(encoding="utf-8").strip()
    said = subprocess.run(
        ("git", "describe", "--tags", "--always"), cwd=checkout, check=True, capture_output=True, text=True
    )
    return said.stdout.strip()


def standard() -> Iterator[Package]:
    """STANDARD of the Go that runs here."""
    with tempfile.TemporaryDirectory() as temporary:
        (Path(temporary) / "go.mod").write_text("module winkube.invalid/none\n")
        said = build.go(
            "list", "-json=ImportPath,Dir,GoFiles", *STANDARD, cwd=Path(temporary), capture=True, system="windows"
        )
    decoder, at = json.JSONDecoder(), 0
    while at < len(said.rstrip()):
        one, end = decoder.raw_decode(said, at)
        at = end + len(said[end:]) - len(said[end:].lstrip())
        path = str(one["ImportPath"])
        yield Package(path, one["Dir"], tuple(one["GoFiles"]), "std", build.toolchain(), path, "go")


def rows(found: Sequence[Package]) -> tuple[list[Row], dict[str, int]]:
    """What the packages may say; and the codes of Windows that they name, by name."""
    by_folder: dict[str, list[Package]] = {}
    for package in found:
        by_folder.setdefault(package.folder, []).append(package)
    asked = "".join(
        json.dumps({"Path": folder, "Dir": folder, "Files": sorted({file for each in same for file in each.files})})
        + "\n"
        for folder, same in by_folder.items()
    )
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "off"}
    said = subprocess.run(
        ("go", "run", str(READER)), input=asked, capture_output=True, text=True, check=True, env=environment
    )
    print(said.stderr, end="", file=sys.stderr)
    made: list[Row] = []
    codes: dict[str, int] = {}
    for line in said.stdout.splitlines():
        one = json.loads(line)
        same = by_folder[one["Package"]]
        if one["Kind"] == "code":
            if same[0].path == "golang.org/x/sys/windows" and not OTHER_CODES.match(one["Function"]):
                codes[one["Function"]] = int(one["Literal"], 16)
            continue
        if one["Kind"] not in KINDS or one["Literal"] in FRAMES or same[0].path.startswith("golang.org/x/sys/"):
            continue
        if not list_constants(one["Literal"]) or not any(
            letter.isalpha() for letter in "".join(list_constants(one["Literal"]))
        ):
            continue
        first = same[0]
        made.append(
            Row(
                first.module,
                f"{first.below}/{one['File']}".lstrip("/"),
                one["Function"],
                one["Kind"],
                one["Literal"],
                bool(one.get("Wraps")),
                tuple(one.get("Codes") or ()),
                frozenset(each.program for each in same),
                frozenset(each.version for each in same),
            )
        )
    return made, codes


def main(words: Sequence[str]) -> int:
    given = {name: Path(folder).absolute() if folder else None for name, _, folder in (w.partition("=") for w in words)}
    old = read(TABLE.read_bytes()) if TABLE.exists() else []
    found: list[Package] = []
    asked: set[str] = set()
    failed = 0
    for program in PROGRAMS:
        if given and program.name not in given and program.project not in given:
            continue
        checkout = given.get(program.name) or given.get(program.project)
        if not program.versions and checkout is None:
            print(f"{program.name}: needs a checkout, {program.project}=FOLDER; its rows stay", flush=True)
            continue
        try:
            for version in program.versions or ("",):
                some = list(linked(program, version, None if program.versions else checkout))
                print(f"{program.name} {version or some[0].version}: {len(some)} packages", flush=True)
                found += some
        except (OSError, IndexError, subprocess.CalledProcessError) as error:
            print(f"{program.name} could not be read, its rows stay: {error}", file=sys.stderr)
            failed = 1
            continue
        asked.add(program.name)
    found += list(standard())
    made, codes = rows(found)
    asked.add("go")
    kept = [replace(row, programs=row.programs - asked) for row in old]
    TABLE.write_bytes(write(merged([*(row for row in kept if row.programs), *made])))
    if codes:
        CODES.write_bytes(write_codes(codes))
    print(f"{len(made)} literals, {len(codes)} codes; {TABLE.name} has {TABLE.stat().st_size} bytes")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
