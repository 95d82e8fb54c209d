import math
from itertools import product

from ops.audit.audit_rows import VERDICTS, verdict


def test_the_rules_in_their_order() -> None:
    for eta, lift, ported, datasets, found in product(
        (math.nan, 0.0, 0.25, 0.9), (False, True), range(7), (1, 2, 4, 6), range(3)
    ):
        own = verdict(eta_squared=eta, any_lift=lift, ported=ported, datasets=datasets, above_random=found)
        if eta >= 0.25 and not lift:
            assert own == "dataset_detector"
        elif datasets > 1 and ported / datasets >= 0.75:
            assert own == "global"
        else:
            assert own == ("local" if found else "none")
        assert own in VERDICTS
