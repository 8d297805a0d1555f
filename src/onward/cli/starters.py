"""The workflows that `onward init` begins with: each runs as it is, and shows what people change first."""

from __future__ import annotations

from typing import NamedTuple


class Starter(NamedTuple):
    """`files`: names and texts of further files beside the workflow."""

    words: str
    workflow: str
    files: tuple[tuple[str, str], ...] = ()


SHELL = """\
# Commands one after the other and side by side.   onward check FILE · onward run FILE
name: {name}
title: "Report for {{{{who}}}}"
checkpoint:
  state-file: .onward/{name}.json         # `onward run FILE --resume` goes on from it
variables:
  who: {{default: world, description: whom the report is for}}
defaults:
  run: {{timeout: 10m}}
task:
  - collect:
      outputs: {{counted: text}}          # read from the files of these names in $ONWARD_OUT
      run: |
        printf 'hello %s\\n' "$who" > facts.txt
        wc -l < facts.txt > "$ONWARD_OUT/counted"
      artifacts: [facts.txt]              # must be there at the end; a resume checks them
  - checks:
      parallel:                           # side by side; when one fails the others go on
        spelling: {{run: 'grep -q hello facts.txt'}}
        size: {{run: [test, -s, facts.txt], retry: {{attempts: 3, delay: 2s}}}}
  - report:
      env: {{LINES: "{{{{collect.counted}}}}"}}   # values of tasks reach a script as variables, never as text
      run: 'echo "$LINES line(s) for $who" | tee report.txt'
      artifacts: [report.txt]
"""

AGENTS = """\
# Coding agents that plan, work side by side and sum up.   onward check FILE · onward run FILE
name: {name}
title: "{{{{goal}}}}"
checkpoint:
  state-file: .onward/{name}.json         # `onward run FILE --resume` goes on from it
variables:
  goal: {{default: Make the tests faster, description: what is to be reached}}
defaults:
  prompt:
    adapter: echo                         # repeats the prompt; put the name of your agent here, see below
    timeout: 20m
# adapters:
#   my-agent:
#     command: [my-agent, --print]        # gets the prompt on stdin, answers on stdout
task:
  - plan:
      prompt: |
        Make a plan in a few sentences: {{{{goal}}}}.
      validators:
        - not: {{empty: "{{{{self.text}}}}"}}   # what it finds missing is told to the next attempt
      retry: {{attempts: 2}}
  - reviews:
      limit: 2                            # at most so many at once
      parallel:
        risks:
          prompt: |
            What could go wrong with this plan?
            {{{{plan.text | fence}}}}
        effort:
          prompt: |
            What is the least work that reaches the goal of this plan?
            {{{{plan.text | fence}}}}
  - summary:
      prompt: |
        Rewrite the plan so that it answers both remarks.
        {{{{plan.text | fence}}}}
        {{{{reviews.risks.text | fence}}}}
        {{{{reviews.effort.text | fence}}}}
  - keep:
      stdin: "{{{{summary.text}}}}"
      run: cat > plan.md
      artifacts: [plan.md]
  # - go-ahead:                           # ask a person before what cannot be undone
  #     approve: "Carry out the plan in plan.md?"
  #     show: [plan.md]
"""

PYTHON = """\
# Python functions, one call for each item.   onward check FILE · onward run FILE
name: {name}
checkpoint:
  state-file: .onward/{name}.json         # `onward run FILE --resume` goes on from it
variables:
  folder: {{default: ".", description: whose files are counted}}
task:
  - find:
      call: "{module}:find"               # a function of {module}.py beside this file; its return value is `json`
      with: {{folder: "{{{{folder}}}}"}}
  - count:
      loop: {{for-each: "{{{{find.json}}}}", as: file, limit: 4, on-empty: ok}}
      call: "{module}:count"
      with: {{file: "{{{{file}}}}"}}
      retry: {{attempts: 2}}
      timeout: 5m
  - total:
      call: "{module}:total"
      with: {{counts: "{{{{count.results}}}}"}}
"""

STEPS = '''\
"""The steps of the workflow: plain functions that take and return what JSON can hold."""

from pathlib import Path


def find(folder: str) -> list[str]:
    """The Python files of a folder."""
    return sorted(str(path) for path in Path(folder).glob("*.py"))


def count(file: str) -> int:
    """The lines of a file."""
    return len(Path(file).read_text("utf-8").splitlines())


def total(counts: dict[str, dict]) -> dict[str, int]:
    """What the iterations returned, by their keys, added up."""
    lines = {file: result["json"] for file, result in counts.items()}
    return {"files": len(lines), "lines": sum(lines.values())}
'''

STARTERS: dict[str, Starter] = {
    "shell": Starter("shell commands, one after the other and side by side", SHELL),
    "agents": Starter("prompts to coding agents", AGENTS),
    "python": Starter("Python functions, one call for each item", PYTHON, (("{module}.py", STEPS),)),
}


def filled(starter: Starter, file_name: str, name: str, module: str) -> dict[str, str]:
    """The files to be written, by name, the workflow first."""
    others = {key.format(module=module): text for key, text in starter.files}
    return {file_name: starter.workflow.format(name=name, module=module), **others}
