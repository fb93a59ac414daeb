"""The first bytes of a zstd frame (RFC 8878), which few Pythons can decompress: as many as the first block has.

Of a block only so much is decoded as is asked for: the list in a compressed bundle is short, and the block is not.
"""

import struct

from torchdoctor.target.binary import Damaged

MYPY = False
if MYPY:
    from collections.abc import Callable

    Table = list[tuple[int, int, int]]  # symbol, bits to read, what is added to them
    Fse = tuple[int, Table]  # logarithm of its size

MAGIC = b"\x28\xb5\x2f\xfd"
RAW, RLE, COMPRESSED = 0, 1, 2
TAIL = 1 << 16  # bytes of a stream that are looked at, from its end on: enough for MOST
MOST = 1 << 14  # bytes that are decoded
LITERAL_LENGTHS = tuple((n, 0) for n in range(16)) + (
    (16, 1), (18, 1), (20, 1), (22, 1), (24, 2), (28, 2), (32, 3), (40, 3), (48, 4), (64, 6), (128, 7), (256, 8),
    (512, 9), (1024, 10), (2048, 11), (4096, 12), (8192, 13), (16384, 14), (32768, 15), (65536, 16),
)  # fmt: skip
MATCH_LENGTHS = tuple((n + 3, 0) for n in range(32)) + (
    (35, 1), (37, 1), (39, 1), (41, 1), (43, 2), (47, 2), (51, 3), (59, 3), (67, 4), (83, 4), (99, 5), (131, 7),
    (259, 8), (515, 9), (1027, 10), (2051, 11), (4099, 12), (8195, 13), (16387, 14), (32771, 15), (65539, 16),
)  # fmt: skip
OFFSETS = tuple((1 << n, n) for n in range(32))
USUAL = (
    (6, [4, 3] + [2] * 11 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4),
    (5, [1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5),
    (6, [1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7),
)
LARGEST = (9, 8, 9)  # logarithms of the tables of literal lengths, offsets and match lengths
CODES = (LITERAL_LENGTHS, OFFSETS, MATCH_LENGTHS)


class Backward:
    """The bits of a stream from its end on, behind the one that marks it; before its beginning there are zeros."""

    def __init__(self, data: bytes) -> None:
        self.bits = int.from_bytes(data[-TAIL:], "little")
        self.left = self.bits.bit_length() - 1
        if not data or not data[-1]:
            raise Damaged("a zstd stream without an end mark")

    def peek(self, count: int) -> int:
        """The next bits without taking them."""
        shift = self.left - count
        return (self.bits >> shift if shift >= 0 else self.bits << -shift) & ((1 << count) - 1)

    def take(self, count: int) -> int:
        """The next bits."""
        value = self.peek(count)
        self.left -= count
        return value


def head(data: bytes, most: int = MOST) -> bytes:
    """At most ``most`` bytes of what a frame holds, and never more than ``MOST``; raises ``Damaged``, whatever is wrong with it."""
    try:
        return first_block(data, min(most, MOST))
    except (IndexError, struct.error, ValueError, OverflowError):
        raise Damaged("a damaged zstd frame") from None


def first_block(data: bytes, most: int) -> bytes:
    """The first block of a frame, by its kind."""
    if data[:4] != MAGIC:
        raise Damaged("no zstd frame")
    flags = data[4]
    single = flags >> 5 & 1
    at = 5 + (not single) + (0, 1, 2, 4)[flags & 3] + (single, 2, 4, 8)[flags >> 6]
    number = int.from_bytes(data[at : at + 3], "little")
    kind, size, body = number >> 1 & 3, number >> 3, data[at + 3 :]
    if kind == RAW:
        return body[: min(size, most)]
    if kind == RLE:
        return body[:1] * min(size, most)
    if kind != COMPRESSED or size > len(body):
        raise Damaged("a zstd block of unknown kind, or cut")
    return block(body[:size], most)


def block(data: bytes, most: int) -> bytes:
    """A compressed block: literals, then what is copied where."""
    literals, at = literals_of(data, most)
    count, at = count_of(data, at)
    if not count:
        return literals[:most]
    modes, at = data[at], at + 1
    tables = []
    for number, shift in enumerate((6, 4, 2)):
        table, at = table_of(data, at, modes >> shift & 3, number)
        tables.append(table)
    return executed(literals, Backward(data[at:]), tables, count, most)


def count_of(data: bytes, at: int) -> "tuple[int, int]":
    """How many sequences there are."""
    first = data[at]
    if first < 128:
        return first, at + 1
    if first < 255:
        return (first - 128 << 8) + data[at + 1], at + 2
    return data[at + 1] + (data[at + 2] << 8) + 0x7F00, at + 3


def literals_of(data: bytes, most: int) -> "tuple[bytes, int]":
    """The first literals, and where their section ends."""
    kind, form = data[0] & 3, data[0] >> 2 & 3
    if kind in (RAW, RLE):
        length = (1, 2, 1, 3)[form]
        size = int.from_bytes(data[:length], "little") >> (3 if length == 1 else 4)
        if kind == RLE:
            return data[length : length + 1] * min(size, most), length + 1
        return data[length : length + min(size, most)], length + size
    if kind != COMPRESSED:
        raise Damaged("a zstd block that needs one before it")
    length, width = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
    number = int.from_bytes(data[:length], "little") >> 4
    size, packed = number & ((1 << width) - 1), number >> width
    return huffman(data[length : length + packed], size, 4 if form else 1, most), length + packed


def huffman(data: bytes, size: int, streams: int, most: int) -> bytes:
    """The first of the literals that were compressed with a tree of their own."""
    weights, at = weights_of(data)
    depth, table = tree(weights)
    if streams == 1:
        return decoded(Backward(data[at:]), depth, table, min(size, most))
    sizes = struct.unpack_from("<HHH", data, at)
    at += 6
    each, found = (size + 3) // 4, b""
    for packed in sizes + (len(data),):
        wanted = min(each, size - len(found), most - len(found))
        if wanted <= 0:
            break
        found += decoded(Backward(data[at : at + packed]), depth, table, wanted)
        at += packed
    return found


def weights_of(data: bytes) -> "tuple[list[int], int]":
    """The weights of a tree's symbols but for the last one, and where they end."""
    size = data[0]
    if size >= 128:
        count = size - 127
        pairs = [half for byte in data[1 : 1 + (count + 1) // 2] for half in (byte >> 4, byte & 15)]
        return pairs[:count], 1 + (count + 1) // 2
    (log, table), at = described(data[: 1 + size], 1, 6)
    return interleaved(Backward(data[at : 1 + size]), log, table), 1 + size


def interleaved(stream: Backward, log: int, table: "Table") -> "list[int]":
    """Symbols of two states in turns, until the stream has no more."""
    states, found = [stream.take(log), stream.take(log)], []  # type: list[int], list[int]
    while len(found) < 255:
        symbol, bits, base = table[states[0]]
        found.append(symbol)
        states = [states[1], base + stream.take(bits)]
        if stream.left < 0:
            return found + [table[states[0]][0]]
    raise Damaged("a zstd tree with too many symbols")


def tree(weights: "list[int]") -> "tuple[int, list[tuple[int, int]]]":
    """The depth of a tree, and symbol and length for every path of that depth."""
    total = sum(1 << weight - 1 for weight in weights if weight)
    depth = total.bit_length()
    rest = (1 << depth) - total
    if not total or depth > 11 or rest & rest - 1:
        raise Damaged("a zstd tree that does not add up")
    weights = weights + [rest.bit_length()]
    ranked = sorted((weight, symbol) for symbol, weight in enumerate(weights) if weight)
    return depth, [(symbol, depth + 1 - weight) for weight, symbol in ranked for _ in range(1 << weight - 1)]


def decoded(stream: Backward, depth: int, table: "list[tuple[int, int]]", count: int) -> bytes:
    """So many symbols of one stream."""
    found = bytearray()
    for _ in range(count):
        symbol, bits = table[stream.peek(depth)]
        stream.left -= bits
        if stream.left < 0:
            raise Damaged("a zstd stream that ends early")
        found.append(symbol)
    return bytes(found)


def table_of(data: bytes, at: int, mode: int, number: int) -> "tuple[Fse, int]":
    """The table of literal lengths (0), offsets (1) or match lengths (2), and where its description ends."""
    if mode == RAW:
        return (USUAL[number][0], built(*USUAL[number])), at
    if mode == RLE:
        return (0, [(data[at], 0, 0)]), at + 1
    if mode != COMPRESSED:
        raise Damaged("a zstd block that needs one before it")
    return described(data, at, LARGEST[number])


def described(data: bytes, at: int, largest: int) -> "tuple[Fse, int]":
    """A table from its description: how often each symbol comes, in as few bits as the rest allows."""
    bits, place = int.from_bytes(data[at : at + 512], "little"), 4
    log = (bits & 15) + 5
    if log > largest:
        raise Damaged("a zstd table that is too large")
    left, shares = 1 << log, []  # type: int, list[int]
    while left > 0 and len(shares) < 256:
        width = (left + 1).bit_length()
        value, low = bits >> place & ((1 << width) - 1), (1 << width - 1) - 1
        limit = (1 << width) - 2 - left
        if value & low < limit:
            value, place = value & low, place - 1
        elif value > low:
            value -= limit
        place += width
        shares.append(value - 1)
        left -= abs(value - 1)
        while value == 1:
            repeat, place = bits >> place & 3, place + 2
            shares += [0] * repeat
            value = 1 if repeat == 3 and len(shares) < 256 else 0
    if left:
        raise Damaged("a zstd table that does not add up")
    return (log, built(log, shares)), at + (place + 7) // 8


def built(log: int, shares: "list[int]") -> "Table":
    """The states of a table, each with its symbol and how the next one is found."""
    size = high = 1 << log
    symbols = [0] * size
    for symbol, share in enumerate(shares):
        if share == -1:
            high -= 1
            symbols[high] = symbol
    step, place = (size >> 1) + (size >> 3) + 3, 0
    for symbol, share in enumerate(shares):
        for _ in range(share):
            symbols[place] = symbol
            place = (place + step) & (size - 1)
            while place >= high:
                place = (place + step) & (size - 1)
    following = [abs(share) for share in shares]
    table = []
    for symbol in symbols:
        count = following[symbol]
        following[symbol] += 1
        bits = log - count.bit_length() + 1
        table.append((symbol, bits, (count << bits) - size))
    return table


def executed(literals: bytes, stream: Backward, tables: "list[Fse]", count: int, most: int) -> bytes:
    """What the sequences make of the literals: some of them, then a copy of what is there already, again and again."""
    states, recent = [stream.take(log) for log, _ in tables], [1, 4, 8]
    out, used = bytearray(), 0
    for number in range(count):
        rows = [table[state] for state, (_, table) in zip(states, tables)]
        offset, length, copied = (
            base + stream.take(bits) for base, bits in (CODES[kind][rows[kind][0]] for kind in (1, 2, 0))
        )
        out += literals[used : used + copied]
        used += copied
        if len(out) >= most:
            break
        copy(out, distance(offset, copied, recent), min(length, most))
        if number < count - 1:
            for kind in (0, 2, 1):
                states[kind] = rows[kind][2] + stream.take(rows[kind][1])
        if stream.left < 0:
            raise Damaged("a zstd stream that ends early")
    return bytes(out + literals[used:])[:most]


def distance(offset: int, copied: int, recent: "list[int]") -> int:
    """How far back a copy starts; the three last distances have numbers of their own."""
    place = 3 if offset > 3 else offset - 1 + (not copied)
    back = offset - 3 if offset > 3 else recent[0] - 1 if place == 3 else recent[place]
    if place:
        recent[:] = [back] + recent[: min(place, 2)] + recent[place + 1 :]
    return back


def copy(out: bytearray, back: int, length: int) -> None:
    """Append a copy of what lies so far back, which may reach into itself."""
    if not 0 < back <= len(out):
        raise Damaged("a zstd sequence that points before its beginning")
    piece = bytes(out[-back:])
    out += (piece * (length // back + 1))[:length]
