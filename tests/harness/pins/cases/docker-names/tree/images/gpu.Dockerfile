FROM rust:1.90
