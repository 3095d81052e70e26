"""Settings of a repository: ``lclint.toml`` and ``[tool.lclint]`` of ``pyproject.toml``.

``locate`` finds the files, ``file`` reads one, ``keys`` says what may stand in it, ``fill`` makes the options of a checked file of them.
"""
