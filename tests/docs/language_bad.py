"""Where a key stands in a small file, and values that are wrong there, for the page of the language.

`KEY` in a host is replaced by the key and a bad value. Most bad values follow from the form of the key; those that do
not are here.
"""

from __future__ import annotations

INNER = "variables: {word: x}\ntask: [{a: {run: ls}}]\n"

HOSTS: dict[str, str] = {
    "workflow": "KEY\ntask: [{a: {run: ls}}]\n",
    "workflow.task": "KEY\n",
    "variable": "variables: {v: {KEY}}\ntask: [{a: {run: ls}}]\n",
    "secret": "secrets: {TOKEN: {KEY}}\ntask: [{a: {run: ls}}]\n",
    "defaults": "defaults: {KEY}\ntask: [{a: {run: ls}}]\n",
    "adapter": "adapters: {mine: {command: [x], KEY}}\ntask: [{a: {run: ls}}]\n",
    "adapter.command": "adapters: {mine: {KEY}}\ntask: [{a: {run: ls}}]\n",
    "checkpoint": "checkpoint: {state-file: s.json, KEY}\ntask: [{a: {run: ls}}]\n",
    "checkpoint.state-file": "checkpoint: {KEY}\ntask: [{a: {run: ls}}]\n",
    "mirror": "mirror: {KEY}\ntask: [{a: {run: ls}}]\n",
    "node of prompt": "task: [{a: {prompt: Hello, KEY}}]\n",
    "node of run": "task: [{a: {run: ls, KEY}}]\n",
    "node of call": "task: [{a: {call: 'm:f', KEY}}]\n",
    "node of approve": "task: [{a: {approve: Ready?, KEY}}]\n",
    "node of task": "task: [{a: {task: [{b: {run: ls}}], KEY}}]\n",
    "node of parallel": "task: [{a: {parallel: {b: {run: ls}}, KEY}}]\n",
    "node of include": "task: [{a: {include: inner.yaml, KEY}}]\n",
    "node.needs": "task: [{a: {parallel: {b: {run: ls, KEY}, c: {run: ls}}}}]\n",
    "node.worktree": "task: [{a: {parallel: {b: {run: ls, KEY}, c: {run: ls}}}}]\n",
    "prompt": "task: [{a: {prompt: {KEY}}}]\n",
    "retry": "task: [{a: {run: ls, retry: {KEY}}}]\n",
    "loop": "task: [{a: {run: ls, loop: {for-each: [x], KEY}}}]\n",
    "loop.for-each": "task: [{a: {run: ls, loop: {KEY}}}]\n",
    "loop.until": "task: [{a: {run: ls, loop: {max: 3, KEY}}}]\n",
    "loop.while": "task: [{a: {run: ls, loop: {max: 3, KEY}}}]\n",
    "loop.on-max": "task: [{a: {run: ls, loop: {while: {file-exists: x}, max: 3, KEY}}}]\n",
    "for-each": "task: [{a: {run: ls, loop: {for-each: {KEY}}}}]\n",
    "for-each.in": "task: [{a: {run: ls, loop: {for-each: {glob: '*.csv', KEY}}}}]\n",
    "ensure": "task: [{a: {run: ls, ensure: {KEY}}}]\n",
    "artifact": "task: [{a: {run: ls, artifacts: [{path: x, KEY}]}}]\n",
    "artifact.path": "task: [{a: {run: ls, artifacts: [{KEY}]}}]\n",
    "on-failure": "task: [{a: {run: ls, on-failure: {task: [{b: {run: ls}}], KEY}}}]\n",
    "on-failure.task": "task: [{a: {run: ls, on-failure: {KEY}}}]\n",
    "hand-off": "task: [{a: {task: [{b: {run: ls}}], hand-off: {summary: x, KEY}}}]\n",
    "hand-off.summary": "task: [{a: {task: [{b: {run: ls}}], hand-off: {KEY}}}]\n",
    "budget": "budget: {KEY}\ntask: [{a: {run: ls}}]\n",
    "condition": "task: [{a: {run: ls, skip-if: {KEY}}}]\n",
    "judge": "task: [{a: {run: ls, validators: [{prompt: Good?, KEY}]}}]\n",
    "judge.prompt": "task: [{a: {run: ls, validators: [{KEY}]}}]\n",
    "file-contains": "task: [{a: {run: ls, skip-if: {file-contains: {path: x, KEY}}}}]\n",
    "file-contains.path": "task: [{a: {run: ls, skip-if: {file-contains: {text: x, KEY}}}}]\n",
    "newer.file": "task: [{a: {run: ls, skip-if: {newer: {than: x, KEY}}}}]\n",
    "newer.than": "task: [{a: {run: ls, skip-if: {newer: {file: x, KEY}}}}]\n",
}

BAD: dict[str, str] = {
    "workflow.onward": "'2'",
    "workflow.name": "[report]",
    "workflow.directory": "'{{where}}'",
    "loop.for-each": "just-one",
    "condition.empty": "'{{nothing.text}}'",
    "hand-off.data": "[a]",
    "node.include": "nowhere.yaml",
    "prompt.file": "nowhere.md",
}
