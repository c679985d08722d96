"""Building the images and their archives."""
