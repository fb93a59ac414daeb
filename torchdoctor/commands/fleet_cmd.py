"""``torchdoctor fleet-cmd``: the ready script or manifest that checks every node of a site and the network between."""

from __future__ import annotations

import argparse

from torchdoctor.fleet.site import SITES, Shape, written
from torchdoctor.render.output import write

_MOST_NODES, _MOST_GPUS = 100_000, 64
_DEFAULT = Shape()


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    which = parser.add_mutually_exclusive_group(required=True)
    for name, site in SITES.items():
        which.add_argument(f"--{name}", dest="site", action="store_const", const=name, help=site.meaning)
    parser.add_argument(
        "--nodes", type=_nodes, default=_DEFAULT.nodes, metavar="N", help=f"how many nodes (default: {_DEFAULT.nodes})"
    )
    parser.add_argument(
        "--gpus",
        type=_gpus,
        default=_DEFAULT.gpus,
        metavar="N",
        help=f"GPUs of each node, 0 for none (default: {_DEFAULT.gpus})",
    )
    parser.add_argument(
        "--python",
        default=_DEFAULT.python,
        metavar="PATH",
        help=f"the Python that holds torch and torchdoctor there (default: {_DEFAULT.python})",
    )
    parser.add_argument(
        "--folder",
        default=_DEFAULT.folder,
        metavar="DIR",
        help=f"where the reports go: a folder that all nodes share (default: {_DEFAULT.folder})",
    )
    parser.add_argument(
        "--image",
        default=_DEFAULT.image,
        metavar="IMAGE",
        help=f"an image with torch and torchdoctor (default: {_DEFAULT.image}, to which torchdoctor must be added)",
    )
    parser.add_argument(
        "--accelerator",
        default=_DEFAULT.accelerator,
        metavar="NAME",
        help=f"SkyPilot's name of the GPU (default: {_DEFAULT.accelerator})",
    )


def run(options: argparse.Namespace) -> int:
    """Print it."""
    shape = Shape(
        options.nodes, options.gpus, options.python, options.folder, options.image, options.accelerator
    )  # fmt: skip
    write(written(options.site, shape))
    return 0


def _nodes(text: str) -> int:
    return _within(text, 1, _MOST_NODES)


def _gpus(text: str) -> int:
    return _within(text, 0, _MOST_GPUS)


def _within(text: str, least: int, most: int) -> int:
    if not text.isdecimal() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from {least} to {most}")
    return int(text)
