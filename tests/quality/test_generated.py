"""What only repeats a component's declaration is as `make generate` writes it."""

from __future__ import annotations

from tests.conftest import ROOT
from tests.quality.cri_descriptors import committed, compiled
from tests.quality.generated import generated


def test_generated_files_are_up_to_date() -> None:
    old = [
        str(path.relative_to(ROOT))
        for path, text in generated().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    assert old == [], "run make generate"


def test_cri_descriptors_are_those_of_api_proto() -> None:
    """Compared as messages: another protoc may write the same in other bytes."""
    assert committed() == compiled(), "run make generate"
