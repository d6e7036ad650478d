"""How right the linter is on manifests that other people wrote: `make corpus`.

manifests.jsonl   one public manifest a line: where it stands, its licence, and the facts that the linter's rules ask
about (facts.py says which); the manifest itself is not here
judged.jsonl      what a person judged of each finding, beside the manifest that it is about
repositories.yml  whole repositories, by version and sum, and what a person judged of each finding in them, by its place
planted.yml       mistakes that were put into small manifests of our own, and the rule that has to find each
values/           mistakes in values, which taught the rules; frozen/ the set that did not
verdicts/         what upstream's own validation of Pods answers to the pods of all three (tests/real/apiserver_judge)
verdicts/objects/  what a whole kube-apiserver answers to objects of every kind (tests/real/objects.py)
"""

from __future__ import annotations

import sys
from pathlib import Path

# Run as a program, not by pytest: the collection is where `make setup` put it.
sys.path.append(str(Path(__file__).resolve().parents[2] / ".venv" / "collections"))
