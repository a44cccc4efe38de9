# SPDX-License-Identifier: Apache-2.0
"""A data-parallel script with sparse gradients; the three lines for Tandem are marked.

    torchrun --nproc_per_node 2 examples/ddp_three_lines.py
"""

import os

import torch
import torch.distributed as dist

import tandem.torch  # 1


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.Tanh(), torch.nn.Linear(512, 8))
    model = torch.nn.parallel.DistributedDataParallel(model)
    hook = tandem.torch.attach(model, sparsifier="exdyna", density=0.01)  # 2
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    teacher = torch.randn(64, 8)
    generator = torch.Generator().manual_seed(100 + dist.get_rank())
    for step in range(int(os.environ.get("STEPS", "200"))):
        inputs = torch.randn(32, 64, generator=generator)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs @ teacher)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0 and step % 20 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    if dist.get_rank() == 0:
        print(hook.statistics())
    torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(),
                "tandem": hook.state_dict()}, f"checkpoint-rank{dist.get_rank()}.pt")  # 3: residuals, per rank
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
