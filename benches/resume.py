#!/usr/bin/env python3
"""How fast a run finds that all of its items are done: the real program, a local list, a file for each item.

    benches/resume.py WORK [--items 100000] [--runs 3]

WORK is a scratch folder. Build first: `cargo build --release`. The first run makes the files; the others find them. Ends with
1 where the median of those takes two seconds or more.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PIPELINE = """name = "resume"

[stages]
listed  = { list = { file = "items.csv" } }
fetched = { from = "listed", fetch = {} }
written = { from = "fetched", write = { path = "out/{id}.bin" } }
"""
WITHIN = 2.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    work = arguments.work.resolve() / "resume"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "input.bin").write_bytes(bytes(64))
    rows = (f"item-{number:06},input.bin\n" for number in range(arguments.items))
    (work / "items.csv").write_text("id,path\n" + "".join(rows))
    (work / "resume.toml").write_text(PIPELINE)
    print("{:>10}{:>10}{:>10}".format("wall s", "CPU s", "peak MB"))
    shown(measure(work), "  makes the files")
    walls = []
    for _ in range(arguments.runs):
        figures = measure(work)
        shown(figures, "  finds them")
        walls.append(figures[0])
    if statistics.median(walls) >= WITHIN:
        raise SystemExit(f"a resume takes {statistics.median(walls):.2f} s, expected less than {WITHIN}")


def shown(figures, what):
    print("{:10.2f}{:10.2f}{:10.0f}".format(*figures) + what)


def measure(work):
    """Wall seconds, CPU seconds and peak megabytes of one run."""
    begun = time.perf_counter()
    process = subprocess.Popen([ROOT / "target/release/gisrun", work / "resume.toml", "--quiet"])
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    if status != 0:
        raise SystemExit(f"gisrun ended with {os.waitstatus_to_exitcode(status)}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


if __name__ == "__main__":
    main()
