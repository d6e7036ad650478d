"""The command lines that the roles render, and the files they name: per program and release, each distinct one once."""

from __future__ import annotations

import ast
import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, product
from typing import Any

import jinja2
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import containerd_config, crictl
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import flannel, flannel_conf, subnet_env
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.identities import build_kubeconfig
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy import kube_proxy_args
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy.options import KubeProxyOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet_args, places
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.options import KubeletOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import read
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS
from ansible_collections.winkube.node.plugins.plugin_utils.components.service import service_of
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.facts import flannel as facts
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.real.build import ROOT
from tests.unit.components import test_flannel
from tests.unit.components.nodes import LAYOUT, running, wanted_containerd, wanted_kube_proxy, wanted_kubelet

JOINS = ("kubeadm", "bootstrap_kubeconfig", "kubeconfig")
MANAGERS = ("nssm", "sc")
NET_CONF_ELSEWHERE = r"C:\flannel\net-conf.json"
NOBODY = "https://127.0.0.1:9"
"""An API server that refuses each connection at once."""


@dataclass(frozen=True)
class Line:
    """One command line; `said` is how it comes about, one phrase for each way."""

    program: str
    version: str
    arguments: tuple[str, ...]
    said: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def of_scm(self) -> bool:
        """Whether only the service manager can start it."""
        return "--windows-service" in self.arguments or "--run-service" in self.arguments


def distinct(lines: Iterator[Line]) -> list[Line]:
    """Equal ones joined."""
    found: dict[tuple[Any, ...], Line] = {}
    for line in lines:
        key = (line.program, line.version, line.arguments, tuple(sorted(line.environment.items())))
        before = found[key].said if key in found else ()
        found[key] = Line(line.program, line.version, line.arguments, (*before, *line.said), line.environment)
    return list(found.values())


def _service(component: str, manager: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """What the manager starts the program with."""
    made = service_of(component, DAEMONS[component], LAYOUT, running(manager), arguments=arguments, ready=())
    return tuple(made.definition.arguments)  # type: ignore[attr-defined]


def of_kubelet(version: str) -> Iterator[Line]:
    """Each join and manager, with little and with everything set."""
    full: dict[str, Any] = {
        "pause_image": "registry.k8s.io/pause:3.9",
        "kube_reserved": {"cpu": "200m", "memory": "1Gi"},
        "eviction_hard": {"memory.available": "500Mi"},
        "eviction_soft": {"memory.available": "1Gi"},
        "eviction_soft_grace_period": {"memory.available": "1m0s"},
        "taints": ("os=windows:NoSchedule", "gpu:NoExecute"),
        "labels": {"tier": "web"},
        "node_ip": "127.0.0.1",
    }
    for join, manager, (name, more) in product(JOINS, MANAGERS, (("defaults", {}), ("every setting", full))):
        settings = wanted_kubelet(version, join, manager, **more)
        arguments = _service("kubelet", manager, kubelet_args.arguments(settings))
        yield Line("kubelet", version, arguments, (f"{join}, {manager}, {name}",))


def examples(module: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and arguments of each example in a module's documentation."""
    tree = ast.parse((ROOT / "plugins" / "modules" / f"{module}.py").read_text(encoding="utf-8"))
    (text,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EXAMPLES"
    ]
    for task in yaml.safe_load(text):
        yield str(task["name"]), next(value for key, value in task.items() if key.endswith(f".{module}"))


def of_kubelet_examples(version: str) -> Iterator[Line]:
    """Those of win_kubelet."""
    for name, given in examples("win_kubelet"):
        manager = given.get("service", {}).get("manager", "nssm")
        service = {"service": {"manager": manager}}
        settings = kubelet_args.Kubelet(read(KubeletOptions, {**given, **service, "version": version}), LAYOUT)
        arguments = _service("kubelet", manager, kubelet_args.arguments(settings))
        yield Line("kubelet", version, arguments, (f"win_kubelet: {name}",))


def of_kube_proxy_examples(version: str) -> Iterator[Line]:
    """Those of win_kube_proxy; in overlay the source VIP is the node's."""
    for name, given in examples("win_kube_proxy"):
        mode = given.get("network_mode", "l2bridge")
        vip = "10.244.2.3" if mode == "overlay" else ""
        manager = given.get("service", {}).get("manager", "nssm")
        told = {**given, "version": version, "network_mode": mode, "service": {"manager": manager}}
        settings = kube_proxy_args.KubeProxy(read(KubeProxyOptions, told), LAYOUT, vip)
        arguments = _service("kube-proxy", manager, kube_proxy_args.arguments(settings))
        environment = {entry.name: entry.value.reveal() for entry in kube_proxy_args.environment(settings)}
        yield Line("kube-proxy", version, arguments, (f"win_kube_proxy: {name}",), environment)


def of_kube_proxy(version: str) -> Iterator[Line]:
    """Each mode and manager, with and without direct server return."""
    modes: tuple[tuple[kube_proxy_args.Mode, str], ...] = (("l2bridge", ""), ("overlay", "10.244.2.3"))
    for (mode, vip), manager, dsr in product(modes, MANAGERS, (False, True)):
        settings = wanted_kube_proxy(version, mode, source_vip=vip, dsr=dsr, service={"manager": manager})
        arguments = _service("kube-proxy", manager, kube_proxy_args.arguments(settings))
        environment = {entry.name: entry.value.reveal() for entry in kube_proxy_args.environment(settings)}
        said = (f"{mode}, {manager}{', DSR' if dsr else ''}",)
        yield Line("kube-proxy", version, arguments, said, environment)


def of_flanneld(version: str) -> Iterator[Line]:
    """Both modes have the same line; another one where net-conf.json lies elsewhere."""
    for net_conf in (facts.NET_CONF, NET_CONF_ELSEWHERE):
        args = test_flannel.args(options={"net_conf": net_conf})
        address = replace(args.management, address="127.0.0.1")
        arguments = flannel.arguments(replace(args, layout=LAYOUT, management=address))
        yield Line("flanneld", version, arguments, (f"nssm, {net_conf}",), {"NODE_NAME": "win1"})


def of_containerd(version: str) -> Iterator[Line]:
    """nssm's line, and the native one without what only the service manager can do."""
    short = ("--config", LAYOUT.containerd_config)
    yield Line("containerd", version, short, ("nssm",))


def of(program: str, version: str) -> list[Line]:
    """All of a program."""
    found = {"kubelet": of_kubelet, "kube-proxy": of_kube_proxy, "flanneld": of_flanneld, "containerd": of_containerd}
    shown = {"kubelet": of_kubelet_examples, "kube-proxy": of_kube_proxy_examples}
    return distinct(chain(found[program](version), shown[program](version) if program in shown else ()))


def config_toml(version: str, **more: Any) -> str:
    """containerd's configuration as the role renders it."""
    wanted = wanted_containerd(version, "mcr.microsoft.com/oss/v2/kubernetes/pause:3.10.2", **more)
    template = (ROOT / "roles" / "containerd" / "templates" / "config.toml.j2").read_text(encoding="utf-8")
    jinja = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    return jinja.from_string(template).render(containerd_config.template_variables(wanted))


def ca() -> bytes:
    """A certificate authority's certificate; nobody has its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kubernetes")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


def files(kubernetes: str, kubeconfig: str = "") -> dict[str, str]:
    """Windows path -> text: what a joined node has, for a Kubernetes of this release. Without a kubeconfig of a cluster
    its programs meet nobody."""
    authority = ca()
    kubeconfig = kubeconfig or build_kubeconfig(NOBODY, authority, "win1", Secret("abc")).reveal()
    settings = wanted_kubelet(kubernetes, "kubeadm")
    kubeadms = {
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "authentication": {"anonymous": {"enabled": False}, "x509": {"clientCAFile": places.ca_file(LAYOUT)}},
        "clusterDNS": ["10.96.0.10"],
    }
    kubeconfigs = (
        *(LAYOUT.kubelet_kubeconfig, LAYOUT.kube_proxy_kubeconfig, LAYOUT.flanneld_kubeconfig),
        rf"{LAYOUT.kubernetes_dir}\bootstrap-kubelet.conf",
    )
    network = flannel_conf.net_conf("overlay", "10.244.0.0/16", "vxlan0")
    drop_in = rf"{places.drop_in_dir(LAYOUT)}\{kubelet_args.DROP_IN_NAME}"
    return {
        places.config_file(LAYOUT): json.dumps(kubeadms),
        drop_in: json.dumps(kubelet_args.configuration(settings)),
        places.ca_file(LAYOUT): authority.decode(),
        **dict.fromkeys(kubeconfigs, kubeconfig),
        subnet_env.path(LAYOUT): "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.2.1/24\nFLANNEL_MTU=1450\n"
        "FLANNEL_IPMASQ=true\n",
        **dict.fromkeys((facts.NET_CONF, NET_CONF_ELSEWHERE), network),
        crictl.config_path(LAYOUT): crictl.config(LAYOUT),
    }
