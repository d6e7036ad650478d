# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a node and its cluster every question of the troubleshooting sections; documented in
modules/win_k8s_diagnose.py."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ..plugin_utils import verdict
from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components import networks
from ..plugin_utils.components.expected import Expected
from ..plugin_utils.components.host.node_fit import Machine
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.registry import read_plan
from ..plugin_utils.cri_tcp import expiry
from ..plugin_utils.diagnosis import programs as verify
from ..plugin_utils.diagnosis import scene as network_check
from ..plugin_utils.diagnosis.checks_programs import exit_line
from ..plugin_utils.diagnosis.expectations import Expectations
from ..plugin_utils.diagnosis.finding import ERROR, fails
from ..plugin_utils.diagnosis.messages import about
from ..plugin_utils.diagnosis.table import KNOWN, VERIFY, Report, diagnose, report_of
from ..plugin_utils.engine.reading import Reading, file_query, merge_queries
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.network.virtual_machine import VmAdapter, VmAdaptersError
from ..plugin_utils.network.virtual_machine import parse as parse_adapters
from ..plugin_utils.node.link import NodeError, OutcomeUnknown
from ..plugin_utils.node_action import NodeAction, display
from ..plugin_utils.repair import rejoin
from ..plugin_utils.troubleshoot import gather, services, table, traffic, virtual
from ..plugin_utils.troubleshoot.evidence import ClusterView, Evidence, Said, Wanted
from ..plugin_utils.troubleshoot.model import Check
from ..plugin_utils.troubleshoot.picture import picture_of

FILE_LIMIT = 64 * 1024
AGAIN_S = 5
"""Between two looks while something is still coming up after a restart."""
HNS_OBJECTS = ("networks", "endpoints", "policylists", "namespaces")


class ActionModule(NodeAction):
    """win_k8s_diagnose."""

    module = "win_k8s_diagnose"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """The results; the task fails if something is broken and that is wanted."""
        if options["depth"] == "quick":
            return self._quick(options, layout)
        checks = _chosen(options["checks"])
        evidence = self._evidence(options, layout)
        results = table.examine(evidence, checks)
        report = report_of((*evidence.findings, *table.as_findings(results, evidence.findings)))
        said = report.lines(self._host)
        failed = bool(report.findings) and fails(report.findings, options["fail_on"])
        result: dict[str, Any] = {
            "changed": False,
            "host": self._host,
            "windows": Machine.of(evidence.first.parts.get("system") or {}).name,
            "message": options["message"],
            "leads_to": [check.id for check in table.about(options["message"])],
            "message_means": _means(options["message"], self._host),
            "counts": table.count(results),
            "causes": report.as_data(self._host),
            "said": list(said),
            "broken": [one.id for one in report.findings if one.severity == ERROR],
            "services": [
                exit_line(found)
                for program in services.programs(evidence)
                if (found := evidence.service(program.service)) is not None
            ],
            "picture": picture_of(evidence),
            "results": [one.as_data() for one in results],
            "winkube": {"calls": self._link.calls},
        }
        if not failed:
            return result
        # without the picture and what is right: Ansible prints the whole result of a task that fails
        short = {key: result[key] for key in ("changed", "host", "counts", "broken", "winkube")}
        return short | {"failed": True, "msg": "\n".join([f"{self._host}:", *said])}

    def _quick(self, options: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
        """Looks until there is no error or the time is up; then says what was found."""
        expected = Expected.of(options)
        end = time.monotonic() + options["timeout"]
        while True:
            reading, report = self._look(options, layout, expected)
            errors = [one for one in report.findings if one.severity == ERROR]
            if not errors or time.monotonic() >= end:
                break
            display.vv(f"{self._host}: {len(errors)} errors so far; looking again")
            time.sleep(AGAIN_S)
        result: dict[str, Any] = {
            "changed": False,
            "host": self._host,
            "findings": [one.as_data(self._host) for one in report.findings],
            "broken": [one.id for one in errors],
            "winkube": {"calls": self._link.calls},
        }
        if fails(report.findings, options["fail_on"]):
            # without the reading: Ansible prints the whole result of a task that fails
            said = "\n".join(report.lines(self._host))
            return result | {"failed": True, "msg": f"{self._host} does not work as it should:\n{said}"}
        for one in report.findings:
            self.warn_once(f"{self._host}: {one.sentence}")
        return (
            result
            | {"causes": report.as_data(self._host), "said": list(report.lines(self._host))}
            | self.facts(reading)
        )

    def _look(self, options: Mapping[str, Any], layout: Layout, expected: Expected) -> tuple[Reading, Report]:
        """Two readings of the node, one of the cluster, and what is wrong in them."""
        watched = verify.reads(layout, expected)
        expect = Expectations.of(layout, expected)
        network = network_check.reads(expect) if expected.kubernetes else ()
        first = self.read_of(merge_queries((*read_plan(layout), *watched, *network, *expiry.outcome_reads(layout))))
        node, asked = self._node(options, expected)
        time.sleep(options["watch"])
        again = (*watched, *verify.logs(layout, expected, first), *verify.health(layout, expected, first))
        second = first.merged(self._link.probe(again), again)
        scene = network_check.scene_of(first, expect, second=second, expected=expected, node=node, asked=asked)
        return first, diagnose(scene, VERIFY)

    def _node(self, options: Mapping[str, Any], expected: Expected) -> tuple[Mapping[str, Any] | None, bool]:
        """The Node object, and whether the cluster was asked; it is not without a kubeconfig."""
        if not expected.kubernetes:
            return None, False
        try:
            cluster = Cluster.open(options["cluster"])
            if cluster is None:
                display.v(f"{self._host}: winkube_cluster.kubeconfig is empty; the Node object was not looked at")
                return None, False
            return cluster.node(expected.node_name), True
        except ClusterError as error:
            raise NodeError(f"check: {error}") from error

    def _evidence(self, options: Mapping[str, Any], layout: Layout) -> Evidence:
        """Two looks at the node, one at the cluster, then what can be tried."""
        expected, wanted = Expected.of(options), _wanted(options)
        proxy = wanted.https_proxy or wanted.http_proxy
        urls = [gather.registry_url(name) for name in wanted.registries]
        watched = verify.reads(layout, expected)
        expect = Expectations.of(layout, expected, wanted.cluster_domain)
        queries = merge_queries(
            (
                *read_plan(layout),
                *watched,
                networks.adapters_query(),
                networks.hns_query(*HNS_OBJECTS),
                *(network_check.reads(expect) if expected.kubernetes else ()),
                *(file_query(path, content_limit=FILE_LIMIT) for path in rejoin.files(layout)),
                virtual.BIOS,
                virtual.GUEST,
            )
        )
        first = self.read_of(queries)
        cluster, view, no_cluster = self._cluster(options, expected)
        time.sleep(options["watch"])
        again = merge_queries(
            (
                *watched,
                *verify.logs(layout, expected, first),
                *gather.tails(layout, expected, first),
                *verify.health(layout, expected, first),
                *(() if proxy else gather.direct(urls)),
                networks.hns_query(*HNS_OBJECTS),
            )
        )
        second = first.merged(self._link.probe(again), again)
        logs = gather.log_texts(layout, expected, first, second)
        hyperv = _hyperv(options["hyperv_adapters"])
        evidence = Evidence(
            host=self._host,
            layout=layout,
            expected=expected,
            wanted=wanted,
            first=first,
            second=second,
            findings=gather.table_findings(first, second, view, expect, expected, logs=logs, vm_adapters=hyperv or ()),
            logs=logs,
            cluster=view,
            no_cluster=no_cluster,
            hyperv=hyperv,
            reached=self._through(proxy, urls, first, layout) if proxy else gather.of_probe(urls, second),
            message=options["message"],
            now=datetime.now(UTC),
        )
        if cluster is None or view is None:
            return evidence
        return self._tried(options, cluster, evidence)

    def _tried(self, options: Mapping[str, Any], cluster: Cluster, evidence: Evidence) -> Evidence:
        """The evidence with what a pod, the kubelet and the node's ports say."""
        view = evidence.cluster
        if view is None:
            return evidence
        host = traffic.address_of(view.node)
        ports = [(host, traffic.KUBELET_PORT), *((host, port) for _name, port in traffic.node_port_list(evidence))]
        in_pod = evidence.in_pod
        if options["exec_in_pods"]:
            in_pod = gather.ask_pod(cluster, view, lambda namespace: traffic.in_pod(evidence, namespace))
        else:
            in_pod = replace(in_pod, why="winkube_diagnose_exec is false")
        return replace(
            evidence,
            in_pod=in_pod,
            stats=gather.stats(
                cluster, evidence.expected.node_name, options["stats_samples"], options["stats_interval"]
            ),
            ports=gather.try_ports(ports) if len(ports) > 1 else {},
        )

    def _cluster(
        self, options: Mapping[str, Any], expected: Expected
    ) -> tuple[Cluster | None, ClusterView | None, str]:
        """The cluster and what it says, or why not: a node is looked at without its cluster as well."""
        if not expected.kubernetes:
            return None, None, "the node runs no Kubernetes."
        try:
            cluster = Cluster.open(options["cluster"])
            if cluster is None:
                return None, None, "winkube_cluster.kubeconfig is empty."
            return cluster, gather.cluster_view(cluster, expected.node_name), ""
        except ClusterError as error:
            return None, None, str(error)

    def _through(self, proxy: str, urls: list[str], reading: Reading, layout: Layout) -> dict[str, Said]:
        """What curl on the node says of each URL through the proxy; why it could not be run."""
        if not urls:
            return {}
        if self._task.check_mode:
            return {url: Said(None, "no program is run in check mode") for url in urls}
        batch = gather.through_proxy(urls, proxy, reading)
        try:
            answer = self._link.apply(batch, uuid.uuid4().hex, reading.file(layout.runner).get("sha256"))
            verdict.must_be_done(answer, "troubleshoot")
        except (NodeError, OutcomeUnknown) as error:
            display.vv(f"{self._host}: {error}")
            return {url: Said(None, str(error)) for url in urls}
        return gather.of_batch(urls, answer)


def _means(message: str, host: str) -> list[dict[str, str]]:
    """What the message is known for, the most particular first; none for one that is not known, or none at all."""
    found = [KNOWN[identity] for identity in about(message)]
    return [
        {
            "id": one.id,
            "title": one.title,
            "cause": one.cause,
            "remedy": one.remedy.text,
            "command": one.remedy.command(host),
        }
        for one in found
    ]


def _chosen(ids: list[str]) -> tuple[Check, ...]:
    """The checks by their ids; all of them without any."""
    known = {check.id.casefold(): check for check in table.CHECKS}
    unknown = [name for name in ids if name.casefold() not in known]
    if unknown:
        raise Refused(
            f"checks: there is no check {', '.join(unknown)}; there are "
            f"{', '.join(check.id for check in table.CHECKS)}."
        )
    wanted = {name.casefold() for name in ids}
    return tuple(check for check in table.CHECKS if not wanted or check.id.casefold() in wanted)


def _hyperv(given: list[dict[str, Any]] | None) -> tuple[VmAdapter, ...] | None:
    """Refused if it is not what Get-VMNetworkAdapter says."""
    if given is None:
        return None
    try:
        return parse_adapters(json.dumps(given))
    except VmAdaptersError as error:
        raise Refused(f"hyperv_adapters: {error}") from None


def _wanted(options: Mapping[str, Any]) -> Wanted:
    return Wanted(
        kubernetes_version=options["kubernetes_version"],
        join=options["join"],
        pause_image_source=options["pause_image_source"],
        dns_service_ip=options["dns_service_ip"],
        cluster_domain=options["cluster_domain"],
        external=options["target"],
        pod_wait_s=options["pod_wait"],
        http_proxy=options["http_proxy"],
        https_proxy=options["https_proxy"],
        registries=tuple(options["registries"]),
    )
