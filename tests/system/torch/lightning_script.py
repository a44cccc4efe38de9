# SPDX-License-Identifier: Apache-2.0
"""A Lightning script that knows nothing of Tandem: a Trainer with strategy ddp on processors."""

import sys

import lightning
import torch


def data(count, seed):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(count, 32, generator=generator)
    teacher = torch.randn(32, 4, generator=torch.Generator().manual_seed(7)) / 4
    return torch.utils.data.TensorDataset(inputs, torch.tanh(inputs @ teacher))


class Model(lightning.LightningModule):
    def __init__(self, manual):
        super().__init__()
        torch.manual_seed(1)
        self.layers = torch.nn.Sequential(torch.nn.Linear(32, 512), torch.nn.Tanh(), torch.nn.Linear(512, 4))
        self.automatic_optimization = not manual
        self.losses = []

    def training_step(self, batch, _):
        loss = torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1])
        self.losses.append(loss.item())
        if not self.automatic_optimization:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.2)


def main():
    model = Model(manual="manual" in sys.argv)
    trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=3, logger=False,
                                enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, torch.utils.data.DataLoader(data(1024, 3), batch_size=16))
    weights = torch.cat([value.detach().reshape(-1) for value in model.parameters()])
    everyone = trainer.strategy.all_gather(weights.to(trainer.strategy.root_device))
    same = bool((everyone == everyone[0]).all())
    print(f"rank {trainer.global_rank}: losses {model.losses[0]:.4f} {model.losses[-1]:.4f}, same {same}", flush=True)


if __name__ == "__main__":
    main()
