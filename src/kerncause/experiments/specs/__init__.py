"""One file for each figure of the paper, and for each question of ours."""
