"""Empty stand-ins for the GPU-only packages that Megatron imports, so that its config classes load on a CPU.

A stand-in package has every submodule and every attribute that is asked for: a capitalised name is a class (an
``nn.Module``, so that it can be inherited from), anything else a module that may be called and then acts as a decorator
that changes nothing. Only good for reading class definitions, never for running them.
"""

from __future__ import annotations

import abc
import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
import types
import typing
from typing import Any

import torch

# Versions are the newest that the harvested releases were published against: Megatron branches on them at import time.
PACKAGES = {
    "transformer_engine": "2.17.0", "transformer_engine_torch": "2.17.0", "nvidia_resiliency_ext": "0.6.0", "modelopt": "0.46.0",
    "mamba_ssm": "2.3.0", "causal_conv1d": "1.5.3", "fused_weight_gradient_mlp_cuda": "0.1", "deep_ep": "1.2.1",
    "fast_hadamard_transform": "1.1.0", "fla": "0.4.2", "multi_storage_client": "0.50", "megatron.energon": "7.0.0",
    "webdataset": "1.0", "qwen_vl_utils": "1.0", "diffusers": "1.0", "comet_ml": "1.0", "mlflow": "1.0", "nemo_run": "1.0",
    "flash_mla": "1.0", "cudnn": "1.0", "flash_attn": "2.8.3", "deep_gemm": "1.0", "flask": "1.0", "flask_restful": "1.0",
}  # fmt: skip


class _StandInType(abc.ABCMeta):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _attribute(name)
        setattr(cls, name, value)
        return value

    def __or__(cls, other: Any) -> Any:
        return typing.Any

    __ror__ = __or__

    def __getitem__(cls, parameters: Any) -> Any:
        return cls


class _StandIn(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _attribute(name)
        setattr(self, name, value)
        return value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], (type, types.FunctionType)):
            return args[0]
        return None if args else self


def _attribute(name: str) -> Any:
    if not name[0].isupper():
        return _StandIn(name)
    return _StandInType(name, (torch.nn.Module,), {"__module__": "stand_in", "__init__": _construct})


def _construct(self: Any, *args: Any, **kwargs: Any) -> None:
    torch.nn.Module.__init__(self)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        parts = fullname.split(".")
        if parts[0] in PACKAGES or ".".join(parts[:2]) in PACKAGES:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _StandIn(spec.name)
        module.__version__ = PACKAGES.get(spec.name.split(".")[0], "1.0")  # type: ignore[attr-defined]
        module.__file__ = f"<stand-in {spec.name}>"
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def install() -> None:
    """Put the stand-ins before every installed package, and answer for their versions."""
    sys.meta_path.insert(0, _Finder())
    installed = importlib.metadata.version

    def version(name: str) -> str:
        return PACKAGES.get(name.replace("-", "_").lower()) or installed(name)

    importlib.metadata.version = version  # type: ignore[assignment]
    if not hasattr(typing, "override"):  # Python before 3.12
        import typing_extensions

        typing.override = typing_extensions.override  # type: ignore[attr-defined]
