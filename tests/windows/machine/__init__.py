"""A node of the lab whose drive, registry, services and programs are Wine's: see node.py."""
