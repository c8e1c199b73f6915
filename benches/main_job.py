#!/usr/bin/env python3
"""The main job beside what users write today: the same scenes, the same output, in turn, ratios pair by pair.

    benches/main_job.py PEERS WORK [--runs 3] [--scenes 16] [--size 2048] [--delay 0.05] [--watching]

PEERS is a folder with `make_scenes.py`, `serve.sh`, `peer_asyncio.py` and `peer_pool.py`; WORK is a scratch folder that
keeps the scenes between runs. Needs nginx with its lua module, and this Python with numpy, rasterio and aiohttp. Build
first: `cargo build --release`. With `--watching` gisrun is compared with itself, run without record, samples and ledger.
Timings of a shared machine are noisy: quote medians and ratios of one run.
"""

import argparse
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PIPELINE = """name = "main-job"

[resources]
connections.slots = 32

[stages]
scenes  = {{ list = {{ file = "{urls}" }} }}
fetched = {{ from = "scenes", fetch = {{}} }}
bands   = {{ from = "fetched", read = {{ bands = {{ red = 1, nir = 2 }} }} }}
ndvi    = {{ from = "bands", calc = {{ bands = {{ ndvi = "(nir - red) / (nir + red)" }}, dtype = "float32", nodata = -9999 }} }}
warped  = {{ from = "ndvi", warp = {{ crs = "EPSG:3857", resampling = "bilinear" }} }}
encoded = {{ from = "warped", encode = {{ format = "cog", compress = "deflate", predictor = "floating-point", blocksize = 512, overview-resampling = "average" }} }}
written = {{ from = "encoded", write = {{ path = "{out}/{{id}}.tif" }} }}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("peers", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scenes", type=int, default=16)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--delay", default="0.05")
    parser.add_argument("--port", type=int, default=8095)
    parser.add_argument("--watching", action="store_true")
    arguments = parser.parse_args()
    work, peers = arguments.work.resolve(), arguments.peers.resolve()
    scenes = work / f"scenes-{arguments.scenes}-{arguments.size}"
    if not scenes.exists():
        script = [sys.executable, peers / "make_scenes.py", scenes, str(arguments.scenes), str(arguments.size)]
        subprocess.run(script, check=True)
    urls = work / "urls.txt"
    names = sorted(path.name for path in scenes.glob("*.tif"))
    urls.write_text("".join(f"http://127.0.0.1:{arguments.port}/{name}\n" for name in names))
    served = ["bash", peers / "serve.sh", scenes, str(arguments.port), arguments.delay]
    pid_file = subprocess.run(served, check=True, capture_output=True, text=True).stdout.strip()
    try:
        if arguments.watching:
            watch(work, urls, arguments.runs)
        else:
            compare(commands(work, peers, urls), work, arguments.runs)
    finally:
        os.kill(int(pathlib.Path(pid_file).read_text()), 15)


def watch(work, urls, pairs):
    """With and without what a run tells and remembers, in pairs; files of the run before are written over."""
    pipeline = work / "watching.toml"
    text = PIPELINE.format(urls=urls, out=work / "out-watching")
    pipeline.write_text(text.replace("write = { path", 'write = { existing = "replace", path'))
    subprocess.run(["cargo", "bench", "--bench", "watching", "--", pipeline, str(pairs)], cwd=ROOT, check=True)


def commands(work, peers, urls):
    pipeline = work / "main-job.toml"
    pipeline.write_text(PIPELINE.format(urls=urls, out=work / "out-gisrun"))
    return {
        "gisrun": [ROOT / "target/release/gisrun", pipeline, "--fresh", "--quiet"],
        "asyncio + rasterio": [sys.executable, peers / "peer_asyncio.py", urls, work / "out-asyncio"],
        "process pool": [sys.executable, peers / "peer_pool.py", urls, work / "out-pool"],
    }


def compare(commands, work, runs):
    measured = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            for folder in list(work.glob("out-*")) + [work / ".gisrun"]:
                shutil.rmtree(folder, ignore_errors=True)
            figures = measure(command)
            if turn > 0:  # the first turn fills the page cache
                measured[name].append(figures)
    print(f"{'':22}{'wall s':>10}{'CPU s':>10}{'peak MB':>10}   medians of {runs} runs")
    for name, all_figures in measured.items():
        wall, cpu, peak = (statistics.median(column) for column in zip(*all_figures))
        print(f"{name:22}{wall:10.2f}{cpu:10.2f}{peak:10.0f}")
    for name, all_figures in measured.items():
        if name != "gisrun":
            ratios = [[ours / theirs for ours, theirs in zip(a, b)] for a, b in zip(measured["gisrun"], all_figures)]
            wall, cpu, peak = (statistics.median(column) for column in zip(*ratios))
            print(f"gisrun / {name:20} wall {wall:.2f}  CPU {cpu:.2f}  peak of the largest process {peak:.2f}")


def measure(command):
    """Wall seconds, CPU seconds of all processes, peak megabytes of the largest one."""
    begun = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    if status != 0:
        raise SystemExit(f"{command[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


if __name__ == "__main__":
    main()
