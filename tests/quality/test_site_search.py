"""The site's search, as the browser runs it: questions that people ask in public, and the page that answers each."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.browser.chromium import chromium
from tests.quality.sanity import ROOT
from tests.quality.site import asked

pytestmark = pytest.mark.slow

WORDS = ROOT / "docs" / "assets" / "search-words.js"
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
    return [[page[0].partition("#")[0] for page in found] for found in asked.search(site, questions)]


@pytest.mark.lane("search")
def test_the_page_that_answers_is_among_the_first_hits_of_each_question(site: Path) -> None:
    found = dict(zip(QUESTIONS, hits(site, list(QUESTIONS)), strict=True))
    assert {
        question: (pages[: asked.FIRST], QUESTIONS[question])
        for question, pages in found.items()
        if QUESTIONS[question] not in pages[: asked.FIRST]
    } == {}


@pytest.mark.parametrize("table", [asked.TUNED, asked.UNSEEN])
@pytest.mark.parametrize("kind", ["questions", "pasted"])
def test_what_was_asked_in_public_has_an_address_and_answers_that_are_there(kind: str, table: str, site: Path) -> None:
    rows = asked.read_asked(kind, table)
    other = asked.read_asked(kind, asked.UNSEEN if table == asked.TUNED else asked.TUNED)
    assert {row.at for row in rows}.isdisjoint(row.at for row in other), "the second set is another one"
    assert len({row.asked for row in rows}) == len(rows) >= {"questions": 40, "pasted": 20}[kind]
    assert [row for row in rows if not re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", row.at)] == []
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = {each["location"] for each in index["docs"]}
    assert [answer for row in rows for answer in row.answers if answer not in places] == []


@pytest.mark.lane("search")
def test_which_words_of_a_question_count() -> None:
    script = f"require({json.dumps(str(WORDS))}); process.stdout.write(JSON.stringify(QUESTIONS.map(searchWords)))"
    questions = [
        "How do I set up the proxy?",
        'E0628 16:57:08.673912    1180 proxier.go:564] "x" failed: (0xc0370101) for 10.0.0.5 in 40c9dc69b4d52',
        "in",
    ]
    ran = subprocess.run(
        ["node", "-e", script.replace("QUESTIONS", json.dumps(questions))], capture_output=True, text=True, check=True
    )
    assert [
        " ".join(dict.fromkeys(word.partition("^")[0] for word in text.split())) for text in json.loads(ran.stdout)
    ] == [
        "set up proxy",
        "proxier.go 0xc0370101",
        "in",
    ]


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
