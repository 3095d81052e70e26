"""Mixed precision: the preset's name, what it overwrites, and values as they stand when the optimizer and DDP configs are checked."""

from __future__ import annotations

from typing import Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

PRESET = "written.mixed_precision"


def _presets(g: Any) -> dict[str, Any]:
    from lclint.catalog import tables

    return tables.precision_presets(g.run.release)


def _fitting(g: Any) -> list[str]:
    """Names of presets whose number format the GPU has kernels for; all where the GPU is not known."""
    known = g["gpu.precisions"]
    if known.__class__ is not list:
        return list(_presets(g))
    formats = {"tensorwise": "fp8_tensorwise", "delayed": "fp8_tensorwise", "blockwise": "fp8_blockwise", "mxfp8": "mxfp8"}
    found = []
    for name, fields in _presets(g).items():
        wanted = "nvfp4" if fields.get("fp4") else formats.get(fields.get("fp8_recipe"), "") if fields.get("fp8") else None
        if wanted is None or wanted in known:
            found.append(name)
    return found


@fact("precision.unknown_preset", needs=(PRESET,), unit="name", source="Bridge training/mixed_precision.py:455 (0.6.2)", raw=True)
def unknown_preset(g: Any) -> Any:
    """The preset that mixed_precision names when Bridge has none of that name; not applicable otherwise."""
    value = g[PRESET]
    if value.__class__ is not str:
        return UNKNOWN if value is UNKNOWN else NOT_APPLICABLE
    return NOT_APPLICABLE if value.replace("-", "_") in _presets(g) else value


@fact("precision.nearest_preset", needs=("precision.unknown_preset",), unit="name", source="nearest spelling among presets that the GPU can run", raw=True)
def nearest_preset(g: Any) -> Any:
    """The preset that an unknown name probably means; null when none is near."""
    name = g["precision.unknown_preset"]
    if name.__class__ is not str:
        return name
    presets = _fitting(g)
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    if plain + "_mixed" in presets:
        return plain + "_mixed"
    words = {"bf16": "bf16_mixed", "bfloat16": "bf16_mixed", "16_mixed": "fp16_mixed", "fp16": "fp16_mixed"}
    words.update(dict.fromkeys(("fp8", "fp8_mixed", "bf16_fp8", "bf16_with_fp8", "bf16_with_fp8_mixed"), "bf16_with_fp8_current_scaling_mixed"))
    if words.get(plain) in presets:
        return words[plain]
    import difflib

    return next(iter(difflib.get_close_matches(plain, presets, 1, 0.7)), None)


@fact("precision.presets", needs=(PRESET,), unit="names", source="Bridge training/mixed_precision.py:173-449 (0.6.2)", raw=True)
def presets(g: Any) -> Any:
    """Names of the presets that the GPU can run."""
    return sorted(_fitting(g))


@fact("precision.lost", needs=(PRESET,), unit="records", source="Bridge training/mixed_precision.py:146-166 (0.6.2)", raw=True)
def lost(g: Any) -> Any:
    """Fields that the user set and that mixed_precision replaces with another value: field, written, becomes.

    Of a saved config only overrides count: what is in the file may be left from the recipe and not the user's wish.
    """
    if g[PRESET] is UNKNOWN:
        return UNKNOWN
    run = g.run
    found = []
    for change in run.changes:
        origin = run.origins.get(change.name)
        if not change.why.startswith("mixed_precision") or UNKNOWN in (change.old, change.new):
            continue
        if origin == "set" or (origin == "file" and run.kind == "override"):
            found.append({"field": change.name, "written": change.old, "becomes": change.new, "preset_field": change.name.partition(".")[2]})
    return found


def applied(g: Any, section: str, name: str) -> Any:
    """The field of a section once mixed_precision has been laid over it, before any later step."""
    preset = g[PRESET]
    if preset is UNKNOWN:
        return UNKNOWN
    if preset.__class__ is str:
        fields = _presets(g).get(preset.replace("-", "_"), {})
        value = fields.get(name, NOT_APPLICABLE)
    elif preset.__class__ is dict:
        value = g[f"written.mixed_precision.{name}"]
    else:
        value = NOT_APPLICABLE
    return g[f"written.{section}.{name}"] if value is NOT_APPLICABLE else value


@fact(
    "precision.ddp_reuses_buffer",
    needs=(PRESET, "written.ddp.reuse_grad_buf_for_mxfp8_param_ag"),
    unit="yes or no",
    source="Core distributed_data_parallel_config.py:253 (0.19.2)",
    raw=True,
)
def ddp_reuses_buffer(g: Any) -> Any:
    """ddp.reuse_grad_buf_for_mxfp8_param_ag when the DDP config is checked: before Megatron FSDP turns it off."""
    return applied(g, "ddp", "reuse_grad_buf_for_mxfp8_param_ag")


@fact(
    "precision.optimizer_reuses_buffer",
    needs=(PRESET, "written.optimizer.reuse_grad_buf_for_mxfp8_param_ag"),
    unit="yes or no",
    source="Core optimizer_config.py:425 (0.19.2)",
    raw=True,
)
def optimizer_reuses_buffer(g: Any) -> Any:
    """optimizer.reuse_grad_buf_for_mxfp8_param_ag when the optimizer config is checked: before Megatron FSDP turns it off."""
    return applied(g, "optimizer", "reuse_grad_buf_for_mxfp8_param_ag")


@fact("precision.field_fp8", needs=(PRESET,), unit="field", source="Bridge training/mixed_precision.py:146 (0.6.2)", raw=True)
def field_fp8(g: Any) -> str:
    """The field that decides on FP8."""
    return "mixed_precision.fp8" if g[PRESET].__class__ is dict else "mixed_precision" if g[PRESET].__class__ is str else "model.fp8"


@fact("precision.field_recipe", needs=(PRESET,), unit="field", source="Bridge training/mixed_precision.py:146 (0.6.2)", raw=True)
def field_recipe(g: Any) -> str:
    """The field that decides on the FP8 recipe."""
    return "mixed_precision.fp8_recipe" if g[PRESET].__class__ is dict else "mixed_precision" if g[PRESET].__class__ is str else "model.fp8_recipe"


@fact(
    "precision.layers_per_stage",
    needs=("model.num_layers", "model.pipeline_model_parallel_size"),
    unit="layers",
    source="Core transformer_config.py:1407 (0.19.2)",
)
def layers_per_stage(layers: int, stages: int) -> int:
    """Layers of one pipeline stage by plain division, the most that may stay in BF16 at either end."""
    return layers // stages
