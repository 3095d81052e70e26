"""The memory model: bytes per component on every pipeline stage, from a run and what is known of the GPU.

``lclint.memory.estimate.estimate(run)`` is the whole of it. Everything is in bytes of one rank unless a name says otherwise.
Read on by question: what is read from the config (``inputs``), which layers lie on a stage and how many microbatches it holds
(``schedule``), weights (``parameters``), what a weight costs (``states``), what the forward keeps (``activations``) and what recompute and
offload leave of it (``saving``), the end of the last stage (``loss``), CUDA graphs (``graphs``), the vision encoder (``vision``), what lies
beside all that (``buffers``), how a stage is put together from these (``stages``), whether it fits (``capacity``), and what the figures leave
out (``notes``).
"""
