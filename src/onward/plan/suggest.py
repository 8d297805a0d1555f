"""A name that nothing has -> the name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that differs by a slip or two (one for short names), None when nothing comes near."""
    wanted = _folded(name)
    allowed = 1 if len(wanted) < 6 else 2 if len(wanted) < 12 else 3
    best: tuple[int, str] | None = None
    for candidate in candidates:
        folded = _folded(candidate)
        if abs(len(folded) - len(wanted)) > allowed:
            continue
        distance = _distance(wanted, folded, allowed)
        if distance <= allowed and _alike(wanted, folded, distance) and (best is None or (distance, candidate) < best):
            best = (distance, candidate)
    return None if best is None else best[1]


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def _alike(wanted: str, candidate: str, distance: int) -> bool:
    # `a` and `b`, `base` and `case` are one letter apart and different words: few people mistype the first letter.
    if distance == 0 or len(wanted) > 5:
        return True
    swapped = wanted[:2] == candidate[1::-1]
    return min(len(wanted), len(candidate)) > 2 and (wanted[0] == candidate[0] or swapped)


def _distance(one: str, two: str, most: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours that turn one into two; above `most`: any more."""
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(two, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if older and j > 1 and a == two[j - 2] and one[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > most and min(before) > most:
            return most + 1
    return row[-1]
