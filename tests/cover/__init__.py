"""Which tests are enough for `make test`: what each executes and costs is recorded, and the cheapest cover chosen."""
