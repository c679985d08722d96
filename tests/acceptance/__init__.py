"""The acceptance cases themselves under test."""
