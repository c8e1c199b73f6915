"""Makes the sample scenes in `examples/in`: four small synthetic scenes, the same bytes every time.

Each has the bands blue, green, red and nir as stored reflectance (uint16, nodata 0): fields with and without
vegetation, a lake, and a wedge without data as scenes have at the edge of a swath. Two lie in UTM zone 32 and two in
zone 33, so that a mosaic or a common grid needs a warp.

    pip install numpy rasterio
    python examples/make_sample.py
"""

from pathlib import Path

import numpy as np
import rasterio
from rasterio.transform import from_origin

SIZE = 256  # pixels on each side
PIXEL = 20.0  # metres
FIELD = 32  # pixels on each side of a field
BANDS = ("blue", "green", "red", "nir")
NODATA = 0
FOLDER = Path(__file__).parent / "in"

# Name, CRS, west and north edge in metres.
SCENES = (
    ("scene-a", "EPSG:32632", 600000, 5300000),
    ("scene-b", "EPSG:32632", 604000, 5300000),
    ("scene-c", "EPSG:32633", 300000, 5300000),
    ("scene-d", "EPSG:32633", 304000, 5297000),
)


def scene(number):
    """The bands of one scene: [4, SIZE, SIZE], uint16."""
    row, col = np.mgrid[0:SIZE, 0:SIZE]
    field = (row // FIELD * 5 + col // FIELD * 3 + number * 7) % 11
    vegetation = field / 10
    shade = 60 * np.sin(row / 23 + number) + 40 * np.cos(col / 31)
    blue = 500 + 300 * (1 - vegetation) + shade
    green = 700 + 250 * vegetation + shade
    red = 1500 - 1100 * vegetation + shade
    nir = 1600 + 2400 * vegetation + 2 * shade
    bands = np.stack([blue, green, red, nir])
    lake = (row - 170) ** 2 + (col - 90 - 20 * number) ** 2 < 40**2
    bands[:, lake] = np.array([[450], [400], [250], [120]])
    outside = col > 250 - row // 4 + 5 * number
    bands[:, outside] = NODATA
    return np.round(bands).astype("uint16")


def write(name, crs, west, north, bands):
    """Writes a scene as a cloud-optimised GeoTIFF with four tiles."""
    profile = {
        "driver": "COG",
        "width": SIZE,
        "height": SIZE,
        "count": len(BANDS),
        "dtype": "uint16",
        "crs": crs,
        "transform": from_origin(west, north, PIXEL, PIXEL),
        "nodata": NODATA,
        "BLOCKSIZE": 128,
        "COMPRESS": "DEFLATE",
        "PREDICTOR": "YES",
        "LEVEL": 9,
        "OVERVIEWS": "NONE",
    }
    with rasterio.open(FOLDER / f"{name}.tif", "w", **profile) as file:
        file.write(bands)
        file.descriptions = BANDS


def main():
    FOLDER.mkdir(exist_ok=True)
    for number, (name, crs, west, north) in enumerate(SCENES):
        write(name, crs, west, north, scene(number))


if __name__ == "__main__":
    main()
