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
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from tests.lab.server.files import make_keys  # noqa: E402
from tests.wine_node.machine import Machine, running, show_windows  # noqa: E402
from tests.wine_node.ssh import Sshd  # noqa: E402


class Process:
    """What can be asked for."""

    def __init__(self, work: Path, node: Machine, sshd: Sshd) -> None:
        self.work, self.node, self.sshd = work, node, sshd

    def do_hello(self) -> dict[str, Any]:
        return {"twin_importable": guard.importable()}

    def do_calls(self, since: int = 0) -> list[dict[str, Any]]:
        return [json.loads(call.line()) for call in self.sshd.calls[since:]]

    def do_cut(self) -> None:
        self.loop.call_soon_threadsafe(self.sshd.cut)

    def answer(self, line: str) -> dict[str, Any]:
        question = json.loads(line)
        try:
            return {"ok": getattr(self, f"do_{question.pop('do')}")(**question)}
        except Exception as error:  # the story prints it and ends
            return {"error": f"{type(error).__name__}: {error}"}

    async def serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        port = await self.sshd.start()
        print(json.dumps({"port": port}), flush=True)
        ended = asyncio.Event()

        def read() -> None:
            for line in sys.stdin:
                print(json.dumps(self.answer(line)), flush=True)
            self.loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=read, daemon=True).start()
        await ended.wait()


def main(work: Path, powershell: Path) -> int:
    keys = make_keys(work)
    with running(work, powershell) as (node, prefix):
        show_windows(node)
        asyncio.run(Process(work, node, Sshd(node, prefix, keys.client, keys.host)).serve())
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
