"""The site's search, as the browser runs it: questions that people ask in public, and the page that answers each."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.browser.chromium import chromium
from tests.quality.sanity import ROOT

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("site") / "search.js"
QUESTIONS = {
    # In the words that one types into a search; the first ten are titles of public issues.
    "flanneld stuck waiting for the network to be created": "troubleshooting/flannel.waits.html",
    "subnet.env is never created": "troubleshooting/flannel.waits.html",
    "usageNanoCores zero CPU": "cpu-stats.html",
    "which pause image": "versions.html",
    "source-vip flag not set": "troubleshooting/kube-proxy.source-vip.html",
    "WinOverlay feature gate": "kubernetes-flags.html",
    "cni plugin not initialized": "cni-conf-check.html",
    "stale HNS endpoints after pods are terminated": "troubleshooting/hns.endpoints.html",
    "HNS loadbalancers disappear": "troubleshooting/hns.endpoints.html",
    "port exhaustion makes DNS stop working": "troubleshooting/traffic.names.html",
    "kubectl logs empty": "observability.html",
    "support Windows nodes kubespray": "beside-kubespray.html",
    "custom build of kubelet": "push-your-build.html",
    "upgrade containerd": "upgrade.html",
    "Windows updates drain": "patch.html",
    "containerd proxy": "proxies.html",
    "gMSA": "gmsa.html",
    "csi-proxy": "storage.html",
    "taint Windows nodes": "scheduling.html",
    "RuntimeClass Windows builds": "scheduling.html",
    "golden image sysprep": "image.html",
    "private registry mirror": "registries.html",
    "air-gapped": "air-gapped.html",
    "remove Windows node": "reset.html",
    "no SSH only a kubeconfig": "host_process.html",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=600)
    return folder


def hits(site: Path, questions: list[str]) -> list[list[str]]:
    """For each question the pages that are found, best first."""
    (worker,) = site.glob("assets/javascripts/workers/search.*.min.js")
    command = ["node", str(SCRIPT), str(worker), str(site / "search" / "search_index.json")]
    ran = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, check=True, timeout=120)
    return [[group[0].partition("#")[0] for group in found] for found in json.loads(ran.stdout)]


@pytest.mark.lane("search")
def test_the_first_hit_of_each_question_is_the_page_that_answers(site: Path) -> None:
    found = dict(zip(QUESTIONS, hits(site, list(QUESTIONS)), strict=True))
    assert {
        question: (pages[:3], QUESTIONS[question])
        for question, pages in found.items()
        if pages[:1] != [QUESTIONS[question]]
    } == {}


@pytest.mark.lane("search")
def test_a_word_of_no_page_finds_nothing(site: Path) -> None:
    assert hits(site, ["zeppelinfahrt"]) == [[]]


SEARCH = """(() => {
    const query = document.querySelector("[data-md-component=search-query]");
    document.querySelector("[data-md-toggle=search]").click();
    query.focus();
    query.value = "gMSA";
    query.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true, key: "A"}));
})()"""
FIRST = "document.querySelector('.md-search-result a')?.href ?? ''"


@pytest.mark.lane("browser")
def test_the_search_needs_no_server(site: Path, tmp_path: Path) -> None:
    """In a page that is opened as a file, where browsers start no worker and fetch no index."""
    with chromium(tmp_path) as tab:
        tab.show(site / "index.html", 1200)
        tab.evaluate(SEARCH)
        end = time.monotonic() + 60
        while not (found := tab.evaluate(FIRST)) and time.monotonic() < end:
            time.sleep(0.2)
        assert found.startswith((site / "gmsa.html").as_uri())
        asked = [url for url in tab.asked if not url.startswith(("file:", "data:", "blob:"))]
        assert asked == [], "no script from elsewhere, no stars from the repository's API"
