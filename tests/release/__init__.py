"""`make release`: everything that a release of the version in galaxy.yml consists of, made from the last commit."""
