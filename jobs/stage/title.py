"""The title of a run for figures."""

from jobs.run_folder.run import RunReader
from ops.model.names import model_title


def title_of(run: RunReader) -> str:
    """Return the title of the run's model for figures."""
    model = run.record["model"]
    return model_title(model["name"], model["fingerprint"], model.get("seed"))
