"""Named quantities for rules, from a run and the cluster: arithmetic only, unknown in and unknown out.

Importing this package declares every fact; ``lclint.facts.registry.FACTS`` holds them.
"""
