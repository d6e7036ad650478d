"""A whole node on Wine without the lab's twin: see __main__.py."""
