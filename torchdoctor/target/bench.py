"""The mini training benchmark: on each device the loss, then times, raw; what they mean is judged elsewhere."""

import time

from torchdoctor.target import bench_data, bench_devices, bench_rates
from torchdoctor.target.bench_net import Training, compared, train, training_flops
from torchdoctor.target.bench_timing import measure
from torchdoctor.target.smoke_devices import Device
from torchdoctor.target.smoke_run import verdict

MYPY = False
if MYPY:
    from collections.abc import Callable
    from typing import Any

    Tell = Callable[[str, dict[str, Any]], None]
    Part = Callable[[], object]

TINY, CPU_BATCH, BATCH, LARGE_BATCH = 32, 512, 4096, 16384
ROOMY = 8 << 30  # free memory from which the large batch is taken
# Shares of a device's time. The loss is a fixed number of steps and seldom takes what it may.
CHECK = {"loss": 0.25, "throughput": 0.5, "overhead": 0.2}
BENCH = {"loss": 0.05, "throughput": 0.2, "overhead": 0.1, "matmul": 0.25, "copy": 0.1, "transfer": 0.1, "data": 0.15}
SWEEP = 0.3  # of all the time
UNPINNED = ("cpu", "mps")
AREAS = {"matmul": "matmul", "copy": "memory", "h2d": "memory", "d2h": "memory"}  # whose library does the work


def main(tell: "Tell", request: "dict[str, Any]", devices: "list[Device]") -> None:
    """Measure one device after another; the CPU, which is also the reference of the others, comes first."""
    begun = time.monotonic()
    seconds = float(request.get("seconds") or 3.0)
    check = request.get("profile", "check") == "check"
    swept = SWEEP * seconds if request.get("sweep") and not check and devices else 0.0
    for name in sorted(set(request.get("devices") or []) - {device.name for device in devices}):
        tell("bench-skipped", {"device": name, "reason": "this torch has no such device"})
    sweeps = [["bench-sweep", devices[-1].name]] if swept else []
    tell("bench-plan", {"stages": [["bench-device", device.name] for device in devices] + sweeps})
    reference = []  # type: list[float]
    for device in devices:
        run = Run(tell, device, (seconds - swept) / len(devices), CHECK if check else BENCH)
        run.guarded(
            "bench-device", lambda: run.prepare(bool(request.get("force")), request.get("busy") or {}, reference)
        )
        run.all()
    if swept:
        run = Run(tell, devices[-1], swept, BENCH)
        run.guarded("bench-sweep", lambda: run.sweep(swept))
    tell("bench-done", {"seconds": time.monotonic() - begun, "profile": "check" if check else "bench"})


class Run:
    """What is measured on one device; each part may fail without ending the others."""

    def __init__(self, tell: "Tell", device: Device, seconds: float, shares: "dict[str, float]") -> None:
        self.tell = tell
        self.device = device
        self.seconds = {name: share * seconds for name, share in shares.items()}
        self.deadline = time.monotonic() + seconds
        self.due = []  # type: list[tuple[str, Part]]

    def prepare(self, force: bool, known_busy: "dict[str, str]", reference: "list[float]") -> None:
        """Say what the device is and what is due; a GPU that another process uses is left alone unless asked for."""
        reason = bench_devices.used_by_others(self.device, known_busy)
        if reason and not force:
            self.tell("bench-skipped", {"device": self.device.name, "reason": reason})
            return
        self.device.use()
        self.tell("bench-device", dict(self.device.describe(), busy=reason))
        self.due = self.parts(reference)
        self.tell("bench-plan", {"stages": [["bench-" + name, self.device.name] for name, _ in self.due]})

    def all(self) -> None:
        """Every part that the profile has, as long as the device works."""
        for name, part in self.due:
            if self.device.kind == "cpu" and time.monotonic() > self.deadline:
                self.tell("bench-skipped", {"device": self.device.name, "reason": "no time was left for %s" % name})
            elif not self.guarded("bench-" + name, part) and not bench_devices.works(self.device):
                reason = "it computes nothing any more after the failure of %s" % name
                self.tell("bench-skipped", {"device": self.device.name, "reason": reason})
                return

    def parts(self, reference: "list[float]") -> "list[tuple[str, Part]]":
        """Names of stages and what they do."""
        parts = [
            ("loss", lambda: self.loss(reference)),
            ("throughput", lambda: self.training("throughput", self.batch(), "")),
            ("overhead", lambda: self.training("overhead", TINY, "")),
        ]  # type: list[tuple[str, Part]]
        mixed = bench_devices.mixed(self.device)
        if mixed:
            parts.append(("throughput-" + mixed, lambda: self.training("throughput", self.batch(), mixed)))
        return parts + (self.further_parts() if "matmul" in self.seconds else [])

    def further_parts(self) -> "list[tuple[str, Part]]":
        """The parts for which the check has no time."""
        formats = bench_devices.formats(self.device)
        names = ["matmul-" + dtype for dtype in formats] + ["copy"]
        names += [] if self.device.kind in UNPINNED else list(bench_rates.TRANSFERS)
        parts = [(name, self.rate(name, len(formats))) for name in names]
        workers = (0, 2) if bench_data.usable_cpus() > 1 else (0,)
        return parts + [("data-%d" % count, self.data(count, len(workers))) for count in workers]

    def batch(self) -> int:
        """Images in a large batch: enough to occupy the device, as memory allows."""
        if self.device.kind == "cpu":
            return CPU_BATCH
        return LARGE_BATCH if (bench_devices.memory_of(self.device)[0] or 0) >= ROOMY else BATCH

    def guarded(self, stage: str, part: "Part") -> bool:
        """Name the stage and do the part; whatever goes wrong is an answer. Whether the device is as it was."""
        self.stage(stage)
        try:
            part()
            return True
        except Exception as error:
            told = verdict(error, self.device.kind, [])
            kind, words = ("failed", "error") if told["outcome"] == "failed" else ("skipped", "reason")
            self.tell("bench-" + kind, dict(self.place(stage), stage=stage, **{words: told[words]}))
            return kind == "skipped"
        finally:
            bench_devices.clear(self.device)

    def stage(self, name: str) -> None:
        """What a crash from here on is a crash of."""
        self.tell("stage", dict(self.place(name), id=name))

    def place(self, stage: str) -> "dict[str, Any]":
        """The device, and the library that does the work of a stage."""
        area = AREAS.get(stage.split("-")[1], "")
        return {"device": self.device.name, "library": self.device.library(area)}

    def series(self, name: str, dtype: str, measured: "dict[str, Any]") -> None:
        """Tell one series."""
        fixed = {"name": name, "device": self.device.name, "unit": "s/step", "dtype": dtype}
        counts = {"items_per_step": None, "flops_per_step": None, "bytes_per_step": None}
        self.tell("bench-series", dict(fixed, **dict(counts, **measured)))

    def left(self, name: str) -> float:
        """Seconds for a part: its share, and on a CPU no more than is left of the whole."""
        left = self.deadline - time.monotonic() if self.device.kind == "cpu" else self.seconds[name]
        return min(self.seconds[name], left)

    def loss(self, reference: "list[float]") -> None:
        """A short training. The first one, on the CPU, is what others are compared with; the CPU's own is repeated."""
        begun, own = time.monotonic(), self.device.kind == "cpu"
        if not reference:
            losses, right = train(Device(self.device.torch, "cpu", None), self.seconds["loss"])
            reference += losses
        repeated = 2 * (time.monotonic() - begun) < self.seconds["loss"]
        if repeated or not own:
            losses, right = train(self.device, self.left("loss"))
        told = dict(compared(losses, reference), device=self.device.name, accuracy=right)
        self.tell("bench-loss", told if repeated or not own else dict(told, agrees=None))

    def training(self, name: str, batch: int, mixed: str) -> None:
        """Times of training steps on resident batches, shared between the formats."""
        share = 2 if name == "throughput" and bench_devices.mixed(self.device) else 1
        steps = Training(self.device, mixed).resident(batch)
        measured = measure(self.device, steps, self.left(name) / share)
        self.series(name, mixed or "fp32", dict(measured, items_per_step=batch, flops_per_step=training_flops(batch)))

    def rate(self, name: str, formats: int) -> "Part":
        """Matrix products in one of the formats, copies in memory, or transfers of one kind."""
        kind, _, dtype = name.partition("-")
        if kind == "matmul":
            return lambda: self.series(
                kind, dtype, bench_rates.matmul(self.device, dtype, self.left("matmul") / formats)
            )
        if kind == "copy":
            return lambda: self.series(kind, "uint8", bench_rates.copy(self.device, self.left("copy")))
        share = self.seconds["transfer"] / len(bench_rates.TRANSFERS)
        return lambda: self.series(name, "uint8", bench_rates.transfer(self.device, name, share))

    def data(self, workers: int, settings: int) -> "Part":
        """Waiting for data with some workers or none."""
        pin = self.device.kind not in UNPINNED

        def part() -> None:
            told = bench_data.waiting(self.device, CPU_BATCH, workers, pin, self.left("data") / settings)
            self.tell("bench-data", dict(told, device=self.device.name))

        return part

    def sweep(self, seconds: float) -> None:
        """Numbers of workers, told anew after each."""
        for told in bench_data.sweep(self.device, seconds, self.stage):
            self.tell("bench-sweep", told)
