"""A story of `language_cases` → its workflow really run in a folder of its own; what is not as the story says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

from language_cases import Story

from stories.project import Project


def faults(story: Story, root: Path) -> list[str]:
    """What is not as the story says; nothing when all is well."""
    project = Project(root)
    project.workflow(story.text)
    for name, text in story.beside.items():
        project.write(name, text)
    if story.git:
        _into_git(root)
    try:
        return list(_faults(story, project))
    finally:
        project.finish()


def _faults(story: Story, project: Project) -> Iterator[str]:
    printed = ""
    for command, code in story.commands:
        if command.startswith("@ "):
            source, target = command.split()[1:]
            (project.root / source).replace(project.root / target)
            continue
        said = project.onward(*command.split())
        printed = said.out + said.err
        if said.code != code:
            yield f"`{command}` ended with {said.code}, not {code}:\n{printed}"
            return
    for name, text in story.files.items():
        path = project.root / name
        found = path.read_text("utf-8") if path.exists() else None
        if found is None or text not in ("*", found):
            yield f"{name} holds {found!r}, not {text!r}"
    stand = {node["path"]: node["status"] for node in project.status()["nodes"]} if story.nodes else {}
    for path, status in story.nodes.items():
        if stand.get(path) != status:
            yield f"{path} is {stand.get(path)}, not {status}"
    for pattern in story.printed:
        if not re.search(pattern, printed, re.MULTILINE):
            yield f"nothing like {pattern!r} in:\n{printed}"


def text_of(story: Story) -> str:
    """The workflow as it stands on the page."""
    return dedent(story.text)


def _into_git(root: Path) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["config", "user.name", "t"], ["config", "user.email", "t@example.org"]):
        subprocess.run(["git", *words], cwd=root, check=True, timeout=30)
    subprocess.run(["git", "add", "."], cwd=root, check=True, timeout=30)
    subprocess.run(["git", *who, "commit", "-qm", "first"], cwd=root, check=True, timeout=30)
