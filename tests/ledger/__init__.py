"""Kubernetes' own notes of what it mended on Windows, beside the table of it (`make ledger`)."""
