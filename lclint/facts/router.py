"""The precision of the MoE router, which Megatron Core asks for by name."""

from __future__ import annotations

from typing import Any

from lclint.core.states import NOT_APPLICABLE
from lclint.facts.registry import fact

DTYPE = "model.moe_router_dtype"


@fact("router.dtype_object", needs=(DTYPE,), unit="yes or no", source="Megatron Core transformer/moe/router.py:103-107 (0.19.2)", raw=True)
def dtype_object(g: Any) -> Any:
    """Whether the file gives a torch dtype for moe_router_dtype, which equals none of the names that are compared with it.

    Everywhere else a dtype and its name are the same; not applicable where the value is not the file's.
    """
    run = g.run
    if run.document is None or run.origins.get(DTYPE) != "file":
        return NOT_APPLICABLE
    model = run.document.data.get("model")
    value = model.get("moe_router_dtype") if model.__class__ is dict else None
    return value.__class__ is dict
