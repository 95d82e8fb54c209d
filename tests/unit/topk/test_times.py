from ops.topk.times import Times


def row(began: float, ended: float, worker: str = "a") -> dict[str, float | str]:
    return {"worker": worker, "began": began, "ended": ended, "cpu": 0.25, "sentences": 10}


def test_scoring_runs_from_the_first_shard_to_the_last_and_start_up_leaves_the_pilot_out() -> None:
    times = Times()
    assert "scoring 0 s, merge" in str(times)
    times.begun = 100.0
    times.seconds["pilot"] = 3.0
    times.count([row(112.0, 119.0), row(111.0, 115.5), row(116.0, 121.0)])
    assert times.result() == {"start_up": 8.0, "pilot": 3.0, "score": 10.0, "worker_cpu": 0.75, "merge": 0.0}
    assert "scoring 10 s, 3 sentences a second" in str(times)


def test_a_worker_that_is_loading_is_starting_up_while_another_scores() -> None:
    times = Times()
    times.begun = 100.0
    times.count([row(112.0, 115.0, "b"), row(110.0, 113.0), row(113.0, 116.0), row(115.0, 118.0, "b")])
    assert (times.result()["start_up"], times.result()["score"]) == (11.0, 7.0)
