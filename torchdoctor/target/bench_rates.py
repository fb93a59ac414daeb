"""What a device can do beside training: matrix products, copies in its own memory, transfers from and to the host."""

from torchdoctor.target.bench_devices import memory_of
from torchdoctor.target.bench_timing import measure

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.smoke_devices import Device

MIB = 1 << 20
TRANSFERS = ("h2d-pinned", "h2d-pageable", "d2h-pinned")
SIDES = (8192, 4096, 2048)  # of matrices on a GPU, where a large one shows the most
CPU_SIDE = 1024
SLOWEST = 0.25  # seconds that one product may take
COPIED, CPU_COPIED, MOVED = 512 * MIB, 128 * MIB, 64 * MIB  # far more than caches hold


def matmul(device: "Device", dtype: str, seconds: float) -> "dict[str, Any]":
    """Square matrix products in one number format; TF32 is fp32 with the short product allowed."""
    torch = device.torch
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")
    try:
        kind = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(dtype, torch.float32)
        side = CPU_SIDE if device.kind == "cpu" else fitting_side(device, kind)
        one, other = (torch.randn(side, side, device=device.name).to(kind) for _ in range(2))
        out = torch.empty_like(one)

        def steps(count: int) -> None:
            for _ in range(count):
                torch.matmul(one, other, out=out)

        return dict(measure(device, steps, seconds), flops_per_step=2 * side**3, side=side)
    finally:
        torch.set_float32_matmul_precision(before)


def fitting_side(device: "Device", kind: "Any") -> int:
    """The largest side that memory has room for and that does not take too long."""
    import time

    torch, least = device.torch, SIDES[-1]
    one = torch.randn(least, least, device=device.name).to(kind)
    one @ one
    device.synchronize()
    start = time.perf_counter()
    one @ one
    device.synchronize()
    took, free = time.perf_counter() - start, memory_of(device)[0]
    for side in SIDES:
        room = free is None or 16 * side * side < free
        if room and took * (side / float(least)) ** 3 < SLOWEST:
            return side
    return least


def copy(device: "Device", seconds: float) -> "dict[str, Any]":
    """Copies inside the device's memory; each byte is read and written."""
    size = CPU_COPIED if device.kind == "cpu" else halved_to_fit(device, COPIED)
    source = device.torch.ones(size, dtype=device.torch.uint8, device=device.name)
    target = device.torch.zeros_like(source)
    return dict(moved(device, source, target, seconds), bytes_per_step=2 * size)


def halved_to_fit(device: "Device", size: int) -> int:
    """The size, or a part of it that takes a quarter of the free memory at most."""
    free = memory_of(device)[0]
    while free is not None and size > MIB and 8 * size > free:
        size //= 2
    return size


def moved(device: "Device", source: "Any", target: "Any", seconds: float) -> "dict[str, Any]":
    """Times of copying one tensor into another; without waiting, which matters only from or to pinned memory."""

    def steps(count: int) -> None:
        for _ in range(count):
            target.copy_(source, non_blocking=True)

    return measure(device, steps, seconds)


def transfer(device: "Device", name: str, seconds: float) -> "dict[str, Any]":
    """Copies from the host (h2d) or back (d2h), from or into pinned or pageable memory."""
    torch = device.torch
    size = halved_to_fit(device, MOVED)
    host = torch.ones(size, dtype=torch.uint8, pin_memory=name.endswith("-pinned"))
    there = torch.zeros(size, dtype=torch.uint8, device=device.name)
    source, target = (there, host) if name.startswith("d2h") else (host, there)
    return dict(moved(device, source, target, seconds), bytes_per_step=size)
