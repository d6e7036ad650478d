"""What win-bridge.exe and win-overlay.exe ask HNS for is what the lab asks of its own, and what is recorded.

Their HNS is the lab's, behind DLLs of our own (tests/windows/hns): Windows' own would refuse more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.machine import hcn
from tests.windows.conftest import require
from tests.windows.hns import library, plugins
from tests.windows.hns.plugins import MODES, VERSION, Story
from tests.windows.programs import Programs
from tests.wine import chroot
from tests.wine.prefix import Prefix


@pytest.fixture(scope="module")
def networked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    """A prefix of its own: in the others HNS is missing."""
    for name in ("host-local", *MODES.values()):
        require(name, VERSION)
    if (why := chroot.missing()) is not None:
        pytest.skip(f"lane windows: {why}")
    if not library.library().exists():
        pytest.skip("lane windows: hns.dll is not built; `make windows` builds it")
    with Prefix(tmp_path_factory.mktemp("hns") / "prefix") as prefix:
        windows = Programs(prefix)
        plugins.prepare(windows)
        yield windows


def story(windows: Programs, mode: str, tmp_path: Path, **changed: Any) -> Story:
    """One pod's; addresses are given anew each time."""
    node = plugins.machine(mode)
    conf = {**plugins.rendered(mode, node.hns.networks[0]["ManagementIP"]), **changed}
    conf["ipam"] = {**conf["ipam"], "dataDir": rf"C:\networks\{tmp_path.name}"}
    return plugins.tell(windows, node, conf)


def created(found: Story) -> dict[str, Any]:
    """The request that makes the endpoint."""
    return next(document for call, document in found.asked if call == "HcnCreateEndpoint")


def plain(found: Story) -> list[tuple[str, dict[str, Any]]]:
    """Its requests without what is new each time."""
    moving = {"HostComputeNetwork", "IpConfigurations", "MacAddress", "Settings"}
    return [
        (call, {key: value for key, value in document.items() if key not in moving}) for call, document in found.asked
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_pods_endpoint_is_asked_for_as_the_lab_does(
    mode: str, networked: Programs, tmp_path: Path, judged: Callable[..., None]
) -> None:
    found = story(networked, mode, tmp_path)
    address = str(found.result["ips"][0]["address"]).partition("/")[0]
    expected = hcn.pod_endpoint(found.conf, found.network, address, plugins.SANDBOX, found.namespace)
    assert created(found) == expected
    assert plain(found) == plain(plugins.recorded()[mode])
    assert found.left == ()
    judged(MODES[mode], VERSION, "ADD and DEL of a pod", "requests to HNS: the lab's, the recorded")


@pytest.mark.parametrize("mode", MODES)
def test_policies_that_the_lab_adds_or_leaves_out_are_the_plugins(
    mode: str, networked: Programs, tmp_path: Path
) -> None:
    """Without policies of the configuration, with ipMasq, and with one in the form of the first API."""
    old = [{"Name": "EndpointPolicy", "Value": {"Type": "OutBoundNAT", "ExceptionList": ["10.0.0.0/8"]}}]
    changes: tuple[dict[str, Any], ...] = (
        {"policies": []},
        {"ipMasq": True, "ipMasqNetwork": "10.244.0.0/16"},
        {"policies": old},
    )
    for changed in changes:
        found = story(networked, mode, tmp_path, **changed)
        address = str(found.result["ips"][0]["address"]).partition("/")[0]
        expected = hcn.pod_endpoint(found.conf, found.network, address, plugins.SANDBOX, found.namespace)
        assert created(found) == expected, changed


@pytest.mark.parametrize("mode", MODES)
def test_the_first_api_takes_no_pod_of_containerd(mode: str, networked: Programs, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="failed to find HNSEndpoint"):
        story(networked, mode, tmp_path, apiVersion=1)
