"""What the linter says that the API server rejects, against what upstream's own validation rejects, pod by pod.

verdicts/<minor>.json is what tests/real/apiserver_judge answered to the pods of the planted mistakes and to the
Windows pods of the public manifests: `python -m tests.corpus.upstream 1.37.1 1.33.13` asks anew (Go; minutes the
first time). The records of the linter's fixtures (tests/fixtures/lint/apiserver) are compared as well. A pod agrees
if both name the same fields.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents, objects_of
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Finding, Severity
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile
from ansible_collections.winkube.node.plugins.plugin_utils.lint.workload import pods_of

from .facts import object_of
from .planted import mistakes

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FIXTURES = ROOT / "tests" / "fixtures" / "lint" / "apiserver"
# Where both say the same of places side by side: what the API server says of a mapping or of the pod, the linter says
# of the field or the container in it.
_SAME = (
    (re.compile(r"^spec\.os\.name$"), "spec.os"),
    (re.compile(r"^spec\.dnsConfig(\.nameservers)?$"), "spec.dnsPolicy"),
    (re.compile(r"\.volumeMounts(\[\d+\])?\.mountPropagation$"), ".volumeMounts.mountPropagation"),
)
# What the facts of a manifest leave out: handlers of probes, names of Secrets, keys. Nothing that a rule asks about
# is of these types, but for the server of dnsPolicy None and the name of os.
_LEFT_OUT = frozenset(["FieldValueRequired", "FieldValueNotFound"])
_ASKED = frozenset(["spec.dnsPolicy", "spec.os"])
# They come to a running pod, by a subresource; what stands in them is validated all the same.
_LATER = "spec.ephemeralContainers"


def place(field: str) -> str:
    """The field as both name it."""
    for pattern, same in _SAME:
        field = pattern.sub(same, field)
    return field


@dataclass(frozen=True, slots=True)
class Comparison:
    """`pods` were asked about, `unasked` are younger than the records."""

    pods: int
    agree: int
    unasked: int
    differences: list[str]


def pods() -> Iterator[dict[str, Any]]:
    """The pods that are asked about: of the planted mistakes, then of the public manifests, each with its own name."""
    number = 0
    for planted in mistakes():
        pod = planted.pod
        if pod is not None and _labels_are_strings(pod):
            number += 1
            yield {**pod, "metadata": {**pod["metadata"], "name": f"planted-{number}"}}
    number = 0
    for line in (HERE / "manifests.jsonl").read_text(encoding="utf-8").splitlines():
        values = [object_of(each) for each in json.loads(line)["objects"]]
        for document in live_documents(values):
            for thing in objects_of(document):
                for each in pods_of(thing):
                    if "indows" in json.dumps(each.root) and _decodes(each.spec) and _filled(each.spec):
                        number += 1
                        yield {
                            "apiVersion": "v1",
                            "kind": "Pod",
                            "metadata": {"name": f"public-{number}"},
                            "spec": each.spec,
                        }


def _labels_are_strings(pod: dict[str, Any]) -> bool:
    """Else the API server cannot even read it."""
    return all(isinstance(value, str) for value in (pod["spec"].get("nodeSelector") or {}).values())


def _decodes(spec: dict[str, Any]) -> bool:
    """Public manifests have commands that are no lists, and numbers in lists of words: these it cannot even read."""
    given = [each[key] for each in spec["containers"] for key in ("command", "args") if each.get(key) is not None]
    return all(isinstance(words, list) and all(isinstance(each, str) for each in words) for words in given)


def _filled(spec: dict[str, Any]) -> bool:
    """Does the name of the credential spec say something else than `<Your GMSA Spec Name>`? Nobody applies that one."""
    options = (spec.get("securityContext") or {}).get("windowsOptions") or {}
    return "<" not in str(options.get("gmsaCredentialSpecName"))


def ours(pod: dict[str, Any], minor: int) -> set[str]:
    """The fields that the linter says the API server rejects, as the API server names them."""
    report = lint(live_documents([pod]), Profile(minor=minor))
    named = set()
    for found in report.found:
        finding = found.finding
        if finding.severity is Severity.ERROR and "API server rejects" in finding.message:
            named.add(place(whole_or_field(finding, finding.path)))
    return named


def whole_or_field(finding: Finding, path: str) -> str:
    """Of a pod that is HostProcess in part the API server says "spec", we say which container does not fit."""
    return "spec" if "hostProcess" in finding.message and re.fullmatch(r"spec\.\w+\[\d+\]", path) else path


def is_asked(kind: str, field: str) -> bool:
    """Whether an error is about what the facts hold, and what a pod has from its beginning."""
    return (kind not in _LEFT_OUT or place(field) in _ASKED) and field != _LATER


def theirs(verdict: dict[str, Any]) -> set[str]:
    """The fields that upstream rejects, without what is wrong for want of facts."""
    return {place(error["field"]) for error in verdict["errors"] if is_asked(error["type"], error["field"])}


def compare() -> Comparison:
    asked = agree = unasked = 0
    differences: list[str] = []
    known = list(pods())
    for record in sorted((HERE / "verdicts").glob("*.json")):
        said = json.loads(record.read_text(encoding="utf-8"))
        minor = int(said["kubernetes"].split(".")[1])
        verdicts = {each["pod"]: each for each in said["verdicts"]}
        for pod in known:
            name = pod["metadata"]["name"]
            if name not in verdicts:
                unasked += 1
                continue
            asked += 1
            mine, other = ours(pod, minor), theirs(verdicts[name])
            agree += mine == other
            if mine != other:
                differences.append(f"upstream 1.{minor}: {name}: the linter {sorted(mine)}, upstream {sorted(other)}")
    return Comparison(asked, agree, unasked, differences)


def main(versions: list[str]) -> None:
    from tests.real.apiserver_judge import record

    for version in versions:
        record.build(version)
        said = {
            "kubernetes": version,
            "command": f"python -m tests.corpus.upstream {version}",
            "verdicts": record.ask(version, list(pods())),
        }
        target = HERE / "verdicts" / f"{version.rsplit('.', 1)[0]}.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(said, separators=(",", ":")) + "\n", encoding="utf-8")
        print(f"{target.relative_to(ROOT)}: {len(said['verdicts'])} pods")


if __name__ == "__main__":
    main(sys.argv[1:])
