"""The PowerShell texts that are no file of their own: what Python puts together, a playbook or a page carries."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components import runner_task
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.access import script_argv
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import commands, manifests

from tests.contract import place_script
from tests.unit.powershell.source import ROOT, Source

_COMMANDS = {
    "udp_from_windows": commands.udp_from_windows("10.0.0.1", 8081),
    "resolve": commands.resolve("kubernetes.default"),
    "resolve, at a server": commands.resolve("kubernetes.default", "10.96.0.10"),
    "dns_servers": commands.dns_servers(),
}


def texts() -> Iterator[Source]:
    """Each with a name that says where it comes from."""
    yield _text("host_process/access.py, script_argv", _decoded(script_argv(9)[-1]))
    task = runner_task.xml("C:\\ProgramData\\winkube", "it's", since="2026-01-01T00:00:00Z", every="PT5M")
    yield _text(
        "components/runner_task.py, xml", _decoded(task.decode("utf-16").split("-EncodedCommand ")[1].split("<")[0])
    )
    for name, argv in _COMMANDS.items():
        yield _text(f"smoke/commands.py, {name}", argv[-1])
    # A pod's command has each `$` twice: the kubelet would put a variable in.
    yield _text("smoke/manifests.py, the peer", manifests.ECHO.replace("$$", "$"))
    plays = yaml.safe_load((ROOT / "playbooks" / "diagnose.yml").read_text(encoding="utf-8"))
    yield _text("playbooks/diagnose.yml, winkube_hyperv_script", plays[0]["tasks"][0]["vars"]["winkube_hyperv_script"])
    yield _text("contract/place_script.py, script_block", place_script.script_block())


def fenced() -> Iterator[Source]:
    """The PowerShell that a page shows, to parse: what a reader types is for his own PowerShell."""
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("roles/*/README.md")]):
        blocks = re.findall(r"^```powershell\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        for number, block in enumerate(blocks, 1):
            yield _text(f"{page.relative_to(ROOT)}, block {number}", block)


def _text(name: str, script: str) -> Source:
    return Source(name, (script if script.endswith("\n") else f"{script}\n").encode())


def _decoded(encoded: str) -> str:
    return base64.b64decode(encoded).decode("utf-16-le")
