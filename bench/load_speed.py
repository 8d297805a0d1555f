"""How long loading a workflow file takes and what it keeps in memory, against PyYAML alone on the same text.

`python bench/load_speed.py [TASKS…]` prints a table; times are CPU seconds, the best of three.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SHAPES = {
    "small": "  - t{n}:\n      run: echo {n}\n",
    "usual": "  - t{n}:\n      title: Task number {n}\n      run: echo {n}\n      timeout: 5m\n",
    "rich": (
        "  - t{n}:\n      title: Task number {n}\n      run: |\n        echo {n}\n        make x\n      timeout: 5m\n"
        "      retry: {{attempts: 3, delay: 10s}}\n      env: {{A: '{{{{x}}}}'}}\n"
        "      skip-if: {{file-exists: a{n}.txt}}\n      artifacts: [out/{n}.txt]\n"
    ),
}


def main(counts: list[int]) -> None:
    print(f"{'shape':8} {'tasks':>8} {'KiB':>8} {'PyYAML':>8} {'load':>8} {'on top':>8} {'memory':>9}")
    for count in counts:
        for shape, lines in SHAPES.items():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "w.yaml"
                path.write_text("task:\n" + "".join(lines.format(n=n) for n in range(count)))
                measure = [sys.executable, __file__, "--measure", str(path)]
                found = subprocess.run(measure, capture_output=True, text=True, check=True, timeout=300)
                alone, load, memory = map(float, found.stdout.split())
                size = path.stat().st_size / 1024
            print(f"{shape:8} {count:8,} {size:8.0f} {alone:8.3f} {load:8.3f} {load - alone:8.3f} {memory:6.0f} MB")


def measure(path: str) -> None:
    """Print the CPU seconds of PyYAML's events and of loading, and the memory that the document keeps."""
    import yaml

    from onward.spec.load import load

    text = Path(path).read_text()

    def events() -> None:
        parser = yaml.CBaseLoader(text)
        while parser.get_event() is not None:
            pass

    before = resident_mb()
    document = load(path)
    memory = resident_mb() - before
    del document
    print(best(events), best(lambda: load(path)), memory)


def best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def resident_mb() -> float:
    """Memory in use now, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("nan")
    return pages * 4096 / 1e6


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
    else:
        main([int(word) for word in sys.argv[1:]] or [100, 1000, 10_000])
