"""The bill of materials of a release: what the collection needs, as CycloneDX."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

_REQUIREMENT = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)\s*([^#;]*)")


def bill_of_materials(tree: Path, archive: Path) -> str:
    """JSON of CycloneDX 1.6. Of what is needed the accepted versions are named, since none is installed by us."""
    galaxy = yaml.safe_load((tree / "galaxy.yml").read_text(encoding="utf-8"))
    name, version = f"{galaxy['namespace']}.{galaxy['name']}", str(galaxy["version"])
    collection = Component(
        type=ComponentType.LIBRARY,
        bom_ref=name,
        name=name,
        version=version,
        description=galaxy["description"],
        licenses=[LicenseExpression("GPL-3.0-or-later")],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(archive.read_bytes()).hexdigest())],
    )
    bom = Bom()
    bom.metadata.component = collection
    needed = [*_collections(galaxy["dependencies"]), *_packages(tree / "requirements.txt")]
    for component in needed:
        bom.components.add(component)
    bom.register_dependency(collection, needed)
    return str(make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2)) + "\n"


def _collections(dependencies: dict[str, str]) -> Iterator[Component]:
    for name, wanted in sorted(dependencies.items()):
        yield Component(type=ComponentType.LIBRARY, bom_ref=name, name=name, description=f"Ansible collection {wanted}")


def _packages(requirements: Path) -> Iterator[Component]:
    for line in requirements.read_text(encoding="utf-8").splitlines():
        if found := _REQUIREMENT.match(line):
            name, wanted = found[1], found[2].strip()
            yield Component(
                type=ComponentType.LIBRARY,
                bom_ref=f"pypi:{name}",
                name=name,
                description=f"Python package {wanted}".strip(),
                purl=PackageURL("pypi", None, name),
            )
