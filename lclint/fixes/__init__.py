"""From findings to edits: symbolic changes, what a run would be after them, text, and proof."""
