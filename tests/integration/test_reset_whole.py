"""A reset is proved by the whole machine: as it was before the first install, but for what docs/reset.md names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench
from tests.integration.optional import optional_components
from tests.integration.site import whole_differences
from tests.integration.test_cri_tcp import PLAY, TASK
from tests.integration.whole import BRIDGE, OVERLAY, Kind, Whole

RESET = ROOT / "playbooks" / "reset.yml"
STATE = "/drive/C:\\ProgramData\\winkube"
"""The journal; docs/reset.md says so."""
RUNNER = "/tasks/\\winkube\\runner"
SYSTEM = "/registry/HKLM\\SYSTEM\\CurrentControlSet"
NO_PROXY = f"{SYSTEM}\\Control\\Session Manager\\Environment/NO_PROXY"
"""Nobody named it in winkube_reset_variables."""
FEATURE = (
    *(f"/drive/C:\\Windows\\System32\\{name}.exe" for name in ("hcsdiag", "hnsdiag", "vmcompute")),
    "/registry/HKLM\\SOFTWARE\\Microsoft\\Windows",
    *(f"{SYSTEM}\\Services\\{name}" for name in ("hns", "vmcompute")),
    "/services/hns",
    "/services/vmcompute",
    "/processes",
)
"""What Windows brings with the feature Containers, which stays."""
EVERYTHING: dict[str, Any] = {
    "winkube_defender_exclusions": True,
    "winkube_node_http_proxy": "http://10.7.0.1:3128",
    "winkube_kubelet_environment": {"A": "b"},
    "winkube_page_file_min_mb": 64,
    "winkube_registries": [{"host": "docker.io", "mirrors": [{"url": "http://10.7.0.1:5000"}]}],
}


@pytest.mark.exhaustive(keep=("overlay, sc, off",))
@pytest.mark.parametrize(
    ("kind", "containers"), [(BRIDGE, True), (OVERLAY, False)], ids=["l2bridge, nssm, feature on", "overlay, sc, off"]
)
def test_the_machine_is_as_it_was_before_the_first_install(bench: Bench, kind: Kind, containers: bool) -> None:
    """The whole machine is compared, not what somebody believes to have made. It found: the task that closes CRI over
    TCP with the private key of that port, the switches of Microsoft Defender's lists, nssm's source of the event log.
    """
    whole = Whole(bench, kind, containers=containers)
    before = bench.dump()
    whole.converge(**EVERYTHING, **optional_components(bench))
    address = whole.host.node.nic.address
    tcp = f"{{tcp_address: '{address}:8888', allowed_sources: [192.168.122.1], prove: never, "
    tcp += f"certificates: {{folder: '{bench.directory}/cri'}}, expires_after: 1h, expires_restart: true}}"
    opened = bench.ansible_playbook(bench.play(PLAY + TASK.format(tcp)))
    assert opened.rc == 0, opened
    assert len(whole_differences(before, bench.dump())) > 100
    done = whole.converge(playbook=RESET, winkube_reset=True, winkube_reset_variables=["HTTP_PROXY"])
    after = bench.dump()
    stays = (STATE, RUNNER, NO_PROXY, *(() if containers else FEATURE))
    left = whole_differences(before, after)
    assert [line for line in left if not line.startswith(stays)] == []
    closing = (f"{STATE}\\cri-tcp", f"{STATE}\\expir")
    assert [line for line in left if line.startswith(closing) or "server.key" in line] == []
    ours = [line for line in after["processes"] if line not in before["processes"] and "svchost" not in line[1]]
    assert ours == []
    for sentence in (
        r"C:\\ProgramData\\winkube and the task \\winkube\\runner stay",
        "the machine's variables NO_PROXY stay",
        "the Windows feature Containers stays",
    ):
        assert sentence in done.output, done
    assert "not all of it is gone" not in done.output
