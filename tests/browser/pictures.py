"""Makes the pictures in docs anew: `PYTHONPATH=.venv/collections .venv/bin/python -m tests.browser.pictures`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.browser.chromium import chromium
from tests.browser.pages import PAGES
from tests.conftest import ROOT

SIZES = {"diagnosis": (820, 900), "drift": (820, 560), "cpu": (960, 560)}


def main() -> None:
    """One PNG for each page."""
    folder = ROOT / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, chromium(Path(name) / "profile") as tab:
        for page, (width, height) in SIZES.items():
            path = Path(name) / f"{page}.html"
            path.write_text(PAGES[page](), encoding="utf-8")
            tab.show(path, width, height)
            (folder / f"{page}.png").write_bytes(tab.picture())


if __name__ == "__main__":
    main()
