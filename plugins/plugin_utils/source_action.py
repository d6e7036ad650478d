# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions share whose component is a program that comes from somewhere, and may run under nssm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .component_action import ComponentAction
from .components import log_runner, nssm
from .components.layout import Layout
from .components.registry import COMPONENTS
from .components.source import source
from .engine.resource import Resource
from .engine.resources.programs import Source


class SourceAction(ComponentAction):
    """A component with the options `source`, `allow_unverified` and, if it is a service, `nssm_source`."""

    def source_of(
        self, options: Mapping[str, Any], *, component: str = "", version: str = "", option: str = "source"
    ) -> Source:
        """Where the program comes from; the component's own unless another is named. Refused if nothing vouches for
        it. One without a proxy of its own goes through that of `source`."""
        wanted = options[option]
        return source(
            component=component or self.component,
            version=version or str(options["version"]),
            url=wanted["url"],
            checksum=wanted["checksum"],
            unverified=options["allow_unverified"],
            read_url=self.read_once,
            proxy=wanted.get("proxy", options["source"]["proxy"]) or None,
        )

    def service_options(self, options: Mapping[str, Any], layout: Layout, mark: str) -> dict[str, Any]:
        """The fields of `Managed`, from the options that the modules of services share."""
        service = options["service"]
        return {
            "manager": service["manager"],
            "tools": self._tools(options, layout, mark),
            "rotation": log_runner.rotation(options["log"]),
            "environment": variables(service.get("environment") or {}),
            "depends_on": tuple(service.get("depends_on") or ()),
            "start_timeout_s": service["start_timeout"],
            "stop_timeout_s": service["stop_timeout"],
        }

    def _tools(self, options: Mapping[str, Any], layout: Layout, mark: str) -> tuple[Resource, ...]:
        """nssm.exe, where the service runs under it, or kube-log-runner.exe, where that keeps its log: only then does
        anybody have to say where it comes from."""
        daemon = next(each.daemon for each in COMPONENTS if each.module == self.module)
        manager = options["service"]["manager"]
        if manager == "nssm":
            return self._nssm(options, layout, mark)
        if manager == "sc" and daemon is not None and daemon.kind.wrapped:
            return self._log_runner(options, layout, mark)
        return ()

    def _nssm(self, options: Mapping[str, Any], layout: Layout, mark: str) -> tuple[Resource, ...]:
        wanted = nssm.nssm_source(
            url=options["nssm_source"]["url"],
            checksum=options["nssm_source"]["checksum"],
            proxy=options["source"]["proxy"] or None,
            unverified=options["allow_unverified"],
            read_url=self.read_once,
        )
        return nssm.desired(layout, wanted, mark)

    def _log_runner(self, options: Mapping[str, Any], layout: Layout, mark: str) -> tuple[Resource, ...]:
        wanted = log_runner.wanted_source(
            version=options["log_runner_source"]["version"],
            url=options["log_runner_source"]["url"],
            checksum=options["log_runner_source"]["checksum"],
            proxy=options["source"]["proxy"] or None,
            unverified=options["allow_unverified"],
            read_url=self.read_once,
        )
        return log_runner.desired(layout, wanted, mark)

    def read_once(self, address: str) -> str:
        """As `read_url`; planning again does not read again."""
        texts: dict[str, str] = self.__dict__.setdefault("_texts", {})
        if address not in texts:
            texts[address] = self.read_url(address)
        return texts[address]


def variables(environment: Mapping[str, Any]) -> tuple[str, ...]:
    """A service's variables as `NAME=value`, sorted, so that they are the same at each run."""
    return tuple(f"{name}={value}" for name, value in sorted(environment.items()))
