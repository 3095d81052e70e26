"""The parts of the harvest: reading Megatron's config classes and writing lclint's catalogue."""
