# SPDX-License-Identifier: Apache-2.0
"""zyfa.agree among real processes, whose caches hold different winners."""

import os
import subprocess
import sys
import textwrap

import pytest
import torch

import reference
import zyfa

# Rank 1 starts with a winner of its own, another schedule than rank 0 prepares.
RANK = textwrap.dedent(
    """
    import sys
    import torch
    import torch.distributed
    import zyfa

    rank, rendezvous = int(sys.argv[1]), sys.argv[2]
    zyfa.use_simulator()
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 192, 2, 128).bfloat16() for _ in range(3))
    if rank == 1:
        zyfa.tune(q, k, v, causal=True, budget_s=5)
    torch.distributed.init_process_group("gloo", init_method="file://" + rendezvous, rank=rank, world_size=2)
    agreed = zyfa.agree(q, k, v, causal=True)
    o = zyfa.flash_attn_func(q, k, v, causal=True)
    assert zyfa.explain(q, k, v, causal=True).schedule == agreed.schedule
    print("RESULT", agreed.schedule, agreed.binary_digest, o.float().sum().item())
    torch.distributed.destroy_process_group()
    """
)


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch is built without torch.distributed")
def test_ranks_of_a_process_group_run_rank_0s_schedule(tmp_path):
    ranks = []
    for rank in range(2):
        environment = dict(os.environ, ZYFA_CACHE_DIR=str(tmp_path / f"cache{rank}"))
        ranks.append(
            subprocess.Popen(
                [sys.executable, "-c", RANK, str(rank), str(tmp_path / "rendezvous")],
                env=environment, stdout=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
    results = []
    for process in ranks:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0
        results.append([line for line in output.splitlines() if line.startswith("RESULT")])
    assert len(results[0]) == 1 and results[0] == results[1]


def test_a_jobs_own_broadcast():
    q, k, v = reference.draw(1, 64, 64, 2, 1)
    sent = []

    def broadcast(data, root):
        assert isinstance(data, bytes)
        sent.append((len(data), root))
        return data

    agreed = zyfa.agree(q, k, v, causal=True, rank=0, world_size=1, broadcast=broadcast)
    assert agreed.resident and agreed.schedule == zyfa.explain(q, k, v, causal=True).schedule


def test_what_broadcast_raises_is_passed_on():
    q, k, v = reference.draw(1, 64, 64, 2, 1)

    def dead(data, root):
        raise ConnectionError("a rank is gone")

    with pytest.raises(ConnectionError, match="a rank is gone"):
        zyfa.agree(q, k, v, rank=0, world_size=2, broadcast=dead)
    with pytest.raises(zyfa.InvalidArgument, match="bytes of rank root"):
        zyfa.agree(q, k, v, rank=0, world_size=2, broadcast=lambda data, root: None)


def test_ranks_are_refused_by_name():
    q, k, v = reference.draw(1, 64, 64, 2, 1)
    with pytest.raises(zyfa.InvalidArgument, match="init_process_group") as caught:
        zyfa.agree(q, k, v)
    assert caught.value.argument == "group"
    with pytest.raises(zyfa.InvalidArgument, match="without broadcast"):
        zyfa.agree(q, k, v, rank=0)
    with pytest.raises(zyfa.InvalidArgument, match="without rank"):
        zyfa.agree(q, k, v, broadcast=lambda data, root: data)
    with pytest.raises(zyfa.InvalidArgument):
        zyfa.agree(q, k, v, rank=2, world_size=2, broadcast=lambda data, root: data)
