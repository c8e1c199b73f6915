#!/usr/bin/env python3
"""What a server sees of a rate that eight stages share, of a rate of bytes, and of a limit of its own.

    benches/rates.py WORK [--requests 200] [--megabytes 1000]

WORK is a scratch folder. The server is this script on loopback. Build first: `cargo build --release`. Ends with 1 where

- requests at 20/s, burst 1, take less than (n - 1)/20 s or 5 % more, or one comes half a step off its time;
- bytes at 200 MiB/s, burst 20 MiB, take less than their time without one burst, or 5 % more and a start of 0.3 s;
- a single item fails at a server that answers 429 to all but 10 requests a second.
"""

import argparse
import asyncio
import json
import pathlib
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
GISRUN = ROOT / "target/release/gisrun"
STAGES = 8
MEGABYTE = 1 << 20
BURST = 20


class Server:
    """Gives `bytes` zeros to every request, or 429 to those beyond `allowed` in any second; logs when they came."""

    def __init__(self):
        self.size, self.allowed, self.seen, self.served = 0, None, [], []
        started = threading.Event()
        threading.Thread(target=self.run, args=(started,), daemon=True).start()
        started.wait()

    def run(self, started):
        async def serve():
            server = await asyncio.start_server(self.converse, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            started.set()
            await server.serve_forever()

        asyncio.run(serve())

    async def converse(self, reader, writer):
        while head := await self.head(reader):
            now = time.monotonic()
            self.seen.append((now, head))
            if self.allowed and sum(now - at < 1 for at in self.served) >= self.allowed:
                writer.write(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n")
            else:
                self.served.append(now)
                self.answer(writer, re.search(rb"(?i)range: bytes=(\d+)-(\d+)", head))
            try:
                await writer.drain()
            except ConnectionError:
                break  # the client went away
        writer.close()

    def answer(self, writer, part):
        """All of the object, or the part of it that was asked for."""
        if part is None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % self.size)
            writer.write(bytes(self.size))
        else:
            begin, end = int(part[1]), min(int(part[2]) + 1, self.size)
            described = b"bytes %d-%d/%d" % (begin, end - 1, self.size)
            writer.write(b"HTTP/1.1 206 Partial Content\r\nContent-Range: " + described)
            writer.write(b"\r\nContent-Length: %d\r\n\r\n" % (end - begin) + bytes(end - begin))

    async def head(self, reader):
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def begin(self, size, allowed=None):
        self.size, self.allowed = size, allowed
        self.seen.clear()
        self.served.clear()


def pipeline(server, requests, rate, uses):
    """Files that eight stages fetch whole and write as they are."""
    lines = ['name = "rates"', "[resources]", "connections.slots = 32", f"provider.rate = {rate}", "[stages]"]
    for stage in range(STAGES):
        urls = [f'"http://127.0.0.1:{server.port}/{name}.bin"' for name in range(stage, requests, STAGES)]
        lines.append(f"listed{stage} = {{ list = {{ uris = [{', '.join(urls)}] }} }}")
        lines.append(f'fetched{stage} = {{ from = "listed{stage}", {uses} fetch = {{}} }}')
    fetched = ", ".join(f'"fetched{stage}"' for stage in range(STAGES))
    lines.append(f'written = {{ from = [{fetched}], write = {{ path = "out/{{id}}.bin", existing = "replace" }} }}')
    return "\n".join(lines) + "\n"


def run(work, text):
    (work / "rates.toml").write_text(text)
    ended = subprocess.run([GISRUN, "rates.toml", "--fresh", "--quiet"], cwd=work, capture_output=True, text=True)
    events = [json.loads(line) for line in (work / ".gisrun/rates.run.jsonl").read_text().splitlines()]
    received = sum(event["bytes"] for event in events if event["event"] == "request")
    return ended.returncode, events[-1], received / MEGABYTE


def requests_are_spaced(server, work, requests):
    server.begin(1000)
    code, _, _ = run(work, pipeline(server, requests, '{ limit = "20/s", burst = 1 }', 'uses = ["provider"],'))
    times = [at for at, _ in server.seen]
    took, least = times[-1] - times[0], (len(times) - 1) / 20
    # The first may itself come late.
    off = [at - times[0] - nth / 20 for nth, at in enumerate(times)]
    print(f"requests: {len(times)} in {took:.3f} s, at least {least:.3f}; off their time by {min(off):.4f} to {max(off):.4f} s")
    is_even = max(off) - min(off) <= 0.025
    return code == 0 and len(times) == requests and least - 0.025 <= took <= least * 1.05 and is_even


def bytes_are_spaced(server, work, megabytes):
    each = 5
    count = megabytes // each
    server.begin(each * MEGABYTE)
    rate = f'{{ limit = "200 MiB/s", burst = {BURST * MEGABYTE} }}'
    code, last, received = run(work, pipeline(server, count, rate, 'uses = ["provider"],'))
    took, least, most = last["seconds"], (received - BURST) / 200, received / 200 * 1.05 + 0.3
    print(f"bytes: {received:.1f} MiB in {took:.3f} s, at least {least:.3f} and at most {most:.3f}")
    return code == 0 and count * each <= received and least <= took <= most


def refusals_fail_nothing(server, work, requests):
    server.begin(1000, allowed=10)
    code, last, _ = run(work, pipeline(server, requests, '{ limit = "1000/s" }', ""))
    refused = len(server.seen) - len(server.served)
    print(f"10/s allowed: {last['done']} done, {last['failed']} failed in {last['seconds']:.1f} s, {refused} answers of 429")
    return code == 0 and last["failed"] == 0 and last["done"] == requests


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--megabytes", type=int, default=1000)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    server = Server()
    held = [
        requests_are_spaced(server, arguments.work, arguments.requests),
        bytes_are_spaced(server, arguments.work, arguments.megabytes),
        refusals_fail_nothing(server, arguments.work, arguments.requests),
    ]
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
