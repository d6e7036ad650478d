"""The labs of molecule's scenarios: `python -m tests.molecule create --dir DIR NODE.yml ...`, `destroy --dir DIR`."""
