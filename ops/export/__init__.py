"""Exports of a run, such as a dataset folder for the hub: files, card, provenance, and the terms of the texts."""
