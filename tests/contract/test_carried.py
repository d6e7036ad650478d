"""The archive for a Windows machine without Ansible: what it holds, and the whole of it walked as run.ps1 walks it, by
a stand-in whose machine is the lab's simulated node. run.ps1 itself needs a PowerShell; here it is parsed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.contract import people
from tests.contract.carried import build, judge
from tests.contract.carried.journey import Download, journeys
from tests.contract.case import Tree, all_cases
from tests.contract.check import encode
from tests.contract.powershell import payload, wire
from tests.contract.provides import ARCHIVE
from tests.contract.simulated import RUNNER, Simulated
from tests.contract.web import PAGES, serve
from tests.lab.machine.builds import release_archive
from tests.lab.server.source import SourceServer
from tests.unit.powershell import names, rules
from tests.unit.powershell.source import Source

VERSION = "2.3.7"
CONTAINERD = release_archive("containerd", VERSION)
DOWNLOAD = Download(VERSION, "http://downloads/containerd.tar.gz", hashlib.sha256(CONTAINERD).hexdigest())
PEOPLE = frozenset(people.ident(case) for case in people.CASES)
SHELL = frozenset(case.id for case in all_cases() if "shell" in case.needs)


class StandIn:
    """Takes the steps of an archive as run.ps1 does, on a simulated machine, and writes the same report."""

    def __init__(self, archive: Path, node: Simulated, web_port: str) -> None:
        with zipfile.ZipFile(archive) as packed:
            self._files = {Path(name).name: packed.read(name).decode() for name in packed.namelist()}
        self._node = node
        # The twin needs no text: a short one in the place of the runner's saves most of the time.
        text, short = json.loads(self._files["runner.json"]).encode(), RUNNER.encode()
        cases = self._files["cases.jsonl"].replace(_base64(text), _base64(short))
        self._cases = cases.replace(hashlib.sha256(text).hexdigest(), hashlib.sha256(short).hexdigest())
        self._words = {
            "@POWERSHELL@": r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe",
            "@WEB_PORT@": web_port,
            "@DRIVE@": "D:",
        }

    def report(self, fits: str = "") -> str:
        """The lines of run.ps1 for the cases whose id fits this regular expression."""
        start = {"kind": "start", "about": json.loads(self._files["about.json"]), "machine": "simulated"}
        lines = [start | {"web_port": int(self._words["@WEB_PORT@"]), "drive": self._words["@DRIVE@"]}]
        for line in map(json.loads, self._cases.splitlines()):
            if not re.search(fits, line["id"]):
                continue
            entry = {"kind": "case", "shell": "stand-in", "id": line["id"], "program": self._words["@POWERSHELL@"]}
            shell = line["id"] in SHELL or line["stage"] == "people"
            skip = line["skip"] or ("the simulated machine has no shell" if shell else "")
            if skip:
                lines.append(entry | {"verdict": "skipped", "why": [skip]})
                continue
            found: list[dict[str, Any]] = []
            self._node.prepare(Tree())
            for part in ("main", "last"):
                found += [*map(self._step, line[part]), {"part": part}]
            lines.append(entry | {"verdict": "passed", "why": [], "found": found})
        return "".join(json.dumps(line) + "\n" for line in [*lines, {"kind": "end"}])

    def _expanded(self, text: str) -> Any:
        for word, value in self._words.items():
            text = text.replace(word, value.replace("\\", "\\\\"))
        return json.loads(text.replace("@RUNNER@", RUNNER))

    def _step(self, step: Mapping[str, Any]) -> dict[str, Any]:
        if step["do"] == "run":
            sent = self._expanded(step["sent"])
            option = {"batch": encode(sent)} if step["module"] == "node_apply" else {"request": json.dumps(sent)}
            answer = self._node.run(step["module"], option, check_mode=step["payload"].endswith("-check"))
            return {"stdout": json.dumps(answer), "stderr": "", "exit_code": 0, "timed_out": False, "ms": 1}
        request = self._expanded(step["request"])
        answer = {"files": [], "registry": {}}
        match request["verb"]:
            case "prepare":
                files = {item["path"]: _described(item) for item in request["files"]}
                self._node.prepare(Tree(files, request["registry"]))
            case "put":
                self._node.put({item["path"]: _bytes(item) for item in request["files"]})
            case "start":
                self._node.start()
            case "state":
                answer["files"] = wire(self._node.observe_state())
            case "observe":
                found = self._node.observe()
                answer = {"files": wire(found.files), "registry": dict(found.registry)}
        return {"stdout": json.dumps(answer)}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(item: Mapping[str, str]) -> bytes:
    return item["text"].encode() if "text" in item else base64.b64decode(item["data"])


def _described(item: Mapping[str, str]) -> Any:
    match item["kind"]:
        case "directory":
            return None
        case "link" | "junction":
            return {item["kind"]: item["data"]}
    return {"base64": item["data"]}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "winkube-contract.zip"
    build.build(path, DOWNLOAD)
    return path


@pytest.fixture(scope="module")
def stand_in(archive: Path) -> Iterator[StandIn]:
    sources = SourceServer()
    sources.start()
    sources.publish("/containerd.tar.gz", CONTAINERD)
    with serve() as web:
        hosts = {web: web, "downloads": sources.address}
        node = Simulated(web, build.PLACE.root, build.PLACE.state, hosts)
        yield StandIn(archive, node, web.rpartition(":")[2])
    sources.stop()


@pytest.fixture(scope="module")
def report(stand_in: StandIn) -> str:
    """What goes beyond the cases, and some of them."""
    return stand_in.report(r"^(look|containerd|mkdir|write|record|registry|query)\b")


def test_every_case_of_the_contract_is_carried_or_says_what_it_needs(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        carried = [json.loads(line) for line in packed.read("winkube-contract/cases.jsonl").splitlines()]
    by_id = {line["id"]: line for line in carried}
    assert set(by_id) == {case.id for case in all_cases()} | {"look-reading", "look-hns", "containerd"} | PEOPLE
    for case in all_cases():
        missing = case.needs - ARCHIVE
        assert bool(by_id[case.id]["skip"]) is bool(missing), case.id
        assert bool(by_id[case.id]["main"]) is not bool(missing), case.id


def _all_right(text: str) -> set[str]:
    """The ids of the cases that passed; no case may have failed."""
    found = judge.read_report(text)
    verdicts = list(judge.judged(found))
    wrong = [(each.id, each.why) for each in verdicts if each.verdict == "failed" or not each.agreed]
    assert wrong == [], wrong
    passed = {each.id for each in verdicts if each.verdict == "passed"}
    assert list(judge.told(found, verdicts))[-1].startswith(f"{len(passed)} passed, 0 failed, ")
    return passed


@pytest.mark.exhaustive
def test_the_whole_archive_passes_on_the_simulated_node(stand_in: StandIn) -> None:
    carried = {case.id for case in all_cases() if case.needs <= ARCHIVE} - SHELL
    assert _all_right(stand_in.report()) == carried | {"containerd", "look-reading", "look-hns"}


def test_a_part_of_the_archive_passes_on_the_simulated_node(report: str) -> None:
    """It failed while the adapters were wanted as an object, and the firewall's rules were planned from another key."""
    assert _all_right(report) >= {"containerd", "look-reading", "look-hns"}


def test_containerd_is_opened_over_tcp_and_nothing_of_it_stays(report: str) -> None:
    entry = next(entry for entry in judge.read_report(report).cases if entry["id"] == "containerd")
    answers = [json.loads(item["stdout"]) for item in entry["found"] if "exit_code" in item]
    outcomes = ["done", None, "done", "done", None, "done", None, "done", None]
    assert [answer.get("outcome") for answer in answers] == outcomes
    assert "127.0.0.1:48888" in json.dumps(answers[2])


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        (r'\\"outcome\\": \\"done\\"', r'\\"outcome\\": \\"undone\\"'),
        (r'\\"changed\\": true', r'\\"changed\\": false'),
        (r'\\"size\\": 5', r'\\"size\\": 6'),
        (r'\\"kind\\": \\"file\\"', r'\\"kind\\": \\"link\\"'),
        (r'\\"data\\": \\"eA==\\"', r'\\"data\\": \\"eQ==\\"'),
        (r'\\"registry\\": {}', r'\\"registry\\": {\\"k\\": {}}'),
    ],
)
def test_another_answer_is_found_and_so_is_a_script_that_says_otherwise(
    report: str, pattern: str, instead: str
) -> None:
    spoiled = re.sub(pattern, instead, report)
    assert spoiled != report
    found = judge.read_report(spoiled)
    verdicts = list(judge.judged(found))
    assert any(each.verdict == "failed" and not each.agreed for each in verdicts)
    assert "one of the two judges is wrong" in "\n".join(judge.told(found, verdicts))


def test_what_a_windows_lacks_is_named_and_the_row_of_the_page_is_printed(report: str) -> None:
    """A run on Wine, which has neither scheduler nor services: its report counted 35 failures that told nothing."""
    start, *rest = report.splitlines()
    lacking = json.loads(start) | {
        "lacks": ["task"],
        "at": "2026-11-24T10:00:00Z",
        "machine": "a | b",
        "defender": "Defender: off",
    }
    found = judge.read_report("\n".join([json.dumps(lacking), *rest]))
    told = list(judge.told(found, list(judge.judged(found))))
    assert "This Windows does not show task: cases that need these were skipped, not judged." in told
    row = told[told.index("The row for docs/first-hour.md:") + 1]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:4] == ["stand-in", "a / b; Defender: off", "2026-11-24"] and "0 failed" in cells[4]
    page = (build.ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
    assert "| what | program | system | when | result |" in page


def test_the_script_knows_every_need_that_it_can_lack() -> None:
    text = (build.HERE / "run.ps1").read_text()
    named = re.search(r"AddRange\(@\((.*?)\)\)", text)
    assert named is not None
    assert set(re.findall(r"'([\w-]+)'", named[1])) == ARCHIVE - {"windows", "registry", "shell", "web", "drive"}
    assert "'SOFTWARE\\Wine'" in text and "$lacks + 'drive'" in text


def test_a_report_that_ends_early_is_told(report: str, tmp_path: Path) -> None:
    half = tmp_path / "half.jsonl"
    half.write_text("\n".join(report.splitlines()[:20]) + '\n{"kind": "ca', encoding="utf-8")
    found = judge.read_report(half.read_text(encoding="utf-8"))
    assert not found.complete and len(found.cases) == 19
    assert judge.main([str(half)]) == 1
    with pytest.raises(judge.ReportError, match="does not begin"):
        judge.read_report("")


def test_a_step_that_was_not_taken_fails_its_case(report: str) -> None:
    lines = report.splitlines()
    place = next(number for number, line in enumerate(lines) if '"id": "mkdir-' in line)
    entry = json.loads(lines[place])
    entry["found"] = [*entry["found"][:2], {"part": "main"}, {"part": "last"}]
    lines[place] = json.dumps(entry)
    verdict = next(each for each in judge.judged(judge.read_report("\n".join(lines))) if each.id == entry["id"])
    assert verdict.verdict == "failed" and "was not taken" in verdict.why[0]


def test_modules_are_carried_as_ansible_sends_them() -> None:
    """The script puts a JSON string in the place of one word: with the same option it is Ansible's own input."""
    for module, option, check_mode in (("node_probe", "request", False), ("node_apply", "batch", True)):
        value = json.dumps({"path": "C:\\a", "q": '"'})
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        _, data = payload(module, {option: value}, check_mode)
        assert build.rendered(module, check_mode).replace(build.ARGUMENT, escaped) == data.decode()


def test_the_carried_web_server_has_the_pages_of_the_contract(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        rows = json.loads(packed.read("winkube-contract/web.json"))
    assert [row["start"] for row in rows] == [page.request for page in PAGES]
    hello = next(row for row in rows if row["start"] == "GET /hello ")
    assert base64.b64decode(hello["data"]).endswith(b"\r\n\r\nhello")


def test_what_a_script_for_people_did_otherwise_is_judged(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        carried = [json.loads(line) for line in packed.read("winkube-contract/cases.jsonl").splitlines()]
    line = next(line for line in carried if line["id"] == "people-generalise-an-image")
    placed, step = line["main"]
    assert '"machine/cd/unattend.xml"' in placed["request"] and "@" not in json.dumps(step)
    world = "".join(f"{key}\t{value}\n" for key, value in step["after"].items())
    said = ["listener * is gone. certificate ABCD", "Nothing of this machine was left to remove."]
    runs = [{"exit_code": 0, "said": text, "look": "", "world": world} for text in said]
    start = {"kind": "start", "about": {}, "web_port": 1}
    entry = {"kind": "case", "shell": "5.1", "id": line["id"], "program": "p", "verdict": "passed", "why": []}
    for change, verdict in (({}, "passed"), ({"look": "x"}, "failed")):
        found = [{"stdout": "{}"}, {"runs": [runs[0], {**runs[1], **change}]}, {"part": "main"}, {"part": "last"}]
        told = "\n".join(json.dumps(each) for each in (start, {**entry, "found": found}, {"kind": "end"}))
        assert [each.verdict for each in judge.judged(judge.read_report(told))] == [verdict]


def test_without_a_checksum_containerd_is_left_out_with_a_sentence() -> None:
    assert "checksum" in journeys(build.PLACE, build.runner(), None)[-1].skip


def _scripts() -> list[Source]:
    web = (build.HERE / "web.ps1").read_bytes()
    return [Source("carried/run.ps1", build.script().encode()), Source("carried/web.ps1", web)]


@pytest.mark.parametrize("source", _scripts(), ids=lambda source: source.name)
def test_the_scripts_keep_to_the_rules_of_the_collections(source: Source) -> None:
    """All rules but one: a script that is started by hand ends with an exit code."""
    found = [
        finding for rule in rules.RULES for finding in rule(source) if rule is not rules.no_exit_and_no_last_status
    ]
    assert found == []
    assert list(names.unknown_functions(source, {})) == []
    assert list(names.used_before_defined(source)) == []
    assert list(names.leaked_results(source, {})) == []
    unknown = [finding for finding in names.unknown_variables(source) if "$psscriptroot" not in finding]
    assert unknown == []


def test_the_script_reads_only_what_the_archive_holds(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        members = {Path(name).name for name in packed.namelist()}
    text = (build.HERE / "run.ps1").read_text()
    named = set(re.findall(r"-Name '([\w.-]+\.(?:json|jsonl|ps1|txt))'", text))
    scripts = {path.name for path in (people.HARNESS, *people.SCRIPTS)}
    assert "'people.ps1'" in text
    assert named == members - {"run.ps1"} - scripts - {name for name in members if name.endswith(".payload")}
    assert "'node_probe', 'node_apply', 'node_apply-check'" in text
