use old_sim::x;
// use old_sim::y;
