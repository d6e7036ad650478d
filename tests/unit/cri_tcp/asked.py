"""What containerd_config_tcp is asked for."""

from __future__ import annotations

from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp.options import CriTcpOptions

from tests.unit.told import told


def asked(**given: Any) -> CriTcpOptions:
    return told(CriTcpOptions, "containerd_config_tcp", **given)
