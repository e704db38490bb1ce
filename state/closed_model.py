"""The base of models that are closed: they refuse keys that they do not know, and never change."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict


class ClosedModel(BaseModel):
    """A frozen model without further keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Option:
    """Marks a field that commands offer as an option, under the field's name unless another is given."""

    name: str = ""
