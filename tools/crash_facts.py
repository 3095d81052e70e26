"""Write docs/rules/crash-facts.md, the facts that rules about crash logs can ask for, from their declarations.

    python tools/crash_facts.py            # write it
    python tools/crash_facts.py --check    # exit 1 when it is not what the code says
"""

from __future__ import annotations

import sys
from pathlib import Path

import lclint.facts.crash  # noqa: F401 - declares them
from lclint.facts.registry import FACTS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "rules" / "crash-facts.md"
HEAD = """# Facts of a crash log

What a rule about crashes can ask for (`lclint diagnose`). What the log does not say is *unknown*; in a check, where there is no log, all of
them are *not applicable*.

| name | unit | meaning |
|---|---|---|
"""


def page() -> str:
    """The page's text."""
    rows = []
    for name, fact in sorted(FACTS.items()):
        if name.startswith("crash."):
            meaning = " ".join(fact.meaning.split()).replace("``", "`").replace("|", "\\|")
            rows.append(f"| `{name}` | {fact.unit} | {meaning} |\n")
    return HEAD + "".join(rows)


def main() -> int:
    """Write the page, or compare it."""
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{PAGE.name} is stale: run python tools/crash_facts.py", file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
