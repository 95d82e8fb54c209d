"""Type aliases for arrays, one for each type of number."""

from typing import Any

import numpy as np
import numpy.typing as npt

Int8s = npt.NDArray[np.int8]
Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt8s = npt.NDArray[np.uint8]
UInt32s = npt.NDArray[np.uint32]
UInt64s = npt.NDArray[np.uint64]
Float32s = npt.NDArray[np.float32]
Float64s = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.integer]  # of any width
Floats = npt.NDArray[np.floating]  # of any width
Arrays = npt.NDArray[Any]  # of anything
