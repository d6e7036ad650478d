"""How large the project is, for the last commit and the last tag side by side: `make figures`. They judge nothing."""
