#!/usr/bin/env python3
"""reference.py copy|stats|nearest|bilinear OUTPUT INPUT...: exit 0 if each OUTPUT is what its INPUT has to become, else 1
and why. `{id}` in OUTPUT is the name of the input without folder and suffix.

Expected values come from numpy: pixels as GDAL copies them, validity from the raw values, warps as `warp_reference.py`
works them out. Needs rasterio, numpy and gdal_translate."""

import json
import math
import os
import sys
import warnings

import numpy as np
import rasterio
import rasterio.warp
from rasterio.enums import ColorInterp, MaskFlags

from warp_reference import check_warp, plain

warnings.simplefilter("ignore")

FLOAT32_ROUNDED_MAX = 3.403e38


def main(kind, template, *sources):
    is_right = True
    for source in sources:
        item = os.path.splitext(os.path.basename(source))[0]
        for fault in faults_of(kind, source, template.replace("{id}", item), item)[:5]:
            print(f"{kind} of {item}: {fault}")
            is_right = False
    return 0 if is_right else 1


def faults_of(kind, source_path, output_path, item):
    with rasterio.open(source_path) as source:
        if kind == "stats":
            return check_stats(source, output_path, item)
        with rasterio.open(output_path) as output:
            return check_copy(source, output) if kind == "copy" else check_warp(source, output, kind, validity)


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
    before, after = plain(source), output.read()
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
    differ = before[both] != after[both]
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


def same_place(one, other):
    """Whether two systems written differently mean the same coordinates."""
    if not one.crs or not other.crs:
        return False
    xs, ys = zip(*[one.transform * corner for corner in ((0, 0), (one.width, one.height))])
    there = rasterio.warp.transform(one.crs, other.crs, xs, ys)
    return np.allclose(there, (xs, ys), rtol=1e-12, atol=1e-6)


def check_stats(source, path, item):
    rows = [row for row in map(json.loads, open(path)) if row["id"] == item]
    pixels = plain(source)
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
            if not math.isclose(row[name], value, rel_tol=1e-9, abs_tol=1e-9):
                faults.append(f"{name} of {row['band']}: expected {value}, found {row[name]}")
    return faults


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
