"""The pinned source revision: reading the pin, moving it, exporting what it names."""
