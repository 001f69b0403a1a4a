"""Work on many machines, by Ray, which is imported where it is asked for and nowhere else."""
