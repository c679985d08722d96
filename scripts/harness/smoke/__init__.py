"""Smoke installs and acceptance: does this wheelhouse, do these images, do their job?"""
