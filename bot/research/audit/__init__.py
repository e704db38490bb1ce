"""Whether no prompt of a run held what was not known yet: questions to its database that share nothing with how a run reads."""
