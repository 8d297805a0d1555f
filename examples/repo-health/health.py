"""The Python half of `repo-health.yaml`: each function is one task, called with keyword arguments."""

from __future__ import annotations

import ast
import re
import subprocess
import time
from pathlib import Path
from typing import Any

LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:|#)([^)#\s]+)")
MOST_ROWS = 10


def large_files(repository: str, files: list[str], over_kib: int, pace: str) -> list[dict[str, Any]]:
    """The files over a size, largest first: `[{file, kib}]`."""
    time.sleep(float(pace))
    sizes = [(path.stat().st_size // 1024, name) for name, path in _existing(repository, files)]
    return [{"file": name, "kib": kib} for kib, name in sorted(sizes, reverse=True) if kib > over_kib]


def python_files(repository: str, files: list[str], pace: str) -> dict[str, Any]:
    """Lines, functions and the longest function of the Python files; files that do not parse are problems."""
    time.sleep(float(pace))
    summary = _counted(repository, files, ".py")
    functions, longest = 0, (0, "")
    for name, path in _existing(repository, files, ".py"):
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, ValueError) as error:
            summary["problems"].append(f"{name} does not parse: {error}")
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions += 1
                span = (node.end_lineno or node.lineno) - node.lineno + 1
                longest = max(longest, (span, f"{name}:{node.lineno} {node.name}"))
    summary["notes"].append(f"{functions} functions, the longest has {longest[0]} lines: {longest[1]}")
    return summary


def markdown_files(repository: str, files: list[str], pace: str) -> dict[str, Any]:
    """Lines of the Markdown files; relative links that lead nowhere are problems."""
    time.sleep(float(pace))
    summary = _counted(repository, files, ".md")
    for name, path in _existing(repository, files, ".md"):
        for target in LINK.findall(path.read_text("utf-8", "replace")):
            if not (path.parent / target).exists():
                summary["problems"].append(f"{name} links to {target}, which is not there")
    return summary


def shell_files(repository: str, files: list[str], pace: str) -> dict[str, Any]:
    """Lines of the shell scripts (by their first line); those that the shell cannot parse are problems."""
    time.sleep(float(pace))
    scripts = [name for name, path in _existing(repository, files) if _is_shell(path)]
    summary = _counted(repository, scripts, "")
    for name in scripts:
        checked = subprocess.run(
            ["bash", "-n", str(Path(repository, name))], capture_output=True, text=True, timeout=60, check=False
        )
        if checked.returncode:
            summary["problems"].append(f"{name}: {checked.stderr.strip()}")
    return summary


def yaml_files(repository: str, files: list[str], pace: str) -> dict[str, Any]:
    """Lines of the YAML files; tabs in their indentation are problems."""
    time.sleep(float(pace))
    names = [name for name in files if name.endswith((".yaml", ".yml"))]
    summary = _counted(repository, names, "")
    for name, path in _existing(repository, names):
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
            if line[: len(line) - len(line.lstrip())].count("\t"):
                summary["problems"].append(f"{name}:{number} is indented with a tab")
    return summary


def other_files(repository: str, files: list[str], pace: str) -> dict[str, Any]:
    """How many files of which other endings there are."""
    time.sleep(float(pace))
    rest = [name for name in files if not name.endswith((".py", ".md", ".yaml", ".yml"))]
    endings: dict[str, int] = {}
    for name in rest:
        ending = Path(name).suffix or "(none)"
        endings[ending] = endings.get(ending, 0) + 1
    summary = _counted(repository, rest, "")
    common = sorted(endings.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_ROWS]
    summary["notes"].append(", ".join(f"{count} × {ending}" for ending, count in common) or "none")
    return summary


def report(
    repository: str,
    commit: str,
    history: str,
    uncommitted: list[str],
    conflicts: list[str],
    blanks: list[str],
    large: list[dict[str, Any]],
    kinds: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """Write `report.md` into the working folder; returns its size and the number of problems."""
    name = Path(repository).resolve().name
    problems = [f"{kind}: {problem}" for kind, summary in kinds.items() for problem in summary["problems"]]
    problems += [f"conflict marker: {line}" for line in conflicts]
    lines = [f"# Health of {name} at {commit.strip()}", ""]
    counts = [f"**{len(problems)} problems**", f"{len(uncommitted)} uncommitted changes"]
    counts += [f"{len(large)} large files", f"{len(blanks)} lines that end in blanks"]
    lines += [", ".join(counts), ""]
    lines += ["| kind | files | lines | notes |", "|---|---:|---:|---|"]
    lines += [f"| {kind} | {s['files']} | {s['lines']} | {'; '.join(s['notes'])} |" for kind, s in kinds.items()]
    lines += _section("Problems", problems) + _section("Large files", [f"{f['file']} ({f['kib']} KiB)" for f in large])
    lines += _section("Lately by", history.splitlines()) + _section("Blanks at the end", blanks)
    text = "\n".join(lines) + "\n"
    Path("report.md").write_text(text, "utf-8")
    return {"problems": len(problems), "bytes": len(text.encode())}


def _section(title: str, rows: list[str]) -> list[str]:
    if not rows:
        return []
    shown = [f"- {row.strip()}" for row in rows[:MOST_ROWS]]
    rest = [f"- … and {len(rows) - MOST_ROWS} more"] if len(rows) > MOST_ROWS else []
    return ["", f"## {title}", "", *shown, *rest]


def _counted(repository: str, files: list[str], ending: str) -> dict[str, Any]:
    found = list(_existing(repository, files, ending))
    lines = sum(path.read_bytes().count(b"\n") for _, path in found)
    return {"files": len(found), "lines": lines, "notes": [], "problems": []}


def _existing(repository: str, files: list[str], ending: str = "") -> list[tuple[str, Path]]:
    pairs = [(name, Path(repository, name)) for name in files if name.endswith(ending)]
    return [(name, path) for name, path in pairs if path.is_file()]


def _is_shell(path: Path) -> bool:
    with path.open("rb") as file:
        first = file.readline(100)
    return first.startswith(b"#!") and (b"bash" in first or first.rstrip().endswith(b"sh"))
