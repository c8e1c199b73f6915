#!/usr/bin/env python3
"""Statistics of every window of one large band over HTTP, beside readers that let GDAL fetch.

    benches/windows.py PEERS WORK [--runs 3] [--delay 0.05] [--size 10980] [--least 8 2.5] [--most 150]

PEERS is a folder with `make_big.py`, `serve.sh` and `peer_windows.py`; WORK is a scratch folder that keeps the file between
runs. Needs nginx with its lua module, and this Python with numpy and rasterio. Build first: `cargo build --release`.

The peers are two processes and eight threads of rasterio over `/vsicurl/`. Each turn runs all of them once, and the ratios
are those of one turn, since timings of a shared machine are noisy. Ends with 1 where the median ratio to the processes or to
the threads is below `--least`, where gisrun's memory is above `--most` megabytes, or where it is served more than 1.1 times
the bytes that differ: in windows of the file's own blocks, and in tiles of 1024 pixels of a grid in another system.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
GISRUN = ROOT / "target/release/gisrun"
WINDOWS = """name = "windows"

[resources]
connections.slots = 32

[stages]
files   = {{ list = {{ uris = ["{url}"] }} }}
windows = {{ from = "files", window = {{ size = 512 }} }}
fetched = {{ from = "windows", fetch = {{}} }}
bands   = {{ from = "fetched", read = {{}} }}
rows    = {{ from = "bands", stats = {{ statistics = ["count", "mean", "std"] }} }}
table   = {{ from = "rows", table = {{ path = "windows.csv", existing = "replace" }} }}
"""
TILES = """name = "tiles"

[grids.web]
crs = "EPSG:3857"
resolution = 15
tile = 1024

[resources]
connections.slots = 32

[stages]
files   = {{ list = {{ uris = ["{url}"] }} }}
windows = {{ from = "files", window = {{ grid = "web" }} }}
fetched = {{ from = "windows", fetch = {{}} }}
bands   = {{ from = "fetched", read = {{}} }}
warped  = {{ from = "bands", warp = {{ grid = "web", resampling = "bilinear" }} }}
rows    = {{ from = "warped", stats = {{ statistics = ["count", "mean", "std"] }} }}
table   = {{ from = "rows", table = {{ path = "tiles.csv", existing = "replace" }} }}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("peers", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--size", type=int, default=10980)
    parser.add_argument("--delay", default="0.05")
    parser.add_argument("--port", type=int, default=8096)
    parser.add_argument("--least", type=float, nargs=2, default=(8, 2.5))
    parser.add_argument("--most", type=float, default=150)
    arguments = parser.parse_args()
    work, peers = arguments.work.resolve(), arguments.peers.resolve()
    served = work / f"big-{arguments.size}"
    served.mkdir(parents=True, exist_ok=True)
    if not (served / "big.tif").exists():
        script = [sys.executable, peers / "make_big.py", served / "big.tif", str(arguments.size)]
        subprocess.run(script, check=True)
    command = ["bash", peers / "serve.sh", served, str(arguments.port), arguments.delay]
    pid_file = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    url = f"http://127.0.0.1:{arguments.port}/big.tif"
    try:
        faults = compare(work, peers, url, arguments) + both_are_frugal(work, url, served / "big.tif")
    finally:
        os.kill(int(pathlib.Path(pid_file).read_text()), 15)
    for fault in faults:
        print("short:", fault)
    sys.exit(bool(faults))


def compare(work, peers, url, arguments):
    pipeline = work / "windows.toml"
    pipeline.write_text(WINDOWS.format(url=url))
    peer = [sys.executable, peers / "peer_windows.py", f"/vsicurl/{url}"]
    measured = {"gisrun": [], "2 processes": [], "8 threads": []}
    for turn in range(arguments.runs + 1):
        figures = {
            "gisrun": measure([GISRUN, pipeline, "--fresh", "--quiet"], work),
            "2 processes": measure([*peer, "process", "2"], work),
            "8 threads": measure([*peer, "thread", "8"], work),
        }
        if turn > 0:  # the first turn fills the page cache
            for name in measured:
                measured[name].append(figures[name])
    print(f"{'':14}{'wall s':>8}{'CPU s':>8}{'peak MB':>9}   medians of {arguments.runs} turns")
    for name, all_figures in measured.items():
        wall, cpu, peak = (statistics.median(column) for column in zip(*all_figures))
        print(f"{name:14}{wall:8.2f}{cpu:8.2f}{peak:9.0f}")
    faults = []
    for name, least in zip(["2 processes", "8 threads"], arguments.least):
        ratio = statistics.median(theirs[0] / ours[0] for ours, theirs in zip(measured["gisrun"], measured[name]))
        print(f"{name} / gisrun: {ratio:.1f} (at least {least})")
        if ratio < least:
            faults.append(f"{ratio:.2f} times as fast as {name}, and {least} is wanted")
    peak = max(figures[2] for figures in measured["gisrun"])
    if peak > arguments.most:
        faults.append(f"{peak:.0f} MB of memory, and {arguments.most} are allowed")
    return faults


def measure(command, folder):
    """Wall seconds (of the work alone where the peer tells them), CPU seconds, peak megabytes of the largest process."""
    begun = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True, cwd=folder)
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    if status != 0:
        raise SystemExit(f"{command[0]} ended with {os.waitstatus_to_exitcode(status)}")
    own = re.search(r"([0-9.]+) s$", said.strip())
    return float(own[1]) if own else wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def both_are_frugal(work, url, file):
    """Every block of the file lies under some window, so the bytes that differ are at most those of the file."""
    faults = []
    for name, text in [("windows", WINDOWS), ("tiles", TILES)]:
        (work / f"{name}.toml").write_text(text.format(url=url))
        subprocess.run([GISRUN, work / f"{name}.toml", "--fresh", "--quiet"], check=True, cwd=work)
        lines = (work / f".gisrun/{name}.run.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in lines]
        received = sum(event["bytes"] for event in events if event["event"] == "request")
        share = received / file.stat().st_size
        print(f"{name}: {received} bytes received, {share:.3f} of the file (at most 1.1)")
        if share > 1.1:
            faults.append(f"{name} are served {share:.2f} times the bytes of the file")
    return faults


if __name__ == "__main__":
    main()
