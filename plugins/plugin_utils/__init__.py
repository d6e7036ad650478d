# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plugins are made of. Private to the collection.

Its modules are loaded as Python loads any others, which keeps what it has compiled. Ansible's loader of collections
compiles each of them again at the start of each run, some 200 files.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from types import ModuleType


class _Kept:
    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module of this package; what is not a file is left to Ansible's loader."""
        inside = (path or ()) if name.startswith(f"{__name__}.") else ()
        specs = (_in_folder(str(folder)).find_spec(name) for folder in inside)
        return next((spec for spec in specs if spec is not None and spec.loader is not None), None)


@cache
def _in_folder(folder: str) -> FileFinder:
    return FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES))


sys.meta_path.insert(0, _Kept)
