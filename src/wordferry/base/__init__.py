"""What every room stands on: arrays, threads and progress, files."""
