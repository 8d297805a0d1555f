"""The runs of a folder, and what each keeps beside its journal.

`locate` says which folder, `runs` makes, finds and lists, `folder` is one run; `values`, `cache`, `inbox`, `lock` are
its parts, `names` turns paths of nodes into folders.
"""
