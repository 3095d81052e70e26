"""From a document, a base and overrides to a run: canonical names, what is written, what Bridge makes of it, and where it came from."""
