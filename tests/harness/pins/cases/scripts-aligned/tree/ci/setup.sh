SIM_REV="1111111111111111111111111111111111111111"
if true; then pip install sim==0.13.0; fi
# pip install sim==0.12.0
