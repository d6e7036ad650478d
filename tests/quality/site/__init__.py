"""The documentation as a site (`make docs`): what mkdocs.yml leaves to code."""
