"""A branch of the .ps1 files that no contract case names is found here: so a right twin cannot hide a wrong script."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.contract.case import Case, all_cases, ops_of, queries_of
from tests.unit.powershell.branches import Branches, branches
from tests.unit.powershell.source import SHARED, read, text

CASES = all_cases()


def missing(found: Branches, cases: Sequence[Case]) -> list[str]:
    """What no case names, a line each."""
    ops = [op for case in cases for op in ops_of(case)]
    waits = [op["args"] for op in ops if op["op"] == "wait"]
    queries = [query for case in cases for query in queries_of(case)]
    sends = [step["send"] for case in cases for step in case.body.get("steps") or [] if "send" in step]
    answers = [step.get("answer") or {} for case in cases for step in case.body.get("steps") or []]
    outcomes = {str(answer.get("outcome")) for answer in answers}
    used_ops = {name: [op["args"] for op in ops if op["op"] == name] for name in found.ops}
    used_waits = {name: [args for args in waits if args.get("for") == name] for name in found.waits}
    used_queries = {name: [query for query in queries if query["op"] == name] for name in found.queries}
    result = [
        *_unnamed("op", found.ops, used_ops),
        *_unnamed("wait", found.waits, used_waits),
        *_unnamed("query", found.queries, used_queries),
    ]
    result += [f"kind {word}" for word in sorted(found.kinds - {str(send.get("kind", "submit")) for send in sends})]
    result += [f"answer {word}" for word in sorted(found.answers - {str(answer.get("answer")) for answer in answers})]
    result += [f"outcome {word}" for word in sorted(found.outcomes - outcomes)]
    return result


def _unnamed(
    what: str, branches: Mapping[str, frozenset[str]], uses: Mapping[str, list[Mapping[str, Any]]]
) -> list[str]:
    result = [f"{what} {name}" for name in branches if not uses[name]]
    for name, arguments in branches.items():
        used = {argument for use in uses[name] for argument in use}
        result += [f"{what} {name}: argument {argument}" for argument in sorted(arguments - used)]
    return result


def test_every_branch_and_argument_has_a_case() -> None:
    assert missing(branches(), CASES) == []


def test_the_branches_are_those_of_the_protocol() -> None:
    found = branches()
    assert set(found.ops) == {
        *("mkdir", "write", "restore", "fetch", "unpack", "move", "remove", "registry_set", "registry_remove", "run"),
        *("record", "assemble", "hns_network", "hns_network_remove", "hns_remove", "addresses"),
        *("computer_name", "halt", "category_note", "category_restore", "ip_note", "ip_restore"),
    }
    assert set(found.waits) == {
        *("service", "pipe", "http", "run", "file_free", "process_gone", "file", "tcp", "tcp_closed", "adapter"),
        "hns_network",
    }
    assert set(found.queries) == {
        *("system", "services", "service", "file", "registry", "pipe", "processes", "http", "task", "volumes"),
        *("adapters", "hns", "certificate", "encryption", "on_path"),
    }
    assert found.kinds == {"submit", "follow", "acknowledge"}
    assert found.answers == {"accepted", "stale", "busy", "blocked", "refused"}
    assert found.outcomes == {"done", "undone", "undo_failed", "interrupted", "running", "unknown"}
    assert found.ops["write"] == {"path", "content", "sddl", "backup"}
    assert found.ops["fetch"] == {"url", "path", "sha256", "magic", "timeout_s", "max_bytes", "proxy", "headers"}
    assert found.ops["assemble"] == {"path", "sha256", "size", "delta", "base", "base_sha256"}
    assert found.ops["run"] == {"program", "args", "stdin", "timeout_s", "ok_exit", "encoding", "cwd", "env"}
    assert found.ops["hns_network"] == {"name", "request"}
    assert found.ops["hns_network_remove"] == {"name", "id"}
    assert found.ops["hns_remove"] == {"objects", "ids"}
    assert found.ops["addresses"] == {"adapters", "ipv4", "gateway", "dns", "dhcp", "wait_s"}
    assert found.ops["category_note"] == {"adapters"}
    assert found.ops["category_restore"] == {"adapters", "wait_s"}
    assert found.ops["ip_note"] == {"adapters"}
    assert found.ops["ip_restore"] == {"adapters", "wait_s"}
    assert found.ops["computer_name"] == {"name"}
    assert found.ops["halt"] == {"name", "timeout_s", "end_after_s"}
    assert found.waits["file"] == {"path", "version"}
    assert found.waits["tcp"] == {"host", "port"}
    assert found.waits["adapter"] == {"name", "address"}
    assert found.waits["hns_network"] == {"name", "management_ip"}
    assert found.queries["registry"] == {"path", "name", "fingerprint", "tree", "types", "containing"}
    assert found.queries["hns"] == {"objects"}
    assert found.queries["certificate"] == {"path"}
    assert found.queries["encryption"] == {"volume"}
    assert found.queries["on_path"] == {"name"}
    assert found.waits["service"] >= {"name", "state", "stable_s", "timeout_s", "interval_ms"}
    assert found.queries["file"] == {
        *(
            "path",
            "sha256",
            "fresh",
            "version",
            "content_limit",
            "sddl",
            "entries",
            "inside",
            "holders",
            "head",
            "tail",
        ),
    }


def test_node_apply_knows_the_words_of_the_runner() -> None:
    """It refuses a batch for what is not in its own lists, before anything is done."""
    source = next(read(path) for path in SHARED if path.name == "state.ps1")
    function = next(item for item in source.functions if item.name == "Find-NodeUnknownWord")
    lists = dict(re.findall(r"\$(known|kinds) = @\(([^)]*)\)", text(function.node)))
    words = {name: set(re.findall(r"'(\w+)'", value)) for name, value in lists.items()}
    found = branches()
    assert words["known"] == set(found.ops) | {"wait"}
    assert words["kinds"] == set(found.waits)


def test_a_missing_case_is_found() -> None:
    found = branches()
    without_sddl = [case for case in CASES if not any("sddl" in op["args"] for op in ops_of(case))]
    assert "op mkdir: argument sddl" in missing(found, without_sddl)
    without_http = [case for case in CASES if case.file != "query"]
    assert "query http" in missing(found, without_http)
    assert "answer stale" in missing(found, [case for case in CASES if case.file != "answers"])
