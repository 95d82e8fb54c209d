from ops.report.side_pages import drawings, figure_files, side_jobs


def test_side_jobs_are_those_with_a_complete_stage_and_their_figures_those_recorded() -> None:
    names = ["mixing/ratios/part-00000.parquet", "mixing/figures/a.svg", "mixing/figures/a.png", "mixing/figures/a.pdf"]
    run = {
        "stages": {
            "mixing": {"complete": True},
            "compare/groups": {"complete": True},
            "psi": {"complete": False},
            "topk": {"complete": True},
        },
        "tables": {"mixing/figures": [{"name": name} for name in names]},
    }
    assert side_jobs(run) == ["mixing", "compare"]
    assert figure_files(run) == {"mixing": ["mixing/figures/a.svg", "mixing/figures/a.png"]}
    assert drawings(run, "mixing") == ["mixing/figures/a.svg"]
    assert drawings(run, "compare") == []
