#!/bin/sh
SIM_REV=2222222222222222222222222222222222222222
pip install "sim==0.12.0" # x
cat <<EOF
pip install sim==0.1.0
EOF
git clone https://example.invalid/o/sim.git sim
git -C sim checkout "$SIM_REV"
