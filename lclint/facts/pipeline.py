"""How the layers are divided over pipeline stages, by whichever of the four ways a config uses."""

from __future__ import annotations

from typing import Any

from lclint.config import pipeline_layout
from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

LAYOUT = "model.pipeline_model_parallel_layout"
FIRST = "model.num_layers_in_first_pipeline_stage"
LAST = "model.num_layers_in_last_pipeline_stage"
EMBEDDING = "model.account_for_embedding_in_pipeline_split"
LOSS = "model.account_for_loss_in_pipeline_split"
LAYERS = "model.num_layers"
PP = "model.pipeline_model_parallel_size"
WRITTEN_VPP = "written.model.virtual_pipeline_model_parallel_size"
MTP = "model.mtp_num_layers"
PATTERN = "model.hybrid_layer_pattern"

ENDS = "Megatron Core transformer_config.py:1985-2050 (0.19.2)"
HYBRID = "Megatron Core models/hybrid/hybrid_layer_allocation.py (0.19.2)"


def _given(g: Any, name: str) -> Any:
    """The value, null for a field that the class does not have."""
    value = g[name]
    return None if value is NOT_APPLICABLE else value


@fact(
    "pipeline.kind",
    needs=(PATTERN, "classes.model"),
    unit="decoder, hybrid or encoder-decoder",
    source="Megatron Core transformer_block.py:70 (0.19.2)",
    raw=True,
)
def kind(g: Any) -> Any:
    """Which code divides the layers: the transformer block, the hybrid pattern, or T5's two stacks."""
    pattern = _given(g, PATTERN)
    if pattern.__class__ is str:
        return "hybrid"
    if g["classes.model"] == "T5ModelProvider":
        return "encoder-decoder"
    return UNKNOWN if pattern is UNKNOWN else "decoder"


@fact(
    "pipeline.split",
    needs=(LAYOUT, FIRST, LAST, EMBEDDING, LOSS),
    unit="layout, ends, accounted or even",
    source="Megatron Core transformer_config.py:1936-2060 (0.19.2)",
    raw=True,
)
def split(g: Any) -> Any:
    """What decides the layers per stage: a layout, counts for the first or last stage, embedding or loss counted as layers, or nothing."""
    layout = _given(g, LAYOUT)
    if layout is not None:
        return UNKNOWN if layout is UNKNOWN else "layout"
    ends = [_given(g, FIRST), _given(g, LAST)]
    if any(end is not None and end is not UNKNOWN for end in ends):
        return "ends"
    accounted = [_given(g, EMBEDDING), _given(g, LOSS)]
    if UNKNOWN in ends:
        return UNKNOWN
    if True in accounted:
        return "accounted"
    return UNKNOWN if UNKNOWN in accounted else "even"


@fact("pipeline.counted_layers", needs=(LAYERS, EMBEDDING, LOSS), unit="layers", source="Megatron Core transformer_config.py:2066-2075 (0.19.2)", raw=True)
def counted_layers(g: Any) -> Any:
    """Layers with the embedding and the loss, where those are counted as one each."""
    values = [g[LAYERS], _given(g, EMBEDDING), _given(g, LOSS)]
    if UNKNOWN in values:
        return UNKNOWN
    return values[0] + (values[1] is True) + (values[2] is True) if values[0].__class__ is int else NOT_APPLICABLE


@fact("pipeline.middle_layers", needs=(LAYERS, FIRST, LAST), unit="layers", source=ENDS, raw=True)
def middle_layers(g: Any) -> Any:
    """Layers that are left for the stages between the first and last when these have counts of their own; negative when too few."""
    values = [g[LAYERS], _given(g, FIRST), _given(g, LAST)]
    if UNKNOWN in values:
        return UNKNOWN
    layers, first, last = values
    return layers - (first or 0) - (last or 0) if layers.__class__ is int else NOT_APPLICABLE


@fact("pipeline.middle_stages", needs=(PP, FIRST, LAST), unit="stages", source=ENDS, raw=True)
def middle_stages(g: Any) -> Any:
    """Stages whose layers are not given by a count of their own."""
    values = [g[PP], _given(g, FIRST), _given(g, LAST)]
    if UNKNOWN in values:
        return UNKNOWN
    stages, first, last = values
    return stages - (first is not None) - (last is not None) if stages.__class__ is int else NOT_APPLICABLE


def _fault(g: Any) -> Any:
    found = g.get("pipeline._fault", g)
    if found is g:
        found = g["pipeline._fault"] = _find_fault(g)
    return found


def _find_fault(g: Any) -> Any:
    layout, pp, layers = _given(g, LAYOUT), g[PP], g[LAYERS]
    vpp, mtp = _given(g, WRITTEN_VPP), _given(g, MTP)
    if layout is None:
        return None
    if layout is UNKNOWN or pp is UNKNOWN:
        return UNKNOWN
    if pp.__class__ is not int or pp < 1:
        return NOT_APPLICABLE
    found = pipeline_layout.fault(layout, pp, None if vpp is UNKNOWN else vpp, layers, mtp)
    if found is None:
        return UNKNOWN if UNKNOWN in (vpp, layers, mtp) else None
    undecided = {"decoders": (layers,), "mtp-count": (mtp, layers), "mtp-split": (mtp,)}.get(found[0], ())
    return UNKNOWN if UNKNOWN in undecided else found


@fact(
    "pipeline.layout_fault",
    needs=(LAYOUT, PP, WRITTEN_VPP, LAYERS, MTP),
    unit="kind of fault",
    source="Megatron Core pipeline_parallel_layer_layout.py:22-150 (0.19.2)",
    raw=True,
)
def layout_fault(g: Any) -> Any:
    """The first thing that Megatron Core refuses in the pipeline layout; null for a good layout or none."""
    found = _fault(g)
    return found[0] if found.__class__ is tuple else found


@fact(
    "pipeline.layout_detail", needs=("pipeline.layout_fault",), unit="text", source="Megatron Core pipeline_parallel_layer_layout.py:22-150 (0.19.2)", raw=True
)
def layout_detail(g: Any) -> Any:
    """What the fault of the layout is about: the bad letter, the count that was found."""
    found = _fault(g)
    return found[1] if found.__class__ is tuple else found


@fact("pipeline.layout_stages", needs=(LAYOUT,), unit="stages", source="Megatron Core pipeline_parallel_layer_layout.py:290 (0.19.2)")
def layout_stages(layout: Any) -> Any:
    """Virtual stages that the layout describes."""
    try:
        return len(pipeline_layout.stages(layout))
    except pipeline_layout.BadLayout:
        return NOT_APPLICABLE


@fact("pipeline.layout_predictions", needs=(LAYOUT,), unit="layers", source="Megatron Core pipeline_parallel_layer_layout.py:111 (0.19.2)")
def layout_predictions(layout: Any) -> Any:
    """Multi-token prediction layers that the layout places."""
    try:
        return sum(row.count("mtp") for row in pipeline_layout.stages(layout))
    except pipeline_layout.BadLayout:
        return NOT_APPLICABLE


@fact("hybrid.fault", needs=(PATTERN,), unit="kind of fault", source=HYBRID)
def hybrid_fault(pattern: Any) -> Any:
    """What Megatron Core refuses in the hybrid pattern itself; null for a good one."""
    if pattern.__class__ is not str:
        return NOT_APPLICABLE
    try:
        pipeline_layout.hybrid(pattern)
    except pipeline_layout.BadLayout as bad:
        return bad.kind
    return None


@fact("hybrid.fault_detail", needs=(PATTERN,), unit="text", source=HYBRID)
def hybrid_fault_detail(pattern: Any) -> Any:
    """The letter or part that the pattern's fault is about."""
    try:
        pipeline_layout.hybrid(str(pattern))
    except pipeline_layout.BadLayout as bad:
        return bad.detail
    return None


def _parsed(pattern: Any) -> pipeline_layout.HybridPattern | None:
    try:
        return pipeline_layout.hybrid(pattern) if pattern.__class__ is str else None
    except pipeline_layout.BadLayout:
        return None


@fact("hybrid.layers", needs=(PATTERN,), unit="layers", source=HYBRID)
def hybrid_layers(pattern: Any) -> Any:
    """Layers of the main part of the pattern."""
    parsed = _parsed(pattern)
    return NOT_APPLICABLE if parsed is None else parsed.layers()


@fact("hybrid.segments", needs=(PATTERN,), unit="segments", source=HYBRID)
def hybrid_segments(pattern: Any) -> Any:
    """Parts between the stage bars of the pattern; one without bars."""
    parsed = _parsed(pattern)
    return NOT_APPLICABLE if parsed is None else len(parsed.segments())


@fact("hybrid.mtp_depths", needs=(PATTERN,), unit="depths", source=HYBRID)
def hybrid_mtp_depths(pattern: Any) -> Any:
    """Prediction depths that the pattern spells out after its main part."""
    parsed = _parsed(pattern)
    return NOT_APPLICABLE if parsed is None else parsed.depths


@fact("hybrid.has_mamba", needs=(PATTERN,), unit="yes or no", source=HYBRID)
def hybrid_has_mamba(pattern: Any) -> Any:
    """Whether the pattern has a Mamba layer."""
    return "M" in pattern if pattern.__class__ is str else NOT_APPLICABLE
