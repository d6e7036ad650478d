"""The alert rules of examples/in-cluster, by promtool: they are rules, and fire when they should and not before."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT
from tests.real import build

RULES = ROOT / "examples" / "in-cluster" / "alerts" / "rules.yml"
CASES = Path(__file__).with_name("alerts.yml")


def rules() -> list[dict[str, str]]:
    document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    return [rule for group in document["spec"]["groups"] for rule in group["rules"]]


def test_each_alert_has_cases_in_which_it_fires_and_in_which_it_does_not() -> None:
    cases = [
        case for each in yaml.safe_load(CASES.read_text(encoding="utf-8"))["tests"] for case in each["alert_rule_test"]
    ]
    fires = {case["alertname"] for case in cases if case["exp_alerts"]}
    silent = {case["alertname"] for case in cases if not case["exp_alerts"]}
    assert fires == silent == {rule["alert"] for rule in rules()}


def test_promtool_agrees(tmp_path: Path) -> None:
    promtool = build.program("promtool", build.PROMTOOL)
    if not promtool.exists():
        pytest.skip(
            f"lane real: promtool is not there; `python -m tests.real.build promtool@{build.PROMTOOL}` builds it"
        )
    spec = yaml.safe_load(RULES.read_text(encoding="utf-8"))["spec"]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    shutil.copy(CASES, tmp_path)
    for words in (("check", "rules", "rules.yml"), ("test", "rules", CASES.name)):
        done = subprocess.run(
            [promtool, *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
