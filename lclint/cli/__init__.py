"""The command line: argv in, calls and exit codes out."""
