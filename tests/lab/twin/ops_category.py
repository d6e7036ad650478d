"""category_note, category_restore: the category of an adapter's network, kept over a new virtual switch."""

from __future__ import annotations

from tests.lab.twin import dotnet
from tests.lab.twin.state import StateFolder
from tests.lab.twin.work import Args, OpError, OpRun, Work

FILE = "category.json"
POLL_S = 0.5


def category_note(work: Work, args: Args) -> OpRun:
    yield 0.2
    found = dotnet.first_interface(work.node, map(str, args["adapters"]))
    name = (found.category or "").lower() if found else ""
    folder = StateFolder(work.node, work.state_dir)
    if not folder.exists():
        folder.make()
    folder.write({"schema": 1, "category": name}, FILE)
    return {"changed": False, "category": name}


def category_restore(work: Work, args: Args) -> OpRun:
    yield 0.2
    document = StateFolder(work.node, work.state_dir).read(FILE) or {}
    wanted = str(document.get("category") or "")
    if not wanted:
        return {"changed": False, "category": ""}
    patience = work.time_left(float(args.get("wait_s") or 60))
    end = work.node.clock.now() + patience
    changed = False
    while True:
        found = dotnet.first_interface(work.node, map(str, args["adapters"]))
        there = found.category if found else None
        if there is not None and there.lower() == wanted:
            return {"changed": changed, "category": wanted}
        if there == "Domain":
            return {"changed": changed, "category": "domain"}
        if found is not None and there is not None and wanted != "domain":
            work.seam("setting")
            work.node.adapters.set_category(found, wanted.capitalize())
            changed = True
        if work.node.clock.now() >= end:
            names = " or ".join(str(item) for item in args["adapters"])
            raise OpError(
                f"The network of the adapter {names} did not become {wanted} again within {patience:g} s: it is "
                f"{(there or 'none').lower()}. The firewall may keep everybody out."
            )
        yield POLL_S
