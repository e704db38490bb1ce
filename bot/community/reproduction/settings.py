"""Settings of running public kernels."""

from typing import Annotated

from pydantic import Field

from state.closed_model import ClosedModel, Option


class ReproductionSettings(ClosedModel):
    """How many public kernels are run, and for how long."""

    kernels: Annotated[int, Option("public-notebooks")] = Field(
        default=3, ge=0, description="maximum number of public notebooks to run (0 for none)"
    )
    share: float = Field(
        default=0.1,
        gt=0,
        le=0.5,
        description="share of the run's time for running public notebooks; one notebook gets at most two thirds of it",
    )
