"""`make reconcile`: nodes that stay right by themselves, while runs, people and faults come together."""
