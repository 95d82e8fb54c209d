from pathlib import Path

import pyarrow.parquet as pq

UNSOUND = "CRC checksum verification failed"  # in the error of a reader that sees the damage


def damage(path: str | Path) -> None:
    """Change one bit of a value in the first column of a Parquet file, which decompresses as before."""
    column = pq.read_metadata(path).row_group(0).column(0)
    start = column.data_page_offset if column.dictionary_page_offset is None else column.dictionary_page_offset
    data = bytearray(Path(path).read_bytes())
    data[start + column.total_compressed_size - 1] ^= 1
    Path(path).write_bytes(data)
