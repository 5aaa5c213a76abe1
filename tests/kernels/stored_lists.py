"""Posting lists read slowly, one entry after the other."""

from __future__ import annotations

from wordferry.kernels import lists


def counts_of(made: lists.PostingLists) -> dict[tuple[int, int], int]:
    """How often each row has each word, read from the stored arrays one by one."""
    found: dict[tuple[int, int], int] = {}
    for block in range(len(made.blocks) - 1):
        low, bits = block * lists.BLOCK, int(made.bit_blocks[block]) * lists.BLOCK // 16
        width = -(-min(lists.BLOCK, made.documents - low) // lists.GROUP) * lists.GROUP // 16
        for place in range(made.bit_blocks[block], made.bit_blocks[block + 1]):
            own = made.bits[bits : bits + width]
            bits += width
            for row in range(low, min(low + lists.BLOCK, made.documents)):
                if own[(row - low) // 16] >> (row - low) % 16 & 1:
                    found[row, int(made.bit_words[place])] = 1
        for place in range(made.blocks[block], made.blocks[block + 1]):
            (start, first), (end, last) = made.starts[place], made.starts[place + 1]
            rows, counts = made.rows[start:end], made.counts[first:last]
            once = rows[: len(rows) - len(counts)].tolist()
            assert once == sorted(set(once))
            for row, count in zip(rows.tolist(), [1] * (len(rows) - len(counts)) + counts.tolist(), strict=True):
                key = (low + row, int(made.words[place]))
                found[key] = found.get(key, 0) + count
    return found
