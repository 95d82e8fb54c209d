"""An order of many items in which the items visited so far are always evenly spread."""


def spread(count: int) -> list[int]:
    """Return the numbers from 0 to `count` - 1 in an order in which every prefix is evenly spread.

    >>> spread(8)
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    bits = max(count - 1, 0).bit_length()
    reversed_bits = (int(f"{i:0{bits}b}"[::-1], 2) if bits else 0 for i in range(1 << bits))
    return [i for i in reversed_bits if i < count]
