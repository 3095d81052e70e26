"""Reading and editing config files: text to values with exact places, and changes back to text edits."""
