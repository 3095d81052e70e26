"""The language server: what ``lclint check``, ``resolve`` and ``memory`` know, while a config is being typed.

Only ``wire`` and what turns answers into the protocol's types need pygls; nothing outside of this package imports it.
"""
