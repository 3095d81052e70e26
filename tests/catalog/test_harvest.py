"""The committed catalogue is what the harvest writes."""

from __future__ import annotations

import os
from pathlib import Path

import harvest
import pytest
from harvesting import gpus, pack, pack_history

DATA = Path(harvest.DATA)
TOOLS = Path(harvest.TOOLS)


def test_the_gpu_table_is_up_to_date(tmp_path: Path) -> None:
    harvest.main(["gpus", "--out", str(tmp_path)])
    assert (tmp_path / "gpus.json").read_bytes() == (DATA / "gpus.json").read_bytes()


def test_what_became_of_fields_and_classes_is_up_to_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    harvest.main(["history", "--out", str(tmp_path)])
    assert (tmp_path / "history.json").read_bytes() == (DATA / "history.json").read_bytes()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("model,no_such_field,0.5,,gone,", "release 0.5 does not have it"),
        ("optimizer,muon_use_nesterov,0.5,optimizer.muon_nesterov,rename,", "release 0.5 does not have it"),
        ("optimizer,muon_use_nesterov,0.4,optimizer.no_such_field,rename,", "the newest release has no optimizer.no_such_field"),
        ("optimizer,muon_use_nesterov,0.4,,rename,", "rename to nothing"),
    ],
)
def test_a_row_that_the_tables_contradict(tmp_path: Path, line: str, fault: str) -> None:
    (tmp_path / "renames.csv").write_text(f"section,field,last,new,how,note\n{line}\n", encoding="utf-8")
    (tmp_path / "classes.csv").write_text("class,last,new,how,note\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=fault):
        pack_history.read(tmp_path)


def test_an_empty_cell_is_unknown() -> None:
    table = gpus.read(TOOLS / "gpus.csv")
    assert table["r100"]["capability"] is None
    assert table["l40s"]["nvlink_domain"] == 0
    assert all(g["source"] for g in table.values())


def test_notes_begin_with_the_release_that_they_name() -> None:
    old = pack.Deprecations(TOOLS / "deprecations.csv", "0.3")
    new = pack.Deprecations(TOOLS / "deprecations.csv", "0.6")
    assert old.note(["a.TransformerConfig"], "cuda_graph_scope") is None
    assert new.note(["a.Other", "a.TransformerConfig"], "cuda_graph_scope")
    assert "TransformerConfig.cuda_graph_scope" not in new.unused()


def test_files_do_not_depend_on_anything_but_their_content(tmp_path: Path) -> None:
    content = {"b": [1, {"z": None}], "a": {"y": 1.5, "x": "ä"}}
    pack.write(tmp_path / "one.json", content)
    assert (tmp_path / "one.json").read_text(encoding="utf-8") == '{\n"b":[\n1,\n{"z":null}],\n"a":{\n"y":1.5,\n"x":"ä"}}\n'


def test_wheels_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no unpacked megatron_"):
        harvest.wheel_versions([tmp_path])


@pytest.mark.oracle
@pytest.mark.skipif(
    not (os.environ.get("LCLINT_ORACLE_PYTHON") and os.environ.get("LCLINT_ORACLE_WHEELS")),
    reason="needs LCLINT_ORACLE_PYTHON (an interpreter with torch) and LCLINT_ORACLE_WHEELS (unpacked 0.6 wheels)",
)
def test_the_harvest_gives_the_committed_bytes(tmp_path: Path) -> None:
    wheels = [Path(p) for p in os.environ["LCLINT_ORACLE_WHEELS"].split(os.pathsep)]
    harvest.harvest_release("0.6", wheels, os.environ["LCLINT_ORACLE_PYTHON"], tmp_path)
    written = {p.name: p.read_bytes() for p in (tmp_path / "0.6").glob("*.json")}
    assert written == {p.name: p.read_bytes() for p in (DATA / "0.6").glob("*.json")}
    harvest.harvest_recipes("0.6", wheels, os.environ["LCLINT_ORACLE_PYTHON"], tmp_path)
    written = {p.name: p.read_bytes() for p in (tmp_path / "0.6" / "recipes").iterdir()}
    assert written == {p.name: p.read_bytes() for p in (DATA / "0.6" / "recipes").iterdir()}
