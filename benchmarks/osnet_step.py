"""Time of a training step of OSNet: ours against torchreid's layout of the same network.

torchreid's layout is written out below: one operation after the other, each stream through the
gate by itself, float32, contiguous. All start from the same weights and train on the same batch:
forward pass, cross entropy, backward pass, Adam. The rows take turns, a step each, so that whatever
else the machine does hits all of them; a ratio is the median of the turns' ratios.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from reid_plugin_osnet.network import OSNet

CLASSES = 751


class ConvBnRelu(nn.Module):
    """Convolution, batch normalisation, ReLU."""

    def __init__(self, channels: tuple[int, int], kernel: int, stride: int, *, relu: bool) -> None:
        super().__init__()
        self.conv = nn.Conv2d(*channels, kernel, stride, padding=kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(channels[1])
        self.relu = nn.ReLU(inplace=True) if relu else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Apply the three."""
        out: Tensor = self.relu(self.bn(self.conv(x)))
        return out


class LightConv(nn.Module):
    """Pointwise, depthwise, batch normalisation, ReLU."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the four."""
        out: Tensor = self.relu(self.bn(self.conv2(self.conv1(x))))
        return out


class Gate(nn.Module):
    """The gate of one stream."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.global_avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(channels, channels // 16, 1)
        self.relu = nn.ReLU(inplace=True)
        self.fc2 = nn.Conv2d(channels // 16, channels, 1)
        self.sigmoid = nn.Sigmoid()

    def forward(self, x: Tensor) -> Tensor:
        """Scale the stream."""
        return x * self.sigmoid(self.fc2(self.relu(self.fc1(self.global_avgpool(x)))))


class Block(nn.Module):
    """Four streams, gated one by one and added."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        mid = after // 4
        self.conv1 = ConvBnRelu((before, mid), 1, 1, relu=True)
        self.conv2a = LightConv(mid)
        self.conv2b = nn.Sequential(*(LightConv(mid) for _ in range(2)))
        self.conv2c = nn.Sequential(*(LightConv(mid) for _ in range(3)))
        self.conv2d = nn.Sequential(*(LightConv(mid) for _ in range(4)))
        self.gate = Gate(mid)
        self.conv3 = ConvBnRelu((mid, after), 1, 1, relu=False)
        self.downsample = None
        if before != after:
            self.downsample = ConvBnRelu((before, after), 1, 1, relu=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the residual sum."""
        reduced = self.conv1(x)
        a, b = self.conv2a(reduced), self.conv2b(reduced)
        c, d = self.conv2c(reduced), self.conv2d(reduced)
        out = self.conv3(self.gate(a) + self.gate(b) + self.gate(c) + self.gate(d))
        identity = x if self.downsample is None else self.downsample(x)
        return F.relu(out + identity)


class PlainOSNet(nn.Module):
    """torchreid's OSNet without its classifier; keys are the same as ours."""

    def __init__(self, width: float) -> None:
        super().__init__()
        stem, *stages = (int(channels * width) for channels in (64, 256, 384, 512))
        self.conv1 = ConvBnRelu((3, stem), 7, 2, relu=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.conv2 = self._stage(stem, stages[0], reduce=True)
        self.conv3 = self._stage(stages[0], stages[1], reduce=True)
        self.conv4 = self._stage(stages[1], stages[2], reduce=False)
        self.conv5 = ConvBnRelu((stages[2], stages[2]), 1, 1, relu=True)
        self.fc = nn.Sequential(nn.Linear(stages[2], 512), nn.BatchNorm1d(512), nn.ReLU())

    def forward(self, images: Tensor) -> Tensor:
        """Return the embedding as a map of one pixel."""
        x = self.conv2(self.maxpool(self.conv1(images)))
        x = self.conv5(self.conv4(self.conv3(x)))
        embedding: Tensor = self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))
        return embedding[:, :, None, None]

    def _stage(self, before: int, after: int, *, reduce: bool) -> nn.Sequential:
        stage = nn.Sequential(Block(before, after), Block(after, after))
        if reduce:
            transition = ConvBnRelu((after, after), 1, 1, relu=True)
            stage.append(nn.Sequential(transition, nn.AvgPool2d(2, stride=2)))
        return stage


@dataclass
class Row:
    """One way to take a step.

    Args:
        title: What the table calls it.
        model: A network and a classifier.
        layout: Memory layout of weights and images.
        dtype: Type of the autocast region; None for none.
        seconds: Time of each step so far, by the clock.
        cpu_seconds: The same, of the processor.
        losses: Loss of each step so far.
    """

    title: str
    model: nn.Sequential
    layout: torch.memory_format
    dtype: torch.dtype | None
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = self.model.train().to(memory_format=self.layout)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-4)

    def step(self, images: Tensor, labels: Tensor) -> None:
        """Train on a batch, and note time and loss."""
        images = images.contiguous(memory_format=self.layout)
        started, cpu_started = time.perf_counter(), time.process_time()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", self.dtype, enabled=self.dtype is not None):
            logits = self.model(images)
        loss = F.cross_entropy(logits.float(), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.seconds.append(time.perf_counter() - started)
        self.cpu_seconds.append(time.process_time() - cpu_started)
        self.losses.append(loss.item())


def build_rows(width: float) -> list[Row]:
    """Build the ways to compare, the reference first, all with the same weights."""
    torch.manual_seed(0)
    state = OSNet(width=width).state_dict()
    classifier = nn.Linear(512, CLASSES).state_dict()

    def start(network: nn.Module) -> nn.Sequential:
        network.load_state_dict(state)
        head = nn.Linear(512, CLASSES)
        head.load_state_dict(classifier)
        return nn.Sequential(network, nn.Flatten(), head)

    planes, pixels = torch.contiguous_format, torch.channels_last
    bf16 = torch.bfloat16
    return [
        Row("torchreid's layout, float32", start(PlainOSNet(width)), planes, None),
        Row("ours, float32", start(OSNet(width=width)), planes, None),
        Row("ours, float32, channels_last", start(OSNet(width=width)), pixels, None),
        Row("ours, bf16", start(OSNet(width=width)), planes, bf16),
        Row("ours, bf16, channels_last", start(OSNet(width=width)), pixels, bf16),
    ]


def show(rows: list[Row]) -> None:
    """Print the table; the first step of each row was for warming up."""
    print(f"{'':32}{'ms':>9}{'ratio':>8}{'CPU ms':>10}{'ratio':>8}{'first loss':>13}")
    for row in rows:
        cells = ""
        for ours, theirs in (
            (row.seconds, rows[0].seconds),
            (row.cpu_seconds, rows[0].cpu_seconds),
        ):
            turns = list(zip(theirs, ours, strict=True))[1:]
            median = statistics.median(seconds for _, seconds in turns)
            ratio = statistics.median(a / b for a, b in turns)
            cells += f"{1000 * median:9.1f}{ratio:8.2f} "
        print(f"{row.title:32}{cells}{row.losses[0]:12.5f}")


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--batch", type=int, default=16, help="images a batch")
    parser.add_argument("--size", type=int, nargs=2, default=(256, 128), help="height and width")
    parser.add_argument("--turns", type=int, default=10, help="steps of each row, and one before")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(options.batch, 3, *options.size, generator=generator)
    labels = torch.randint(CLASSES, (options.batch,), generator=generator)
    rows = build_rows(options.width)
    for _ in range(options.turns + 1):
        for row in rows:
            row.step(images, labels)
    print(
        f"OSNet x{options.width}, batch {options.batch} of {tuple(options.size)}, "
        f"{options.threads} threads, {options.turns} turns; ratio: times faster than the first row"
    )
    show(rows)


if __name__ == "__main__":
    main()
