"""bootstrap.yml: a machine's host key is compared before anything else is sent, and kept."""

from __future__ import annotations

import json
import subprocess

from tests.integration.lab import ROOT, Bench

BOOTSTRAP = ROOT / "playbooks" / "bootstrap.yml"


def bootstrap(bench: Bench, **variables: object) -> tuple[int, str]:
    extra = bench.file("extra.json", json.dumps({"winkube_hosts": "windows", **variables}))
    known = {"winkube_bootstrap_known_hosts": str(bench.directory / "none" / "kept")}
    run = bench.ansible_playbook(BOOTSTRAP, "-e", f"@{extra}", "-e", json.dumps(known))
    return run.rc, " ".join(run.output.split())


def test_the_host_key_is_compared_and_kept(bench: Bench) -> None:
    bench.node()
    kept = bench.directory / "none" / "kept"
    rc, output = bootstrap(bench)
    assert rc != 0
    assert "wanted is one in winkube_bootstrap_fingerprints" in output
    rc, output = bootstrap(bench, winkube_bootstrap_fingerprints={"win1": "SHA256:wrong"}, winkube_bootstrap_trust=True)
    assert rc != 0
    assert "wanted is SHA256:wrong" in output
    assert not kept.exists()
    assert bench.calls() == 0, "nothing was sent to a machine that may be another one"

    listed = ["ssh-keygen", "-l", "-f", str(bench.lab.directory / "known_hosts")]
    said = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    right = next(word for word in said.split() if word.startswith("SHA256:"))
    rc, output = bootstrap(bench, winkube_bootstrap_fingerprints={"win1": ["SHA256:other", right]})
    assert rc == 0, output
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 1
    assert bench.calls() == 1
