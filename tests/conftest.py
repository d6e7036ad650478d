"""Makes the clone importable as the collection winkube.node and knows the marker that ties a test to a row."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COLLECTIONS = ROOT / ".venv" / "collections"

if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "row(*ids): the rows of tests/rows.yml that this test proves")
    # A private API of ansible-core, kept in this one place: plain imports of ansible_collections.winkube.node.
    from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder

    _AnsibleCollectionFinder(paths=[str(COLLECTIONS)])._install()
