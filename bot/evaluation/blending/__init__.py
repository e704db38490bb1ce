"""The blend: predictions of several scripts combined into better ones."""
