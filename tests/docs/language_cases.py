"""Small workflows that use every key of the format, and what must have come of each: for the page of the language.

`uses` names keys as `place.key` (places are those of `language_page.PLACES`). Commands are run one after the other in
one folder; each states its exit code. What must be so afterwards: `files` (exact text), `nodes` (status by path),
`says` (regular expressions found in what the last command printed).
"""

# ruff: noqa: E501
from __future__ import annotations

from msgspec import Struct


class Story(Struct, frozen=True, kw_only=True):
    """One workflow and what comes of it."""

    name: str
    says: str
    uses: str
    text: str
    commands: tuple[tuple[str, int], ...] = (("run w.yaml", 0),)
    beside: dict[str, str] = {}
    files: dict[str, str] = {}
    nodes: dict[str, str] = {}
    printed: tuple[str, ...] = ()
    git: bool = False


AGENT = """\
import json, sys, time
arguments = sys.argv[1:-1]
with open("agent.log", "a") as log:
    log.write(" ".join(arguments) + "\\n")
calls = len(open("agent.log").readlines())
answer = {"result": "made it", "session_id": "s-1", "usage": {"input_tokens": 600, "output_tokens": 500}, "cost": 0.5}
if "limited" in sys.argv[-1] and calls == 1:
    answer = {"session_id": "s-1", "reset": int(time.time()) + 1}
if "fails" in sys.argv[-1] and calls == 1:
    print(json.dumps(answer))
    sys.exit(1)
print(json.dumps(answer))
sys.exit(1 if "reset" in answer else 0)
"""
MINE = 'mine: {command: [python3, agent.py], prompt: argument, reply: "json:result", session: "json:session_id", continue: [python3, agent.py, --resume, "{session}"], model: [--model, "{model}"], usage: "json:usage", cost: "json:cost", limit: "json:reset"}'

QUIET = """\
import json, pathlib, sys
if "--version" in sys.argv:
    sys.exit(print("1.0"))
pathlib.Path("asked.txt").write_text(sys.stdin.read())
session = sys.argv[sys.argv.index("--session-id") + 1]
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "fine", "session_id": session}))
"""

STORIES: tuple[Story, ...] = (
    Story(
        name="set-up",
        says="Words for people, variables, environment, folder and defaults; the result of the run is named, and `finally` tidies.",
        uses="workflow.task workflow.directory workflow.name workflow.title workflow.description workflow.onward workflow.variables workflow.env workflow.defaults workflow.outputs workflow.finally variable.default variable.required variable.matches variable.description defaults.run node.title node.run",
        text="""\
            name: report
            title: Report of {{target}}
            description: Who looked at what.
            onward: "1"
            directory: work
            variables:
              target: {default: tests, matches: '^[a-z]+$', description: What to look at}
              who: {required: true}
            env: {GREETING: hello}
            defaults: {run: {env: {MARK: "!"}}}
            outputs: {said: "{{say.text}}"}
            task:
              - say:
                  title: Say it to {{who}}
                  run: echo "$GREETING $who, $target$MARK" | tee said.txt
            finally:
              - tidy: {run: echo tidy > tidy.txt}
            """,
        commands=(("run w.yaml --var who=you --id one", 0), ("status one", 0)),
        beside={"work/.keep": ""},
        files={"work/said.txt": "hello you, tests!\n", "work/tidy.txt": "tidy\n"},
        nodes={"say": "succeeded"},
        printed=("Report of tests", "Say it to you"),
    ),
    Story(
        name="whole-time",
        says="The run as a whole may take one second, and fails after it; what then happens is said.",
        uses="workflow.timeout workflow.on-failure on-failure.task on-failure.then",
        text="""\
            timeout: 1s
            on-failure: {task: [{tell: {run: echo failed > told.txt}}], then: stop}
            task:
              - slow: {run: sleep 30}
              - never: {run: touch never.txt}
            """,
        commands=(("run w.yaml", 1),),
        files={"told.txt": "failed\n"},
    ),
    Story(
        name="two-at-once",
        says="`limit` at the top bounds all tasks of the run: with 1 nothing overlaps.",
        uses="workflow.limit node.parallel",
        text="""\
            limit: 1
            task:
              - all:
                  parallel:
                    a: {run: 'mkdir busy && sleep 0.1 && rmdir busy'}
                    b: {run: 'mkdir busy && sleep 0.1 && rmdir busy'}
                    c: {run: 'mkdir busy && sleep 0.1 && rmdir busy'}
            """,
        nodes={"all/a": "succeeded", "all/b": "succeeded", "all/c": "succeeded"},
    ),
    Story(
        name="grace",
        says="A pause gives running tasks no time here, so the task is interrupted; the run is paused.",
        uses="workflow.grace",
        text="""\
            grace: 0s
            task:
              - slow: {run: 'touch begun; sleep 30'}
            """,
        commands=(("run w.yaml --id one --detach", 0), ("pause one --wait 20s", 0), ("status one", 0)),
        printed=("paused",),
    ),
    Story(
        name="state-file",
        says="The state file lists what is done, and stays after a success.",
        uses="workflow.checkpoint checkpoint.state-file checkpoint.cleanup-policy",
        text="""\
            checkpoint: {state-file: state.json, cleanup-policy: never}
            task:
              - first: {run: 'true'}
              - look: {run: 'grep -c "\\"first\\"" state.json > seen.txt'}
            """,
        files={"seen.txt": "1\n"},
    ),
    Story(
        name="secrets",
        says="Three sources; only the task that names a secret has it, and what it prints is masked.",
        uses="workflow.secrets node.secrets secret.env secret.file secret.command",
        text="""\
            secrets:
              FROM_ENV: {env: HOME}
              FROM_FILE: {file: token.txt}
              FROM_COMMAND: {command: [echo, command-secret]}
            task:
              - with-them: {run: 'echo "<$FROM_FILE>" "<$FROM_COMMAND>" "${#FROM_FILE}" "${FROM_ENV:+set}"', secrets: [FROM_ENV, FROM_FILE, FROM_COMMAND]}
              - without: {run: 'echo "${FROM_FILE-none}" > none.txt'}
            """,
        commands=(("run w.yaml --id one", 0), ("logs one with-them", 0)),
        beside={"token.txt": "file-secret\n"},
        files={"none.txt": "none\n"},
        printed=(r"^<\*\*\*> <\*\*\*> 11 set$",),
    ),
    Story(
        name="agent",
        says="An agent program of one's own: how it gets the prompt and the model, where the answer and the session stand; a second try continues the session.",
        uses="workflow.adapters adapter.command adapter.prompt adapter.reply adapter.session adapter.continue adapter.model adapter.usage adapter.cost node.prompt node.adapter node.model node.session node.permission defaults.prompt prompt.file",
        text=f"""\
            adapters: {{{MINE}}}
            defaults: {{prompt: {{adapter: mine}}}}
            task:
              - ask: {{prompt: {{file: question.md}}, model: small, session: keep, permission: own, retry: {{attempts: 2}}}}
              - again: {{prompt: "Once more.", adapter: mine}}
              - write: {{run: [tee, answer.txt], stdin: "{{{{ask.text}}}}"}}
            """,
        beside={"agent.py": AGENT, "question.md": "This fails at first."},
        files={"answer.txt": "made it", "agent.log": "--model small\n--resume s-1 --model small\n\n"},
    ),
    Story(
        name="agent-limit",
        says="The program says when its limit ends: the try does not count, and the run waits.",
        uses="adapter.limit",
        text=f"""\
            adapters: {{{MINE}}}
            task:
              - ask: {{prompt: "This is limited.", adapter: mine}}
            """,
        beside={"agent.py": AGENT},
        nodes={"ask": "succeeded"},
        files={"agent.log": "\n\n"},
    ),
    Story(
        name="agent-like",
        says="A program that behaves like a built-in one: here one that repeats its prompt.",
        uses="adapter.like adapter.permission",
        text="""\
            adapters: {quiet: {command: [python3, quiet.py], like: claude, permission: read}}
            task:
              - ask: {prompt: "Is it fine?", adapter: quiet}
            """,
        beside={"quiet.py": QUIET},
        files={"asked.txt": "Is it fine?"},
    ),
    Story(
        name="agent-idle",
        says="An agent that says nothing for a second is ended.",
        uses="node.idle",
        text="""\
            adapters: {silent: {command: [sleep, "30"]}}
            task:
              - ask: {prompt: "Anybody there?", adapter: silent, idle: 1s, on-failure: continue}
            """,
        nodes={"ask": "failed"},
    ),
    Story(
        name="budget",
        says="Half a dollar is used by the first prompt: the run pauses, and goes on when the budget is raised.",
        uses="workflow.budget budget.usd adapter.cost",
        text=f"""\
            adapters: {{{MINE}}}
            budget: {{usd: 0.5}}
            task:
              - ask: {{prompt: "One.", adapter: mine}}
              - more: {{prompt: "Two.", adapter: mine}}
            """,
        commands=(("run w.yaml --id one", 3), ("resume one --budget usd=9", 0)),
        beside={"agent.py": AGENT},
        nodes={"ask": "succeeded", "more": "succeeded"},
    ),
    Story(
        name="budget-of-a-group",
        says="A group may use a thousand tokens; the first prompt in it uses more, so the run pauses before the second.",
        uses="node.budget budget.tokens adapter.usage",
        text=f"""\
            adapters: {{{MINE}}}
            task:
              - group:
                  budget: {{tokens: 1000}}
                  task:
                    - ask: {{prompt: "One.", adapter: mine}}
                    - more: {{prompt: "Two.", adapter: mine}}
            """,
        commands=(("run w.yaml", 3),),
        beside={"agent.py": AGENT},
        files={"agent.log": "\n"},
        nodes={"group/ask": "succeeded"},
    ),
    Story(
        name="judge",
        says="A judge says FAIL of the first answer and PASS of the second.",
        uses="judge.prompt judge.adapter judge.model node.validators",
        text="""\
            adapters:
              strict: {command: [sh, -c, 'echo "$0 $1" > judge.txt; grep -q "try 2" && echo PASS || echo FAIL'], model: [--model, "{model}"]}
            task:
              - write:
                  run: echo "try $ONWARD_ATTEMPT"
                  validators: [{prompt: "Is it good? {{self.text}}", adapter: strict, model: small}]
                  retry: {attempts: 2, on: [invalid]}
            """,
        nodes={"write": "succeeded"},
        files={"judge.txt": "--model small\n"},
    ),
    Story(
        name="watch",
        says="A watched file changed since the start: a resume says so before it begins.",
        uses="workflow.watch",
        text="""\
            watch: {config.json: warn}
            task:
              - change: {run: 'echo "{\\"level\\": 2}" > config.json; false'}
            """,
        commands=(("run w.yaml --id one", 1), ("resume one --plan", 0)),
        beside={"config.json": '{"level": 1}\n'},
        printed=("config.json", "level"),
    ),
    Story(
        name="mirrors",
        says="A snapshot file and a `.sparq` folder are kept up to date; a failed run leaves them.",
        uses="workflow.mirror mirror.snapshots mirror.sparq",
        text="""\
            mirror: {snapshots: kept, sparq: .sparq}
            task:
              - phase: {task: [{a: {run: 'true'}}]}
              - broken: {task: [{b: {run: 'false'}}]}
            """,
        commands=(("run w.yaml --id one", 1), ("explain w.yaml", 0)),
        files={"kept/snapshots/one.snapshot.json": "*", ".sparq/state/current-task.json": "*"},
    ),
    Story(
        name="kinds",
        says="A script for another shell, standard input, a Python function with arguments, an included file with a value, a group.",
        uses="defaults.call node.run node.shell node.stdin node.call node.with(call) node.include node.with(include) node.task node.outputs(task)",
        text="""\
            defaults: {call: {env: {SIGN: +}}}
            task:
              - make: {run: 'printf "%s" a-b', shell: sh}
              - group:
                  task:
                    - up: {run: [tr, a-z, A-Z], stdin: "{{make.text}}"}
                    - join: {call: "mine:join", with: {parts: [1, "{{up.text}}"]}}
                  outputs: {joined: "{{join.json}}"}
              - inner: {include: inner.yaml, with: {word: "{{group.joined}}"}}
              - write: {run: [tee, said.txt], stdin: "{{inner.result}}"}
            """,
        beside={
            "mine.py": "import os\ndef join(parts):\n    return os.environ['SIGN'].join(map(str, parts))\n",
            "inner.yaml": 'variables: {word: {required: true}}\ntask: [{say: {run: \'printf "(%s)" "$word"\'}}]\noutputs: {result: "{{say.text}}"}\n',
        },
        files={"said.txt": "(1+A-B)"},
    ),
    Story(
        name="question",
        says="A person chooses, fills a field and sees a file; a question nobody answers takes its `on-timeout`.",
        uses="node.approve node.show node.choices node.fields node.on-timeout defaults.approve",
        text="""\
            defaults: {approve: {choices: [go, later, reject]}}
            task:
              - make: {run: 'echo text > report.md'}
              - sign: {approve: "Publish?", show: [report.md], fields: {remark: text}}
              - note: {run: [tee, note.txt], stdin: "{{sign.choice}}: {{sign.remark}}"}
              - again: {approve: "Sure?", choices: [yes, later], timeout: 1s, on-timeout: later}
            """,
        commands=(
            ("run w.yaml --id one", 3),
            ("approve one --choice go --field remark=fine", 0),
            ("resume one", 0),
        ),
        files={"note.txt": "go: fine"},
        nodes={"again": "succeeded"},
    ),
    Story(
        name="side-by-side",
        says="One member waits for another, one at a time runs, the first failure stops the rest; what is merged sees the results.",
        uses="node.parallel node.needs node.limit node.fail-fast node.merge node.on-failure node.queue",
        text="""\
            task:
              - good:
                  parallel:
                    second: {run: 'echo second >> order.txt', needs: [first], queue: small}
                    first: {run: 'sleep 0.2; echo first >> order.txt'}
                  merge: [{count: {run: 'wc -l < order.txt > count.txt'}}]
              - bad:
                  parallel:
                    a: {run: 'false'}
                    b: {run: touch b.txt}
                  limit: 1
                  fail-fast: true
                  on-failure: continue
            """,
        files={"order.txt": "first\nsecond\n", "count.txt": "2\n"},
        nodes={"bad/a": "failed", "bad/b": "cancelled"},
    ),
    Story(
        name="worktree",
        says="A member works on a branch of its own; the checkout does not change.",
        uses="node.worktree",
        text="""\
            task:
              - fix:
                  parallel:
                    one:
                      worktree: true
                      run: 'pwd > where.txt; git add where.txt; git commit -qm one; git rev-parse --abbrev-ref HEAD > branch.txt'
                  merge: [{tell: {run: [tee, branch.txt], stdin: "{{one.branch}}"}}]
            """,
        commands=(("run w.yaml --id one", 0),),
        files={"branch.txt": "onward/one/fix/one"},
        git=True,
    ),
    Story(
        name="hand-off",
        says="A phase passes words and values on.",
        uses="node.hand-off hand-off.summary hand-off.data",
        text="""\
            task:
              - look:
                  task: [{count: {run: echo 3}}]
                  hand-off: {summary: "Found {{count.text}} files", data: {files: "{{count.text}}"}}
              - write: {run: [tee, said.txt], stdin: "{{look.hand-off.summary}} ({{look.hand-off.data.files}})"}
            """,
        files={"said.txt": "Found 3 files (3)"},
    ),
    Story(
        name="tries",
        says="Tries with growing pauses, but only of the endings that are named; feedback of the last one.",
        uses="node.retry retry.attempts retry.delay retry.backoff retry.max-delay retry.on node.timeout",
        text="""\
            task:
              - third: {run: 'echo x >> tries.txt; test "$ONWARD_ATTEMPT" = 3', retry: {attempts: 5, delay: 1s, backoff: 3, max-delay: 1s, on: [error]}}
              - slow: {run: 'echo x >> slow.txt; sleep 30', timeout: 1s, retry: {attempts: 3, on: [error]}}
            """,
        commands=(("run w.yaml", 1),),
        files={"tries.txt": "x\nx\nx\n", "slow.txt": "x\n"},
        nodes={"third": "succeeded", "slow": "failed"},
    ),
    Story(
        name="around-a-task",
        says="What must hold before and after, when it is left out, its folder and environment, what it must give and make, and what follows it.",
        uses="node.skip-if node.ensure ensure.before ensure.after node.schema node.directory node.env node.outputs(prompt) node.artifacts artifact.path artifact.optional node.finally node.loop loop.for-each",
        text="""\
            task:
              - left-out: {run: touch left-out.txt, skip-if: {file-exists: w.yaml}}
              - all:
                  task:
                    - work:
                        directory: part
                        env: {WHO: you}
                        ensure: {before: [{file-exists: .keep}], after: [{file-exists: made.txt}]}
                        run: 'echo "$WHO" > made.txt; printf 7 > "$ONWARD_OUT/size"; echo "{\\"ok\\": true}"'
                        schema: {type: object, required: [ok]}
                        outputs: {size: text}
                        artifacts: [made.txt, {path: maybe.txt, optional: true}]
                    - each: {loop: {for-each: [a]}, run: [tee, size.txt], stdin: "{{work.size}}"}
                  finally: [{last: {run: echo last > last.txt}}]
              - broken: {run: 'true', ensure: {after: [{file-exists: nowhere}]}, on-failure: continue}
            """,
        beside={"part/.keep": ""},
        files={"part/made.txt": "you\n", "size.txt": "7", "last.txt": "last\n"},
        nodes={"left-out": "skipped", "broken": "failed", "all/work": "succeeded"},
    ),
    Story(
        name="on-resume",
        says="What must be done anew in every run of the driver is done again by a resume; a loop reads its files again.",
        uses="node.on-resume loop.refresh",
        text="""\
            task:
              - log-in: {run: 'echo x >> log-in.txt', on-resume: always}
              - each: {loop: {for-each: {glob: "*.csv"}, refresh: true}, run: 'echo "$item" >> seen.txt; test "$item" != b.csv || { test -e c.csv || { touch c.csv; false; }; }'}
            """,
        commands=(("run w.yaml --id one", 1), ("resume one", 0)),
        beside={"a.csv": "", "b.csv": ""},
        files={"log-in.txt": "x\nx\n", "seen.txt": "a.csv\nb.csv\nb.csv\nc.csv\n"},
    ),
    Story(
        name="renamed",
        says="A task has another name than in the run before: with `was` its record is kept.",
        uses="node.was",
        text="""\
            task:
              - fetch: {run: 'echo x >> fetched.txt'}
              - fail: {run: test -e mended}
            """,
        commands=(("run w.yaml --id one", 1), ("@ w2.yaml w.yaml", 0), ("resume one", 0)),
        beside={
            "w2.yaml": "task:\n  - get: {was: fetch, run: 'echo x >> fetched.txt'}\n  - fail: {run: touch mended}\n",
        },
        files={"fetched.txt": "x\n"},
    ),
    Story(
        name="lists",
        says="Loops over a list, files, and the lines of a command.",
        uses="loop.for-each loop.as loop.key loop.limit loop.on-empty loop.max loop.fail-fast for-each.glob for-each.in for-each.command node.merge",
        text="""\
            task:
              - items: {loop: {for-each: [{id: one}, {id: two}], as: it, key: "{{it.id}}", limit: 2, max: 5}, run: [touch, "made-{{it.id}}"]}
              - files: {loop: {for-each: {glob: "*.csv", in: data}, as: file}, run: 'echo "$file" >> files.txt'}
              - lines: {loop: {for-each: {command: printf 'x\\ny\\n'}}, run: 'echo "$item" >> lines.txt', merge: [{count: {run: wc -l < lines.txt > count.txt}}]}
              - stops: {loop: {for-each: [a, b, c], limit: 1, fail-fast: false}, run: 'echo "$item" >> stops.txt; false', on-failure: continue}
              - none: {task: [{empty: {loop: {for-each: {glob: "*.none"}, on-empty: fail}, run: 'true'}}], on-failure: continue}
              - many: {task: [{all: {loop: {for-each: [a, b, c], max: 2}, run: touch many.txt}}], on-failure: continue}
            """,
        beside={"data/a.csv": "", "data/b.csv": ""},
        files={"files.txt": "a.csv\nb.csv\n", "lines.txt": "x\ny\n", "count.txt": "2\n", "stops.txt": "a\nb\nc\n"},
        nodes={"items[one]": "succeeded", "items[two]": "succeeded", "none": "failed", "many": "failed"},
    ),
    Story(
        name="rounds",
        says="Until something holds, and while it does; with a pause between rounds, and an end that is no failure.",
        uses="loop.until loop.while loop.max loop.on-max loop.delay",
        text="""\
            task:
              - until: {loop: {until: {file-exists: done}, max: 5, delay: 1s}, run: 'echo x >> until.txt; if [ $(wc -l < until.txt) = 2 ]; then touch done; fi'}
              - while: {loop: {while: {file-missing: nowhere}, max: 3, on-max: continue}, run: 'echo x >> while.txt'}
            """,
        files={"until.txt": "x\nx\n", "while.txt": "x\nx\nx\n"},
        nodes={"until": "succeeded", "while": "succeeded"},
    ),
    Story(
        name="conditions",
        says="Each condition once; all of them hold.",
        uses="condition.file-exists condition.file-missing condition.file-contains condition.newer condition.command condition.equals condition.matches condition.empty condition.at-least condition.at-most condition.succeeded condition.failed condition.all condition.any condition.not file-contains.path file-contains.text file-contains.matches newer.file newer.than",
        text="""\
            task:
              - say: {run: 'echo 42; echo "Verdict: good" > report.md; touch -d "1 hour ago" old.txt'}
              - bad: {run: 'false', on-failure: continue}
              - all-hold:
                  run: touch ran.txt
                  skip-if:
                    - not: {file-exists: nowhere.txt}
                    - file-exists: report.md
                    - file-missing: nowhere.txt
                    - file-contains: {path: report.md, text: Verdict}
                    - file-contains: {path: report.md, matches: 'go+d$'}
                    - newer: {file: report.md, than: old.txt}
                    - command: test -s report.md
                    - equals: ["{{say.text}}", "42"]
                    - matches: ["{{say.text}}", '^4']
                    - empty: []
                    - at-least: ["{{say.json}}", 42]
                    - at-most: ["{{say.json}}", 42]
                    - succeeded: say
                    - failed: bad
                    - all: [{file-exists: report.md}]
                    - any: [{file-exists: nowhere.txt}, {file-exists: report.md}]
            """,
        nodes={"all-hold": "skipped"},
    ),
)
