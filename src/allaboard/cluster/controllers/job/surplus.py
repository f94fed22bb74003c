"""Which running pods does a Job not want any more?"""

from itertools import groupby

from allaboard.cluster.controllers.job.facts import PodFacts, removal_order
from allaboard.cluster.controllers.job.sheet import Sheet


def surplus(sheet: Sheet, at_least: int) -> list[PodFacts]:
    """Pods of foreign or repeated indexes, and then the cheapest to lose up to `at_least`."""
    removed: list[PodFacts] = []
    left = sheet.active_pods
    if sheet.indexed:
        removed, left = _without_doubles(sheet)
    if len(removed) < at_least:
        removed += sorted(left, key=removal_order)[: at_least - len(removed)]
    return removed


def _without_doubles(sheet: Sheet) -> tuple[list[PodFacts], list[PodFacts]]:
    removed: list[PodFacts] = []
    left: list[PodFacts] = []
    by_index = sorted(sheet.active_pods, key=lambda pod: pod.index)
    for _, same in groupby(by_index, key=lambda pod: pod.index):
        pods = list(same)
        if not sheet.counts(pods[0]):
            removed += pods
        elif len(pods) == 1:
            left += pods
        else:
            *worse, best = sorted(pods, key=removal_order)
            removed += worse
            left.append(best)
    return removed, left
