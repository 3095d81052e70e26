"""Tries every fix on generated configs in every YAML style: ``python tools/fuzz_fixes.py --files 10000 --seed 1``.

Prints each complaint with the number of its file; ``--show N`` prints that file's text.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from pathlib import Path

from fuzzing import properties, seeds, styles

from lclint import api
from lclint.core.errors import InputError
from lclint.core.options import Options
from lclint.sources import document as documents

ROOT = Path(__file__).resolve().parent.parent


def generated(number: int, seed: int, pool: list[seeds.Seed]) -> tuple[str, seeds.Seed, random.Random]:
    """The text of one file, the seed that it was made from, and the draw that goes on."""
    draw = random.Random(f"{seed}/{number}")
    chosen = seeds.mixed(pool, draw)
    return styles.Writer(draw).write(chosen.data), chosen, draw


def spoiled(text: str, draw: random.Random) -> str:
    """The text with a slip or two in it: a character lost, doubled or put in the wrong place, a line moved."""
    for _ in range(draw.randint(1, 2)):
        at = draw.randint(0, len(text))
        kind = draw.randint(0, 4)
        if kind == 0:
            text = text[:at] + text[at + draw.randint(1, 3) :]
        elif kind == 1:
            text = text[:at] + draw.choice(":-[]{}'\"#&*!|>%@`,? \n\t\\") + text[at:]
        elif kind == 2:
            text = text[:at] + text[at : at + 5] + text[at:]
        else:
            lines = text.splitlines(keepends=True) or [""]
            index = draw.randrange(len(lines))
            lines[index] = draw.choice((" " + lines[index], lines[index].lstrip(), lines[index] * 2, lines[index].rstrip("\r\n")))
            text = "".join(lines)
    return text


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int)
    parser.add_argument("--parser-only", action="store_true", help="compare the two parsers and try no fix")
    given = parser.parse_args(arguments)
    pool = seeds.examples()
    if given.show is not None:
        print(generated(given.show, given.seed, pool)[0])
        return 0
    rules = api.load_rules(Options())
    seen: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    complaints: Counter[str] = Counter()
    for number in range(given.first, given.first + given.files):
        if number % 1000 == 999:
            print(f"{number + 1}", file=sys.stderr, flush=True)
        text, chosen, draw = generated(number, given.seed, pool)
        for form in (text, spoiled(text, draw)):
            difference = properties.parser_difference(form)
            if difference is not None:
                seen["differ"] += 1
                print(f"{number}: parsers: {difference}"[:700], "" if form is text else repr(form)[:3000], flush=True)
        if given.parser_only:
            continue
        base = documents.load(chosen.given["base"].encode(), "base.yaml") if "base" in chosen.given else None
        file = properties.File(text, api.options_of(chosen.given), base, rules)
        try:
            for complaint in file.complaints(draw):
                complaints[re.sub(r"[0-9]+|'[^']*'|\"[^\"]*\"", "…", complaint)] += 1
                print(f"{number}: {complaint}"[:500], flush=True)
        except InputError as error:
            seen["not a config"] += 1
            refused[re.sub(r"[0-9]+", "…", str(error))[:100]] += 0
            continue
        seen["files"] += 1
        seen["fixes"] += file.tried
        seen["refused"] += sum(file.refused.values())
        refused.update({re.sub(r"^[\w.]+ |&\w+", "", reason)[:100]: count for reason, count in file.refused.items()})
    print(f"{seen['files']} files ({seen['not a config']} more were no config), {seen['fixes']} fixes, {seen['refused']} refused")
    print(f"{seen['differ']} texts are read otherwise without libyaml")
    for reason, count in refused.most_common(20):
        print(f"  refused {count}: {reason}")
    for complaint, count in complaints.most_common(30):
        print(f"  {count} x {complaint}")
    return int(bool(complaints or seen["differ"]))


if __name__ == "__main__":
    sys.exit(main())
