"""`make pictures`: the pictures in docs, and each page as a phone, a tablet and a desk show it, in build/pictures."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.browser.chromium import chromium
from tests.browser.pages import PAGES, WIDTHS
from tests.conftest import ROOT

SIZES = {"diagnosis": (820, 1120), "drift": (820, 560), "cpu": (960, 560)}
"""Width and height in docs."""
TALL = 1600
"""The height of those in build."""


def main() -> None:
    """One PNG for each page in docs, one for each page and width in build/pictures."""
    docs, build = ROOT / "docs" / "pictures", ROOT / "build" / "pictures"
    for folder in (docs, build):
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, chromium(Path(name) / "profile") as tab:
        for page, size in SIZES.items():
            path = Path(name) / f"{page}.html"
            path.write_text(PAGES[page](), encoding="utf-8")
            tab.show(path, *size)
            (docs / f"{page}.png").write_bytes(tab.picture())
            for device, width in WIDTHS.items():
                tab.show(path, width, TALL, phone=device == "phone")
                (build / f"{page}-{width}.png").write_bytes(tab.picture())
    print(f"{len(SIZES)} pictures in docs/pictures, {len(SIZES) * len(WIDTHS)} in build/pictures")


if __name__ == "__main__":
    main()
