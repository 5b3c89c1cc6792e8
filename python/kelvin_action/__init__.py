"""What `kelvin` brings for Python. The program itself is `kelvin`."""
