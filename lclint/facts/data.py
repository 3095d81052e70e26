"""Which classes fill the model and dataset sections, and what kind of data that is."""

from __future__ import annotations

from typing import Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

MODEL = "written.model._target_"
DATASET = "written.dataset._target_"

SFT = ("GPTSFTDatasetConfig", "FinetuningDatasetConfig", "DirectHFSFTDatasetConfig", "EnergonDatasetConfig", "MockVLMSFTDatasetConfig", "HFDatasetConfig")
# dataset configs whose validate() runs before Bridge derives padding
COLLATED = ("DirectHFSFTDatasetConfig", "EnergonDatasetConfig", "MockVLMSFTDatasetConfig")
TEXT_SFT = ("GPTSFTDatasetConfig", "FinetuningDatasetConfig")
PRETRAINING = ("GPTDatasetConfig", "GPTFIMDatasetConfig", "MockGPTDatasetConfig")


def short(name: Any) -> Any:
    """The class name at the end of an import path."""
    return name.rsplit(".", 1)[-1] if name.__class__ is str else name


@fact("classes.model", needs=(MODEL,), unit="class", source="_target_ of the model section", raw=True)
def model_class(g: Any) -> Any:
    """Short name of the model provider's class."""
    return short(g[MODEL])


@fact("classes.dataset", needs=(DATASET,), unit="class", source="_target_ of the dataset section", raw=True)
def dataset_class(g: Any) -> Any:
    """Short name of the dataset config's class."""
    return short(g[DATASET])


@fact("data.is_sft", needs=("classes.dataset",), unit="yes or no", source="Bridge training/config.py:1440 (0.6.2)")
def is_sft(name: str) -> bool:
    """Whether the data are instruction data, for which Bridge has rules of its own under context parallelism."""
    return name in SFT


@fact("data.is_text_sft", needs=("classes.dataset",), unit="yes or no", source="Bridge training/config.py:1143 (0.6.2)")
def is_text_sft(name: str) -> bool:
    """Whether the dataset is the finite text SFT one."""
    return name in TEXT_SFT


@fact("data.is_pretraining", needs=("classes.dataset",), unit="yes or no", source="Bridge training/config.py:229 (0.6.2)")
def is_pretraining(name: str) -> bool:
    """Whether the dataset is Megatron's indexed pre-training one."""
    return name in PRETRAINING


@fact("data.is_collated", needs=("classes.dataset",), unit="yes or no", source="Bridge training/config.py:1193 (0.6.2)")
def is_collated(name: str) -> bool:
    """Whether batches are collated and padded at run time (direct Hugging Face, Energon and mock vision-language data)."""
    return name in COLLATED


@fact(
    "data.padded",
    needs=("written.dataset.pad_to_max_length", "written.dataset.dataset_kwargs.pad_to_max_length"),
    unit="yes or no",
    source="Bridge training/config.py:1164 (0.6.2)",
    raw=True,
)
def padded(g: Any) -> Any:
    """Whether every sample is padded to the full length, by the dataset's own field or in its dataset_kwargs."""
    values = [g["written.dataset.pad_to_max_length"], g["written.dataset.dataset_kwargs.pad_to_max_length"]]
    return True if True in values else UNKNOWN if UNKNOWN in values else False


@fact("data.padding_field", needs=("classes.dataset",), unit="field", source="Bridge data/builders/gpt_sft.py:105 (0.6.2)", raw=True)
def padding_field(g: Any) -> str:
    """Where padding to the full length is asked for with this dataset class."""
    return "dataset.pad_to_max_length" if g["classes.dataset"] in COLLATED else "dataset.dataset_kwargs.pad_to_max_length"


@fact(
    "data.offline_packed",
    needs=("written.dataset.enable_offline_packing", "written.dataset.offline_packing_specs"),
    unit="yes or no",
    source="Bridge training/config.py:1153 (0.6.2)",
    raw=True,
)
def offline_packed(g: Any) -> Any:
    """Whether the samples are packs made beforehand. False where the dataset class cannot pack."""
    value = g["written.dataset.enable_offline_packing"]
    return False if value is NOT_APPLICABLE or value is None else value


@fact("data.in_batch_packed", needs=("written.dataset.enable_in_batch_packing",), unit="yes or no", source="Bridge training/config.py:1152 (0.6.2)", raw=True)
def in_batch_packed(g: Any) -> Any:
    """Whether the samples of a microbatch are packed together at run time. False where the dataset class cannot pack."""
    value = g["written.dataset.enable_in_batch_packing"]
    return False if value is NOT_APPLICABLE or value is None else value


@fact("data.specs", needs=("written.dataset.offline_packing_specs",), unit="yes or no", source="Bridge training/config.py:1154 (0.6.2)", raw=True)
def has_specs(g: Any) -> Any:
    """Whether offline_packing_specs is set."""
    value = g["written.dataset.offline_packing_specs"]
    return UNKNOWN if value is UNKNOWN else value is not None and value is not NOT_APPLICABLE


@fact(
    "data.pad_cu_seqlens",
    needs=("written.dataset.offline_packing_specs.pad_cu_seqlens", "data.specs"),
    unit="yes or no",
    source="Bridge training/config.py:1163 (0.6.2)",
    raw=True,
)
def pad_cu_seqlens(g: Any) -> Any:
    """Whether the list of sequence boundaries is padded to a fixed length; not applicable without packing specs."""
    if g["data.specs"] is False:
        return NOT_APPLICABLE
    value = g["written.dataset.offline_packing_specs.pad_cu_seqlens"]
    return False if value is NOT_APPLICABLE else value


@fact(
    "data.sources",
    needs=("written.dataset.data_path", "written.dataset.blend", "written.dataset.blend_per_split"),
    unit="yes or no",
    source="Megatron Core blended_megatron_dataset_config.py:114-145 (0.19.2)",
    raw=True,
)
def has_sources(g: Any) -> Any:
    """Whether pre-training data are named at all."""
    unknown = False
    for name in ("data_path", "blend", "blend_per_split"):
        value = g[f"written.dataset.{name}"]
        if value is UNKNOWN:
            unknown = True
        elif value.__class__ is list:
            if any(value):
                return True
        elif value is not None and value is not NOT_APPLICABLE:
            return True
    return UNKNOWN if unknown else False


@fact(
    "data.split_blends",
    needs=("written.dataset.blend_per_split",),
    unit="blends",
    source="Megatron Core blended_megatron_dataset_config.py:114 (0.19.2)",
    nullable=("written.dataset.blend_per_split",),
)
def split_blends(splits: Any) -> int:
    """How many splits have a blend of their own."""
    return sum(1 for split in splits if split) if splits.__class__ is list else 0


@fact(
    "data.unequal_weights",
    needs=("written.dataset.blend", "written.dataset.blend_per_split"),
    unit="texts",
    source="Megatron Core blended_megatron_dataset_config.py:126-135 (0.19.2)",
    raw=True,
)
def unequal_weights(g: Any) -> Any:
    """Descriptions of blends whose weights and paths differ in number."""
    found: list[str] = []
    blend, splits = g["written.dataset.blend"], g["written.dataset.blend_per_split"]
    pairs = [("dataset.blend", blend)]
    if splits.__class__ is list and any(splits):
        pairs = [(f"dataset.blend_per_split[{index}]", split) for index, split in enumerate(splits)]
    for place, pair in pairs:
        if pair.__class__ is list and len(pair) == 2 and pair[0].__class__ is list and pair[1].__class__ is list and len(pair[0]) != len(pair[1]):
            found.append(f"{place}: {len(pair[0])} paths, {len(pair[1])} weights")
    return UNKNOWN if UNKNOWN in (blend, splits) and not found else found


# keys of dataset_kwargs that ``preprocessing`` has taken over
SEMANTIC_KWARGS = frozenset(
    [
        "add_bos",
        "add_eos",
        "add_sep",
        "answer_only_loss",
        "chat",
        "chat_loss_mode",
        "label_key",
        "prompt_completion_config",
        "prompt_template",
        "truncation_field",
        "truncation_method",
        "use_hf_tokenizer_chat_template",
    ]
)


@fact("data.semantic_kwargs", needs=("written.dataset.dataset_kwargs",), unit="names", source="Bridge data/builders/gpt_sft.py:58 (0.6.2)")
def semantic_kwargs(values: dict[str, Any]) -> list[str]:
    """Keys of dataset_kwargs that say what becomes of a sample, as the preprocessing section does now."""
    return sorted(key for key in values if key in SEMANTIC_KWARGS)


@fact("data.energon_kwargs", needs=("written.dataset.dataset_kwargs",), unit="names", source="Bridge data/builders/energon.py:177-190 (0.6.2)")
def energon_kwargs(values: dict[str, Any]) -> list[str]:
    """Keys of dataset_kwargs that the Energon builder sets itself."""
    reserved = ("batch_size", "max_samples_per_sequence", "packing_buffer_size", "shuffle_buffer_size", "split_part", "task_encoder", "worker_config")
    return [key for key in values if key in reserved]


# built-in Hugging Face presets of Bridge 0.6 and the splits that each has
PRESETS = {
    "cord_v2": ("train", "validation", "test"),
    "cv17": ("train", "validation", "test", "validated"),
    "gsm8k": ("train", "test"),
    "llava_video_178k": ("train", "open_ended"),
    "medpix": ("train", "validation"),
    "openmathinstruct2": ("train", "train_1M", "train_2M", "train_5M"),
    "openmathinstruct2_thinking": ("train", "train_1M", "train_2M", "train_5M"),
    "raven": ("train",),
    "rdr": ("train",),
    "squad": ("train", "validation"),
    "tulu3": ("train",),
}
HF_FIELDS = ("hf_dataset", "hf_validation_dataset", "hf_test_dataset", "source", "validation_source", "test_source")


@fact("data.hf_sources", needs=("written.dataset", "classes.dataset"), unit="records", source="Bridge data/sources/hf.py:66-115 (0.6.2)", raw=True)
def hf_sources(g: Any) -> Any:
    """The Hugging Face sources that are set: field, dataset_name and path_or_dataset of each, whether the name is a built-in preset,
    and the nearest preset name otherwise."""
    if g["classes.dataset"] is UNKNOWN:
        return UNKNOWN
    found: list[dict[str, Any]] = []
    for field in HF_FIELDS:
        place = f"dataset.{field}"
        source = g[f"written.{place}"]
        if source.__class__ is not dict:
            continue
        name, path = g[f"written.{place}.dataset_name"], g[f"written.{place}.path_or_dataset"]
        near = None
        if name.__class__ is str and name not in PRESETS:
            import difflib

            near = next(iter(difflib.get_close_matches(name.lower().replace("-", "_"), PRESETS, 1, 0.6)), None)
        preset = name.__class__ is str and name in PRESETS
        split = g[f"written.{place}.split"]
        found.append(
            {
                "field": place,
                "name": name,
                "path": path,
                "preset": preset,
                "near": near,
                "owned": preset and any(g[f"written.{place}.{key}"] not in (None, NOT_APPLICABLE, UNKNOWN) for key in ("subset", "schema_adapter")),
                "wrong_split": preset and split.__class__ is str and any(part.partition("[")[0] not in PRESETS[name] for part in split.split("+")),
                "split": split,
                "splits": list(PRESETS[name]) if preset else [],
            }
        )
    return found


@fact(
    "data.missing_splits", needs=("written.dataset.hf_dataset.dataset_name",), unit="names", source="Bridge data/builders/gpt_sft.py:168-186 (0.6.2)", raw=True
)
def missing_splits(g: Any) -> Any:
    """Of validation and test, the splits that the built-in preset does not have."""
    name = g["written.dataset.hf_dataset.dataset_name"]
    if name.__class__ is not str or name not in PRESETS:
        return [] if name is None or name.__class__ is str else name
    return [split for split in ("validation", "test") if split not in PRESETS[name]]
