"""What lclint knows of Megatron Bridge's releases and of GPUs: data that ``tools/harvest.py`` writes, and its loader."""
