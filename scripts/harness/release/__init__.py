"""Before anything is published: what a user of the index and of the registry would get."""
