"""One file a migration, named by its revision."""
