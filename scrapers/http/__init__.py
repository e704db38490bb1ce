"""What comes from strangers' servers: where it may come from, within bounds, and files fetched whole."""
