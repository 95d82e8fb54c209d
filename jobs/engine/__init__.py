"""The engine, which spreads items over workers, on a laptop as on a cluster; no other code imports Ray."""
