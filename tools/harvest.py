#!/usr/bin/env python3
"""Write lclint's catalogue. Run by hand by a maintainer when Megatron Bridge makes a release; commit what it writes.

Once per release::

    pip download --no-deps megatron-bridge==0.6.2 megatron-core==0.19.2
    unzip -d wheels megatron_bridge-0.6.2-*.whl; unzip -d wheels megatron_core-0.19.2-*.whl
    python tools/harvest.py release 0.6 --wheels wheels --python /path/to/venv/bin/python

``--python`` is an interpreter that has CPU PyTorch, transformers, omegaconf, hydra-core, einops, peft, accelerate,
datasets, tiktoken, sentencepiece, wandb and tensorboard; GPU-only packages are stood in for. It imports Bridge and
describes every config class that ConfigContainer can hold. The wheels may lie in one folder or in two (``--wheels`` twice).

Bridge's wheels do not say which core they belong to. The catalogue's pairs, by release date and by what imports:
0.3.1 with core 0.16.1, 0.4.2 with 0.17.1, 0.5.1 with 0.18.2, 0.6.2 with 0.19.2.

The recipes of the release, which the field tables do not need::

    python tools/harvest.py recipes 0.6 --wheels wheels --python /path/to/venv/bin/python

calls every recipe function and keeps what it makes. Recipes ask Hugging Face for their model's config; ``tools/models.json``
answers, and what it only approximates is marked. Recipes that could not be called are listed on stderr. What was written is read
back and compared with what the recipes made.

The arguments of Megatron-LM, with the newest release's wheels::

    python tools/harvest.py arguments --wheels wheels --python /path/to/venv/bin/python

After a change of ``tools/gpus.csv``::

    python tools/harvest.py gpus

After a change of ``tools/renames.csv`` or ``tools/classes.csv``, and after every new release::

    python tools/harvest.py history

It says on stderr which fields and classes of older releases are gone without a row that tells what became of them.

The same input gives the same bytes. Modules that could not be imported and notes of ``tools/deprecations.csv`` that fit
no field are listed on stderr; read them, a config class may hide there.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any

TOOLS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS))

from harvesting import gpus, pack, pack_recipes  # noqa: E402

DATA = TOOLS.parent / "lclint" / "catalog" / "data"
OFFLINE = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "NO_VCS_VERSION": "1", "WANDB_MODE": "disabled",
    "TORCHDYNAMO_DISABLE": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
}  # fmt: skip


def wheel_versions(wheels: list[pathlib.Path]) -> dict[str, str]:
    """Versions of the two packages, from their ``.dist-info`` folders."""
    versions = {}
    for folder in wheels:
        for info in sorted(folder.glob("megatron_*.dist-info")):
            match = re.fullmatch(r"megatron_(bridge|core)-(.+)\.dist-info", info.name)
            if match:
                versions[match[1]] = match[2]
    missing = {"bridge", "core"} - versions.keys()
    if missing:
        raise SystemExit(f"harvest: no unpacked megatron_{missing.pop()} wheel in {', '.join(map(str, wheels))}")
    return dict(sorted(versions.items()))


def run(module: str, python: str, wheels: list[pathlib.Path]) -> Any:
    """The JSON that ``harvesting.<module>`` writes when it runs over the wheels in the interpreter ``python``."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "raw.json"
        path = os.pathsep.join([str(TOOLS), *(str(w.resolve()) for w in wheels)])
        # A rank or a user's settings in the maintainer's shell must not become a default in the catalogue.
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LD_LIBRARY_PATH")}
        environment = {**kept, **OFFLINE, "HOME": folder, "PYTHONPATH": path}
        done = subprocess.run([python, "-m", f"harvesting.{module}", str(result)], env=environment, cwd=folder)
        if done.returncode:
            raise SystemExit("harvest: reading the wheels failed, see above")
        return json.loads(result.read_text(encoding="utf-8"))


def harvest_release(release: str, wheels: list[pathlib.Path], python: str, out: pathlib.Path) -> None:
    """Write ``out/<release>/*.json``."""
    versions = wheel_versions(wheels)
    raw = run("introspect", python, wheels)
    for note in pack.write_release(raw, versions, release, TOOLS, out):
        print("note fits no field:", note, file=sys.stderr)


def harvest_arguments(wheels: list[pathlib.Path], python: str, out: pathlib.Path) -> None:
    """Write ``out/arguments.json``."""
    versions = wheel_versions(wheels)
    pack.write(out / "arguments.json", {"core": versions["core"], "arguments": run("arguments", python, wheels)})


def harvest_recipes(release: str, wheels: list[pathlib.Path], python: str, out: pathlib.Path) -> None:
    """Write ``out/<release>/recipes/*.json``."""
    sys.path.insert(1, str(TOOLS.parent))  # the checkout's own lclint reads the dumps, and what was written of them
    from lclint.catalog.recipes import FOLDER, Recipes
    from lclint.sources import document

    wheel_versions(wheels)
    raw = run("recipes", python, wheels)
    for line in raw["left_out"]:
        print("left out:", " ".join(line.split()), file=sys.stderr)
    if not raw["recipes"]:
        raise SystemExit("harvest: no recipe could be called")
    configs = [document.load(record["yaml"].encode(), record["name"]).data for record in raw["recipes"]]
    folder = out / release / FOLDER
    made = pack_recipes.write(raw, configs, folder)
    written = Recipes(str(folder))
    wrong = [name for name, config in made.items() if pack_recipes.key_of(written.load(name)) != pack_recipes.key_of(config)]
    if wrong:
        raise SystemExit(f"harvest: what was written does not give back {', '.join(wrong)}")


def harvest_history(out: pathlib.Path) -> None:
    """Write ``out/history.json``."""
    sys.path.insert(1, str(TOOLS.parent))  # rows are held against the checkout's own field tables
    from harvesting import pack_history

    pack.write(out / "history.json", pack_history.read(TOOLS))
    for name in pack_history.missing():
        print("gone without a row:", name, file=sys.stderr)


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("release", "field tables of one Bridge release"),
        ("recipes", "recipes of one Bridge release"),
        ("arguments", "arguments of Megatron-LM, of the newest release"),
    ):
        one = commands.add_parser(name, help=text)
        if name != "arguments":
            one.add_argument("release", help="release key, for example 0.6")
        one.add_argument("--wheels", type=pathlib.Path, action="append", required=True, help="folder of unpacked wheels (repeatable)")
        one.add_argument("--python", required=True, help="interpreter that can import torch")
        one.add_argument("--out", type=pathlib.Path, default=DATA)
    table = commands.add_parser("gpus", help="gpus.csv -> gpus.json")
    table.add_argument("--out", type=pathlib.Path, default=DATA)
    table = commands.add_parser("history", help="renames.csv and classes.csv -> history.json")
    table.add_argument("--out", type=pathlib.Path, default=DATA)
    options = parser.parse_args(arguments)
    if options.command == "gpus":
        pack.write(options.out / "gpus.json", gpus.read(TOOLS / "gpus.csv"))
    elif options.command == "history":
        harvest_history(options.out)
    elif options.command == "arguments":
        harvest_arguments(options.wheels, options.python, options.out)
    elif options.command == "recipes":
        harvest_recipes(options.release, options.wheels, options.python, options.out)
    else:
        harvest_release(options.release, options.wheels, options.python, options.out)


if __name__ == "__main__":
    main()
