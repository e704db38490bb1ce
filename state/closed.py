"""The base of models that are closed: they refuse keys that they do not know, and never change."""

from pydantic import BaseModel, ConfigDict


class ClosedModel(BaseModel):
    """A frozen model without further keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
