"""The pinned source revision."""
