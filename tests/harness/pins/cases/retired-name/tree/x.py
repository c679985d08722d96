import os
from old_sim import y
import older_sim
