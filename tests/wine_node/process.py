"""The process of the node: makes the machine, serves SSH, and answers the story's questions, a line of JSON each.

    python -m tests.wine_node.process FOLDER POWERSHELL

Questions: {"do": "NAME", ...}; the answer is {"ok": ..} or {"error": ".."}. It ends when its input does.
"""

from __future__ import annotations

from tests.wine_node import guard

guard.close()

import asyncio  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
from contextlib import suppress  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from tests.lab.machine.errors import WinError  # noqa: E402
from tests.lab.machine.node import SimulatedNode  # noqa: E402
from tests.lab.server.files import make_keys  # noqa: E402
from tests.windows.hns.server import HnsServer  # noqa: E402
from tests.wine_node import adapter  # noqa: E402
from tests.wine_node.machine import STAND_INS, Machine, running, show_windows  # noqa: E402
from tests.wine_node.occupied import occupy  # noqa: E402
from tests.wine_node.ssh import Sshd  # noqa: E402
from tests.wine_node.standins import StandIns  # noqa: E402

STATE = r"C:\ProgramData\winkube"
BLIP_S = 3.0
"""For which the lab's machine has no address when a virtual switch comes or goes: here seconds are seconds."""


class Process:
    """What can be asked for."""

    def __init__(self, work: Path, node: Machine, sshd: Sshd, stand_ins: StandIns) -> None:
        self.work, self.node, self.sshd, self.stand_ins = work, node, sshd, stand_ins
        self.ops: set[str] = set()

    def do_hello(self) -> dict[str, Any]:
        return {"twin_importable": guard.importable()}

    def do_calls(self) -> list[dict[str, Any]]:
        return [json.loads(call.line()) for call in self.sshd.calls]

    def do_count(self) -> int:
        return len(self.sshd.calls)

    def do_begin(self, chapter: str) -> None:
        self.do_ops()  # the node keeps the folders of its last batches
        self.sshd.chapter = chapter

    def do_has(self, path: str) -> bool:
        return self.node.prefix.path(path).exists()

    def do_stand_ins(self) -> dict[str, int]:
        return dict(sorted(self.stand_ins.calls.items()))

    def do_values(self, path: str) -> dict[str, Any]:
        """A key of Wine's own registry, below HKLM."""
        found = self.node.witness.ask("walk", path=path)
        return {value["name"]: value["data"] for key in found if not key["path"] for value in key["values"]}

    def do_state(self, service: str) -> str:
        """Of a service, as Wine's service manager has it."""
        with self.node.lock:
            self.node.registry.forget()
            return self.node.services.state(service)

    def do_write(self, path: str, text: str) -> None:
        """Folders that it makes anyone may write to, as below the root of a Windows drive."""
        place = self.node.prefix.path(path)
        for folder in reversed(place.parents):
            if not folder.exists():
                folder.mkdir()
                folder.chmod(0o777)
        place.write_text(text, encoding="utf-8")

    def do_networks(self) -> list[str]:
        with self.node.lock:
            return sorted(one["Name"] for one in self.node.hns.networks)

    def do_adapters(self) -> list[dict[str, Any]]:
        with self.node.lock:
            return self.node.adapters.dump()

    def do_occupy(self) -> None:
        with self.node.lock:
            occupy(self.node)
        time.sleep(BLIP_S + 1)

    def do_is_begun(self) -> bool:
        """Whether a batch is open of which more than one op was begun."""
        state = self.node.prefix.path(STATE)
        try:
            batch = json.loads((state / "open.json").read_text(encoding="utf-8"))["id"]
            journal = (state / "batches" / batch / "journal.jsonl").read_text(encoding="utf-8")
        except (OSError, ValueError):
            return False
        return bool(journal.count('"intent"') > 1)

    def do_ops(self) -> list[str]:
        """What the journals say was begun of the ops that were sent, of undo lists and of gates; the last journal of
        all goes with the reset, whose answer has its ops."""
        for call in self.sshd.calls:
            self.ops.update(result["op"] for result in call.answered().get("results", []))
        sent = dict(brought for call in self.sshd.calls if (brought := call.batch()))
        for journal in self.node.prefix.path(STATE).glob("batches/*/journal.jsonl"):
            batch = sent.get(journal.parent.name, {})
            ops = {int(op["n"]): op for op in batch.get("ops", [])}
            for line in journal.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                if entry["e"] == "intent":
                    self.ops.add(entry["op"])
                elif entry["e"] == "undone":
                    self.ops.update(undo["op"] for undo in ops.get(int(entry["n"]), {}).get("undo", []))
                elif entry["e"] == "gate":
                    self.ops.add(batch["gate"][int(entry["n"])]["op"])
        return sorted(self.ops)

    def do_cut(self) -> None:
        self.loop.call_soon_threadsafe(self.sshd.cut)

    def answer(self, line: str) -> dict[str, Any]:
        question = json.loads(line)
        try:
            return {"ok": getattr(self, f"do_{question.pop('do')}")(**question)}
        except Exception as error:  # the story prints it and ends
            return {"error": f"{type(error).__name__}: {error}"}

    async def tick(self) -> None:
        """The scheduler's triggers, and what the processes that it has started do, need the clock to be looked at."""

        def step() -> None:
            with self.node.lock:
                self.node.clock.advance(0)

        while True:
            await self.loop.run_in_executor(None, step)
            await asyncio.sleep(0.1)

    async def watch(self) -> None:
        """Ended services, every other second."""
        while True:
            with suppress(WinError):  # a service that is being deleted
                await self.loop.run_in_executor(None, self.node.note_ended)
            await asyncio.sleep(2)

    async def serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        looking = [asyncio.create_task(self.tick()), asyncio.create_task(self.watch())]
        self.node.on_cut.append(lambda _told: self.do_cut())
        port = await self.sshd.start()
        print(json.dumps({"port": port}), flush=True)
        ended = asyncio.Event()

        def read() -> None:
            for line in sys.stdin:
                print(json.dumps(self.answer(line)), flush=True)
            self.loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=read, daemon=True).start()
        await ended.wait()
        for task in looking:
            task.cancel()


def main(work: Path, powershell: Path) -> int:
    keys = make_keys(work)
    hns = HnsServer(SimulatedNode("before"))
    with hns, running(work, powershell, hns.server_address[1], hosts={}, nic=adapter.nic()) as (node, prefix):
        hns.node = node
        node.faults.blip_s = BLIP_S
        stand_ins = StandIns(node)
        prefix.path(STAND_INS).write_text(stand_ins.address, encoding="ascii")
        show_windows(node)
        asyncio.run(Process(work, node, Sshd(node, prefix, keys.client, keys.host), stand_ins).serve())
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
