"""Settings of running public kernels."""

from pydantic import Field

from state.closed import ClosedModel


class ReproductionSettings(ClosedModel):
    """How many public kernels are run, and for how long."""

    kernels: int = Field(default=3, ge=0, description="public kernels run at a time; 0: none is run")
    share: float = Field(
        default=0.1,
        gt=0,
        le=0.5,
        description="of the run's time, for all public kernels together; one gets two thirds of it",
    )
