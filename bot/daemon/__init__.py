"""What is configured about competitions that are running."""
