"""What Bridge itself changes in a config at start-up, one module per subject; ``lclint.config.resolve`` runs them in Bridge's order."""
