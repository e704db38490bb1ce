"""Views: a competition's data with some training labels withheld."""
