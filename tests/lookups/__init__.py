"""Which programs the programs of a node start or look up by name, read from upstream's Go sources (`make lookups`)."""
