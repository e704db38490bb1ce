"""Snapshots: one competition as of the day it was collected, in a folder; how it is read and checked."""
