"""Whether anything drastic is asked for on one sign: each record of each judged message, alone, twice, tried again a
second later, and quoted by the kubelet."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import meanings
from ansible_collections.winkube.node.plugins.plugin_utils.words.records import records

from tests.judge.case import load

DRASTIC = re.compile(
    "|".join(
        (
            r"\bdrain|restart (?:the|a) machine|Restart-Computer|kubeadm reset|kubectl delete node",
            r"hnsdiag(?:\.exe)? delete|Remove-Hns\w+|HNS\.data|remove (?:the |a )?network|restart the service hns",
            r"restart(?:-service)? flanneld|remove azure-vnet(?:-ipam)?\.json|hcsdiag kill|Remove-SmbGlobalMapping",
            r"winkube_repair=(?:rejoin|network)|winkube_repair_services=\S*(?:hns|flannel)",
        )
    ),
    re.IGNORECASE,
)
"""What a command or a sentence that ends something has, in words of this test's own."""


def variants(record: str) -> list[str]:
    """Texts that are the same sign as the record."""
    again = re.sub(r"(\d\d:\d\d:)(\d\d)", lambda found: f"{found[1]}{(int(found[2]) + 1) % 60:02}", record)
    quoted = record.replace("\\", "\\\\").replace('"', '\\"')
    said = f'"Error syncing pod" err="rpc error: code = Unknown desc = {quoted}"'
    return [
        record,
        f"{record}\n{record}",
        f"{record}\n{again}",
        f"{record}\nE0301 10:00:00.1 7 pod_workers.go:1301] {said}",
    ]


def find_drastic() -> Iterator[str]:
    """Each text of one sign whose answer asks for what is drastic, with the answer."""
    messages = {str(case.data["message"]) for case in load("cases") if case.data.get("message")}
    for record in sorted({each.text for message in messages for each in records(message)}):
        for text in variants(record):
            for said in meanings(text, "win1"):
                if DRASTIC.search(f"{said['remedy']} {said['ours']}"):
                    yield f"{text[:300]}: {said['id']}: {said['remedy'][:120]} {said['ours'][:80]}"
