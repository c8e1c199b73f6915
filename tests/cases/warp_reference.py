"""What a warp has to give: coordinates from an exact transformation of every sampled pixel centre, values from kernels
written out here in numpy."""

import subprocess
import tempfile
from dataclasses import dataclass

import numpy as np
import rasterio
import rasterio.warp
from rasterio.enums import ColorInterp

# How far a source column and row together may lie from the exact ones.
COORDINATE_ERROR = 1 / 64 + 1e-6
# Half of the last digit of a value in its own type.
HALF_DIGIT = {"float32": 2.0**-24, "float64": 2.0**-53}
SAMPLES = 200_000
# Pixels of kernels that are looked at in all.
MOST_TAPS = 4_000_000


def plain(source):
    """All pixels as GDAL's own copy of the file holds them. The library of rasterio may decode JPEG another way."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/plain.tif"
        subprocess.run(["gdal_translate", "-q", source.name, path], check=True)
        with rasterio.open(path) as copy:
            return copy.read()


@dataclass
class Band:
    """One band before and after: values and where they are valid."""

    before: np.ndarray
    valid: np.ndarray
    after: np.ndarray
    is_after: np.ndarray
    is_alpha: bool


def check_warp(source, output, kind, validity):
    pixels, found = plain(source), output.read()
    valid, is_found = validity(source, pixels), validity(output, found)
    colours = [band for band, role in enumerate(source.colorinterp) if role != ColorInterp.alpha]
    faults = covering_faults(source, output, valid)
    rows, cols = sample(output.height, output.width)
    x, y = places(source, output, rows + 0.5, cols + 0.5)
    scale = Scale.of(source, output)
    for index, role in enumerate(source.colorinterp):
        is_alpha = role == ColorInterp.alpha and len(colours) > 0
        # An alpha band is interpolated as any other, where it is 0 too; it is 0 where nothing shows.
        had = np.ones(pixels[index].shape, bool) if is_alpha else valid[index]
        has = is_found[colours[0]] if is_alpha else is_found[index]
        band = Band(pixels[index], had, found[index][rows, cols], has[rows, cols], is_alpha)
        check = nearest_faults if kind == "nearest" else bilinear_faults
        faults += [f"band {index + 1}: {fault}" for fault in check(band, x, y, scale, pixels[index].dtype)]
        if is_alpha and (found[index][~has] != 0).any():
            faults.append(f"band {index + 1}: is not 0 where nothing shows")
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
    return ~source.transform * (np.where(np.isfinite(x), x, np.nan), np.where(np.isfinite(y), y, np.nan))


def places_of_source(source, output, rows, cols):
    """Output columns and rows of places of the source; NaN where there are none."""
    x, y = source.transform * (np.asarray(cols, float), np.asarray(rows, float))
    if source.crs != output.crs:
        x, y = transformed(source.crs, output.crs, x, y)
        if output.crs.is_geographic:
            x = np.where(x < output.bounds.left - output.res[0], x + 360, x)
    return ~output.transform * (np.where(np.isfinite(x), x, np.nan), np.where(np.isfinite(y), y, np.nan))


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
    """Every valid source pixel whose centre has a place in the system lies on the output."""
    rows, cols = np.nonzero(valid.any(axis=0))
    if rows.size == 0:
        return []
    choice = np.random.default_rng(3).integers(0, rows.size, 5000)
    col, row = places_of_source(source, output, rows[choice] + 0.5, cols[choice] + 0.5)
    shown = np.isfinite(col) & np.isfinite(row)
    if output.crs.to_epsg() == 3857:
        _, y = output.transform * (col, row)
        shown &= np.abs(y) < 20037508.0
    inside = (col >= 0) & (row >= 0) & (col <= output.width) & (row <= output.height)
    outside = shown & ~inside
    if not outside.any():
        return []
    where = [(float(c), float(r)) for c, r in zip(col[outside][:3], row[outside][:3])]
    return [f"{outside.sum()} of {shown.sum()} source pixels lie outside of {output.width} x {output.height}: {where}"]


@dataclass
class Scale:
    """Output pixels per source pixel along source columns and rows, at most 1: kernels are as much wider."""

    x: float
    y: float

    @classmethod
    def of(cls, source, output):
        """The rule that the manual of `warp` states: the median of what output pixels span at 21 x 21 places."""
        steps = (np.arange(21) + 0.5) / 21
        cols, rows = (v.ravel() for v in np.meshgrid(steps * source.width, steps * source.height))
        col, row = places_of_source(source, output, rows, cols)
        shown = (col >= 0) & (row >= 0) & (col <= output.width) & (row <= output.height)
        col, row = col[shown], row[shown]
        ends = [places(source, output, row + down, col + across) for across, down in CROSS]
        (left, right, top, bottom) = (np.array(end) for end in ends)
        spans = np.hypot(right - left, bottom - top)
        spans = spans[:, np.isfinite(spans).all(axis=0)]
        return cls(*(cls.shrinkage(np.sort(axis)[axis.size // 2]) for axis in spans))

    @staticmethod
    def shrinkage(span):
        """As GDAL's warper takes it: not below 1 / 0.95, whole when it is nearly so."""
        if span * 0.95 <= 1:
            return 1.0
        return 1 / round(span) if abs(span - round(span)) < 0.05 else 1 / span


CROSS = [(-0.5, 0), (0.5, 0), (0, -0.5), (0, 0.5)]


def nearest_faults(band, x, y, _, dtype):
    height, width = band.before.shape
    inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    col, row = (np.where(inside, np.floor(v), 0).astype(int) for v in (x, y))
    # Within the error of coordinates the neighbour is as right.
    is_sure = ~inside | clear_of_edges(x, y)
    is_sure &= clear_of_image_edge(x, y, width, height)
    expected_valid = inside & band.valid[row, col]
    wrong = is_sure & (expected_valid != band.is_after) & (not band.is_alpha)
    wrong |= is_sure & expected_valid & band.is_after & (band.before[row, col] != band.after)
    return [f"{wrong.sum()} of {is_sure.sum()} pixels differ from the nearest ones"] if wrong.any() else []


def clear_of_edges(x, y):
    return np.all([np.abs(v - np.round(v)) > COORDINATE_ERROR for v in (x, y)], axis=0)


def clear_of_image_edge(x, y, width, height):
    edges = [np.abs(x), np.abs(y), np.abs(x - width), np.abs(y - height)]
    return ~np.any([distance < COORDINATE_ERROR for distance in edges], axis=0)


def bilinear_faults(band, x, y, scale, dtype):
    height, width = band.before.shape
    sure = (x >= 0) & (y >= 0) & (x < width) & (y < height) & clear_of_edges(x, y)
    x, y, got, is_got = x[sure], y[sure], band.after[sure].astype(float), band.is_after[sure]
    wrong = (band.valid[np.floor(y).astype(int), np.floor(x).astype(int)] != is_got) & (not band.is_alpha)
    faults = [f"{wrong.sum()} of {wrong.size} pixels are valid and should not be, or the other way"] if wrong.any() else []
    is_got &= ~wrong
    taps = (2 / scale.x + 1) * (2 / scale.y + 1)
    every = max(1, int(is_got.sum() * taps / MOST_TAPS))
    x, y, got = x[is_got][::every], y[is_got][::every], got[is_got][::every]
    kernel = Kernel.of(band, x, y, scale)
    allowed = kernel.difference * COORDINATE_ERROR + 1e-6 + rounding(kernel, taps, dtype)
    off = np.abs(kernel.value - got) > allowed
    if off.any():
        worst = np.argmax(np.abs(kernel.value - got) / allowed)
        faults.append(
            f"{off.sum()} of {off.size} values are off; at column {x[worst]:.4f}, row {y[worst]:.4f} expected "
            f"{kernel.value[worst]:.9g} within {allowed[worst]:.3g}, found {got[worst]:.9g} (scale {scale})"
        )
    return faults


def rounding(kernel, taps, dtype):
    """Of a sum of so many products in 64 bits, and of the value in its own type."""
    computed = taps * HALF_DIGIT["float64"] * kernel.largest
    return computed + (0.5 if dtype.kind in "iu" else HALF_DIGIT[dtype.name] * kernel.largest)


@dataclass
class Kernel:
    """Values at places by a triangle as wide as two output pixels, of the valid pixels beneath it."""

    value: np.ndarray
    # The largest between the pixels of the kernel, and larger where some of them are missing.
    difference: np.ndarray
    # The largest distance of a pixel from 0.
    largest: np.ndarray

    @classmethod
    def of(cls, band, x, y, scale):
        (first_col, across), (first_row, down) = weights(x, scale.x), weights(y, scale.y)
        total, weight, whole = (np.zeros(x.shape) for _ in range(3))
        low, high = np.full(x.shape, np.inf), np.full(x.shape, -np.inf)
        height, width = band.before.shape
        for i, vertical in enumerate(down):
            for j, horizontal in enumerate(across):
                row, col = first_row + i, first_col + j
                is_in = (row >= 0) & (col >= 0) & (row < height) & (col < width)
                row, col = np.clip(row, 0, height - 1), np.clip(col, 0, width - 1)
                is_in &= band.valid[row, col]
                pixel = np.where(is_in, band.before[row, col].astype(float), 0)
                share = np.maximum(vertical, 0) * np.maximum(horizontal, 0)
                whole += share
                weight += np.where(is_in, share, 0)
                total += np.where(is_in, share * pixel, 0)
                # What has no weight here may have some as far away as coordinates may be off.
                is_in &= (vertical > -scale.y * COORDINATE_ERROR) & (horizontal > -scale.x * COORDINATE_ERROR)
                low, high = np.where(is_in, np.minimum(low, pixel), low), np.where(is_in, np.maximum(high, pixel), high)
        return cls(total / weight, (high - low) * whole / weight, np.maximum(np.abs(low), np.abs(high)))


def weights(place, scale):
    """The first pixel of each place's kernel and its neighbour, and the weights of it and those that follow; not above 0
    outside of the kernel."""
    centre, reach = place - 0.5, 1 / scale
    first = np.ceil(centre - reach).astype(int) - 1
    count = int(np.floor(2 * reach)) + 3
    return first, [1 - np.abs(first + i - centre) * scale for i in range(count)]
