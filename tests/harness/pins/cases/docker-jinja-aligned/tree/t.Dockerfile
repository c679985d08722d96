{% set rust = '1.95.0' %}
{% for x in y %}
FROM rust:{{ rust }}
{% endfor %}
RUN docker ps --format '{{.ID}}'
