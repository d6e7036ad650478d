"""A simulated Windows machine and the programs on it. It imports nothing from plugins/: plan and judge must not
copy."""
