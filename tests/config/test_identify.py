"""Telling a Megatron Bridge config from the YAML of everything else."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import yaml

from lclint.config.identify import could_be_config, identify

OTHERS = {
    "docker compose": """
        services:
          web: {image: nginx, ports: ["80:80"]}
          model: {image: vllm, environment: {NCCL_DEBUG: INFO}}
        volumes: {data: {}}
    """,
    "github workflow": """
        name: train
        on: {push: {branches: [main]}}
        jobs:
          train: {runs-on: ubuntu-latest, steps: [{uses: actions/checkout@v4}]}
    """,
    "kubernetes": """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train}
        spec: {template: {spec: {containers: [{name: model, image: x, resources: {limits: {nvidia.com/gpu: 8}}}]}}}
    """,
    "hf trainer": """
        model_name_or_path: meta-llama/Llama-3-8B
        per_device_train_batch_size: 1
        gradient_accumulation_steps: 8
        learning_rate: 1.0e-5
        bf16: true
    """,
    "hf trainer with sections": """
        model: {name: llama, dtype: bfloat16}
        train: {batch_size: 8, lr: 1.0e-4, seed: 1}
        dataset: {name: c4, split: train, num_workers: 4}
        output_dir: out
    """,
    "nemo": """
        name: megatron_gpt
        trainer: {devices: 8, num_nodes: 1, precision: bf16, max_steps: 100}
        exp_manager: {name: x}
        model: {restore_from_path: x.nemo, encoder_seq_length: 2048, optim: {name: adam, lr: 1.0e-4}}
    """,
    "nemo 1 with the names of megatron": """
        trainer: {devices: 8, num_nodes: 1, accelerator: gpu, precision: bf16, max_steps: 100}
        exp_manager: {name: x}
        model: {mcore_gpt: true, micro_batch_size: 4, tensor_model_parallel_size: 1, sequence_parallel: false, optim: {name: adam}}
    """,
    "nemo launcher": """
        run: {name: gpt3_5b, time_limit: "1-0"}
        trainer: {num_nodes: 8, devices: 8, precision: bf16}
        model: {micro_batch_size: 4, tensor_model_parallel_size: 4, sequence_parallel: true}
    """,
    "deepspeed": """
        train_batch_size: 8
        zero_optimization: {stage: 3, offload_optimizer: {device: cpu}}
        optimizer: {type: AdamW, params: {lr: 1.0e-5}}
        scheduler: {type: WarmupLR, params: {warmup_min_lr: 0}}
        fp16: {enabled: true}
    """,
    "helm values": """
        image: {repository: x, tag: latest}
        model: {name: llama-3, path: /models}
        logger: {level: info}
    """,
    "hydra timm": """
        defaults: [_self_]
        model: {_target_: timm.create_model, model_name: resnet50, num_classes: 10}
        optimizer: {_target_: torch.optim.AdamW, lr: 0.001, weight_decay: 0.01}
        scheduler: {_target_: torch.optim.lr_scheduler.StepLR, step_size: 30}
    """,
    "torchtitan-like": """
        model: {name: llama3, flavor: 8B, hidden_size: 4096, num_layers: 32}
        optimizer: {name: AdamW, lr: 3.0e-4}
        checkpoint: {enable: true, folder: ckpt}
    """,
    "lightning cli": """
        seed_everything: 1
        trainer: {max_epochs: 10, accelerator: gpu}
        model: {class_path: my.Model, init_args: {lr: 0.1}}
        data: {class_path: my.Data}
    """,
    "mkdocs": "site_name: x\ntheme: {name: material}\nnav: [{Home: index.md}]\n",
    "a list": "[1, 2]",
    "text": "hello",
    "null": "",
    "number keys": "1: {2: 3}\nmodel: {4: 5}\n",
    "odd keys": "? [a, b]\n: 1\nmodel: x\n",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS.keys())
def test_what_is_none(text: str) -> None:
    try:
        data: Any = yaml.safe_load(textwrap.dedent(text))
    except yaml.constructor.ConstructorError:
        data = {("a", "b"): 1, "model": "x"}
    kind, reason = identify(data, "0.6")
    assert kind == "none"
    assert reason


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("_target_: megatron.bridge.training.config.ConfigContainer\n", "dump"),
        ("_target_: megatron.bridge.recipes.x.MyConfigContainer\nmodel: null\n", "dump"),
        ("{model: {_target_: megatron.a.B}, train: {_target_: megatron.a.C}, ddp: {_target_: megatron.a.D}}", "dump"),
        ("model: {tensor_model_parallel_size: 2}", "override"),
        ("model: {tensor_parallel_size: 2}", "override"),
        ("train: {micro_batch_size: 1}\nextra: {x: 1}", "override"),
        ("model: {_target_: megatron.bridge.models.gpt_provider.GPTModelProvider}", "override"),
        ("model: {hidden_size: 64, num_layers: 2}\noptimizer: {lr: 1.0e-4}", "override"),
    ],
)
def test_what_is_one(text: str, kind: str) -> None:
    assert identify(yaml.safe_load(text), "0.6") == (kind, "")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"model:\n\tcontext_parallel_size: 2\n", True),
        (b"model: {context_parallel_size: [\n", True),
        (b"{{- if .Values.model }}\nname: {{ .Values.name }}\n", False),
        (b"services: [\n", False),
        (b"", False),
    ],
)
def test_what_broken_text_may_have_been(data: bytes, expected: bool) -> None:
    assert could_be_config(data) is expected
