"""What the pod of SIG-Windows' operational readiness tests prints: op-readiness' lines, e2e.test's in between, and the
packed JUnit files that the Job's shell puts behind them.

Simulated by the format that its source has (no run of it was seen): zap's console encoder with coloured levels, tests
one after the other, a JUnit file for each in which the skipped ones are cleaned away, exit code 0 also where tests
failed. Why a test failed stands in e2e.test's own lines alone: its files have no message, and the cleaning drops the
text. Sources: kubernetes-sigs/windows-operational-readiness 17e9dbf cmd/root.go, pkg/testcases/cases.go, pkg/report,
tests/samples/junit_1101_fail.xml; kubernetes v1.31 test/e2e/framework/internal/junit/junit.go (OmitFailureMessageAttr);
ginkgo v2 reporters/default_reporter.go (EmitFailure).
"""

from __future__ import annotations

import base64
import io
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

STAMP = "2026-11-23T12:00:00Z"
INFO, ERROR = f"{STAMP}\t\x1b[34mINFO\x1b[0m\t", f"{STAMP}\t\x1b[31mERROR\x1b[0m\t"

WHY = "Unexpected error: context deadline exceeded"
WHERE = "test/e2e/network/service.go:1256 @ 11/23/26 12:00:00.000"


@dataclass(frozen=True)
class Spec:
    """One test of the list. `cases`: (name, status) of what e2e.test ran for it; none: it has no test of that name.
    `provider`: it is left out for this one. `cleaned`: False where the file could not be written anew."""

    category: str
    name: str
    cases: tuple[tuple[str, str], ...] = ()
    provider: str = ""
    cleaned: bool = True

    @property
    def failed(self) -> bool:
        return any(status == "failed" for _, status in self.cases)


PASSING = (
    Spec(
        "Core.Network",
        "Ability to access Windows container IP by pod IP",
        (
            (
                "[It] [sig-windows] Hybrid cluster network should have stable networking for Linux and Windows pods",
                "passed",
            ),
        ),
    ),
    Spec(
        "Core.Storage",
        "Ability to access hostPath volumes",
        (("[It] [sig-storage] HostPath should give a volume the correct mode", "passed"),),
    ),
)


def junit(spec: Spec) -> str:
    """The file of one test. One that was not cleaned has every test of e2e.test, most of them skipped."""
    said = "" if spec.cleaned else f"[FAILED] {WHY}\nIn [It] at: {WHERE}"
    failure = f'<failure type="failed">{said}</failure><system-err>&gt; Enter [BeforeEach] {WHERE}</system-err>'
    cases = [
        f'<testcase name={quoteattr(name)} classname="Kubernetes e2e suite" time="41.25" status="{status}">'
        f"{failure if status == 'failed' else ''}</testcase>"
        for name, status in spec.cases
    ]
    root = f'<testsuites category={quoteattr(spec.category)} name={quoteattr(spec.name)} tests="7000" failures="0">'
    if not spec.cleaned:
        root = '<testsuites tests="7000" disabled="6999" errors="0" failures="0" time="60">'
        cases += [
            f'<testcase name="[It] [sig-apps] test {n}" classname="Kubernetes e2e suite" time="0" status="skipped">'
            '<skipped message="skipped"></skipped></testcase>'
            for n in range(300)
        ]
        cases.append('<testcase name="[SynchronizedBeforeSuite]" status="passed" time="3.5"></testcase>')
    inner = "".join(cases)
    return f'{root}<testsuite name="Kubernetes e2e suite" tests="7000" index="1">{inner}</testsuite></testsuites>'


def packed(files: dict[str, bytes]) -> str:
    """A tar.gz as base64, as GNU tar and base64 print it."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return base64.encodebytes(held.getvalue()).decode()


def _ginkgo(spec: Spec) -> list[str]:
    """What e2e.test prints: coloured, each failed test with why and where."""
    out = []
    for name in (name.removeprefix("[It] ") for name, status in spec.cases if status == "failed"):
        out += ["------------------------------", "\x1b[38;5;9m• [FAILED] [41.250 seconds]\x1b[0m", name, ""]
        out += [f"  \x1b[38;5;9m[FAILED] {WHY.partition(': ')[0]}:", f"      {WHY.partition(': ')[2]}\x1b[0m"]
        out += [f"  \x1b[38;5;9mIn \x1b[1m[It]\x1b[0m\x1b[38;5;9m at: {WHERE}\x1b[0m"]
        out += ["------------------------------", "Summarizing 1 Failure:", f"  [FAIL] {name}"]
    return [*out, f"Ran {len(spec.cases)} of 7000 Specs in 41.250 seconds"]


def lines(specs: Sequence[Spec]) -> str:
    """What op-readiness prints."""
    out = [f"{INFO}[OpReadinessTests] 1 / 1 Specifications - Running {len(specs)} Test(s)"]
    for number, spec in enumerate(specs, 1):
        prefix = f"[{spec.category}] {number} / {len(specs)} Tests - "
        out.append(f"{INFO}{prefix}Running Operational Readiness Test: {spec.name}")
        if spec.provider:
            said = f"Skipping Operational Readiness Test for Provider {spec.provider}: {spec.name}"
            out.append(f"{INFO}{prefix}{said}")
            continue
        out += [f"{INFO}{line}" for line in _ginkgo(spec)]
        if spec.failed:
            why = "{error 26 0  exit status 1}"
            out.append(f"{ERROR}{prefix}Failed Operational Readiness Test: {spec.name}, error is {why}")
        else:
            out.append(f"{INFO}{prefix}Passed Operational Readiness Test: {spec.name}")
    out.append(f"{INFO}[OpReadinessTests] Completed running Ops Readiness tests")
    return "\n".join(out) + "\n"


def log(specs: Sequence[Spec], begin: str, end: str, **more: bytes) -> str:
    """The whole log; `more`: other files in the folder, by name without `.xml`."""
    files = {f"junit_1{n}01.xml": junit(spec).encode() for n, spec in enumerate(specs, 1) if not spec.provider}
    files |= {f"{name}.xml": data for name, data in more.items()}
    return f"{lines(specs)}\n{begin}\n{packed(files)}{end}\n"
