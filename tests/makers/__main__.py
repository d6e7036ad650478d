"""A table, and a last line of JSON; exit status 1 if anything was not as expected.

    python -m tests.makers [NAME ...]

Changes are counted by the lab, from what it has before and after, not by the run.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.integration.lab import Bench
from tests.integration.site import differences
from tests.integration.whole import CALICO, OVERLAY, BesideCalico, Whole
from tests.lab.cluster import makers, shipped

_DOMAIN = {"winkube_cluster_domain": "cluster.local"}
"""What no object of a cluster says that kubeadm has not made; all other values come from the cluster."""
_TWO_CAS = {"winkube_cluster_cidr": makers.ALL["k3s"].settings["pod_network"]} | _DOMAIN
_BOOTSTRAP = {"winkube_join": "bootstrap_kubeconfig"}
_FLANNEL = {"network": "flannel"}
_PROXY = {"winkube_calico_kube_proxy_image": "sigwindowstools/kube-proxy:v1.37.1-calico-hostprocess"}
_NO_TUNNEL = {"tunnel": False}
"""egress-selector-mode: disabled, without which API servers reach only kubelets beside an agent of k3s or rke2."""


@dataclass(frozen=True)
class Case:
    """`refused`: the sentence in which it has to be; empty: it joins. `manifests`: files of examples/rbac that are
    applied. `network`: whose it is, for the table. `calico`: the variables of calico.yml, which is run before; None:
    it is not."""

    name: str
    maker: str
    network: str = "overlay, flanneld"
    settings: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    manifests: tuple[str, ...] = ()
    refused: str = ""
    calico: Mapping[str, Any] | None = None


CASES = (
    Case("kubeadm", "kubeadm"),
    Case("kubeadm, anonymous off", "kubeadm", settings={"anonymous": "off"}),
    Case("kubespray", "kubespray", "calico, kubespray's", calico=_PROXY),
    Case(
        "kubespray, without calico.yml",
        "kubespray",
        "calico, kubespray's",
        refused="ansible-playbook winkube.node.calico",
    ),
    Case("kubespray, flannel", "kubespray", settings=_FLANNEL),
    Case("kubespray, hardened", "kubespray", settings=_FLANNEL | {"anonymous": "unbound", "serving": True}),
    Case("kubespray, three control planes", "kubespray", settings=_FLANNEL | {"control_planes": 3}),
    Case(
        "kubespray, our default ranges",
        "kubespray",
        settings=_FLANNEL,
        variables={"winkube_service_cidr": "10.96.0.0/12", "winkube_dns_service_ip": "10.96.0.10"},
        refused="but the cluster has 10.233.0.0/18 (ServiceCIDR kubernetes)",
    ),
    Case(
        "kubeadm, configuration of Linux",
        "kubeadm",
        settings={"kubelet": {"singleProcessOOMKill": True, "userNamespaces": {}, "featureGates": {"NoSuch": True}}},
    ),
    Case("rke2, by kubeadm", "rke2", variables=_TWO_CAS, refused="Set winkube_join: bootstrap_kubeconfig"),
    Case("rke2", "rke2", variables=_TWO_CAS | _BOOTSTRAP, refused="apply examples/rbac/bootstrap.yml"),
    Case("rke2, manifest", "rke2", settings=_NO_TUNNEL, variables=_TWO_CAS | _BOOTSTRAP, manifests=("bootstrap",)),
    Case("k3s, manifest", "k3s", settings=_NO_TUNNEL, variables=_TWO_CAS | _BOOTSTRAP, manifests=("bootstrap",)),
    Case(
        "k0s",
        "k0s",
        "calico, k0s'",
        variables=_BOOTSTRAP | _DOMAIN | {"winkube_cluster_cidr": "10.244.0.0/16"},
    ),
)


@dataclass
class Outcome:
    """What came of a case."""

    joined: bool = False
    changed: bool = False
    second_run_changed: int = 0
    dns: bool = False
    reached: bool = False
    said: str = ""


def run(case: Case, folder: Path) -> Outcome:
    bench = Bench(folder)
    try:
        whole = (
            BesideCalico(bench, case.maker, cluster=case.settings)
            if case.network.startswith("calico")
            else Whole(bench, replace(OVERLAY, maker=case.maker), cluster=case.settings)
        )
        shipped.grant(whole.cluster.store, *case.manifests)
        before = bench.dump()
        given = dict(case.variables)
        if case.calico is not None and (brought := whole.site(playbook=CALICO, **case.calico)).rc != 0:
            return Outcome(said=" ".join(brought.output.split()))
        if not whole.cluster.settings.has_kubeadm:  # no cluster-info, and the kubeconfig says 127.0.0.1
            given["winkube_api_server"] = whole.cluster.published
        first = whole.site(**given)
        found = Outcome(changed=bool(differences(before, bench.dump())), said=" ".join(first.output.split()))
        if first.rc != 0:
            return found
        whole.cluster.advance(60)
        found.joined = "win1" in whole.cluster.nodes
        for _ in range(3):  # until the network's pods have come, where the cluster brings them
            whole.cluster.advance(60)
        whole.pod()
        service = whole.cluster.request("GET", "/api/v1/namespaces/default/services/kubernetes")["spec"]["clusterIP"]
        names = ("kubernetes", f"kubernetes.default.svc.{whole.cluster.settings.domain}")
        found.dns = {whole.resolved("web", name) for name in names} == {service}
        found.reached = whole.cluster._kubelet_unreached("/api/v1/nodes/win1/proxy/configz") is None
        second = whole.site(**given)
        found.second_run_changed = second.recap["win1"].changed + second.rc
    finally:
        bench.close()
    return found


def main(names: Sequence[str]) -> int:
    chosen = [case for case in CASES if not names or case.name in names]
    total = dict.fromkeys(
        (
            "makers",
            "joined",
            "refused_before_a_change",
            "refused_after_a_change",
            "unexpected",
            "second_run_changed",
            "dns_resolves",
            "logs_and_exec",
        ),
        0,
    )
    print(f"{'maker':<34}{'network':<24}{'expected':<72}outcome (simulated)")
    for case in chosen:
        with tempfile.TemporaryDirectory(prefix="wk") as folder:
            found = run(case, Path(folder))
        as_expected = found.joined if not case.refused else (not found.joined and case.refused in found.said)
        total["makers"] += 1
        total["joined"] += found.joined
        total["refused_before_a_change"] += not found.joined and not found.changed
        total["refused_after_a_change"] += not found.joined and found.changed
        total["unexpected"] += not as_expected
        total["second_run_changed"] += found.second_run_changed
        total["dns_resolves"] += found.dns
        total["logs_and_exec"] += found.reached
        outcome = "joined" if found.joined else "refused, after a change" if found.changed else "refused"
        expected = f"refused: {case.refused}" if case.refused else "joins"
        print(f"{case.name:<34}{case.network:<24}{expected:<72}{outcome}{'' if as_expected else '  UNEXPECTED'}")
        if not as_expected:
            print(found.said[-1500:], file=sys.stderr)
        sys.stdout.flush()
    print(json.dumps(total))
    good = not (total["unexpected"] or total["refused_after_a_change"] or total["second_run_changed"])
    return 0 if good and total["dns_resolves"] == total["logs_and_exec"] == total["joined"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
