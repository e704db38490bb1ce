"""Reading: posts become documents, and documents analyses."""
