"""A run next to another run that an option names, which is opened without changing it."""

from collections.abc import Callable
from dataclasses import dataclass

from jobs.run_folder.publish import check_tables
from jobs.run_folder.run import RunReader
from ops.errors import InputError
from ops.storage.fingerprint import differences

# The parts of a corpus's identity that may differ. Other tokenizers and shard sizes leave the sentences the same,
# except the sentences that are too short for a model.
_MAY_DIFFER = ("tokenizer", "shard_size")


@dataclass(frozen=True)
class RunPair:
    """A run, and a finished run with which it is compared.

    Attributes:
        flag: the option that names the other run, such as `--with`.
    """

    flag: str
    name: str
    run: RunReader
    other: RunReader

    @classmethod
    def open(cls, flag: str, name: str, run: RunReader, stages: tuple[str, ...]) -> "RunPair":
        """Open the other run, of which the tables of these stages are read.

        Raises:
            InputError: there is no run, one of these stages is not finished, or files are not as they were written.
        """
        try:
            other = RunReader(name, create=False)
            if "publishing" in other.record:
                stage = other.record["publishing"]["stage"]
                raise InputError(
                    f"--out {name}: a job was killed while it put {stage} in place; give its command again"
                )
            for stage in ("ingest", *stages):
                other.require(stage)
            check_tables(other.store, stages, other.record, footers=False)
        except InputError as error:
            # The command that repairs it, if there is one, keeps its --out.
            raise InputError(error.args[0].replace("--out", flag, 1), *error.args[1:]) from error
        return cls(flag, name, run, other)

    @property
    def runs(self) -> tuple[RunReader, RunReader]:
        """The run and the other run."""
        return self.run, self.other

    @property
    def same_ids(self) -> bool:
        """Whether both runs number the same sentences in the same way."""
        here, there = (run.require("ingest")["fingerprint"] for run in self.runs)
        return bool(here == there)

    @property
    def title(self) -> str:
        """The other run's title for figures: its model and, if its units are not neurons, what they are."""
        topk = self.other.require("topk")
        if "dictionaries" not in topk["identity"]:
            return self.other.title
        formats = {dictionary["format"] for dictionary in topk["counts"].get("dictionaries", [])}
        units = "rotated directions" if formats == {"rotated"} else "features of dictionaries"
        return f"{units} of {self.other.title}"

    def refused(self, why: str, *command: str) -> InputError:
        """Return the error that the other run cannot be compared, perhaps with a command that helps."""
        return InputError(f"{self.flag} {self.name}: {why}", *command)

    def check_same_corpus(self) -> None:
        """Refuse a run with another corpus; the same sources and options of ingest give the same sentences."""
        configs = [run.require("ingest")["config"] for run in self.runs]
        if changed := self._changed("ingest", lambda name: name not in _MAY_DIFFER, *configs):
            raise self.refused(f"has another corpus: {changed}; give a run with the same sources and options of ingest")

    def check_same_options(self, stage: str, matters: Callable[[str], bool]) -> None:
        """Refuse a run in which a stage was done with other options, of those whose name `matters`.

        Raises:
            InputError: options differ; the message names each of them.
        """
        if changed := self._changed(stage, matters):
            raise self.refused(f"its {stage} was run with other options: {changed}; give a run with the same options")

    def _changed(self, stage: str, matters: Callable[[str], bool], *configs: dict[str, object]) -> str:
        """Return a description of the parts of a stage's identity that differ; an empty string if none does."""
        here, there = (
            {name: value for name, value in {"method": 1, **run.require(stage)["identity"]}.items() if matters(name)}
            for run in self.runs
        )
        changed = differences(here, there, *configs)
        for was, now in (("(was ", "(here "), (", is ", ", there "), (" has changed)", " differs there)")):
            changed = changed.replace(was, now)
        return changed
