"""Runs the main job on served scenes and compares every pixel with numpy.

    python tests/main_job/compare.py FOLDER_OF_PROGRAMS [--scenes 16] [--size 512]

FOLDER_OF_PROGRAMS is a cargo profile's folder, with `gisrun` and `examples/serve`. The scenes are synthetic: two bands of
uint16 with noise, nodata 0 in a wedge, in two UTM zones. The warp's grid must be gdalwarp's. Before the warp the index must be numpy's within 1e-6. After it a
pixel must be the bilinear mean of the valid pixels around its exact place, within what the warp's coordinates may be off
(1/64 of a pixel on each axis), and valid just where the pixel beneath is; needs numpy and rasterio.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import rasterio
from rasterio.transform import array_bounds, from_origin
from rasterio.warp import calculate_default_transform, transform

REPOSITORY = Path(__file__).resolve().parents[2]
REACH = 1 / 64
UNWARPED = """
name = "unwarped"

[params]
list = {}
out = {}

[stages]
scenes  = { list = { file = "${list}" } }
fetched = { from = "scenes", fetch = {} }
bands   = { from = "fetched", read = { bands = { red = 1, nir = 2 } } }
ndvi    = { from = "bands", calc = { bands = { ndvi = "(nir - red) / (nir + red)" }, dtype = "float32" } }
encoded = { from = "ndvi", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "${out}/{id}.tif" } }
"""


def make_scene(path, number, size):
    """Writes a scene as a tiled GeoTIFF."""
    random = np.random.default_rng(number)
    row, col = np.mgrid[0:size, 0:size]
    waves = np.sin(row / 37 + number) + np.cos(col / 53)
    red = 900 + 300 * waves + random.normal(0, 20, (size, size))
    nir = 2400 - 500 * waves + random.normal(0, 30, (size, size))
    bands = np.stack([red, nir]).clip(1, 10000).astype("uint16")
    bands[:, col + row // 4 < size // 12] = 0
    zone, west = (32632, 600000) if number % 2 else (32633, 300000)
    profile = {
        "driver": "GTiff",
        "width": size,
        "height": size,
        "count": 2,
        "dtype": "uint16",
        "crs": f"EPSG:{zone}",
        "transform": from_origin(west + 10 * size * (number % 4), 5300000 - 10 * size * (number // 4), 10, 10),
        "nodata": 0,
        "tiled": True,
        "blockxsize": 256,
        "blockysize": 256,
        "compress": "deflate",
        "predictor": 2,
    }
    with rasterio.open(path, "w", **profile) as file:
        file.write(bands)


def index_of(path):
    """The index of a scene by numpy, NaN where a band has no data, and the scene's grid."""
    with rasterio.open(path) as file:
        red, nir = file.read().astype("float64")
        invalid = (red == 0) | (nir == 0)
        index = np.where(invalid, np.nan, (nir - red) / np.maximum(nir + red, 1)).astype("float32")
        return index, file.transform, file.crs


def compare_unwarped(scene, output):
    """How far apart the two are at most; fails where only one is valid."""
    expected, grid, _ = index_of(scene)
    with rasterio.open(output) as file:
        got = file.read(1)
        assert file.transform == grid, f"{output}: {file.transform} instead of {grid}"
    assert (np.isnan(got) == np.isnan(expected)).all(), f"{output}: other pixels are valid"
    return float(np.nanmax(np.abs(got.astype("float64") - expected)))


def places(file, grid, crs):
    """The places of all pixels of a file in pixels of another grid."""
    row, col = np.mgrid[0 : file.height, 0 : file.width]
    x, y = file.transform * (col + 0.5, row + 0.5)
    x, y = transform(file.crs, crs, x.ravel(), y.ravel())
    u, v = ~grid * (np.array(x), np.array(y))
    return u.reshape(row.shape), v.reshape(row.shape)


def at(index, row, col):
    """The values at places, NaN outside."""
    is_inside = (row >= 0) & (col >= 0) & (row < index.shape[0]) & (col < index.shape[1])
    row, col = row.clip(0, index.shape[0] - 1), col.clip(0, index.shape[1] - 1)
    return np.where(is_inside, index[row, col].astype("float64"), np.nan)


def require_suggested_grid(file, shape, grid, crs):
    """Fails unless a file has the grid that GDAL suggests for a raster, which is the one of gdalwarp."""
    height, width = shape
    bounds = array_bounds(height, width, grid)
    suggested, width, height = calculate_default_transform(crs, file.crs, width, height, *bounds)
    assert (file.width, file.height) == (width, height), f"{file.name}: {file.shape} instead of {(height, width)}"
    is_there = file.transform.almost_equals(suggested, precision=1e-6)
    assert is_there, f"{file.name}: {file.transform} instead of {suggested}"


def compare_warped(scene, output):
    """(pixels compared, pixels further off than the rule allows, largest error, mean error)"""
    index, grid, crs = index_of(scene)
    with rasterio.open(output) as file:
        require_suggested_grid(file, index.shape, grid, crs)
        got = file.read(1).astype("float64")
        u, v = places(file, grid, crs)
    is_clear_cut = (np.abs(u - np.round(u)) > REACH) & (np.abs(v - np.round(v)) > REACH)
    beneath = at(index, np.floor(v).astype(int), np.floor(u).astype(int))
    is_wrongly_valid = is_clear_cut & (np.isnan(got) != np.isnan(beneath))

    left, top = np.floor(u - 0.5).astype(int), np.floor(v - 0.5).astype(int)
    right_part, lower_part = u - 0.5 - left, v - 0.5 - top
    total, weights = np.zeros_like(u), np.zeros_like(u)
    for row, down in ((0, 1 - lower_part), (1, lower_part)):
        for col, across in ((0, 1 - right_part), (1, right_part)):
            value = at(index, top + row, left + col)
            weight = np.where(np.isnan(value), 0, down * across)
            total += weight * np.nan_to_num(value)
            weights += weight
    around = np.stack([at(index, top + row, left + col) for row in range(-1, 3) for col in range(-1, 3)])
    is_there = ~np.isnan(around)
    high = np.where(is_there, around, -np.inf).max(axis=0)
    low = np.where(is_there, around, np.inf).min(axis=0)

    looked_at = is_clear_cut & ~np.isnan(got) & ~np.isnan(beneath)
    error = np.abs(got - total / np.maximum(weights, 1e-12))[looked_at]
    # A weight moves by the reach on each axis, and the sum by which they are divided is at least a quarter.
    allowed = 1e-6 + 8 * REACH * (high - low)[looked_at]
    too_far = int((error > allowed).sum() + is_wrongly_valid.sum())
    return int(looked_at.sum()), too_far, float(error.max()), float(error.mean())


def run(programs, folder, scenes):
    """Runs the job with and without its warp on served scenes."""
    server = subprocess.Popen(
        [programs / "examples/serve", folder / "scenes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        address = server.stdout.readline().strip()
        (folder / "list.txt").write_text("".join(f"{address}{scene.name}\n" for scene in scenes))
        (folder / "unwarped.toml").write_text(UNWARPED)
        given = ["--set", f"list={folder / 'list.txt'}", "--set"]
        main_job = REPOSITORY / "pipelines/ndvi.toml"
        bands = ["--set", "red=1", "--set", "nir=2"]
        subprocess.run([programs / "gisrun", folder / "unwarped.toml", *given, f"out={folder / 'unwarped'}"], check=True)
        # A copy, so that its ledger lies there too.
        copy = folder / "ndvi.toml"
        copy.write_text(main_job.read_text())
        subprocess.run([programs / "gisrun", copy, *given, f"out={folder / 'warped'}", *bands], check=True)
    finally:
        server.stdin.close()
        server.wait()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("programs", type=Path)
    arguments.add_argument("--scenes", type=int, default=16)
    arguments.add_argument("--size", type=int, default=512)
    arguments = arguments.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "scenes").mkdir()
        scenes = [folder / "scenes" / f"s{number:02}.tif" for number in range(arguments.scenes)]
        for number, scene in enumerate(scenes):
            make_scene(scene, number, arguments.size)
        run(arguments.programs.resolve(), folder, scenes)
        for scene in scenes:
            unwarped = compare_unwarped(scene, folder / "unwarped" / scene.name)
            pixels, too_far, most, mean = compare_warped(scene, folder / "warped" / f"{scene.stem}_ndvi.tif")
            print(
                f"{scene.stem}: before the warp off by {unwarped:.1e}; after it {pixels} pixels compared, "
                f"{too_far} too far off, error at most {most:.1e}, {mean:.1e} on average"
            )
            is_right = unwarped <= 1e-6 and too_far == 0 and pixels > 0.8 * arguments.size**2
            passed += is_right
            failed += not is_right
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
