"""Rules and facts in, findings out: expressions, cases, selection, suppression."""
