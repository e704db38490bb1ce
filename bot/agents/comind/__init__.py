"""CoMind: posts become analyses, ideas and drafts; a coder works on each draft; its report returns to the pool."""
