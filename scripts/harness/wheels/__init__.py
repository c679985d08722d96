"""Wheels and wheelhouses: reading, the manifest, the audit."""
