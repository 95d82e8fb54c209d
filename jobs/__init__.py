"""The jobs: what runs where. `python -m jobs` lists them. The only folder that imports Ray."""
