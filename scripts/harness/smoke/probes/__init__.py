"""Programs that run inside an environment under test and print what they find as JSON."""
