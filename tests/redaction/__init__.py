"""How well log bundles are freed of secrets: forms with a made-up secret each, and texts that have to stay."""
