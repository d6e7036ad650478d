"""What the pod of SIG-Windows' operational readiness tests prints: op-readiness' lines, e2e.test's in between, and the
packed JUnit files that the Job's shell puts behind them.

Simulated by the format that its source has (no run of it was seen): zap's console encoder, tests one after the other,
a JUnit file for each in which the skipped ones are cleaned away, exit code 0 also where tests failed.
Source: kubernetes-sigs/windows-operational-readiness 17e9dbf cmd/root.go, pkg/testcases/cases.go, pkg/report.
"""

from __future__ import annotations

import base64
import io
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

STAMP = "2026-11-23T12:00:00Z"


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
    cases = [
        f'<testcase name={quoteattr(name)} classname="Kubernetes e2e suite" time="41.25" status="{status}">'
        + (
            '<failure message="Unexpected error: context deadline exceeded" type="failed"></failure>'
            if status == "failed"
            else ""
        )
        + "</testcase>"
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


def lines(specs: Sequence[Spec]) -> str:
    """What op-readiness prints."""
    out = [f"{STAMP}\tINFO\t[OpReadinessTests] 1 / 1 Specifications - Running {len(specs)} Test(s)"]
    for number, spec in enumerate(specs, 1):
        prefix = f"[{spec.category}] {number} / {len(specs)} Tests - "
        out.append(f"{STAMP}\tINFO\t{prefix}Running Operational Readiness Test: {spec.name}")
        if spec.provider:
            said = f"Skipping Operational Readiness Test for Provider {spec.provider}: {spec.name}"
            out.append(f"{STAMP}\tINFO\t{prefix}{said}")
            continue
        out.append(f"{STAMP}\tINFO\tRan {len(spec.cases)} of 7000 Specs in 41.250 seconds")
        if spec.failed:
            why = "{error 26 0  exit status 1}"
            out.append(f"{STAMP}\tERROR\t{prefix}Failed Operational Readiness Test: {spec.name}, error is {why}")
        else:
            out.append(f"{STAMP}\tINFO\t{prefix}Passed Operational Readiness Test: {spec.name}")
    out.append(f"{STAMP}\tINFO\t[OpReadinessTests] Completed running Ops Readiness tests")
    return "\n".join(out) + "\n"


def log(specs: Sequence[Spec], begin: str, end: str, **more: bytes) -> str:
    """The whole log; `more`: other files in the folder, by name without `.xml`."""
    files = {f"junit_1{n}01.xml": junit(spec).encode() for n, spec in enumerate(specs, 1) if not spec.provider}
    files |= {f"{name}.xml": data for name, data in more.items()}
    return f"{lines(specs)}\n{begin}\n{packed(files)}{end}\n"
