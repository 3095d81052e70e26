"""Findings in, one output format each."""
