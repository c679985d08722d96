"""Image builds."""
