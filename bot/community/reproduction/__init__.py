"""Reproduction: public kernels are run here and scored, so that their scores are measured and not believed."""
