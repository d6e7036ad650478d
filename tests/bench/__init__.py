"""What a run costs, counted by the lab: `python -m tests.bench` (README of the figures: docs/figures.md)."""
