#!/usr/bin/env python3
"""reference.py copy|stats|nearest|bilinear INPUT OUTPUT [ID]: exit 0 if OUTPUT is what INPUT has to become, else 1 and why.

Expected values come from numpy: pixels as rasterio reads them, validity from the raw values, coordinates of warps from an
exact transformation of every sampled pixel centre. Needs rasterio and numpy."""

import json
import math
import sys
from functools import partial

import numpy as np
import rasterio
import rasterio.warp
from rasterio.enums import ColorInterp, Compression, MaskFlags

COORDINATE_ERROR = 1 / 64 + 1e-6
SAMPLES = 200_000
# JPEG's decoders differ in how they smooth colours.
JPEG_DECODERS = 32
FLOAT32_ROUNDED_MAX = 3.403e38


def main(kind, source_path, output_path, item=None):
    with rasterio.open(source_path) as source:
        if kind == "stats":
            faults = check_stats(source, output_path, item)
        else:
            with rasterio.open(output_path) as output:
                faults = check_copy(source, output) if kind == "copy" else check_warp(source, output, kind)
    for fault in faults[:5]:
        print(f"{kind} of {source_path}: {fault}")
    return 1 if faults else 0


def is_value_of(band, nodata):
    """Where a band has its nodata value, compared exactly in the band's own type."""
    if nodata is None:
        return np.zeros(band.shape, bool)
    if band.dtype.kind == "f":
        if band.dtype == np.float32 and np.isfinite(nodata) and abs(nodata) > np.finfo(np.float32).max:
            nodata = math.copysign(np.finfo(np.float32).max, nodata) if abs(nodata) < FLOAT32_ROUNDED_MAX else math.inf
        return band == band.dtype.type(nodata)
    limits = np.iinfo(band.dtype)
    fits = float(nodata).is_integer() and limits.min <= nodata <= limits.max
    return band == band.dtype.type(int(nodata)) if fits else np.zeros(band.shape, bool)


def validity(raster, pixels):
    """Which pixels of every band hold data, by the rules that the manual of `read` states."""
    alphas = [b for b, role in enumerate(raster.colorinterp) if role == ColorInterp.alpha]
    valid = np.empty(pixels.shape, bool)
    for band in range(raster.count):
        flags = raster.mask_flag_enums[band]
        has_nodata = is_value_of(pixels[band], raster.nodatavals[band])
        if MaskFlags.per_dataset in flags and MaskFlags.nodata in flags:
            # `NODATA_VALUES` is a colour: only where every band has its part of it.
            has_nodata = np.all([is_value_of(*one) for one in zip(pixels, raster.nodatavals)], axis=0)
        elif MaskFlags.per_dataset in flags and MaskFlags.alpha not in flags:
            has_nodata = raster.read_masks(band + 1) == 0
        valid[band] = ~has_nodata
        if pixels.dtype.kind == "f":
            valid[band] &= ~np.isnan(pixels[band])
        for alpha in alphas:
            if alpha != band:
                valid[band] &= pixels[alpha] != 0
    return valid


def check_copy(source, output):
    before, after = source.read(), output.read()
    if before.shape != after.shape or before.dtype != after.dtype:
        return [f"expected {before.shape} of {before.dtype}, found {after.shape} of {after.dtype}"]
    faults = []
    had, has = validity(source, before), validity(output, after)
    for band, role in enumerate(source.colorinterp):
        if role == ColorInterp.alpha:
            # What is transparent is missing in the alpha band too, where it is 0 either way.
            had[band] = has[band] = True
    if not np.array_equal(had, has):
        faults.append(f"{had.sum()} pixels were valid, {has.sum()} are, {(had != has).sum()} changed")
    both = had & has
    differ = differing(before[both], after[both], source)
    if differ.any():
        faults.append(f"{differ.sum()} valid pixels differ")
    if not np.allclose(source.transform, output.transform, rtol=1e-12, atol=1e-12):
        faults.append(f"the grid was {source.transform}, and is {output.transform}")
    if (source.crs or output.crs) and source.crs != output.crs and not same_place(source, output):
        faults.append(f"the CRS was {source.crs}, and is {output.crs}")
    for band in range(1, source.count + 1):
        if source.colorinterp[band - 1] == ColorInterp.palette and source.colormap(band) != output.colormap(band):
            faults.append(f"the colour table of band {band} changed")
    return faults


def differing(one, other, source):
    """Where values differ more than the decoders of their file do."""
    if source.compression == Compression.jpeg:
        return np.abs(one.astype(int) - other.astype(int)) > JPEG_DECODERS
    return one != other


def same_place(one, other):
    """Whether two systems written differently mean the same coordinates."""
    if not one.crs or not other.crs:
        return False
    xs, ys = zip(*[one.transform * corner for corner in ((0, 0), (one.width, one.height))])
    there = rasterio.warp.transform(one.crs, other.crs, xs, ys)
    return np.allclose(there, (xs, ys), rtol=1e-12, atol=1e-6)


def check_stats(source, path, item):
    rows = [row for row in map(json.loads, open(path)) if row["id"] == item]
    pixels = source.read()
    valid = validity(source, pixels)
    faults = [] if len(rows) == source.count else [f"expected {source.count} rows, found {len(rows)}"]
    for row, band, mask in zip(rows, pixels, valid):
        values = band[mask & np.isfinite(band)]
        expected = {"count": values.size, "total": band.size, "sum": float(math.fsum(map(float, values.ravel())))}
        if values.size:
            exact = values.astype(np.float64)
            expected |= {"min": float(values.min()), "max": float(values.max())}
            expected |= {"mean": expected["sum"] / values.size, "std": float(exact.std())}
        for name, value in expected.items():
            if not math.isclose(row[name], value, rel_tol=1e-9, abs_tol=1e-9 if name != "std" else 1e-6):
                faults.append(f"{name} of {row['band']}: expected {value}, found {row[name]}")
    return faults


def check_warp(source, output, kind):
    pixels, found = source.read(), output.read()
    valid, is_found = validity(source, pixels), validity(output, found)
    faults = covering_faults(source, output, valid)
    rows, cols = sample(output.height, output.width)
    x, y = places(source, output, rows + 0.5, cols + 0.5)
    check = partial(nearest_faults if kind == "nearest" else bilinear_faults, source)
    scale = shrinkage(source, output)
    for band in range(source.count):
        if source.colorinterp[band] == ColorInterp.alpha and kind != "nearest":
            continue
        got, got_valid = found[band][rows, cols], is_found[band][rows, cols]
        faults += check(pixels[band], valid[band], x, y, got, got_valid, scale)
    return faults


def sample(height, width):
    """All pixels, or a seeded choice of them."""
    index = np.arange(height * width)
    if index.size > SAMPLES:
        index = np.random.default_rng(7).choice(index, SAMPLES, replace=False)
    return np.divmod(index, width)


def places(source, output, rows, cols):
    """Source columns and rows of places of the output; NaN where there are none."""
    x, y = output.transform * (np.asarray(cols, float), np.asarray(rows, float))
    if source.crs != output.crs:
        x, y = transformed(output.crs, source.crs, x, y)
    x, y = ~source.transform * (np.where(np.isfinite(x), x, np.nan), np.where(np.isfinite(y), y, np.nan))
    return x, y


def transformed(from_crs, to_crs, x, y):
    """Coordinates of another system; NaN where it has none. One point that fails would fail all that go with it."""
    if from_crs.is_geographic:
        x = np.where(np.abs(x) > 180, (np.asarray(x) + 180) % 360 - 180, x)
    try:
        found = rasterio.warp.transform(from_crs, to_crs, x, y)
        return tuple(np.where(np.isfinite(v), v, np.nan) for v in found)
    except rasterio.errors.RasterioError:
        pass
    except Exception as error:
        if type(error).__module__ != "rasterio._err":
            raise
    if len(x) == 1:
        return np.array([np.nan]), np.array([np.nan])
    half = len(x) // 2
    parts = [transformed(from_crs, to_crs, x[part], y[part]) for part in (slice(half), slice(half, None))]
    return tuple(np.concatenate(axis) for axis in zip(*parts))


def covering_faults(source, output, valid):
    """Every valid source pixel has a place on the output, where it has one in its system at all."""
    rows, cols = np.nonzero(valid.any(axis=0))
    if rows.size == 0:
        return []
    choice = np.random.default_rng(3).integers(0, rows.size, 2000)
    x, y = source.transform * (cols[choice] + 0.5, rows[choice] + 0.5)
    if source.crs != output.crs:
        x, y = transformed(source.crs, output.crs, x, y)
        if output.crs.is_geographic:
            x = np.where(x < output.bounds.left, x + 360, x)
    shown = np.isfinite(x) & np.isfinite(y)
    if output.crs.to_epsg() == 3857:
        shown &= np.abs(y) < 20037508.0
    col, row = ~output.transform * (x[shown], y[shown])
    inside = (col >= -0.5) & (row >= -0.5) & (col <= output.width + 0.5) & (row <= output.height + 0.5)
    outside = int((~inside).sum())
    return [f"{outside} of {inside.size} source pixels lie outside of the output"] if outside > 0.01 * inside.size else []


def shrinkage(source, output):
    """The most source pixels that a pixel of the output spans."""
    rows, cols = (np.random.default_rng(5).uniform(0, size, 500) for size in (output.height, output.width))
    x, y = places(source, output, rows, cols)
    spans = [1.0]
    for step in ((0.5, 0), (0, 0.5)):
        x1, y1 = places(source, output, rows + step[0], cols + step[1])
        span = 2 * np.hypot(x1 - x, y1 - y)
        inside = (x > 0) & (y > 0) & (x < source.width) & (y < source.height) & np.isfinite(span)
        if inside.any():
            spans.append(float(np.max(span[inside])))
    return max(spans)


def nearest_faults(source, pixels, valid, x, y, got, got_valid, _):
    height, width = pixels.shape
    inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    col, row = (np.where(inside, np.floor(v), 0).astype(int) for v in (x, y))
    # Within the error of coordinates the neighbour is as right.
    is_sure = ~inside | clear_of_edges(x, y)
    is_sure &= clear_of_image_edge(x, y, width, height)
    expected_valid = inside & valid[row, col]
    wrong = is_sure & (expected_valid != got_valid)
    wrong |= is_sure & expected_valid & got_valid & differing(pixels[row, col], got, source)
    return [f"{wrong.sum()} of {is_sure.sum()} pixels differ from the nearest ones"] if wrong.any() else []


def clear_of_edges(x, y):
    return np.all([np.abs(v - np.round(v)) > COORDINATE_ERROR for v in (x, y)], axis=0)


def clear_of_image_edge(x, y, width, height):
    edges = [np.abs(x), np.abs(y), np.abs(x - width), np.abs(y - height)]
    return ~np.any([distance < COORDINATE_ERROR for distance in edges], axis=0)


def bilinear_faults(source, pixels, valid, x, y, got, got_valid, scale):
    height, width = pixels.shape
    inside = (x >= 0) & (y >= 0) & (x < width) & (y < height) & clear_of_edges(x, y)
    x, y, got, got_valid = x[inside], y[inside], got[inside].astype(float), got_valid[inside]
    faults = []
    wrong = valid[np.floor(y).astype(int), np.floor(x).astype(int)] != got_valid
    if wrong.any():
        faults.append(f"{wrong.sum()} of {wrong.size} pixels are valid and should not be, or the other way round")
    x, y, got = x[got_valid], y[got_valid], got[got_valid]
    if got.size == 0:
        return faults
    reach = math.ceil(scale) + 1
    every = 1 + reach * reach // 16
    x, y, got = x[::every], y[::every], got[::every]
    low, high, all_valid = neighbourhood(pixels, valid, x, y, reach)
    slack = JPEG_DECODERS if source.compression == Compression.jpeg else 0.5
    rounding = slack if pixels.dtype.kind in "iu" else 1e-6 * np.maximum(1, np.maximum(np.abs(low), np.abs(high)))
    outside = (got < low - rounding - 1e-6) | (got > high + rounding + 1e-6)
    if outside.any():
        faults.append(f"{outside.sum()} of {got.size} values lie outside of their neighbourhood")
    if scale <= 1.0:
        expected = bilinear(pixels, x[all_valid], y[all_valid])
        error = np.abs(expected - got[all_valid])
        allowed = 2 * COORDINATE_ERROR * (high - low)[all_valid] + 1e-6
        allowed = allowed + (rounding if np.isscalar(rounding) else rounding[all_valid])
        if (error > allowed).any():
            faults.append(f"{(error > allowed).sum()} of {error.size} values are off, by {error.max()} at most")
    return faults


def neighbourhood(pixels, valid, x, y, reach):
    """The smallest and the largest valid value around places, and whether all there are valid."""
    low, high = np.full(x.shape, np.inf), np.full(x.shape, -np.inf)
    complete = np.ones(x.shape, bool)
    height, width = pixels.shape
    first_col, first_row = np.floor(x - 0.5).astype(int), np.floor(y - 0.5).astype(int)
    for down in range(-reach + 1, reach + 1):
        for across in range(-reach + 1, reach + 1):
            col, row = first_col + across, first_row + down
            inside = (col >= 0) & (row >= 0) & (col < width) & (row < height)
            col, row = np.clip(col, 0, width - 1), np.clip(row, 0, height - 1)
            counts = inside & valid[row, col]
            value = pixels[row, col].astype(float)
            low, high = np.where(counts, np.minimum(low, value), low), np.where(counts, np.maximum(high, value), high)
            complete &= counts
    return low, high, complete


def bilinear(pixels, x, y):
    col, row = np.floor(x - 0.5).astype(int), np.floor(y - 0.5).astype(int)
    right, down = x - 0.5 - col, y - 0.5 - row
    at = lambda r, c: pixels[r, c].astype(float)
    upper = at(row, col) * (1 - right) + at(row, col + 1) * right
    lower = at(row + 1, col) * (1 - right) + at(row + 1, col + 1) * right
    return upper * (1 - down) + lower * down


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
