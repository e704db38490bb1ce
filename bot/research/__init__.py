"""Research: what past competitions, papers' agents and measurements need; the bot runs without it."""
