"""The training that is measured: a small convolutional net on synthetic images shaped like handwritten digits."""

import time
from functools import lru_cache

MYPY = False
if MYPY:
    from collections.abc import Callable
    from typing import Any

    from torchdoctor.target.smoke_devices import Device

SEED = 20130
SIDE, CLASSES, STROKE = 28, 10, 4  # a class is a pattern of strokes that wide
NOISE = 0.5  # standard deviation, where that of the patterns is 1
RATE, MOMENTUM = 0.05, 0.9
LOSS_BATCH, LOSS_STEPS, TEST_IMAGES = 64, 24, 512
SOME_IMAGES = LOSS_BATCH * LOSS_STEPS
# (channels in, channels out, output side) of both convolutions, (in, out) of the linear layers
CONVOLUTIONS, KERNEL = ((1, 6, 24), (6, 16, 8)), 5
LINEARS = ((256, 120), (120, 84), (84, 10))
FIRST_NEAR, NEAR = 0.01, 0.10  # of the CPU's first loss: rounding grows from step to step
FALLEN = 0.7


def lenet(torch: "Any") -> "Any":
    """LeNet-5 with rectifiers, its weights the same in every run."""
    nn = torch.nn
    torch.manual_seed(SEED)
    convolutions = [
        layer
        for inner, outer, _ in CONVOLUTIONS
        for layer in (nn.Conv2d(inner, outer, KERNEL), nn.ReLU(), nn.MaxPool2d(2))
    ]
    linears = [layer for inner, outer in LINEARS for layer in (nn.Linear(inner, outer), nn.ReLU())]
    return nn.Sequential(*convolutions, nn.Flatten(), *linears[:-1])


def training_flops(images: int) -> int:
    """Floating-point operations of one step: forward, and backward twice as many, less the first layer's input."""
    convolutions = [2 * side * side * outer * inner * KERNEL * KERNEL for inner, outer, side in CONVOLUTIONS]
    linears = [2 * inner * outer for inner, outer in LINEARS]
    return images * (3 * (sum(convolutions) + sum(linears)) - convolutions[0])


@lru_cache(maxsize=4)
def images(torch: "Any", count: int, part: int = 0) -> "tuple[Any, Any]":
    """Normalised images and their classes, the same in every run: a prototype of each class, and noise.

    Another ``part`` has other noise around the same prototypes.
    """
    draw = torch.Generator().manual_seed(SEED)
    coarse = torch.randn(CLASSES, 1, SIDE // STROKE, SIDE // STROKE, generator=draw)
    prototypes = coarse.repeat_interleave(STROKE, 2).repeat_interleave(STROKE, 3)
    draw.manual_seed(SEED + 1 + part)
    labels = torch.arange(count) % CLASSES
    pixels = prototypes[labels] + NOISE * torch.randn(count, 1, SIDE, SIDE, generator=draw)
    return (pixels - pixels.mean()) / pixels.std(), labels


class Momentum:
    """Gradient descent with momentum, by the operations of torch.optim.SGD; making one of those imports a compiler."""

    def __init__(self, torch: "Any", parameters: "Any") -> None:
        self.torch = torch
        self.parameters = list(parameters)
        self.param_groups = [{"params": self.parameters}]  # where a gradient scaler looks
        self.velocities = []  # type: list[Any]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def step(self) -> None:
        """Change the parameters."""
        gradients = [parameter.grad for parameter in self.parameters]
        with self.torch.no_grad():
            if self.velocities:
                self.torch._foreach_mul_(self.velocities, MOMENTUM)
                self.torch._foreach_add_(self.velocities, gradients)
            else:
                self.velocities = [gradient.clone() for gradient in gradients]
            self.torch._foreach_add_(self.parameters, self.velocities, alpha=-RATE)


class Training:
    """A net, its optimizer and a step as a textbook has it, with automatic mixed precision where a format is given."""

    def __init__(self, device: "Device", mixed: str = "") -> None:
        torch = device.torch
        self.device = device
        self.dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(mixed)
        self.net = lenet(torch).to(device.name).train()
        self.criterion = torch.nn.CrossEntropyLoss()
        self.optimizer = Momentum(torch, self.net.parameters())
        self.scaler = scaler_of(device, mixed == "fp16") if mixed else None

    def step(self, pixels: "Any", labels: "Any") -> "Any":
        """One step; the loss is not read, so that the device need not be waited for."""
        if self.scaler:
            return self.mixed_step(pixels, labels)
        self.optimizer.zero_grad()
        loss = self.criterion(self.net(pixels), labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def mixed_step(self, pixels: "Any", labels: "Any") -> "Any":
        """The same with autocast; the scaler does nothing where the format needs none."""
        self.optimizer.zero_grad()
        with self.device.torch.autocast(self.device.kind, dtype=self.dtype):
            loss = self.criterion(self.net(pixels), labels)
        self.scaler.scale(loss).backward()  # type: ignore[union-attr]
        self.scaler.step(self.optimizer)  # type: ignore[union-attr]
        self.scaler.update()  # type: ignore[union-attr]
        return loss

    def resident(self, batch: int) -> "Callable[[int], None]":
        """A function that does some steps on two batches that lie on the device already."""
        torch, name = self.device.torch, self.device.name
        some = [part.to(name) for part in images(torch, SOME_IMAGES)]
        places = torch.arange(2 * batch, device=name) % SOME_IMAGES
        data = [(some[0][half], some[1][half]) for half in places.split(batch)]

        def steps(count: int) -> None:
            for number in range(count):
                self.step(*data[number % 2])

        return steps


def scaler_of(device: "Device", enabled: bool) -> "Any":
    """The gradient scaler under its newer or its older name."""
    newer = getattr(device.torch.amp, "GradScaler", None)
    return newer(device.kind, enabled=enabled) if newer else device.torch.cuda.amp.GradScaler(enabled=enabled)


def train(device: "Device", seconds: float) -> "tuple[list[float], float]":
    """The loss of each step of a short training, and the accuracy on images that it did not see."""
    torch = device.torch
    pixels, labels = images(torch, LOSS_BATCH * LOSS_STEPS)
    mixed_up = torch.randperm(len(labels), generator=torch.Generator().manual_seed(SEED))
    pixels, labels = pixels[mixed_up].to(device.name), labels[mixed_up].to(device.name)
    training = Training(device)
    limit, losses = None, []  # type: tuple[float | None, list[float]]
    for batch in zip(pixels.split(LOSS_BATCH), labels.split(LOSS_BATCH)):
        losses.append(float(training.step(*batch).item()))
        if limit is None:
            limit = time.monotonic() + seconds  # the first step loads libraries
        elif time.monotonic() > limit:
            break
    return losses, accuracy(device, training.net)


def accuracy(device: "Device", net: "Any") -> float:
    """The share of unseen images whose class is found; leaves the net in the mode it was in."""
    torch, training_mode = device.torch, net.training
    pixels, labels = (part.to(device.name) for part in images(torch, TEST_IMAGES, part=1))
    net.eval()
    with torch.no_grad():
        right = (net(pixels).argmax(1) == labels).float().mean().item()
    net.train(training_mode)
    return float(right)


def compared(losses: "list[float]", reference: "list[float]") -> "dict[str, Any]":
    """Whether the loss fell, stayed finite, and went the way it went on the CPU, as far as both got.

    A training cut short by the time allowed may not have fallen yet: that is None, not False.
    """
    scale = reference[0]
    apart = [abs(loss - other) for loss, other in zip(losses, reference)]
    fell = losses[-1] < FALLEN * losses[0]
    return {
        "first": losses[0],
        "last": losses[-1],
        "cpu_first": scale,
        "cpu_last": reference[-1],
        "steps": len(losses),
        "finite": all(loss - loss == 0.0 for loss in losses),  # of NaN and of infinity the difference is NaN
        "fell": fell if fell or len(losses) == LOSS_STEPS else None,
        "agrees": apart[0] <= FIRST_NEAR * scale and all(gap <= NEAR * scale for gap in apart),
        "apart": max(apart),
    }
