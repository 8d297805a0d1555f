# ruff: noqa: E501
"""What the codes of errors mean and what to do, for the page of errors; `test_error_reference.py` finds what lacks.

Codes of workflow files that `onward.spec.codes` has take their meaning from there, and their small bad file from
`tests/spec/mistakes` where there is one.
"""

from __future__ import annotations

# Mistakes of workflow files beyond those of `onward.spec.codes`: what the parts mean together.
OF_MEANING: dict[str, str] = {
    "finally-in-loop": "An included file has `finally`, and the node that includes it is a loop.",
    "interpreter-template": "A `{{reference}}` in the code that an interpreter gets (`python -c`, `awk`, `ssh host …`).",
    "may-be-missing": "Warning: a `{{reference}}` to something that may have been skipped or failed.",
    "missing-variable": "An included file needs a variable that `with` does not give.",
    "name-clash": "A name that could mean two things, or that is a word of the format.",
    "needs-cycle": "Members of `parallel` that wait for each other.",
    "needs-json": "A list, mapping or other value with parts where text is needed.",
    "no-repository": "A `worktree` where there is no git repository.",
    "not-a-reference": "Warning: text in braces that names something but is no reference.",
    "not-yet": "A `{{reference}}` to what runs later, at the same time, or around it.",
    "outside-directory": "A path with a value in it that could lead out of the folder of the task.",
    "secret-in-text": "A secret in text: it would be seen in lists of processes and in logs.",
    "shadow": "A name that hides the same name further out.",
    "strange-variable": "Warning: a variable was given that nothing uses.",
    "template-in-program": "A `{{reference}}` in the place of a program's name.",
    "template-in-script": "A `{{reference}}` in the text of a script: a value would become code.",
    "undeclared": "Warning: a variable that the file does not declare.",
    "unknown-field": "A part of a result that the node does not have.",
    "unknown-name": "A `{{reference}}` to nothing that is visible there.",
    "unquoted": "Warning: a variable in a script without quotes.",
}

# Files that show a code, where `tests/spec/mistakes` has none. "@" stands for bytes that are no text.
FILES: dict[str, str] = {
    "finally-in-loop": "task: [{each: {loop: {for-each: [a]}, include: inner.yaml}}]\n",
    "ignored": "task: [{x-old: {run: make}}, {build: {run: make}}]\n",
    "include-depth": "task: [{deeper: {include: deep0.yaml}}]\n",
    "interpreter-template": "variables: {who: you}\ntask: [{greet: {run: [python3, -c, 'print(\"{{who}}\")']}}]\n",
    "may-be-missing": (
        "task:\n  - look: {run: ls, skip-if: {file-exists: done}}\n  - tell: {run: [echo, '{{look.text}}']}\n"
    ),
    "is-directory": "task: [{part: {include: .}}]\n",
    "missing-variable": "task: [{part: {include: inner.yaml}}]\n",
    "name-clash": "variables: {build: fast}\ntask: [{build: {run: make}}]\n",
    "needs-cycle": "task:\n  - both:\n      parallel:\n        a: {run: ls, needs: [b]}\n        b: {run: ls, needs: [a]}\n",
    "needs-json": "task:\n  - all: {parallel: {a: {run: ls}}}\n  - tell: {run: [echo, '{{all.results}}']}\n",
    "no-repository": "task: [{fix: {worktree: true, loop: {for-each: [a]}, run: ls}}]\n",
    "not-a-reference": "task:\n  - look: {run: ls}\n  - tell: {run: [echo, '{{look.text | upper}}']}\n",
    "not-text": "task: [{build: {run: '@'}}]\n",
    "not-yet": "task:\n  - tell: {run: [echo, '{{look.text}}']}\n  - look: {run: ls}\n",
    "outside-directory": "variables: {part: x}\ntask: [{build: {run: make, artifacts: ['../{{part}}.md']}}]\n",
    "secret-in-text": (
        "secrets: {TOKEN: {env: TOKEN}}\ntask: [{send: {run: [curl, '{{TOKEN}}'], secrets: [TOKEN]}}]\n"
    ),
    "shadow": "variables: {file: x}\ntask: [{each: {loop: {for-each: [a], as: file}, run: ls}}]\n",
    "strange-variable": "variables: {target: tests}\ntask: [{build: {run: make}}]\n",
    "template-in-program": "variables: {tool: make}\ntask: [{build: {run: ['{{tool}}', all]}}]\n",
    "template-in-script": "variables: {who: you}\ntask: [{greet: {run: 'echo {{who}}'}}]\n",
    "too-big": "task: [{big: {include: big.yaml}}]\n",
    "too-deep": "task: [{build: {call: 'm:f', with: {deep: " + "[" * 101 + "]" * 101 + "}}}]\n",
    "undeclared": "task: [{greet: {run: [echo, '{{who}}']}}]\n",
    "unknown-field": "task:\n  - look: {run: ls}\n  - tell: {run: [echo, '{{look.sha}}']}\n",
    "unknown-name": "variables: {pr_number: '1'}\ntask: [{tell: {run: [echo, '{{pr_numer}}']}}]\n",
    "unquoted": "variables: {who: you}\ntask: [{greet: {run: 'echo $who'}}]\n",
    "unreadable": "task: [{part: {include: /dev/null}}]\n",
}

BESIDE: dict[str, dict[str, str]] = {
    "finally-in-loop": {"inner.yaml": "task: [{a: {run: ls}}]\nfinally: [{b: {run: ls}}]\n"},
    "missing-variable": {"inner.yaml": "variables: {target: {required: true}}\ntask: [{a: {run: ls}}]\n"},
    "include-depth": {f"deep{n}.yaml": f"task: [{{deeper: {{include: deep{n + 1}.yaml}}}}]\n" for n in range(20)},
    "too-big": {"big.yaml": "# " + "x" * 17_000_000 + "\n"},
}
GIVEN: dict[str, tuple[str, ...]] = {"strange-variable": ("--var", "colour=red")}

# What ends a command (classes of `OnwardError`): what to do; what it means is the docstring of the class.
COMMANDS: dict[str, str] = {
    "artifacts-changed": "Choose with one of the flags that the message lists.",
    "bad-workflow": "Mend the lines that are listed; nothing was run.",
    "cannot-carry": "Do what the message says, then export or import again.",
    "checkpoint": "Mend or delete the state file, or start without `--resume`.",
    "choice-needed": "Give one of the commands that are listed.",
    "error": "The family of all; never shown by itself.",
    "extra-missing": "Install onward with the extra that is named.",
    "journal": "`onward verify` names the lines; a resume needs `--accept-damage`.",
    "keeper-lost": "`onward resume`.",
    "left": "`onward status` shows what became of the run, `onward resume` goes on.",
    "no-sparq-state": "Give the folder in which `state/current-task.json` lies.",
    "no-such-run": "`onward runs` lists them; `--store` names another store.",
    "no-such-snapshot": "`onward snapshot list`.",
    "not-paused": "Pause first, or do not resume.",
    "nothing-chosen": "Call it again, or give the answer as a flag.",
    "pause": "Read the message; the run is as it was.",
    "paused": "Resume the workflow first.",
    "run-busy": "Wait for the driver that is named, or end it with `--take-over`.",
    "run-is-here": "Nothing; or `onward resume` it here.",
    "secret-missing": "Set what the message names: a variable of the environment, a file, a command.",
    "settings": "Mend the line of `onward.toml` that is named.",
    "signal": "Mend the fields that are named.",
    "snapshot": "Take another snapshot, or use an older one.",
    "snapshot-not-taken": "Try again; `onward status` tells whether the driver lives.",
    "snapshot-of-another-run": "Choose a snapshot of this run: `onward snapshot list`.",
    "snapshot-sealed": "Give the key with `--key-file`, or install the library that is named.",
    "stale": "Nothing: the other driver goes on.",
    "state": "Make the store readable and writable: disk, permissions; then `onward resume`.",
    "store": "Make the folder that is named readable and writable, or choose another with `--store`.",
    "task": "The family of what goes wrong with one task.",
    "temporal": "Start the server, or correct its address; `onward doctor` looks.",
    "usage": "Correct the command as the message says.",
    "value-missing": 'Give the reference a `| default "…"`, or do the task whose result lacks.',
    "workflow-id": "Choose an id of letters, digits, `-`, `_` and `.`.",
}

# What goes wrong with one task: what it means, what to do.
FAILURES: dict[str, tuple[str, str]] = {
    "artifact-missing": ("A declared artifact is not there at the end.", "Make the file, or mark it `optional`."),
    "bad-arguments": ("`with` became no mapping.", "Correct the reference that fills it."),
    "bad-filter": ("A filter that does not exist, in a stored definition.", "Correct the reference."),
    "bad-output": ("A declared output is of another type.", "Write it as it is declared, or declare it as it is."),
    "bad-path": ("A reference made a path that is none.", "Look at the value: it is empty or holds a NUL byte."),
    "bad-value": ("A value for a variable of an included file does not match.", "Correct the value in `with`."),
    "bad-regex": ("A regular expression from a value cannot be read.", "Correct the value."),
    "bad-schema": ("The JSON Schema itself is wrong.", "Correct the schema as the message says."),
    "cannot-look": ("A file of a condition cannot be looked at.", "Make it readable."),
    "cannot-read": ("A file that a result consists of cannot be read.", "Make it readable."),
    "cannot-start": ("The program of a condition or of a list of items cannot be started.", "Install it, or correct it."),
    "command-failed": ("The command that lists the items of a loop failed.", "Read what it printed, and correct it."),
    "duplicate-item": ("Two items of a loop have the same key.", "Set `key` to what tells them apart."),
    "missing-variable": ("An included file got no value for a variable.", "Add it to `with`."),
    "needs-json": ("A value with parts, in a place for text.", "Use `| json`, or name the part."),
    "nested-worktree": ("`worktree` in a task that already works in one.", "Leave the inner one out."),
    "no-adapter": ("An adapter that does not exist.", "Correct the name; the message lists those that do."),
    "no-agent": ("The agent's program is not installed.", "Install it, or choose another with `--adapter`."),
    "no-commit": ("`worktree` in a repository that has no commit yet.", "Commit something first."),
    "no-directory": ("The folder of a task is not there.", "Make it in an earlier task, or correct `directory`."),
    "no-git": ("`worktree` needs git.", "Install git."),
    "no-items": ("A loop with `on-empty: fail` has no items.", "Look at the source of the items."),
    "no-jsonschema": ("`schema` needs a library.", "Install the extra `schema`."),
    "no-list": ("`for-each` got something else than a list.", "Correct the reference, or what it refers to."),
    "no-log": ("The output of a finished task is no longer whole.", "Do the task again: `onward resume --rerun PATH`."),
    "no-model": ("The adapter needs a model, or cannot take one.", "Set `model`, or leave it out."),
    "no-permission": ("The agent has no mode for this `permission`.", "Choose one that the message names."),
    "no-repository": ("`worktree` outside a git repository.", "`git init`, and commit."),
    "no-result": ("The file with the return value of a `call` is gone.", "Do the task again."),
    "no-verdict": ("A judge did not say PASS or FAIL.", "Make the question clearer, or try again."),
    "not-a-file": ("What should be a file is something else.", "Make it a regular file."),
    "not-a-number": ("`less-than` and the like got no number.", "Correct the value."),
    "not-json": ("A result that is no JSON, where JSON is needed.", "Make the task print JSON alone."),
    "not-text": ("A value that is no UTF-8 text.", "Write it to a file, and pass the path on (`| path`)."),
    "output-missing": ("A declared output was not written.", 'Write it to "$ONWARD_OUT/<name>".'),
    "outside-directory": ("A reference led a path out of the folder of the task.", "Correct the value."),
    "schema": ("The result does not fit its JSON Schema.", "A retry gets this message as feedback."),
    "secret-empty": ("A secret is empty or too short to be masked.", "Give it a value."),
    "secret-missing": ("A secret has no value.", "Set what the message names."),
    "still-there": ("A process of an earlier attempt cannot be ended.", "End it by hand, then `onward resume`."),
    "time-limit": ("The command of a condition took too long.", "Make it quicker, or make it a task."),
    "too-big": ("A value is too large for its place.", "Pass it through `stdin`, or as a file (`| path`)."),
    "too-many-items": ("A loop has more items than `max`.", "Raise `max`."),
    "worktree": ("git could not make or use a worktree.", "Do what git says in the message."),
    "worktree-outside": ("The task's folder is not in the repository.", "Correct `directory`."),
}
