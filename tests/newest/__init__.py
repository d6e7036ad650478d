"""Releases that the project names, beside those that Go's module proxy lists (`make newest`)."""
