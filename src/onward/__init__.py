"""Start long work from a YAML file and never lose what it has done.

    YAML → spec → plan → [ state.decide → tasks → journal → state.fold ] → views
                                 driven by engine

    model     the nouns: frozen data, statuses, ids
    spec      YAML text → Workflow, with the place of every value
    plan      Workflow + inputs → Plan: paths, digests, references checked
    state     fold: events → state; decide: state → actions. Pure
    journal   events ↔ journal.jsonl: the truth of a run
    store     the runs of a folder
    tasks     action → outcome: processes, agents, Python, people
    mirrors   state → files that others keep: state file, snapshot, `.sparq`
    engine    drives a plan: embedded, Temporal
    recovery  what was left behind → findings → choices
    views     state → words, tables, graphs, pages
    cli       one file per command

Packages hold a docstring only: the public names are in `onward.api`, `onward.checkpoint` and `onward.pause`.
"""

__version__ = "0.1.0"
