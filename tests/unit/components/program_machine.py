"""A simulated node on which one program is installed from its declaration, in-process."""

from __future__ import annotations

import hashlib
import uuid
from importlib import import_module
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.components.options import read
from ansible_collections.winkube.node.plugins.plugin_utils.components.program_service import Args, ProgramService
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan, reads
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, system_query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Source
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import Link

from tests.lab.twin.modules import run_module
from tests.lab.twin.node import LabNode

from .nodes import LAYOUT


class Machine:
    """The node and a link to it. `values` are the default options of an install."""

    def __init__(self, declaration: ProgramService, **values: Any) -> None:
        self.declaration, self.values = declaration, values
        self.node = LabNode("win1")
        session = self.node.open_session()
        version = declaration.recipe.version
        name, data = import_module(f"tests.lab.programs.optional.{declaration.component.role}").release(version)
        self.node.drive.write(f"C:\\{name}", data)
        self.source = Source(f"file:///C:/{name}", hashlib.sha256(data).hexdigest(), version)
        self.archive = not name.endswith(".exe")
        self.link = Link(
            lambda module, args: run_module(self.node, session, module, args, False),
            lambda: None,
            LAYOUT.state_dir,
            runner_mode="inline",
        )

    def args(self, config: str = "", mark: str = "", **values: Any) -> Args:
        """The arguments of an install."""
        given = read(self.declaration.recipe.options, {**self.values, **values})
        return Args(LAYOUT, self.source, given, archive=self.archive, config=config, sources=(), mark=mark)

    def read(self, args: Args) -> Reading:
        queries = (*self.declaration.reads(LAYOUT), *reads(self.declaration.build_resources(args)), system_query())
        return Reading().merge(self.link.probe(queries), queries)

    def install(self, config: str = "", **values: Any) -> Answer | None:
        """The node's answer; None if nothing had to change."""
        mark = uuid.uuid4().hex
        args = self.args(config, mark, **values)
        made = make_plan(self.declaration.component.name, self.declaration.build_resources(args), self.read(args)).batch
        return None if made is None else self.link.apply(made, mark)


def outcome(answer: Answer | None) -> str:
    """Of an installation that had something to do."""
    assert answer is not None
    return answer.outcome
