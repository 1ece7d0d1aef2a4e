# SPDX-License-Identifier: Apache-2.0
"""Host cost of a resident call from Python: zyfa.flash_attn_func against an empty operator with the same signature and
output allocation, registered the same way.

    ninja -C build zyfa_fake_hip
    build/python-env/bin/python bench/python_call.py build/lib/zyfa-fake-hip/libamdhip64.so.7

Launches go to a HIP library that does nothing (bench/fake_hip), so that what is left is Python's, PyTorch's and zyfa's
own. The operator under test has the kernel function of ROCm tensors; it is registered for CPU tensors, whose memory
comes from that library and is taken for a GPU's, and gets stream 0 instead of PyTorch's current stream.
"""

import argparse
import ctypes
import json
import os
import tempfile
import time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hip_library", help="libamdhip64 whose launches do nothing")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=41)
    arguments = parser.parse_args()
    os.environ["ZYFA_HIP_LIBRARY"] = os.path.abspath(arguments.hip_library)
    os.environ["ZYFA_CACHE_DIR"] = tempfile.mkdtemp(prefix="zyfa-bench-")
    os.environ.pop("ZYFA_DEVICE", None)

    import torch

    import zyfa
    from zyfa import _attention, _core, _device, _ops

    torch.set_grad_enabled(False)
    _device.require_rocm = lambda name: None
    _ops.current_stream = lambda device: 0
    _core.take_cpu_memory_as_device_memory()
    library = torch.library.Library("zyfa_bench", "DEF")

    kernels = _ops._kernels(_ops._on_gpu)
    empty_kernels = {
        "attention": lambda q, k, v, *scales: torch.empty_like(q, dtype=torch.bfloat16),
        "attention_lse": lambda q, k, v, *scales: (torch.empty_like(q, dtype=torch.bfloat16), _ops.empty_lse(q)),
        "attention_out": lambda q, k, v, out, lse, *scales: None,
    }
    for name, schema in _ops._SCHEMAS.items():
        for prefix, functions in (("", kernels), ("empty_", empty_kernels)):
            library.define(prefix + name + schema, tags=_ops._tags())
            library.impl(prefix + name, functions[name], "CPU")

    def device_tensor(heads: int) -> torch.Tensor:
        count = 512 * heads * 128
        address = _core.device_allocate(2 * count, 0)
        memory = (ctypes.c_char * (2 * count)).from_address(address)
        return torch.frombuffer(memory, dtype=torch.bfloat16).reshape(1, 512, heads, 128)

    # 64 heads fill the device. With 4, the keys are split, and a call is two launches and a workspace.
    q, k, v, out = device_tensor(64), device_tensor(8), device_tensor(8), device_tensor(64)
    few_q, few_k, few_v, few_out = device_tensor(4), device_tensor(4), device_tensor(4), device_tensor(4)
    scales = (None, True, None, None, None, None, None, None)
    # Makes the shape resident with memory that the library knows: asked once per shape.
    torch.ops.zyfa_bench.attention_out.default(q, k, v, out, None, *scales)
    torch.ops.zyfa_bench.attention_out.default(few_q, few_k, few_v, few_out, None, *scales)

    empty = torch.ops.zyfa_bench.empty_attention.default
    operator = torch.ops.zyfa_bench.attention.default
    _attention._ops.attention = operator

    def per_call_us(function, calls: int = 300) -> float:
        start = time.thread_time_ns()
        for _ in range(calls):
            function()
        return (time.thread_time_ns() - start) / calls / 1000

    cases = {
        "empty operator": lambda: empty(q, k, v, *scales),
        "zyfa's operator": lambda: operator(q, k, v, *scales),
        "zyfa.flash_attn_func": lambda: zyfa.flash_attn_func(q, k, v, causal=True),
        "the same, keys split": lambda: zyfa.flash_attn_func(few_q, few_k, few_v, causal=True),
    }
    times = {name: [] for name in cases}
    for _ in range(arguments.repeats):  # interleaved, so that a change of the clock meets all of them
        for name, function in cases.items():
            times[name].append(per_call_us(function))
    least = {name: min(values) for name, values in times.items()}
    base = least["empty operator"]
    if arguments.json:
        print(json.dumps({"us": least, "above_empty_us": {n: m - base for n, m in least.items()}}))
        return
    print(f"CPU time of a resident call, least of {arguments.repeats} runs of 300; launches do nothing")
    for name, value in least.items():
        print(f"  {name:22} {value:6.2f} us" + ("" if name == "empty operator" else f"   {value - base:+.2f} us"))


if __name__ == "__main__":
    main()
