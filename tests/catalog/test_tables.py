"""The loader, and facts about Bridge 0.6 that its users rely on."""

from __future__ import annotations

import pytest

from lclint.catalog import tables
from lclint.core.errors import UsageError
from lclint.core.states import UNKNOWN

GPT = "megatron.bridge.models.gpt_provider.GPTModelProvider"
MLA = "megatron.bridge.models.mla_provider.MLAModelProvider"
HYBRID = "megatron.bridge.models.hybrid.hybrid_provider.HybridModelProvider"
SFT = "megatron.bridge.data.builders.gpt_sft.GPTSFTDatasetConfig"


def field(section: str, name: str, class_name: str | None = None) -> tables.Field:
    fields = tables.section("0.6", section).fields(class_name)
    assert fields is not None
    return fields[name]


def test_sections_name_the_class_that_is_made_by_default() -> None:
    sections = tables.sections("0.6")
    assert sections["train"] == "megatron.bridge.training.config.TrainingConfig"
    assert sections["ddp"] == "megatron.bridge.training.config.DistributedDataParallelConfig"
    assert sections["comm_overlap"] is None
    assert sections["model"] is None
    assert len(sections) == 24


def test_a_section_says_what_may_stand_in_its_place() -> None:
    assert tables.section("0.6", "mixed_precision").kinds == {"str", "null", "dict", "object"}
    assert "null" not in tables.section("0.6", "train").kinds
    assert tables.section("0.6", "train").required
    assert not tables.section("0.6", "peft").required


def test_a_free_form_section_has_no_classes() -> None:
    section = tables.section("0.6", "env_vars")
    assert section.classes == ()
    assert section.fields() == {}


def test_a_section_takes_the_core_class_that_dumps_name() -> None:
    section = tables.section("0.6", "ddp")
    assert section.fields("megatron.core.distributed.distributed_data_parallel_config.DistributedDataParallelConfig")


def test_an_unknown_class_has_no_table() -> None:
    assert tables.section("0.6", "model").fields("my.package.Provider") is None
    assert tables.section("0.6", "dataset").fields("megatron.bridge.models.gpt_provider.GPTModelProvider") is None


def test_an_unknown_release_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"Bridge 9\.9.*0\.6"):
        tables.sections("9.9")


def test_an_unknown_section_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        tables.section("0.6", "modle")


def test_versions_that_were_read() -> None:
    assert tables.versions("0.6") == {"bridge": "0.6.2", "core": "0.19.2"}
    assert "0.6" in tables.releases()


@pytest.mark.parametrize(
    ("section", "name", "kinds", "default"),
    [
        ("train", "global_batch_size", {"int", "null"}, None),
        ("train", "exit_signal", {"enum", "str", "int"}, "SIGTERM"),
        ("train", "manual_gc", {"bool", "int"}, False),
        ("optimizer", "lr", {"float", "int", "null"}, None),
        ("optimizer", "main_grads_dtype", {"dtype", "str"}, "fp32"),
        ("checkpoint", "ckpt_format", {"str"}, "torch_dist"),
        ("tokenizer", "hf_tokenizer_kwargs", {"dict"}, {}),
    ],
)
def test_known_fields(section: str, name: str, kinds: set[str], default: object) -> None:
    found = field(section, name)
    assert found.kinds >= kinds
    assert found.default == default
    assert not found.required


def test_choices_come_from_literals_and_enums() -> None:
    assert field("model", "cuda_graph_impl", GPT).choices == ("none", "local", "transformer_engine", "full_iteration")
    assert field("model", "recompute_granularity", GPT).choices == ("full", "selective")
    assert field("model", "attention_backend", GPT).choices == ("flash", "fused", "unfused", "local", "auto")
    assert field("train", "empty_unused_memory_level").choices == (0, 1, 2)
    assert field("model", "recompute_modules", GPT).choices is None


def test_elements_of_lists() -> None:
    assert field("model", "recompute_modules", GPT).items == frozenset({"str"})
    assert field("train", "iterations_to_skip").items == frozenset({"int", "bool"})
    assert field("dataset", "blend", "megatron.bridge.training.config.GPTDatasetConfig").items is not None


def test_functions_may_be_written_as_import_path_or_mapping() -> None:
    found = field("model", "activation_func", GPT)
    assert found.kinds >= {"callable", "str", "dict"}
    assert found.default == "gelu"


def test_classes_of_a_section_differ_in_their_fields() -> None:
    section = tables.section("0.6", "model")
    assert "q_lora_rank" in (section.fields(MLA) or {})
    assert "q_lora_rank" not in (section.fields(GPT) or {})
    assert MLA in section.owners("q_lora_rank")
    assert GPT not in section.owners("q_lora_rank")
    assert section.owners("tensor_model_parallel_sise") == ()


def test_a_field_knows_the_class_that_declares_it() -> None:
    assert field("model", "recompute_modules", GPT).owner == "megatron.core.transformer.transformer_config.TransformerConfig"
    assert field("model", "seq_length", GPT).owner == GPT


def test_a_union_never_guesses_a_default() -> None:
    section = tables.section("0.6", "model")
    assert field("model", "normalization", GPT).default == "LayerNorm"
    assert field("model", "normalization", HYBRID).default == "RMSNorm"
    assert (section.fields() or {})["normalization"].default is UNKNOWN
    assert (section.fields() or {})["tensor_model_parallel_size"].default == 1


def test_a_union_is_as_wide_as_its_classes() -> None:
    union = tables.section("0.6", "model").fields()
    assert union is not None
    for name in tables.section("0.6", "model").classes:
        for one in (tables.section("0.6", "model").fields(name) or {}).values():
            wide = union[one.name]
            assert "any" in wide.kinds or one.kinds <= wide.kinds
            assert wide.choices is None or set(one.choices or ()) <= set(wide.choices)
            assert wide.default is UNKNOWN or wide.default == one.default or one.required


def test_nested_classes_have_tables_of_their_own() -> None:
    dataset = tables.section("0.6", "dataset")
    specs = field("dataset", "offline_packing_specs", SFT).nested
    assert specs == ("megatron.bridge.data.packing.config.PackedSequenceSpecs",)
    assert "packed_sequence_size" in (dataset.fields(specs[0]) or {})
    overlap = tables.section("0.6", "comm_overlap")
    layer = field("comm_overlap", "tp_comm_overlap_cfg").nested[0]
    kinds_of_overlap = (overlap.fields(layer) or {})["qkv_fprop"].nested
    assert {n.rpartition(".")[2] for n in kinds_of_overlap} >= {"RingExchangeOverlapCfg", "BulkOverlapCfg", "PipelineOverlapCfg"}
    assert "num_sm" in overlap.union(kinds_of_overlap)


def test_free_form_mappings_have_no_table() -> None:
    found = field("dataset", "dataset_kwargs", SFT)
    assert "dict" in found.kinds
    assert found.nested == ()


def test_old_names_say_what_to_write_instead() -> None:
    assert "cuda_graph_modules" in str(field("model", "cuda_graph_scope", GPT).deprecated)
    assert "use_megatron_fsdp" in str(field("ddp", "use_custom_fsdp").deprecated)
    assert "validation.eval_iters" in str(field("train", "eval_iters").deprecated)
    assert field("train", "train_iters").deprecated is None


def test_a_name_that_only_works_as_an_attribute_cannot_be_written() -> None:
    found = field("dist", "lazy_init")
    assert not found.init
    assert "lazy_mpu_init" in str(found.deprecated)


def test_field_sections() -> None:
    index = tables.field_sections("0.6")
    assert index["expert_model_parallel_size"] == ("model",)
    assert index["tensor_model_parallel_size"] == ("model", "tokenizer")
    assert set(index["seq_length"]) == {"model", "dataset"}
    assert "ddp" in index["overlap_grad_reduce"]
    assert "no_such_field" not in index


def test_every_file_agrees_with_the_index() -> None:
    index = tables.field_sections("0.6")
    for name in tables.sections("0.6"):
        for one in (tables.section("0.6", name).fields() or {}).values():
            assert name in index[one.name]
            assert one.kinds
            assert one.type


def test_precision_presets_in_both_spellings() -> None:
    presets = tables.precision_presets("0.6")
    assert presets["bf16_mixed"] == presets["bf16-mixed"]
    assert presets["bf16_mixed"]["params_dtype"] == "bf16"
    assert presets["bf16_mixed"]["grad_reduce_in_fp32"] is True
    assert presets["bf16_with_mxfp8_mixed"]["fp8_recipe"] == "mxfp8"
    fields = tables.section("0.6", "mixed_precision").fields()
    assert all(p.keys() == (fields or {}).keys() for p in presets.values())


def test_gpus() -> None:
    gpus = tables.gpus()
    assert {"h100", "h200", "h20", "a100", "a100-40", "a100-80", "b200", "b300", "gb200", "gb300", "vr200", "r100", "l40s"} <= set(gpus)
    assert gpus["h100"].torch_total_gib == 79.11
    assert gpus["h100-80gb"] is gpus["h100"]
    assert gpus["gb200"].nvlink_domain == 72
    assert gpus["gb200"].gpus_per_node == 4
    assert gpus["gb200"].capability == (10, 0)
    assert "deepep" not in (gpus["gb200"].dispatchers or ())
    assert gpus["h100"].precisions == ("fp8_tensorwise", "fp8_blockwise")
    assert gpus["l40s"].nvlink_domain == 0


def test_what_is_not_known_of_a_gpu_stays_unknown() -> None:
    gpus = tables.gpus()
    assert gpus["a100"].torch_total_gib is None
    assert gpus["vr200"].torch_total_gib is None
    assert gpus["vr200"].capability is None
    assert gpus["vr200"].dispatchers is None
    assert gpus["r100"].precisions is None


def test_releases_differ_in_sections_and_fields() -> None:
    assert tables.releases() == ("0.3", "0.4", "0.5", "0.6")
    assert "validation" not in tables.sections("0.3")
    assert "env_vars" not in tables.sections("0.5")
    ddp = [tables.section(release, "ddp").fields() or {} for release in tables.releases()]
    assert ["preserve_fp32_weights" in fields for fields in ddp] == [True, False, False, False]
    model = [tables.section(release, "model").fields(GPT) or {} for release in tables.releases()]
    assert ["cuda_graph_modules" in fields for fields in model] == [False, False, True, True]
    assert [fields["cuda_graph_scope"].deprecated is not None for fields in model] == [False, False, True, True]
