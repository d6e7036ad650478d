"""Lane `windows`: upstream's own programs, built for Windows, judge on Wine 10 what we render for them."""
