"""Block and sequence hashes over every kind of input."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest

import kv_router

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def test_hashes_agree_with_the_published_router() -> None:
    # What ai-dynamo-runtime 1.6.1 computes for tokens 0..39 in blocks of 16.
    hashes = kv_router.block_hashes(list(range(40)), 16)
    assert hashes == [15310707395893867146, 15292316782987903195]


@pytest.mark.parametrize(
    "convert",
    [
        tuple,
        lambda tokens: array("I", tokens),
        lambda tokens: memoryview(array("q", tokens)),
        lambda tokens: np.array(tokens, dtype=np.uint32),
        lambda tokens: np.array(tokens, dtype=np.int32),
        lambda tokens: np.array(tokens, dtype=np.int64),
        lambda tokens: np.array(tokens, dtype=np.uint64),
        lambda tokens: np.array([tokens, tokens], dtype=np.uint32).T[:, 1],
        lambda tokens: np.array(tokens[::-1], dtype=np.uint32)[::-1],
    ],
)
def test_every_integer_sequence_and_buffer_hashes_alike(convert: Any) -> None:
    tokens = list(range(100, 150))
    hashes = kv_router.block_hashes(tokens, 16)
    assert len(hashes) == 3
    assert kv_router.block_hashes(convert(tokens), 16) == hashes


def test_nothing_hashes_to_nothing() -> None:
    empty: list[Any] = [[], (), array("I"), np.array([], dtype=np.uint32), np.arange(0)]
    assert [kv_router.block_hashes(tokens, 4) for tokens in empty] == [[]] * 5


def test_sequence_hashes_take_buffers() -> None:
    hashes = kv_router.block_hashes(list(range(64)), 16)
    chain = kv_router.sequence_hashes(hashes)
    assert chain[0] == hashes[0]
    assert chain[1:] != hashes[1:]
    assert kv_router.sequence_hashes(np.array(hashes, dtype=np.uint64)) == chain
    assert kv_router.sequence_hashes(array("Q", hashes)) == chain


def test_lists_hold_any_integer_in_range() -> None:
    hashes = [0, 2**30, 2**32, 2**63, 2**64 - 1] * 30
    expected = kv_router.sequence_hashes(array("Q", hashes))
    mixed: list[Any] = [np.uint64(value) for value in hashes[1:]]
    assert kv_router.sequence_hashes(hashes) == expected
    assert kv_router.sequence_hashes([hashes[0], *mixed]) == expected
    wrong: list[Any] = [2**64, -1, 1.0, "1", None]
    for value in wrong:
        with pytest.raises(kv_router.InvalidInputError, match=r"2\^64 - 1"):
            kv_router.sequence_hashes([*hashes, value])


def test_eagle_windows_hold_the_token_behind_the_block() -> None:
    expected = [kv_router.block_hashes(list(range(i, i + 5)), 5)[0] for i in (0, 4)]
    assert kv_router.block_hashes(list(range(9)), 4, eagle=True) == expected
    assert kv_router.block_hashes(list(range(8)), 4, eagle=True) == expected[:1]


def test_a_salt_separates_adapters() -> None:
    plain = kv_router.block_hashes([1, 2], 1)
    assert len({*plain, *kv_router.block_hashes([1, 2], 1, "a")}) == 4
    assert kv_router.block_hashes([1, 2], 1, salt=None) == plain


@pytest.mark.parametrize(
    "tokens",
    [
        [1, -1],
        [1, 2**32],
        [1.5],
        ["1"],
        None,
        7,
        np.array([1.0, 2.0]),
        np.array([1, -1], dtype=np.int64),
        np.array([[1, 2], [3, 4]], dtype=np.uint32),
    ],
)
def test_what_is_no_token_is_refused_by_name(tokens: Any) -> None:
    with pytest.raises(kv_router.InvalidInputError) as refusal:
        kv_router.block_hashes(tokens, 1)
    assert (refusal.value.kind, refusal.value.field) == ("invalid_value", "tokens")


def test_block_size_is_at_least_one() -> None:
    for bad in [0, -1, 1.5]:
        with pytest.raises(kv_router.RouterError) as refusal:
            kv_router.block_hashes([1], bad)  # type: ignore[arg-type]
        assert refusal.value.field == "block_size"
