# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts a node's network right; documented in modules/win_k8s_repair.py."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from ..plugin_utils import drain
from ..plugin_utils.cluster.client import Cluster, ClusterError
from ..plugin_utils.components import networks
from ..plugin_utils.components.flannel import flannel_conf, subnet_env
from ..plugin_utils.components.join import join
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.node_action import NodeAction, display
from ..plugin_utils.repair import hns, rejoin, repair
from ..plugin_utils.repair.repair import Remedy
from ..plugin_utils.run_id import RUN_ID
from ..plugin_utils.verdict import must_be_done

PAUSE_S = 10
"""Between the two looks at endpoints: a pod that is just being made has no namespace for a moment."""


class ActionModule(NodeAction):
    """win_k8s_repair."""

    module = "win_k8s_repair"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Remedies one after the other, each chosen by what the one before has left."""
        join.check_name(options["node_name"])
        flannel_conf.check_mode(options["network_mode"], None)
        self._nodes = self._all_nodes(options)
        self._done: list[tuple[Remedy, str]] = []
        self._options, self._layout = options, layout
        self._wanted = self._wants(options, layout, ())
        self._look()
        self._wanted = self._wants(options, layout, hns.recorded(layout, self._reading))
        self._repair()
        state = "planned" if self._task.check_mode else "done"
        texts = [text for remedy, said in self._done for text in (said, f"{remedy.text} ({remedy.why})") if text]
        result: dict[str, Any] = {
            "changed": bool(self._done),
            "steps": [{"text": text, "state": state} for text in texts],
            "winkube": {"calls": self._link.calls},
        }
        if self._task.diff:
            result["diff"] = [{"prepared": "".join(f"{text}\n" for text in texts)}] * bool(texts)
        return result

    def _repair(self) -> None:
        options, wanted = self._options, self._wanted
        if options["switch_mode"] and (going := repair.other_mode(wanted, self._reading)):
            self._apply(repair.switch_mode(wanted, going, self._reading))
            return  # nothing is up until site.yml has made the networks of the other mode
        self._refuse_other_life()
        self._endpoints()
        if names := repair.down(wanted, self._reading):
            self._apply(repair.start_in_order(wanted, names, self._reading))
        self._relaunch()
        if options["remove_policy_lists"] and (lists := repair.remove_policy_lists(wanted, self._reading)):
            self._apply(lists)

    def _refuse_other_life(self) -> None:
        """What belongs to rejoin.yml, and a network of the other mode, are no cases for a restart."""
        wanted = self._wanted
        stale = [
            f"{path} is of another range ({said}) than the podCIDR {wanted.pod_cidr}"
            for path, said in rejoin.stale_files(self._layout, wanted.pod_cidr, self._reading)
        ]
        if stale:
            raise Refused(f"{'; '.join(stale)}: this node was deleted and has joined again. Run {join.REJOIN}.")
        if others := repair.other_mode(wanted, self._reading):
            raise Refused(
                f"The HNS network {others[0].name} is of type {others[0].type}, and winkube_network_mode "
                f"{wanted.mode} needs another: with -e winkube_repair_switch_mode=true it is removed, once its pods "
                "are gone."
            )

    def _endpoints(self) -> None:
        before = hns.hns(self._reading)
        if not repair.in_the_way(self._wanted, before, before):
            return
        if not self._task.check_mode:
            time.sleep(PAUSE_S)
        self._look()
        if dead := repair.in_the_way(self._wanted, before, hns.hns(self._reading)):
            self._apply(repair.remove_endpoints(self._wanted, dead, self._reading))

    def _relaunch(self) -> None:
        """flanneld again, at most so many times; then, where it is allowed, subnet.env in its place."""
        wanted, tries = self._wanted, 1 + self._options["retries"]

        def send(remedy: Remedy) -> str:
            try:
                self._apply(remedy)
            except NodeError as error:
                display.warning(f"{self._host}: {error}")
                return str(error)
            return ""

        def look() -> Reading:
            self._look()
            return self._reading

        made = repair.launch_until_there(wanted, tries, self._reading, send, look)
        if not made or not made[-1].error:
            return
        if not self._may_write():
            raise NodeError(
                f"repair: flanneld was launched {len(made)} times, and its network {wanted.network} or its "
                f"{subnet_env.path(self._layout)} did not come. The last time: {made[-1].error}"
            )
        self._apply(self._written())

    def _may_write(self) -> bool:
        """Where there is no network a lease would help nobody."""
        without = not repair.waits_for_network(self._wanted, self._reading)
        return bool(self._options["generate_subnet_env"]) and without

    def _written(self) -> Remedy:
        options = self._options
        found = networks.management(
            self._reading, interface=options["interface_name"], address=options["management_ip"]
        )
        return repair.write_lease(self._wanted, options["subnet"], self._nodes, found.adapter.mtu, self._reading)

    def _apply(self, remedy: Remedy) -> None:
        """Send it and look again. NodeError if it was taken back."""
        said = ""
        if not self._task.check_mode:
            emptied = drain.before(remedy.batch, self._options, RUN_ID)
            runner = self._reading.file(self._layout.runner).get("sha256")
            answer = self._link.apply(remedy.batch, uuid.uuid4().hex, runner)
            if answer.get("answer") == "stale":
                raise NodeError("repair: the machine was restarted meanwhile. Run again.")
            must_be_done(answer, repair.NAME)
            said = "; ".join(emptied)
            self._look()
        self._done.append((remedy, said))

    def _look(self) -> None:
        self._reading: Reading = self.read_of((*repair.reads(self._wanted), *rejoin.runner_reads(self._layout)))

    def _wants(self, options: Mapping[str, Any], layout: Layout, recorded: Sequence[str]) -> repair.Wanted:
        own = next((each for each in self._nodes or () if _name(each) == options["node_name"]), None)
        names = hns.own_names(options["network_name"])
        return repair.Wanted(
            layout=layout,
            node_name=options["node_name"],
            mode=options["network_mode"],
            network=flannel_conf.network_name(options["network_mode"], _overlay(options)),
            cluster=options["cluster_cidr"],
            ours=hns.Ours(names, options["cluster_cidr"], tuple(recorded)),
            pod_cidr=str(((own or {}).get("spec") or {}).get("podCIDR") or ""),
            timeout_s=options["network_timeout"],
        )

    def _all_nodes(self, options: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
        try:
            cluster = Cluster.open(options["cluster"])
            return None if cluster is None else list(cluster.nodes())
        except ClusterError as error:
            raise NodeError(f"repair: {error}") from None


def _overlay(options: Mapping[str, Any]) -> str:
    return str(options["network_name"]) if options["network_mode"] == "overlay" else ""


def _name(node: Mapping[str, Any]) -> str:
    return str((node.get("metadata") or {}).get("name") or "")
