"""One source of pins: every place that names a pinned thing is found, compared and kept aligned.

Readers (`readers/`) return tokens with byte spans and know no policy. Rules (`rules/`) know no
file formats. The fixer (`fix.py`) only replaces spans.
"""
