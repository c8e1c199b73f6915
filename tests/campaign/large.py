#!/usr/bin/env python3
"""large.py PROGRAM [SIZE]: a BigTIFF of 73728 x 73728 pixels and a scene of 10980 x 10980 go through calc, warp and stats,
in one pipeline, in a memory budget of 256 MB; what comes out is held against numpy, and no more than 400 MB may be resident.
With a SIZE, a multiple of 512 from 8192 on, the BigTIFF has that many columns and rows.

Needs rasterio, numpy and gdal_translate, 2 GB of disk, and some minutes; the files are removed in the end."""

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial

import numpy as np
import rasterio
from rasterio.transform import from_origin
from rasterio.windows import Window

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cases"))
from reference import validity  # noqa: E402
from warp_reference import check_warp  # noqa: E402

MOST_RESIDENT = 400e6

PIPELINE = """
name = "large"

[run]
gdal = {{ cache = "32 MiB" }}

[resources]
memory.bytes = "256 MB"

[stages]
files   = {{ list = {{ uris = ["large.tif"] }} }}
bands   = {{ from = "files", read = {{ bands = {{ a = 1 }} }} }}
sums    = {{ from = "bands", calc = {{ bands = {{ b = "a * 2 + 1" }}, dtype = "uint16", nodata = 65535 }} }}
rows    = {{ from = "sums", stats = {{ statistics = ["count", "total", "min", "max", "sum", "mean", "std"] }} }}
table   = {{ from = "rows", table = {{ path = "rows.jsonl" }} }}
warped  = {{ from = "sums", warp = {{ {warp} }} }}
encoded = {{ from = "warped", encode = {{ format = "cog", compress = "zstd", level = 1 }} }}
written = {{ from = "encoded", write = {{ path = "warped.tif" }} }}
"""


def main(program, size=73728):
    half = f'crs = "EPSG:32633", resampling = "nearest", size = [{size // 2}, {size // 2}]'
    run(program, f"{size} x {size}", partial(make_sparse, size), half)
    run(program, "10980 x 10980", make_scene, 'crs = "EPSG:3857", resampling = "bilinear"')


def run(program, title, make, warp):
    with tempfile.TemporaryDirectory() as folder:
        expected, check = make(os.path.join(folder, "large.tif"))
        go(program, title, folder, warp)
        row = json.loads(open(os.path.join(folder, "rows.jsonl")).readline())
        for name, value in expected.items():
            assert abs(row[name] - value) <= 1e-9 * max(1, abs(value)), f"{title}: {name} is {row[name]}, not {value}"
        check(folder)


def go(program, title, folder, warp):
    """Runs the pipeline, and tells what it took; fails when it had more memory than it may."""
    with open(os.path.join(folder, "large.toml"), "w") as file:
        file.write(PIPELINE.format(warp=warp))
    begun = time.monotonic()
    subprocess.run([program, "large.toml", "--quiet"], cwd=folder, check=True)
    took = time.monotonic() - begun
    events = [json.loads(line) for line in open(os.path.join(folder, ".gisrun/large.run.jsonl"))]
    peak = events[-1]["peak_resident"]
    cuts = [event for event in events if event["event"] == "item_cut"]
    windows = sum(event["windows"] for event in cuts)
    print(f"{title}: {took:.0f} s, {windows} windows, {peak / 1e6:.0f} MB resident at most", flush=True)
    assert peak < MOST_RESIDENT, f"{title}: {peak} bytes were resident"


def make_sparse(size, path):
    """One block of 4096 x 4096 pixels of 1, 2, 3, ...; the rest of the file has no tiles and is nodata."""
    form = dict(driver="GTiff", width=size, height=size, count=1, dtype="uint16", nodata=0, BIGTIFF="YES")
    form |= dict(tiled=True, blockxsize=512, blockysize=512, compress="deflate", SPARSE_OK=True)
    corner = (size // 4, size // 8 * 2)
    block = (np.arange(4096 * 4096, dtype=np.int64) % 30000 + 1).astype("uint16").reshape(4096, 4096)
    with rasterio.open(path, "w", crs="EPSG:32633", transform=from_origin(0, 8e6, 10, 10), **form) as file:
        file.write(block, 1, window=Window(corner[1], corner[0], 4096, 4096))
    return statistics(block.astype(np.float64) * 2 + 1, size * size), partial(check_halved, block, corner)


def make_scene(path):
    """Hills and noise, a corner of nodata; written row of tiles by row of tiles."""
    size = 10980
    form = dict(driver="GTiff", width=size, height=size, count=1, dtype="uint16", nodata=0, compress="deflate")
    form |= dict(tiled=True, blockxsize=512, blockysize=512, ZLEVEL=1)
    rng = np.random.default_rng(11)
    columns, rows = np.arange(size), np.arange(size)[:, None]
    scene = (2000 + 1000 * np.sin(columns / 300) * np.cos(rows / 500)).astype("uint16")
    scene += rng.integers(0, 200, scene.shape, dtype="uint16")
    scene[:2000, :2000] = 0
    with rasterio.open(path, "w", crs="EPSG:32633", transform=from_origin(399960, 5300040, 10, 10), **form) as file:
        file.write(scene, 1)
    return statistics(scene[scene > 0].astype(np.float64) * 2 + 1, size * size), check_scene


def statistics(values, total):
    values = values.ravel()
    found = {"count": values.size, "total": total, "min": values.min(), "max": values.max()}
    return found | {"sum": values.sum(), "mean": values.mean(), "std": values.std()}


def check_halved(block, corner, folder):
    """The centre of a pixel twice as wide lies between two, of which the later one is the nearest."""
    expected = block[1::2, 1::2] * 2 + 1
    (row, col), (height, width) = (at // 2 for at in corner), expected.shape
    valid = 0
    with rasterio.open(os.path.join(folder, "warped.tif")) as file:
        assert np.array_equal(file.read(1, window=Window(col, row, width, height)), expected)
        # In rows of tiles, which is all that memory has to hold here too.
        for row in range(0, file.height, 2048):
            band = file.read(1, window=Window(0, row, file.width, min(2048, file.height - row)))
            valid += int((band != file.nodata).sum())
    assert valid == expected.size, f"{valid} pixels are valid, not {expected.size}"


def check_scene(folder):
    """Against `calc` by numpy, at exact places."""
    made = os.path.join(folder, "calculated.tif")
    with rasterio.open(os.path.join(folder, "large.tif")) as source:
        scene = source.read(1)
        with rasterio.open(made, "w", **source.profile | {"nodata": 65535}) as file:
            file.write(np.where(scene == 0, 65535, scene * 2 + 1).astype("uint16"), 1)
    with rasterio.open(made) as source, rasterio.open(os.path.join(folder, "warped.tif")) as output:
        faults = check_warp(source, output, "bilinear", validity)
    assert not faults, faults


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), *map(int, sys.argv[2:]))
