r"""Where the roles put things on a node for which nothing else is said: the documents' places, written out here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.winkube.node.plugins.plugin_utils.components.layout import Layout

from tests.unit.components.nodes import LAYOUT

try:
    from ansible.template import trust_as_template
except ImportError:  # ansible-core before 2.19 trusts every text

    def trust_as_template(value: str) -> str:
        return value


DEFAULTS = Path(__file__).resolve().parents[3] / "roles" / "winkube" / "defaults" / "main.yml"


def trusted(value: Any) -> Any:
    if isinstance(value, str):
        return trust_as_template(value)
    return {name: trusted(one) for name, one in value.items()} if isinstance(value, dict) else value


def variable(name: str, **given: str) -> Any:
    """A variable of the shared role as Ansible makes it, with these set by somebody."""
    defaults: dict[str, Any] = yaml.safe_load(DEFAULTS.read_text(encoding="utf-8"))
    variables = {one: trusted(value) for one, value in (defaults | given).items()}
    return Templar(DataLoader(), variables=variables | {"inventory_hostname": "win1"}).template(variables[name])


def test_the_unit_tests_look_at_the_layout_of_the_roles() -> None:
    assert Layout.of(variable("winkube_node")) == LAYOUT


@pytest.mark.parametrize(
    ("place", "wanted"),
    [
        pytest.param("containerd_config", r"C:\Program Files\containerd\config.toml", marks=pytest.mark.row("CT-01")),
        pytest.param(
            "containerd_binary",
            r"C:\Program Files\containerd\bin\containerd.exe",
            marks=pytest.mark.row("CT-02", "PV-03", "PV-21"),
        ),
        pytest.param("containerd_pipe", "containerd-containerd", marks=pytest.mark.row("CT-03", "CT-16")),
        pytest.param("containerd_service", "containerd", marks=pytest.mark.row("SV-20", "PV-06")),
        pytest.param("cni_bin_dir", r"C:\k\cni", marks=pytest.mark.row("CT-20")),
        pytest.param("cni_conf_dir", r"C:\k\cni\config", marks=pytest.mark.row("CT-20")),
        pytest.param("kubelet_binary", r"C:\k\kubelet.exe", marks=pytest.mark.row("PV-04", "PV-21")),
        pytest.param("kubelet_service", "kubelet", marks=pytest.mark.row("PV-06")),
        pytest.param("kubelet_dir", r"C:\var\lib\kubelet", marks=pytest.mark.row("SV-11")),
        pytest.param("kube_proxy_binary", r"C:\k\kube-proxy.exe", marks=pytest.mark.row("PV-21")),
        pytest.param("kube_proxy_service", "kube-proxy", marks=pytest.mark.row("PV-06")),
        pytest.param("flanneld_binary", r"C:\flannel\flanneld.exe", marks=pytest.mark.row("PV-21")),
        pytest.param("log_dir", r"C:\k", marks=pytest.mark.row("SV-10", "SV-11")),
        pytest.param("nssm", r"C:\k\nssm.exe", marks=pytest.mark.row("SV-21")),
    ],
)
def test_places_and_names_are_those_of_the_documents(place: str, wanted: str) -> None:
    assert variable("winkube_node")[place] == wanted


@pytest.mark.row("CT-02")
def test_containerd_goes_where_the_node_yaml_says() -> None:
    elsewhere = r"D:\containerd\containerd.exe"
    assert variable("winkube_node", winkube_containerd_destination=elsewhere)["containerd_binary"] == elsewhere


@pytest.mark.row("SV-01")
def test_services_run_under_what_they_have_unless_somebody_says_otherwise() -> None:
    assert variable("winkube_service_manager") == "auto"
    assert variable("winkube_kube_proxy_managed_by") == "service"


@pytest.mark.row("SV-21")
def test_nssm_comes_from_its_publisher() -> None:
    assert variable("winkube_nssm_url") == "https://nssm.cc/release/nssm-2.24.zip"
    mirror = variable("winkube_nssm_url", winkube_download_base="https://mirror.example")
    assert mirror == "https://mirror.example/nssm.cc/release/nssm-2.24.zip"
