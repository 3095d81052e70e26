"""From the bytes of a crash log to a ``Crash``: what ran out, where, on which rank first. Knows log formats and nothing else."""
