"""The studio under load: how fast it answers 50 clients while two runs compute, and how soon a computation stops."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import httpx2 as httpx
import websockets

from nlink.scenario import preset
from nlink.studio.messages import page_model

CLIENTS, ROUNDS, PAUSE = 50, 12, 0.5
"""Clients, requests of each kind that each of them makes, and seconds between two: a person who drags and types all the time."""


def model(**run: Any) -> dict[str, Any]:
    table = page_model(preset("chaotic-5"))
    return {**table, "run": {**table["run"], **run}}


LONG = model(t_end=30_000.0, save=0.1)


class Line:
    """A tab without a browser."""

    def __init__(self, socket: Any) -> None:
        self.socket, self.count = socket, 0

    async def start(self, kind: str, **request: Any) -> str:
        """Start a computation and return its name."""
        self.count += 1
        await self.socket.send(json.dumps({"type": "start", "job": f"j{self.count}", "kind": kind, "request": request}))
        return f"j{self.count}"

    async def until(self, job: str, *kinds: str) -> str:
        """Wait for a message of one of these kinds."""
        while True:
            told = json.loads(await self.socket.recv())
            if told["job"] == job and told["message"]["type"] in kinds:
                return told["message"]["type"]

    async def stop(self, job: str) -> tuple[float, float]:
        """Return the seconds until the computation is over, and until what it had is kept."""
        begun = time.perf_counter()
        await self.socket.send(json.dumps({"type": "stop", "job": job}))
        last = ("done", "failed", "stopped")
        over = await self.until(job, "stopping", *last)
        first = time.perf_counter() - begun
        if over == "stopping":
            await self.until(job, *last)
        return first, time.perf_counter() - begun


async def client(http: httpx.AsyncClient, times: dict[str, list[float]], statuses: set[int], k: int) -> None:
    await asyncio.sleep(k / CLIENTS * PAUSE)
    for _ in range(ROUNDS):
        for name, path, body in (("page", "/", None), ("start", "/api/start", None), ("check", "/api/check", {"model": model()})):
            begun = time.perf_counter()
            answer = await (http.get(path) if body is None else http.post(path, json=body))
            times[name].append(time.perf_counter() - begun)
            statuses.add(answer.status_code)
            await asyncio.sleep(PAUSE)


async def measured(address: str) -> None:
    base, token = address.split("/?token=")
    socket = f"{base.replace('http', 'ws')}/ws?seen=0&token={token}&session="
    limits = httpx.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx.AsyncClient(base_url=base, headers=headers, limits=limits, timeout=60) as http,
        websockets.connect(socket + "one", max_size=None) as one,
        websockets.connect(socket + "two", max_size=None) as two,
    ):
        lines = [Line(one), Line(two)]
        for line in lines:
            await line.until(await line.start("run", model=model()), "done")
        times: dict[str, list[float]] = {"page": [], "start": [], "check": []}
        statuses: set[int] = set()
        for name, busy in (("idle", False), ("two runs computing", True)):
            jobs = [await line.start("run", model=LONG) for line in lines] if busy else []
            drains = [asyncio.create_task(line.until(job, "done", "failed")) for line, job in zip(lines, jobs, strict=False)]
            await asyncio.gather(*(client(http, times, statuses, k) for k in range(CLIENTS)))
            still = sum(not drain.done() for drain in drains)
            for drain in drains:
                drain.cancel()
            await asyncio.gather(*drains, return_exceptions=True)
            report(name, times, statuses, f"{still} runs still computing" if busy else "")
            for line, job in zip(lines, jobs, strict=False):
                await line.stop(job)
            times = {key: [] for key in times}
        await stops(lines[0])


async def stops(line: Line) -> None:
    for kind, request in (("run", {}), ("flips", {"across": 0, "up": 1, "size": 96, "t_end": 60.0}), ("compare", {})):
        over, kept = [], []
        for k in range(10):
            job = await line.start(kind, model=LONG, **request)
            await line.until(job, "started")
            await asyncio.sleep(0.3 + 0.05 * k)
            first, last = await line.stop(job)
            over.append(first)
            kept.append(last)
            await asyncio.sleep(0.5)
        told = f"at most {max(over):.2f} s; all after {max(kept):.2f} s"
        print(f"stop {kind}: computing ends after {statistics.median(over):.2f} s, {told}")


def report(name: str, times: dict[str, list[float]], statuses: set[int], more: str) -> None:
    told = []
    for key, values in times.items():
        ranked = sorted(values)
        told.append(f"{key} p50 {1e3 * ranked[len(ranked) // 2]:.0f} ms, p99 {1e3 * ranked[int(0.99 * len(ranked))]:.0f} ms")
    print(f"{CLIENTS} clients, {name}: {'; '.join(told)}; status {sorted(statuses)}{f'; {more}' if more else ''}")


def main() -> None:
    with tempfile.TemporaryDirectory() as runs:
        command = [
            sys.executable,
            "-c",
            "from nlink.cli import main; main()",
            "studio",
            "--port",
            "0",
            "--no-browser",
            "--runs",
            runs,
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        time.sleep(3)
        try:
            asyncio.run(measured(address))
        finally:
            os.kill(process.pid, signal.SIGINT)
            process.wait(10)


if __name__ == "__main__":
    main()
