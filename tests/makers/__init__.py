"""`make makers`: a node joins the clusters of all makers that the lab has, or is refused before its first change."""

from __future__ import annotations
