"""The number of standard errors between a statistic and the ends of its 95 % interval."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from ops.arrays import Float64s


def t_quantile(freedom: ArrayLike) -> Float64s:
    """Return the 97.5 % quantile of Student's t with some degrees of freedom.

    >>> t_quantile([1, 9, 1e9]).round(3).tolist()
    [12.706, 2.262, 1.96]
    """
    return np.asarray(stdtrit(freedom, 0.975))
