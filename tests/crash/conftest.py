"""Pieces of logs, in the formats of PyTorch, NCCL, Megatron and the launchers, from which the tests put theirs together."""

from __future__ import annotations

import pytest

GIB = 2**30
ADVICE = (
    " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
    "  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
)
CALLS = {
    "step": ("/opt/app/megatron/training/training.py", "train_step", "losses = forward_backward_func("),
    "forward_step": ("/opt/app/megatron/core/pipeline_parallel/schedules.py", "forward_step", "output_tensor, loss_func = forward_step_func("),
    "mlp": ("/opt/app/megatron/core/transformer/mlp.py", "forward", "hidden = self.linear_fc1(x)"),
    "linear": ("/opt/app/megatron/core/tensor_parallel/layers.py", "forward", "output = torch.matmul(total_input, weight.t())"),
    "backward": ("/opt/app/torch/autograd/graph.py", "_engine_run_backward", "return Variable._execution_engine.run_backward("),
    "recompute": ("/opt/app/megatron/core/tensor_parallel/random.py", "backward", "outputs = ctx.run_function(*detached)"),
    "loss": ("/opt/app/megatron/core/tensor_parallel/cross_entropy.py", "forward", "exp_logits = torch.exp(logits)"),
    "output_layer": ("/opt/app/megatron/core/models/gpt/gpt_model.py", "_postprocess", "logits, _ = self.output_layer("),
    "experts": ("/opt/app/megatron/core/transformer/moe/experts.py", "forward", "fc1_output = self.linear_fc1(x)"),
    "dispatch": ("/opt/app/megatron/core/transformer/moe/token_dispatcher.py", "dispatch_preprocess", "x = permute("),
    "reduce": ("/opt/app/megatron/core/distributed/param_and_grad_buffer.py", "start_grad_sync", "handle = dist_reduce_scatter_func("),
    "buffers": ("/opt/app/megatron/core/distributed/param_and_grad_buffer.py", "__init__", "self.grad_data = torch.zeros("),
    "optimizer_step": ("/opt/app/megatron/core/optimizer/optimizer.py", "step_with_ready_grads", "self.optimizer.step()"),
    "adam": ("/opt/app/transformer_engine/pytorch/optimizers/fused_adam.py", "initialize_state", 'self._initialize_state(param, "exp_avg")'),
    "optimizer_init": ("/opt/app/megatron/core/optimizer/__init__.py", "get_megatron_optimizer", "optimizer = DistributedOptimizer("),
    "get_model": ("/opt/app/megatron/training/training.py", "get_model", "model = build_model()"),
    "layer_init": ("/opt/app/megatron/core/transformer/mlp.py", "__init__", "self.linear_fc1 = build_module("),
    "capture": ("/opt/app/megatron/core/transformer/cuda_graphs.py", "create_cudagraphs", "graphs = make_graphed_callables("),
    "load": ("/opt/app/megatron/training/checkpointing.py", "load_checkpoint", "state_dict = _load_base_checkpoint("),
    "save": ("/opt/app/megatron/training/checkpointing.py", "save_checkpoint", "state = generate_state_dict("),
    "evaluate": ("/opt/app/megatron/bridge/training/eval.py", "evaluate", "losses = forward_backward_func("),
    "batch": ("/opt/app/pretrain_gpt.py", "get_batch", "batch = get_batch_on_this_tp_rank(it)"),
    "pin": ("/opt/app/offload.py", "to_host", "cpu = x.cpu().pin_memory()"),
    "arguments": ("/opt/app/megatron/training/arguments.py", "validate_args", "assert args.world_size % total == 0"),
    "lightning": ("/opt/app/lightning/pytorch/plugins/precision/precision.py", "optimizer_step", "return optimizer.step(closure=closure)"),
}


class Pieces:
    """``message`` is PyTorch's sentence of torch 2.4, ``stack`` a traceback that ends in a line, ``iteration`` one of Megatron's lines."""

    @staticmethod
    def message(
        requested: str = "4.01 GiB", unallocated: str = "1.00 GiB", pools: str = "", others: str = "", advice: str = ADVICE, capacity: str = "79.11 GiB"
    ) -> str:
        private = f"with {pools} allocated in private pools (e.g., CUDA Graphs), " if pools else ""
        return (
            f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested}. GPU 3 has a total capacity of {capacity} of which 1.10 GiB is free. "
            f"{others}Including non-PyTorch memory, this process has 77.90 GiB memory in use. Of the allocated memory 72.00 GiB is allocated by PyTorch, "
            f"{private}and {unallocated} is reserved by PyTorch but unallocated.{advice}"
        )

    @staticmethod
    def stack(*calls: str, last: str, prefix: str = "") -> str:
        lines = ["Traceback (most recent call last):"]
        for number, call in enumerate(calls):
            file, function, code = CALLS[call]
            lines += [f'  File "{file}", line {number + 100}, in {function}', f"    {code}"]
        return "\n".join(prefix + line for line in [*lines, last])

    @staticmethod
    def iteration(number: int, milliseconds: float = 4000.0) -> str:
        return (
            f" [2026-01-02 03:{number // 60 % 60:02d}:{number % 60:02d}.000100] iteration {number:8d}/  900000 | consumed samples: {number * 64:12d} | "
            f"elapsed time per iteration (ms): {milliseconds:.1f} | throughput per GPU (TFLOP/s/GPU): 400.1 | learning rate: 3.000000E-04 | "
            f"global batch size:    64 | "
            f"lm loss: 2.000000E+00 | loss scale: 1.0 | grad norm: 0.300 | number of skipped iterations:   0 | number of nan iterations:   0 |"
        )

    @staticmethod
    def memory(iteration: int, retries: int = 0, rank: int = 0) -> str:
        return (
            f"[Rank {rank}] (after {iteration} iterations) memory (GB) | mem-allocated-gigabytes: 52.11 | mem-reserved-gigabytes: 83.5 | "
            f"mem-max-allocated-gigabytes: 80.2 | mem-max-reserved-gigabytes: 83.5 | mem-alloc-retires: {retries} | mem-allocated-count: 900"
        )

    @staticmethod
    def timeout(rank: int) -> str:
        return (
            f"[rank{rank}]:[E302 10:10:10.123456789 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
            f"WorkNCCL(SeqNum=9, OpType=SEND, Timeout(ms)=600000) ran for 600010 milliseconds before timing out."
        )


@pytest.fixture(scope="session")
def pieces() -> type[Pieces]:
    return Pieces
