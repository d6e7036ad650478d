"""What Windows' own programs say on a machine that is not English: nothing may be read out of their sentences.

The German texts are those of a German Windows as public threads and Microsoft's German pages quote them; field
knowledge, unverified word for word. What has no translation here stays English.
"""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["en", "de"]
CODE_PAGES: dict[Language, str] = {"en": "cp437", "de": "cp850"}
"""The console's code page, which these programs write."""
_GERMAN = {
    "The system cannot find the file specified.": "Das System kann die angegebene Datei nicht finden.",
    "The system cannot find the path specified.": "Das System kann den angegebenen Pfad nicht finden.",
    "Access is denied.": "Zugriff verweigert",
    "The service did not respond to the start or control request in a timely fashion.": "Der Dienst antwortete nicht "
    "rechtzeitig auf die Start- oder Steuerungsanforderung.",
    "An instance of the service is already running.": "Es wird bereits eine Instanz des Dienstes ausgeführt.",
    "The specified service does not exist as an installed service.": "Der angegebene Dienst ist kein installierter "
    "Dienst.",
    "The service cannot accept control messages at this time.": "Der Dienst kann momentan keine Steuermeldungen "
    "annehmen.",
    "The service has not been started.": "Der Dienst wurde nicht gestartet.",
    "The specified service has been marked for deletion.": "Der angegebene Dienst wurde zum Löschen markiert.",
    "The specified service already exists.": "Der angegebene Dienst ist bereits vorhanden.",
    "No rules match the specified criteria.": "Es stimmen keine Regeln mit den angegebenen Kriterien überein.",
    "The operation completed successfully.": "Der Vorgang wurde erfolgreich beendet.",
    "Ok.": "OK.",
    " FAILED ": " FEHLER ",
    " SUCCESS": " ERFOLG",
}
_PATTERN = re.compile("|".join(re.escape(text) for text in sorted(_GERMAN, key=len, reverse=True)))


def localised(output: bytes, language: Language) -> bytes:
    """A program's output as it is on a machine of this language."""
    if language == "en" or not output:
        return output
    try:
        text = output.decode("utf-8")
    except UnicodeDecodeError:  # bytes of its own, such as UTF-16
        return output
    if "\0" in text:
        return output
    return _PATTERN.sub(lambda found: _GERMAN[found[0]], text).encode(CODE_PAGES[language], "replace")
