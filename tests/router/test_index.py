"""The prefix index through its Python API."""

from __future__ import annotations

import numpy as np
import pytest

import kv_router
from kv_router import Cleared, RadixTree, Removed, Stored

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

LOCAL = [11, 12, 13, 14]
CHAIN = kv_router.sequence_hashes(LOCAL)


def test_scores_follow_the_events_of_each_rank() -> None:
    tree = RadixTree()
    tree.apply(3, 1, Stored(CHAIN, LOCAL))
    tree.apply(4, 0, Stored(np.array(CHAIN[:2], dtype=np.uint64), LOCAL[:2]))
    assert tree.find_matches(CHAIN).scores == {(3, 1): 4, (4, 0): 2}
    tree.apply(4, 0, Stored(CHAIN[2:], LOCAL[2:], CHAIN[1]))
    found = tree.find_matches(CHAIN[:3])
    assert (len(found), found.best, found.of(3, 1), found.of(9, 9)) == (2, 3, 3, 0)
    tree.apply(3, 1, Removed([CHAIN[1]]))
    assert tree.find_matches(np.array(CHAIN, dtype=np.uint64)).scores == {(3, 1): 1, (4, 0): 4}
    assert (len(tree), tree.blocks_of(3, 1), tree.sources()) == (4, 3, [(3, 1), (4, 0)])
    tree.apply(4, 0, Cleared())
    assert tree.find_matches(CHAIN).scores == {(3, 1): 1}
    tree.remove_worker(3)
    assert (len(tree), tree.sources()) == (0, [(4, 0)])


def test_dump_and_restore_are_inverse_holes_included() -> None:
    tree = RadixTree()
    tree.apply(0, 0, Stored(CHAIN, LOCAL))
    tree.apply(0, 0, Removed([CHAIN[0], CHAIN[2]]))
    tree.apply(1, 2, Stored([1, 2], LOCAL[:2]))
    copy = RadixTree.restore(tree.dump())
    assert copy.dump() == tree.dump()
    copy.apply(0, 0, Stored(CHAIN[:1], LOCAL[:1]))
    assert copy.find_matches(CHAIN).scores == {(0, 0): 2, (1, 2): 2}


def test_counters_tell_what_was_in_vain() -> None:
    tree = RadixTree()
    tree.apply(0, 0, Stored(CHAIN, LOCAL))
    tree.apply(0, 0, Stored(CHAIN, LOCAL))
    tree.apply(0, 0, Removed([CHAIN[3], 99]))
    counters = tree.counters()
    assert (counters.stored, counters.duplicate_stored) == (4, 4)
    assert (counters.removed, counters.unknown_removed) == (1, 1)


def test_refused_events_leave_the_index_alone() -> None:
    tree = RadixTree()
    tree.apply(0, 0, Stored(CHAIN, LOCAL))
    before = tree.dump()
    for event, kind in [
        (Stored([5], [5], parent_hash=12345), "parent_not_found"),
        (Stored([CHAIN[3]], [5], parent_hash=CHAIN[3]), "self_parent"),
    ]:
        with pytest.raises(kv_router.InvalidInputError) as refusal:
            tree.apply(0, 0, event)
        assert refusal.value.kind == kind
    with pytest.raises(kv_router.InvalidInputError, match="as many as block_hashes"):
        Stored([1, 2], [1])
    with pytest.raises(kv_router.InvalidInputError, match="event"):
        tree.apply(0, 0, "stored")  # type: ignore[arg-type]
    assert tree.dump() == before


def test_a_chain_of_a_hundred_thousand_blocks() -> None:
    local = list(range(100_000))
    chain = kv_router.sequence_hashes(local)
    tree = RadixTree()
    tree.apply(0, 0, Stored(chain, local))
    assert tree.find_matches(chain).scores == {(0, 0): 100_000}
    tree.apply(0, 0, Removed(chain))
    assert len(tree) == 0
