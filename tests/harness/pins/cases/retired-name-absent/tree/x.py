# import old_sim
import old_simulator
