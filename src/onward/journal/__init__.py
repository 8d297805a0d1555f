"""Events to and from `journal.jsonl`, the truth of a run.

`lines` has the form of a line, `writer` appends, `reader` reads and finds damage, `repair` cuts a torn tail,
`verify` proves the chain, `upgrade` brings lines of older versions to today's form.
"""
