"""How the runs of published kernels went, and what is kept of them."""

from tests.bot.rehearsal.parts import KERNELS, Served


def test_kernels_of_others_have_run_and_keep_their_source_alone(here: Served) -> None:
    linear = {"userName": "ann", "kernelSlug": "linear"}
    assert here.client.ask(f"{KERNELS}/GetKernelSessionStatus", **linear)["status"] == "COMPLETE"
    [file] = here.client.ask(f"{KERNELS}/ListKernelSessionOutput", **linear)["files"]
    assert "C=1" in here.client.http.get(file["url"]).text
