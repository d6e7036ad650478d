"""A Go program of the tests, one main.go, built once against Kubernetes' released libraries."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.cache import locked, shared
from tests.real import build as go


@dataclass(frozen=True)
class OwnProgram:
    """`source` is its main.go, `libraries` those of k8s.io that it imports, in the version that `kubernetes` has."""

    name: str
    source: Path
    kubernetes: str
    libraries: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Where it lies, or will."""
        return shared("programs") / "linux" / f"{self.name}-{self.kubernetes}" / self.name

    @property
    def is_built(self) -> bool:
        """Is it there, and of today's source?"""
        return self.path.exists() and self.path.with_name("main.go").read_bytes() == self.source.read_bytes()

    def build(self) -> Path:
        """The program. OSError or CalledProcessError if it cannot be built; needs Go and its module proxy."""
        with locked(self.path.parent.name):
            if not self.is_built:
                folder = go.GO_CACHE / self.path.parent.name
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                version = go.library_version(self.kubernetes)
                needed = "".join(f"\tk8s.io/{name} {version}\n" for name in self.libraries)
                (folder / "go.mod").write_text(f"module winkube.invalid/build\n\ngo 1.26\n\nrequire (\n{needed})\n")
                shutil.copy(self.source, folder / "main.go")
                go.go("mod", "tidy", cwd=folder)
                self.path.parent.mkdir(parents=True, exist_ok=True)
                go.go("build", "-p", "1", "-o", str(self.path), ".", cwd=folder)
                shutil.copy(self.source, self.path.with_name("main.go"))
        return self.path
