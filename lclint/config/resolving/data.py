"""What Bridge and Megatron Core settle in the dataset section."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

from lclint.config.resolving.state import Resolution, both, either, equal, more, negate, truth
from lclint.core.states import NOT_APPLICABLE, UNKNOWN

# batches that are collated and padded at run time
COLLATED = ("DirectHFSFTDatasetConfig", "EnergonDatasetConfig", "MockVLMSFTDatasetConfig")
# Megatron's indexed pre-training data
INDEXED = ("GPTDatasetConfig", "GPTFIMDatasetConfig", "MockGPTDatasetConfig")
# of training, validation and test when there are no data to split
EVEN_SPLIT = "1,1,1"


def padding(s: Resolution) -> None:
    """bridge training/config.py:1206-1249: fixed shapes are forced on for pipelines and experts; the collate multiple follows CP and SP."""
    fixed = either(more(s.get("model.pipeline_model_parallel_size"), 1), more(s.get("model.expert_model_parallel_size"), 1))
    if s.get("dataset.pad_to_max_length") in (False, None):
        why = "a pipeline or expert parallelism needs fixed shapes (training/config.py:1211)"
        s.set("dataset.pad_to_max_length", fixed, why)
    _collate(s)
    _uneven_dispatch(s)


def _collate(s: Resolution) -> None:
    in_batch = truth(s.get("dataset.enable_in_batch_packing"))
    why = "a multiple that context and sequence parallelism need (training/config.py:1239-1246)"
    name = "dataset.in_batch_packing_pad_to_multiple_of"
    if name in s.values:
        s.when(in_batch, name, _multiple(s), why)
    name = "dataset.pad_to_multiple_of"
    old = s.get(name)
    if old.__class__ is int and old > 0 and s.class_name("dataset") in (*COLLATED, UNKNOWN):
        multiple = _multiple(s)
        s.when(negate(in_batch), name, multiple if multiple is UNKNOWN else math.lcm(old, multiple), why)


def _multiple(s: Resolution) -> Any:
    """bridge training/config.py:1214-1222."""
    tp, cp, sp = s.get("model.tensor_model_parallel_size"), s.get("model.context_parallel_size"), truth(s.get("model.sequence_parallel"))
    evaluation = s.get("dist.eval_context_parallel_size")
    sizes = [cp] if evaluation is None or evaluation is NOT_APPLICABLE else [cp, evaluation]
    if sp is UNKNOWN or any(size.__class__ is not int or size < 1 for size in (tp, *sizes)):
        return UNKNOWN
    return math.lcm(*(2 * size if size > 1 else 1 for size in sizes), *(size * tp if sp and tp > 1 else 1 for size in sizes))


def _uneven_dispatch(s: Resolution) -> None:
    hybridep = both(equal(s.get("model.moe_token_dispatcher_type"), "flex"), equal(s.get("model.moe_flex_dispatcher_backend"), "hybridep"))
    if hybridep is False:
        return
    packed = both(hybridep, either(s.get("dataset.enable_offline_packing"), s.get("dataset.enable_in_batch_packing")))
    impl = s.get("model.cuda_graph_impl")
    graphs = UNKNOWN if impl is UNKNOWN else impl not in (None, "none", NOT_APPLICABLE)
    graphs = either(graphs, either(s.get("model.enable_cuda_graph"), s.get("model.external_cuda_graph")))
    why = "packed data under eager HybridEP (models/transformer_config.py:91)"
    s.when(both(packed, negate(graphs)), "model.moe_hybridep_pad_uneven_dispatch_inputs", True, why)


def dataset(s: Resolution) -> None:
    """bridge data/base.py:70 and training/config.py:298-327, core datasets/blended_megatron_dataset_config.py:99-152."""
    if s.get("dataset.num_workers") == 0 and s.get("dataset.persistent_workers") is True:
        s.set("dataset.persistent_workers", False, "there are no workers (data/base.py:70)")
    name = s.class_name("dataset")
    if name is UNKNOWN:
        s.blur("dataset.mock", "dataset.split", "dataset.split_matrix")
        if s.get("dataset.blend") is None:
            s.blur("dataset.blend")
    elif name in INDEXED:
        _blend(s)
        _split(s)


def _blend(s: Resolution) -> None:
    path = s.get("dataset.data_path")
    if path is None or path is NOT_APPLICABLE:
        return
    parts = path.split() if path.__class__ is str else path
    s.default("dataset.blend", _weighted(parts) if parts.__class__ is list else UNKNOWN, "data_path names the data (training/config.py:313)")


def _weighted(parts: list[Any]) -> Any:
    """core datasets/utils.py:49: prefixes, or weights and prefixes in turn."""
    if len(parts) % 2 == 0:
        try:
            return [[str(part) for part in parts[1::2]], [float(part) for part in parts[::2]]]
        except (TypeError, ValueError):
            pass
    return [parts, None]


def _split(s: Resolution) -> None:
    blend, by_split = s.get("dataset.blend"), s.get("dataset.blend_per_split")
    if by_split.__class__ is list:
        by_split = UNKNOWN if UNKNOWN in by_split else any(by_split)
    elsewhere = truth(by_split)
    if elsewhere is True:
        return
    no_data = UNKNOWN if UNKNOWN in (blend, elsewhere) else blend is None
    why = "no data are named, so Megatron Core makes them up (core datasets/blended_megatron_dataset_config.py:138)"
    s.when(no_data, "dataset.mock", True, why)
    s.when(no_data, "dataset.split", EVEN_SPLIT, why)
    if s.has("dataset.split_matrix"):
        matrix = UNKNOWN if elsewhere is UNKNOWN else _matrix(s.get("dataset.split"))
        s.set("dataset.split_matrix", matrix, "the split as fractions (core datasets/blended_megatron_dataset_config.py:151)")


def _matrix(split: Any) -> Any:
    """core datasets/blended_megatron_dataset_config.py:156-215: bounds of training, validation and test, null for an empty one."""
    if split.__class__ is not str:
        return UNKNOWN
    try:
        shares = [float(part) for part in re.findall(r"[.0-9]+", split)]
    except ValueError:
        return UNKNOWN
    total = sum(shares)
    if not 0 < len(shares) <= 3 or not total:
        return UNKNOWN
    bounds: list[float] = [0]
    for share in shares + [0.0] * (3 - len(shares)):
        bounds.append(bounds[-1] + share / total)
    return [[low, high] if high > low else None for low, high in itertools.pairwise(bounds)]
