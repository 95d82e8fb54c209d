"""The shape of `run.json`: what every job takes for granted of it."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from jobs.stage.file_names import is_ours
from jobs.stage.stages import STAGES


def _below_the_run(name: str) -> str:
    """Refuse the name of a file that no job gives to one of a table: files are opened and removed by these."""
    *folders, last = name.split("/")
    if not folders or not all(folders) or {".", ".."} & {*folders} or not is_ours(last):
        raise ValueError("is no file of a table")
    return name


def _is_stage(name: str) -> str:
    if name not in STAGES:
        raise ValueError("is no stage")
    return name


Name = Annotated[str, AfterValidator(_below_the_run)]


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _File(_Shape):
    name: Name
    rows: int | None
    bytes: int
    fingerprint: str


class _Stage(_Shape):
    complete: bool
    seconds: float
    fingerprint: str
    identity: dict[str, Any]
    config: dict[str, Any]
    counts: dict[str, Any] | None = None
    progress: dict[str, Any] | None = None
    redo: "_Stage | None" = None

    @model_validator(mode="after")
    def _counted(self) -> "_Stage":
        if self.complete and self.counts is None:
            raise ValueError("is complete without counts")
        return self


class _Publishing(_Shape):
    stage: Annotated[str, AfterValidator(_is_stage)]
    remove: list[Name]


class _Record(_Shape):
    stages: dict[Annotated[str, AfterValidator(_is_stage)], _Stage]
    tables: dict[str, list[_File]]
    publishing: _Publishing | None = None


def damage(record: dict[str, Any]) -> str:
    """Return where a record has another shape than jobs give it, empty where nowhere."""
    try:
        _Record.model_validate(record)
    except ValidationError as error:
        return ".".join(map(str, error.errors()[0]["loc"]))
    return ""
