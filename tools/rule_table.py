"""Write docs/rules/README.md, the table of all rules, from the rule files.

    python tools/rule_table.py            # write it
    python tools/rule_table.py --check    # exit 1 when it is not what the rule files say
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "rules" / "README.md"
HEAD = """# Rules

{count} rules. `lclint rules show NAME` prints a rule with its cases, its reason and its references; codes work wherever names do.
What a rule reports can differ by case: the columns name all severities and impacts that occur. *Fix* is the best applicability
among its fixes.

Impact: **crash** is refused at start-up, at model build or at the first step; **oom** runs out of memory; **silent** trains something
else than written; **slow** wastes time; **advice** is worth knowing.
"""
ORDER = {"safe": 0, "unsafe": 1, "display-only": 2}


def table() -> str:
    """The page's text."""
    families: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((ROOT / "rules").rglob("*.yaml")):
        if path.parent.name != "bundles":
            with path.open(encoding="utf-8") as file:
                families.setdefault(path.parent.name, []).append(yaml.safe_load(file))
    parts = [HEAD.format(count=sum(len(rules) for rules in families.values()))]
    for family, rules in families.items():
        parts.append(f"\n## {family}\n\n| code | rule | what it says | severity | impact | fix |\n|---|---|---|---|---|---|\n")
        for rule in sorted(rules, key=lambda rule: (len(rule["code"]), rule["code"])):
            parts.append(_row(rule))
    return "".join(parts)


def _row(rule: dict[str, Any]) -> str:
    severities = ", ".join(dict.fromkeys(case["severity"] for case in rule["cases"]))
    impacts = ", ".join(dict.fromkeys(case["impact"] for case in rule["cases"]))
    fixes = sorted((fix["applicability"] for fix in rule.get("fixes", {}).values()), key=ORDER.__getitem__)
    cells = [rule["code"], f"<a id=\"{rule['name']}\"></a>`{rule['name']}`", rule["title"].replace("|", "\\|"), severities, impacts, fixes[0] if fixes else ""]
    return f"| {' | '.join(cells)} |\n"


def main() -> int:
    """Write the table, or compare it."""
    text = table()
    if "--check" in sys.argv[1:]:
        if TABLE.exists() and TABLE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{TABLE.relative_to(ROOT)} is stale: run python tools/rule_table.py", file=sys.stderr)
        return 1
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
