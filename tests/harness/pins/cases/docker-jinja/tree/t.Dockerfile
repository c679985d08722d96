{# FROM rust:1.80 #}
{% set rust = "1.91" %}
{% if gpu %}
FROM rust:1.90 AS a
{% else %}
FROM rust:{{ rust }}-slim AS a
{% endif %}
FROM python:{{ python_version }}
RUN pip install \
{% if x %}
  sim==0.12.0 \
{% endif %}
  other
