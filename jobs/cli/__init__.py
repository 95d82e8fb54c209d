"""What a job's command line says: its options, presets and YAML files, and the exit status."""
