"""The files for finding near-duplicates: signatures, hashes of their bands, and pairs of sentences."""

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ops.arrays import Int64s, UInt8s
from ops.corpus.minhash import PERMUTATIONS, MinHasher, band_hashes, short_signatures
from ops.storage.range_file import GROUP_ROWS, SortedWriter

SIGNATURES = pa.schema([("position", pa.int64()), ("signature", pa.binary(PERMUTATIONS))])
BANDS = pa.schema([("hash", pa.uint64()), ("position", pa.int64())])
PAIRS = pa.schema([("one", pa.int64()), ("other", pa.int64()), SIGNATURES.field("signature")])

Footer = Callable[[str, int], dict[bytes, bytes]]


def write_signatures(
    paths: dict[str, str],
    texts: Iterable[tuple[Int64s, list[str]]],
    signer: MinHasher,
    banding: tuple[int, int],
    footer: Footer,
) -> None:
    """Write the signatures of texts and the hashes of their bands, sorted in segments, with one segment in memory.

    Args:
        paths: local paths of the files `signatures` and `bands`.
        texts: the ascending positions `[texts]` and the texts, some at a time.
        signer: computes the signatures.
        banding: number of bands, and number of rows of each band.
        footer: returns the footer of a file, given its name in `paths` and its number of rows.
    """
    bands, rows = banding
    written = 0
    with (
        # Signatures are random bits, which cannot be compressed.
        pq.ParquetWriter(paths["signatures"], SIGNATURES, compression="none", use_dictionary=False) as signatures,
        SortedWriter(paths["bands"], BANDS) as hashes,
    ):
        for position, some in texts:
            signed = signer(some)
            low = pa.py_buffer(short_signatures(signed))
            column = pa.Array.from_buffers(pa.binary(PERMUTATIONS), len(some), [None, low])
            signatures.write_table(pa.table([pa.array(position), column], schema=SIGNATURES))
            hashes.add(band_hashes(signed, bands, rows).ravel(), np.repeat(position, bands))
            written += len(some)
        signatures.add_key_value_metadata(footer("signatures", written))
        hashes.finish(footer("bands", written * bands))


def write_pairs(
    path: str, pairs: Int64s, position: Int64s, signature: pa.FixedSizeBinaryArray, footer: dict[bytes, bytes]
) -> None:
    """Write pairs of sentences `[pairs, 2]`, each with the signature of its second sentence, looked up by position."""
    # Signatures are random bits, which cannot be compressed.
    compression = {"one": "zstd", "other": "zstd", "signature": "none"}
    with pq.ParquetWriter(path, PAIRS, compression=compression, use_dictionary=False) as writer:
        for at in range(0, len(pairs), GROUP_ROWS):
            one, other = pairs[at : at + GROUP_ROWS].T
            signed = signature.take(pa.array(np.searchsorted(position, other)))
            writer.write_table(pa.table([pa.array(one), pa.array(other), signed], schema=PAIRS))
        writer.add_key_value_metadata(footer)


def as_matrix(signatures: pa.FixedSizeBinaryArray) -> UInt8s:
    """Return signatures as a matrix `[signatures, 128]` that shares their memory."""
    matrix = np.frombuffer(signatures.buffers()[1] or b"", np.uint8).reshape(-1, PERMUTATIONS)
    return matrix[signatures.offset : signatures.offset + len(signatures)]
