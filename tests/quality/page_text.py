"""Plain texts as Markdown has to have them to show them as they are."""

from __future__ import annotations


def as_text(text: str) -> str:
    """No `<name>` is markup."""
    return text.replace("<", "&lt;")


def as_cell(text: str) -> str:
    """In a cell of a table."""
    return as_text(text.replace("|", "\\|"))
