# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs a component that is one program and its service: the action plugin of each module of this kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .components.layout import Layout
from .components.program_service import Args, ProgramService
from .components.registry import PROGRAM_SERVICES
from .components.source import is_archive
from .engine.reading import Reading
from .engine.resource import Refused, Resource
from .kubernetes_action import KubernetesAction


class ProgramServiceAction(KubernetesAction):
    """The module of one of the components in PROGRAM_SERVICES; a subclass names it."""

    _made: ClassVar[ProgramService]

    def __init_subclass__(cls, **keywords: Any) -> None:
        """The module's name tells which component it is."""
        super().__init_subclass__(**keywords)
        cls._made = next(each for each in PROGRAM_SERVICES if each.component.module == cls.module)
        cls.component = cls._made.component.name

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """Folders, program, firewall rule, service."""
        url = options["source"]["url"]
        if not url:
            variable = f"winkube_{self._made.component.role}_url"
            told = self._made.recipe.no_url or "Name an archive or the program"
            raise Refused(f"{self.component}: no source. {told} in {variable}, with its checksum.")
        return self._made.desired(
            Args(
                layout=layout,
                source=self.source_of(options),
                values=options,
                archive=is_archive(self.component, url),
                sources=self.inbound(options, reading) if self._made.recipe.port else None,
                mark=mark,
                **self.service_options(options, layout, mark),
            )
        )
