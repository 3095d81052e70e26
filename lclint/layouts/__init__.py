"""The layouts around a run: divisibility and topology arithmetic only."""
