"""containerd's traces: from the option of win_containerd to the environment of the service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import component, containerd
from ansible_collections.winkube.node.plugins.plugin_utils.engine.environment import Entry
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Source
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.service import Service
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.engine.services.native import Native
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import load_spec

from tests.unit.components.nodes import LAYOUT, Controller, bare, given, running, wanted_containerd

CONFIG = r"""version = 4
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "registry.k8s.io/pause:3.10"
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ['C:\k\cni']
conf_dir = 'C:\k\cni\config'
"""
VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"


def options(version: str, **more: Any) -> dict[str, Any]:
    return {
        "kubernetes_version": "",
        "version": version,
        "pause_image": "registry.k8s.io/pause:3.10",
        "pause_image_source": "kubernetes",
        "log_level": "debug",
        "log": {"max_mb": 10, "keep_days": 14},
        "defender_exclusions": False,
        "tracing_endpoint": "http://collector:4318",
        "registries": [],
        "environment": {},
        "crictl_source": {"url": "", "version": "", "checksum": ""},
        "config_template": "config.toml.j2",
        "config_extra": {},
        "source": {"url": "https://example.com/containerd.exe", "checksum": f"sha256:{'a' * 64}", "proxy": ""},
        "allow_unverified": [],
        "golden_image": False,
        "images": [],
        "images_timeout": 60,
        "service": {"manager": "registered", "environment": {}, "start_timeout": 1, "stop_timeout": 1},
    } | more


def made(version: str, **more: Any) -> containerd.ContainerdArgs:
    """The arguments that are made of the options; the component's own template is not looked at."""
    controller = Controller(lambda variables: f"version = 2 # {variables['log_level']}\n")
    return component.arguments(
        given("containerd", options(version, **more), bare(containerd.reads(LAYOUT)), controller)
    )


@pytest.mark.row("CT-45")
def test_the_service_gets_the_address_and_the_file_the_level() -> None:
    args = made("2.3.7")
    assert args.service.options.environment == {VARIABLE: Secret("http://collector:4318")}
    assert args.config == "version = 2 # debug\n"
    assert made("2.3.7", tracing_endpoint="").service.options.environment == {}


@pytest.mark.row("CT-45")
def test_without_a_word_it_logs_what_is_worth_knowing_and_traces_nothing() -> None:
    path = Path(__file__).resolve().parents[3] / "roles" / "containerd" / "defaults" / "main.yml"
    role, module = yaml.safe_load(path.read_text(encoding="utf-8")), load_spec("win_containerd")
    assert role["winkube_containerd_log_level"] == module["log_level"]["default"] == "info"
    assert role["winkube_containerd_tracing_endpoint"] == module["tracing_endpoint"]["default"] == ""


@pytest.mark.row("CT-45")
def test_what_the_user_says_of_the_service_comes_over_it() -> None:
    own = options("1.7.35")["service"] | {"environment": {VARIABLE: "http://mine:4318"}}
    assert made("1.7.35", service=own).service.options.environment == {VARIABLE: Secret("http://mine:4318")}


@pytest.mark.row("CT-45")
@pytest.mark.parametrize("version", ["1.6.28", "1.7.17"])
def test_a_containerd_that_does_not_read_it_is_refused(version: str) -> None:
    with pytest.raises(Refused, match="does not read the address for traces from its environment"):
        made(version)


@pytest.mark.row("CT-45")
def test_the_log_file_is_in_the_services_command_line() -> None:
    args = containerd.ContainerdArgs(
        wanted_containerd("2.3.7"),
        source=Source("https://example.com/containerd.exe", "a" * 64, "2.3.7"),
        archive=False,
        config=CONFIG,
        service=running(environment={VARIABLE: "http://collector:4318"}),
    )
    service = next(one for one in containerd.build_resources(args) if isinstance(one, Service))
    assert isinstance(service.definition, Native)
    words = service.definition.arguments
    assert words[words.index("--log-file") + 1] == LAYOUT.containerd_log
    assert service.definition.environment == (Entry.plain(VARIABLE, "http://collector:4318"),)
