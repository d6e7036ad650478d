"""patch.yml: Windows updates between a drain and a look, the first node that is not well ends the run.

The lab has no Windows Update: a stand-in takes the place of ansible.windows.win_updates, and notes what it is asked.
With a file `slow` in the notes an installation goes on for as long as it is there.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.lab import ROOT, Bench
from tests.integration.warm import COLLECTIONS
from tests.integration.whole import BRIDGE, Whole
from tests.lab.cluster import tenants

PATCH = ROOT / "playbooks" / "patch.yml"
STAND_IN = """
import json
import time
from pathlib import Path
from ansible.plugins.action import ActionBase

NOTES = Path({notes!r})


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        host, args = task_vars["inventory_hostname"], self._task.args
        left = NOTES / host
        found = int(left.read_text()) if left.exists() else 0
        with (NOTES / "asked").open("a") as stream:
            stream.write(f"{{host}} {{args['state']}} {{','.join(args['category_names'])}} "
                         f"{{','.join(args.get('reject_list') or [])}}\\n")
        if args["state"] == "installed" and not self._task.check_mode:
            while (NOTES / "slow").exists():
                time.sleep(0.05)
            left.write_text("0")
        return {{"changed": bool(found) and args["state"] == "installed", "found_update_count": found,
                 "updates": json.loads((NOTES / "updates.json").read_text()) if (NOTES / "updates.json").exists()
                 else {{}}, "reboot_required": False}}
"""


@pytest.fixture
def notes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the stand-in looks how many updates a host lacks, and notes what it is asked."""
    folder = bench.directory / "updates"
    folder.mkdir()
    plugins = bench.directory / "collections" / "ansible_collections" / "ansible" / "windows" / "plugins"
    for kind, text in (("action", STAND_IN.format(notes=str(folder))), ("modules", "#!powershell\n")):
        (plugins / kind).mkdir(parents=True)
        name = "win_updates.py" if kind == "action" else "win_updates.ps1"
        (plugins / kind / name).write_text(text, encoding="utf-8")
    own = bench.environment() | {"ANSIBLE_COLLECTIONS_PATH": f"{bench.directory / 'collections'}:{COLLECTIONS}"}
    monkeypatch.setattr(bench, "environment", lambda: dict(own))
    return folder


def asked(notes: Path) -> list[str]:
    """What the stand-in was asked since the last look."""
    path = notes / "asked"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [" ".join(line.split()[:2]) for line in lines]


def test_a_node_that_ssh_would_not_reach_again_is_not_updated(bench: Bench, notes: Path) -> None:
    """Refused before it is emptied; verify names it as well, and the line that mends it."""
    whole = Whole(bench, BRIDGE)
    whole.converge()
    drive, logs, boots = whole.host.node.drive, r"C:\ProgramData\ssh\logs", whole.host.node.boots
    whole.host.in_turn(lambda: drive.mkdir(logs, "S-1-5-32-544"))
    closed = whole.host.in_turn(lambda: drive.sddl(logs))
    whole.host.in_turn(lambda: drive.set_sddl(logs, f"{closed}(A;OICI;0x1301bf;;;AU)", restore_privilege=True))
    (notes / "win1").write_text("2", encoding="utf-8")
    refused = whole.site(playbook=PATCH)
    mends = rf"icacls.exe {logs} /inheritance:d /remove:g *S-1-5-11"
    assert refused.rc != 0 and mends in " ".join(refused.output.split()), refused
    assert asked(notes) == ["win1 searched"]
    assert "cordoned" not in refused.output and whole.host.node.boots == boots

    look = whole.site(playbook=ROOT / "playbooks" / "verify.yml")
    assert look.rc == 0 and mends in " ".join(look.output.split()), look
    assert whole.converge().recap["win1"].changed == 0, "nothing is restarted"


def test_a_node_is_emptied_updated_looked_at_and_filled_again(bench: Bench, notes: Path) -> None:
    whole = Whole(bench, BRIDGE)
    whole.converge()
    whole.cluster.advance(60)
    nothing = whole.site(playbook=PATCH)
    assert nothing.rc == 0, nothing
    assert asked(notes) == ["win1 searched"]
    assert "cordoned" not in nothing.output

    (notes / "win1").write_text("2", encoding="utf-8")
    tenants.move_in(whole.cluster, "win1")
    refused = whole.site(playbook=PATCH)
    assert refused.rc != 0 and "default/alone has no controller that recreates it" in refused.output, refused
    assert "default/scratch keeps data in an emptyDir" in refused.output and "Nothing was changed." in refused.output
    assert asked(notes) == ["win1 searched"]
    run = whole.site(playbook=PATCH, winkube_drain_options=tenants.OPTIONS)
    assert run.rc == 0, run
    assert tenants.pods(whole.cluster, "win1") == list(tenants.STAYS), run
    assert asked(notes) == ["win1 searched", "win1 installed"]
    order = ["cordoned win1", "Install updates", "Verify the node", "uncordoned win1"]
    places = [run.stdout.index(text) for text in order]
    assert places == sorted(places), run
    assert not whole.cluster.nodes["win1"]["spec"].get("unschedulable")

    # A node that is not well after its updates stays cordoned, and the next one is not touched.
    bench.node("win2", "192.168.122.232")
    for name in ("win1", "win2"):
        (notes / name).write_text("1", encoding="utf-8")
    whole.host.in_turn(lambda: whole.host.node.run(r"C:\Windows\System32\sc.exe", ["stop", "kube-proxy"]))
    whole.host.in_turn(lambda: whole.host.node.clock.advance(60))
    run = whole.site(playbook=PATCH, winkube_patch_verify_timeout=10)
    assert run.rc != 0, run
    assert asked(notes) == ["win1 searched", "win1 installed"]
    assert whole.cluster.nodes["win1"]["spec"].get("unschedulable") is True


def test_an_update_that_is_known_to_be_bad_is_not_installed(bench: Bench, notes: Path) -> None:
    whole = Whole(bench, BRIDGE)
    whole.converge()
    whole.cluster.advance(60)
    entry = {"build": 20348, "since": 5000, "mended": 5100, "breaks": "Pods lose it.", "source": "https://x.example/1"}
    logs, drive = r"C:\ProgramData\ssh\logs", whole.host.node.drive
    whole.host.in_turn(lambda: drive.mkdir(logs, "S-1-5-32-544"))
    closed = whole.host.in_turn(lambda: drive.sddl(logs))
    opened = f"{closed}(A;OICI;FA;;;S-1-5-21-1-2-3-1001)"
    whole.host.in_turn(lambda: drive.set_sddl(logs, opened, restore_privilege=True))
    found = {"1": {"title": "2026-04 Cumulative Update (KB5082142) (20348.5020)", "kb": ["5082142"]}}
    (notes / "updates.json").write_text(json.dumps(found), encoding="utf-8")
    (notes / "win1").write_text("1", encoding="utf-8")
    alone = whole.site(playbook=PATCH, winkube_windows_revisions=[entry])
    assert alone.rc == 0, alone
    assert "KB5082142 (10.0.20348.5020) is not installed: Pods lose it." in alone.output
    assert "The next good one is 10.0.20348.5139 (KB5087545)." in alone.output
    assert asked(notes) == ["win1 searched"]
    assert "cordoned" not in alone.output, "nothing is left to install, and nothing restarts"

    found["2"] = {"title": "2026-04 Cumulative Update for .NET Framework", "kb": ["5099999"]}
    (notes / "updates.json").write_text(json.dumps(found), encoding="utf-8")
    (notes / "win1").write_text("2", encoding="utf-8")
    refused = whole.site(playbook=PATCH, winkube_windows_revisions=[entry], winkube_drain_options=tenants.OPTIONS)
    assert refused.rc != 0 and "nobody would reach it by SSH again" in refused.output, refused
    assert asked(notes)[-1] == "win1 searched" and "cordoned" not in refused.output, refused
    whole.host.in_turn(lambda: drive.set_sddl(logs, closed, restore_privilege=True))
    run = whole.site(playbook=PATCH, winkube_windows_revisions=[entry], winkube_drain_options=tenants.OPTIONS)
    assert run.rc == 0, run
    assert (notes / "asked").read_text(encoding="utf-8").splitlines()[-1].endswith(" KB5082142")
